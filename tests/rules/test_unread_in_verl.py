"""What the checks of the resolved configuration say, asked of the installed verl: its classes and its source.

Where a dataclass or a function says no on a CPU it is called. Where nothing reads a key, verl's source is searched for
readers: every file but those of trainers that verl's newer one does not use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

verl = pytest.importorskip("verl")

OTHER_TRAINERS = (
    "trainer/ppo/ray_trainer.py",
    "trainer/main_ppo_v0.py",
    "trainer/sft",
    "trainer/main_generation",
    "experimental/fully_async_policy",
    "experimental/one_step_off_policy",
    "experimental/separation",
    "workers/reward_manager/",
    "workers/engine_workers_tinker",
    "model_merger",
)
DEFINITIONS = ("workers/config/", "trainer/config/")


@cache
def sources() -> dict[str, str]:
    """File to text, of what the newer trainer can reach."""
    home = Path(verl.__file__).parent
    files = {path.relative_to(home).as_posix(): path for path in home.rglob("*.py")}
    return {
        name: path.read_text(encoding="utf-8")
        for name, path in files.items()
        if not name.startswith((*OTHER_TRAINERS, *DEFINITIONS))
    }


def readers(pattern: str) -> set[str]:
    return {name for name, text in sources().items() if re.search(pattern, text)}


@pytest.mark.parametrize(
    ("pattern", "known"),
    [
        (r"use_tiled_mlp=|tiled_mlp\.enabled|tiled_mlp\[|\.tiled_mlp\.get", set()),
        (r"custom_async_server", set()),
        (r"nccl_timeout", set()),
        (r"checkpoint_manager_class|standalone_gpu_memory_utilization", set()),
        (r"router_replay.*(record|replay)_file|\.(record|replay)_file", set()),
        (r"self\.return_(raw_chat|full_prompt|multi_modal_inputs)\b(?! =)", set()),
        (r"forward_micro_batch_size_per_gpu|forward_max_token_len_per_gpu", set()),
        (r"SkipManager\.annotate\(role=\"rollout\"", {"experimental/agent_loop/agent_loop.py"}),
        (r"(?<!engine_config)\.use_torch_compile", set()),
    ],
)
def test_nothing_reads_it(pattern: str, known: set[str]) -> None:
    assert readers(pattern) <= known


def test_the_newer_agent_loop_neither_traces_nor_penalises_repetition() -> None:
    text = sources()["trainer/ppo/v1/agent_loop_tq.py"]
    assert "trace_this_sample = False" in text
    assert "repetition_penalty=1.0" in text
    assert "def generate_sequences(self, prompts: TensorDict)" in text, "it overrides what skip.rollout annotates"


def test_a_custom_sampler_is_not_told_of_the_filter() -> None:
    text = sources()["trainer/ppo/v1/trainer_base.py"]
    head, _, rest = text.partition("if not has_custom_sampler:")
    assert "filter_groups_metric = self._resolve_filter_groups_metric()" in rest.partition("return sampler_cls")[0]
    assert "filter_groups_metric" not in head.partition("replay_buffer_kwargs = dict(")[2]


@pytest.mark.parametrize(
    ("word", "version"),
    [("offload_policy", "fsdp2"), ("use_orig_params", "fsdp")],
)
def test_one_version_of_fsdp_reads_it(word: str, version: str) -> None:
    text = sources()["workers/engine/fsdp/transformer_impl.py"]
    first, _, second = text.partition('if self.engine_config.strategy == "fsdp":')[2].partition(
        'elif self.engine_config.strategy == "fsdp2":'
    )
    second = second.partition("raise NotImplementedError")[0]
    reads = {"fsdp": f"engine_config.{word}" in first, "fsdp2": f"engine_config.{word}" in second}
    assert [name for name, read in reads.items() if read] == [version]


def gae_without_a_critic() -> None:
    import numpy as np
    import torch
    from verl import DataProto
    from verl.trainer.ppo.ray_trainer import compute_advantage

    batch = {"token_level_rewards": torch.ones(2, 3), "response_mask": torch.ones(2, 3)}
    data = DataProto.from_dict(batch, non_tensors={"uid": np.array(["a", "a"], dtype=object)})
    compute_advantage(data, adv_estimator="gae", config={})


def old_name_of_a_schedule() -> None:
    from verl.workers.config import FSDPOptimizerConfig

    with pytest.warns(DeprecationWarning, match="warmup_style"):
        assert FSDPOptimizerConfig(lr=1.0, lr_scheduler_type="cosine", warmup_style="constant").lr_scheduler_type == (
            "constant"
        )
    raise AssertionError("the old name wins")


def engine_of_another_version() -> None:
    from verl.workers.config import FSDPActorConfig, FSDPEngineConfig, FSDPOptimizerConfig

    actor = FSDPActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        ulysses_sequence_parallel_size=4,
        optim=FSDPOptimizerConfig(lr=1.0),
        fsdp_config=FSDPEngineConfig(strategy="fsdp2", ulysses_sequence_parallel_size=2),
    )
    assert (actor.engine.strategy, actor.engine.ulysses_sequence_parallel_size) == ("fsdp", 4)
    raise AssertionError("the role wins")


def unknown_contents() -> None:
    from verl.utils.profiler.config import TorchProfilerToolConfig

    TorchProfilerToolConfig(contents=["gpu"])


def tokens_backwards() -> None:
    from verl.utils.profiler.config import TorchProfilerToolConfig

    TorchProfilerToolConfig(profile_token_start=4, profile_token_end=4)


def deep_level() -> None:
    from verl.utils.profiler.config import NPUToolConfig

    NPUToolConfig(level="level3")


def negative_schedule() -> None:
    from verl.utils.profiler.config import TorchProfilerScheduleConfig

    TorchProfilerScheduleConfig(wait=-1)


def no_stack() -> None:
    from verl.utils.profiler.config import TorchMemoryToolConfig

    TorchMemoryToolConfig(stack_depth=0)


def too_few_logits() -> None:
    from verl.workers.config import DistillationTeacherModelConfig, RolloutConfig

    inference = RolloutConfig(name="vllm", engine_kwargs={"vllm": {"max_logprobs": 16}})
    DistillationTeacherModelConfig(inference=inference)._validate_topk_logprobs(use_topk=True, topk=32)


def student_without_a_loss() -> None:
    from verl.trainer.distillation.losses import compute_topk_loss

    compute_topk_loss(SimpleNamespace(strategy="torchtitan"), None, None, None, "thd")


def lent_more_than_all() -> None:
    from verl.trainer.config.config import HybridRolloutSwitchConfig

    HybridRolloutSwitchConfig(switch_threshold_ratio=2.0)


def costs_of_no_window() -> None:
    from verl.trainer.config.config import HybridRolloutSwitchConfig

    HybridRolloutSwitchConfig(switch_cost_window_size=0)


def skipped_by_chance() -> None:
    from verl.utils.skip.config import RolloutTqSkipConfig

    RolloutTqSkipConfig(action="random")


def offloads_under_turbo() -> None:
    from verl.utils.activation_offload import enable_activation_offloading

    enable_activation_offloading(None, "fsdp_turbo", True)


REFUSES: tuple[tuple[str, Callable[[], Any], type[Exception], str], ...] = (
    ("ORB671", lent_more_than_all, ValueError, "switch_threshold_ratio"),
    ("ORB670", costs_of_no_window, ValueError, "switch_cost_window_size"),
    ("ORB614", skipped_by_chance, AssertionError, "cache/repeat"),
    ("ORB674", gae_without_a_critic, KeyError, "values"),
    ("ORB675", old_name_of_a_schedule, AssertionError, "the old name wins"),
    ("ORB675", engine_of_another_version, AssertionError, "the role wins"),
    ("ORB679", unknown_contents, AssertionError, "contents only supports"),
    ("ORB679", tokens_backwards, AssertionError, "must be > profile_token_start"),
    ("ORB679", deep_level, AssertionError, "level only supports"),
    ("ORB679", negative_schedule, AssertionError, "wait must be >= 0"),
    ("ORB679", no_stack, AssertionError, "stack_depth must be positive"),
    ("ORB680", too_few_logits, ValueError, "max_logprobs"),
    ("ORB680", student_without_a_loss, NotImplementedError, "torchtitan"),
    ("ORB681", offloads_under_turbo, AssertionError, "only supports fsdp"),
)


@pytest.mark.parametrize(
    ("check", "call", "error", "words"), REFUSES, ids=[f"{c}-{f.__name__}" for c, f, _, _ in REFUSES]
)
def test_verl_refuses(check: str, call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_no_model_is_patched_for_an_unknown_backend() -> None:
    """The engine reads fused outputs all the same (workers/engine/fsdp/transformer_impl.py, prepare_model_outputs)."""
    from verl.models.transformers.monkey_patch import patch_forward_with_backends

    class Model:
        config = SimpleNamespace(model_type="qwen2")

        def forward(self) -> None: ...

    before = Model.forward
    patch_forward_with_backends(Model(), use_fused_kernels=True, fused_kernels_backend="cuda")
    assert Model.forward is before
    assert "output.log_probs.squeeze(0)" in sources()["workers/engine/fsdp/transformer_impl.py"]


def test_engine_arguments_come_last() -> None:
    for name in ("vllm_rollout/vllm_async_server.py", "sglang_rollout/async_sglang_server.py"):
        text = sources()[f"workers/rollout/{name}"]
        args = text.partition("args = {")[2].partition("\n        }")[0]
        assert args.rstrip().endswith("**engine_kwargs,")
