"""Rules over the resolved configuration: what the language has no word for, and what came in through the hatch.

They read flat keys of verl (`actor_rollout_ref.rollout.name` to value, lists and empty mappings whole), with defaults
and interpolations resolved, so they hold for imported configurations too. A check's docstring is its page, as a rule's
is. They say again what rules over the plan say about words of the language; run them once those find no error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.lower.checks import (
    orb610_value_missing,
    orb611_legacy_reward_group,
    orb612_dead_key,
    orb613_micro_batch_missing,
    orb614_unknown_name,
    orb615_separate_batches,
    orb616_staleness_settings,
    orb617_distillation,
    orb618_reward_model_pool,
    orb619_rollout_mode_removed,
    orb620_router_replay,
    orb621_strategies_differ,
    orb622_text_for_a_value,
    orb623_dynamic_context_parallel,
    orb624_squares_with_fused_kernels,
    orb625_disaggregation,
    orb626_storage_capacity,
    orb627_megatron_options,
    orb628_filter_without_reward,
    orb629_lent_gpus_ignored,
    orb630_actor_waits_for_no_critic,
    orb631_shared_checkpoint_folder,
    orb632_adapter_key_of_other_engine,
    orb633_correction_without_log_probs,
    orb634_metrics_switched_off,
    orb635_experts_of_other_engine,
    orb636_overlong_window_open,
    orb637_critic_budget_below_sequence,
    orb638_legacy_trainer,
    orb639_unknown_checkpoint_content,
    orb640_nothing_is_saved,
    orb641_delta_sync,
    orb642_numbers_out_of_range,
    orb643_profiler_without_options,
    orb644_bypass_loss_missing,
    orb645_classifier_pool_reports_nothing,
    orb663_override_not_heard_by_all,
    orb664_engine_lacks_a_part,
    orb665_adapters_left_behind,
    orb666_attention_that_packs_nothing,
    orb667_megatron_roles_differ_in_size,
    orb668_schedule_engine_refuses,
    orb669_groups_do_not_divide,
    orb670_count_out_of_range,
    orb671_number_out_of_range,
    orb672_needed_value_left_null,
    orb673_other_engine_reads_it,
    orb674_critic_switch,
    orb675_two_keys_disagree,
    orb676_sampler_unread,
    orb677_batch_does_not_come_out_even,
    orb678_budget_below_sequence,
    orb679_profiler_options,
    orb680_largest_logits,
    orb681_engine_refuses,
    orb682_engine_arguments_overrule,
    orb683_behind_a_switch,
    orb684_step_below_requests,
    orb685_engine_does_not_read_it,
    orb686_engine_argument_written_over,
    orb687_weight_sync_arguments,
    orb688_quantised_training,
    orb689_megatron_transformer_options,
    orb690_strategy_without_its_section,
    orb691_engine_switches_contradict,
    orb692_judge_with_random_weights,
    orb693_turns_read_otherwise,
    orb694_steps_are_no_list,
    orb695_name_that_finds_nothing,
    orb696_rows_limited_below_batch,
)
from orbiter_spec.lower.checks.finding import to_diagnostic

CHECKS: tuple[ModuleType, ...] = (
    orb610_value_missing,
    orb611_legacy_reward_group,
    orb612_dead_key,
    orb613_micro_batch_missing,
    orb614_unknown_name,
    orb615_separate_batches,
    orb616_staleness_settings,
    orb617_distillation,
    orb618_reward_model_pool,
    orb619_rollout_mode_removed,
    orb620_router_replay,
    orb621_strategies_differ,
    orb622_text_for_a_value,
    orb623_dynamic_context_parallel,
    orb624_squares_with_fused_kernels,
    orb625_disaggregation,
    orb626_storage_capacity,
    orb627_megatron_options,
    orb628_filter_without_reward,
    orb629_lent_gpus_ignored,
    orb630_actor_waits_for_no_critic,
    orb631_shared_checkpoint_folder,
    orb632_adapter_key_of_other_engine,
    orb633_correction_without_log_probs,
    orb634_metrics_switched_off,
    orb635_experts_of_other_engine,
    orb636_overlong_window_open,
    orb637_critic_budget_below_sequence,
    orb638_legacy_trainer,
    orb639_unknown_checkpoint_content,
    orb640_nothing_is_saved,
    orb641_delta_sync,
    orb642_numbers_out_of_range,
    orb643_profiler_without_options,
    orb644_bypass_loss_missing,
    orb645_classifier_pool_reports_nothing,
    orb663_override_not_heard_by_all,
    orb664_engine_lacks_a_part,
    orb665_adapters_left_behind,
    orb666_attention_that_packs_nothing,
    orb667_megatron_roles_differ_in_size,
    orb668_schedule_engine_refuses,
    orb669_groups_do_not_divide,
    orb670_count_out_of_range,
    orb671_number_out_of_range,
    orb672_needed_value_left_null,
    orb673_other_engine_reads_it,
    orb674_critic_switch,
    orb675_two_keys_disagree,
    orb676_sampler_unread,
    orb677_batch_does_not_come_out_even,
    orb678_budget_below_sequence,
    orb679_profiler_options,
    orb680_largest_logits,
    orb681_engine_refuses,
    orb682_engine_arguments_overrule,
    orb683_behind_a_switch,
    orb684_step_below_requests,
    orb685_engine_does_not_read_it,
    orb686_engine_argument_written_over,
    orb687_weight_sync_arguments,
    orb688_quantised_training,
    orb689_megatron_transformer_options,
    orb690_strategy_without_its_section,
    orb691_engine_switches_contradict,
    orb692_judge_with_random_weights,
    orb693_turns_read_otherwise,
    orb694_steps_are_no_list,
    orb695_name_that_finds_nothing,
    orb696_rows_limited_below_batch,
)


def check_id(check: ModuleType) -> str:
    """`ORB610` for the module orb610_value_missing."""
    return check.__name__.rpartition(".")[2].partition("_")[0].upper()


def title(check: ModuleType) -> str:
    """The first line of the check's page."""
    return (check.__doc__ or "").strip().splitlines()[0]


def run_checks(settings: Mapping[str, Any], place_of: Callable[[str], Place | None]) -> Iterator[Diagnostic]:
    """Every finding of every check on the flat, resolved `settings`; `place_of` gives a key's place in the spec.

    A null that verl cannot work with is reported once: for the other checks that key is left out.
    """
    empty = {finding.key for finding in orb672_needed_value_left_null.check(settings)}
    usable = {key: value for key, value in settings.items() if key not in empty}
    for check in CHECKS:
        for finding in check.check(settings if check is orb672_needed_value_left_null else usable):
            yield to_diagnostic(finding, check_id(check), title(check), place_of)
