"""What changes in a spec to run it here, change by change.

Everything that decides whether parts fit together stays: prompts, rewards, tools, environments, the algorithm with its
loss. What costs is cut: the model, the machines, batches, rows and answers. What only a GPU or another machine can do
is left out and said, never silently replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.launch.secrets import SecretMissingError, resolve_secrets
from orbiter_spec.plan.model import Plan
from orbiter_spec.rehearse.changes import Change, Given, LeftOut, Shrunk
from orbiter_spec.rehearse.services import replace_services, unasked
from orbiter_spec.rehearse.shrink_rewards import shrink_rewards, tells_apart
from orbiter_spec.rehearse.stand_in import StandIn
from orbiter_spec.spec.run import Secret

STEPS = 2
RANK = 8
EPOCHS = 50
PROMPTS = 4
ROWS = 16
VALIDATION_ROWS = 4
SAMPLES = 4
PROMPT_TOKENS = 1024
ANSWER_TOKENS = 48
CONVERSATION_TOKENS = 384
BYTE_CONVERSATION_TOKENS = 1024
TURNS, TURN_TOKENS = 4, 24
TOKENS_PER_BYTE_TOKEN = 4
VALIDATION_SHARE = 0.25
KEPT_OVERRIDES = ("algorithm.", "actor_rollout_ref.actor.policy_loss.", "actor_rollout_ref.actor.tau_", "data.apply_")
CPU_ENGINES = ("fsdp", "fsdp2")
CPU_ROLLOUT = "transformers"
CHECKPOINT_PARTS = (
    "every",
    "keep",
    "asynchronous",
    "mbridge",
    "remote_folder",
    "delete_after_load",
    "expiry_seconds",
    "folder",
)
MODEL_PARTS_OF_GPUS = (
    "tokenizer",
    "config",
    "attention",
    "config_overrides",
    "shared_memory",
    "fused_kernel_backend",
    "mlp_shards",
    "freeze_vision",
    "mtp",
)


def shrink(
    plan: Plan,
    model: str | None,
    *,
    byte_tokens: bool,
    steps: int = STEPS,
    workers: int = 1,
    stand_in: StandIn,
    ask_services: bool = False,
) -> Shrunk:
    """The changes that make the planned spec run here in about a minute.

    `model` is the folder of the small model, None to keep the spec's own. `byte_tokens` says that a byte-level
    tokenizer stands in for the model's, whose texts are about four times as long. `workers` are training processes.
    Services are led to `stand_in`, unless they are to be asked.
    """
    given = Given(plan.given)
    changes = [
        Change("name", f"{plan.experiment.name[:90]}-rehearsal", "its runs are told apart"),
        *_agent(plan, given, model, byte_tokens),
        *_dataset(plan, given),
        *shrink_rewards(plan, given, ANSWER_TOKENS),
        *replace_services(plan, stand_in, ask=ask_services),
        *_algorithm(plan, given, steps),
        Change("hardware", {"accelerator": "cpu", "workers": workers}, "this machine"),
        *_run(plan, given),
        *_verl(plan, given),
    ]
    return Shrunk(tuple(changes), (*_left_out(plan, given), *unasked(plan, ask=ask_services)))


def _agent(plan: Plan, given: Given, model: str | None, byte_tokens: bool) -> Iterator[Change]:
    if model is not None:
        yield Change("agent.model.path", model, "the same family, two layers deep, with random weights")
        routes = [f"agent.model.{part}" for part in MODEL_PARTS_OF_GPUS]
        yield from given.drop(*routes, why="belongs to the whole model or to GPUs")
    yield from _adapters(plan)
    prompt, response = (int(plan.get(f"agent.limits.{name}_tokens", 512)) for name in ("prompt", "response"))
    stretch = TOKENS_PER_BYTE_TOKEN if byte_tokens else 1
    talk = BYTE_CONVERSATION_TOKENS if byte_tokens else CONVERSATION_TOKENS
    most = talk if plays_turns(given) else 2 * ANSWER_TOKENS if has_turns(given) else ANSWER_TOKENS
    if prompt * stretch > PROMPT_TOKENS or byte_tokens:
        limit = max(PROMPT_TOKENS, min(prompt * stretch, 2 * PROMPT_TOKENS))
        yield Change("agent.limits.prompt_tokens", limit, "a small model's context; bytes stand for tokens")
    if response > most:
        yield Change("agent.limits.response_tokens", most, "a random model answers without end")
    if plays_turns(given):
        yield from _turns(plan)
    yield from given.drop("agent.workers", "agent.limits.filter_workers", why="one process drives the agents")


def _adapters(plan: Plan) -> Iterator[Change]:
    """LoRA stays, with a small rank; names of modules are those of the engine they were written for."""
    lora = plan.experiment.agent.model.lora
    if lora is None:
        return
    rank = min(lora.rank or RANK, RANK)
    alpha = rank * 2 if lora.alpha is None or lora.rank is None else max(1, lora.alpha * rank // lora.rank)
    small = {"rank": rank, "alpha": alpha, "merge": True}
    if plan.get("hardware.train.engine") in CPU_ENGINES:
        small |= {name: value for name in ("targets", "exclude") if (value := getattr(lora, name)) is not None}
    yield Change("agent.model.lora", small, "a small model's rank; transformers takes merged weights")


def _turns(plan: Plan) -> Iterator[Change]:
    """A random model never ends a turn, so each is cut: the next ones would not be reached."""
    if int(plan.get("agent.turns.max") or TURNS + 1) > TURNS:
        yield Change("agent.turns.max", TURNS, "a few turns show what all do")
    if int(plan.get("agent.turns.tokens") or TURN_TOKENS + 1) > TURN_TOKENS:
        yield Change("agent.turns.tokens", TURN_TOKENS, "a random model ends no turn by itself")


def plays_turns(given: Given) -> bool:
    """True when the agent loop of orbiter-spec runs, which can cut a turn; verl's own lets a model talk on."""
    return given.has("agent.environment") or given.has("agent.tools")


def has_turns(given: Given) -> bool:
    """True when answers come in several turns."""
    routes = ("agent.turns", "agent.environment", "agent.tools", "agent.tool_config", "agent.function_tools")
    return any(given.has(route) for route in routes)


def _dataset(plan: Plan, given: Given) -> Iterator[Change]:
    dataset = plan.experiment.dataset
    few = "a few rows show what all do"
    if dataset.prepared:
        yield Change("dataset.limit", ROWS, few)
    else:
        yield from _limits("dataset.train", dataset.train, ROWS, few)
        yield from given.drop("dataset.limit", why=few)
        yield from _validation_limits(dataset.validation, few)
    yield from given.drop("dataset.loader_workers", "dataset.shared_memory", why="nothing is gained from it here")


def _limits(route: str, sources: Any, rows: int, why: str) -> Iterator[Change]:
    """A limit on each source, unless it has a smaller one."""
    listed = sources if isinstance(sources, list) else [sources]
    for index, source in enumerate(listed):
        if source.limit is None or source.limit > rows:
            own = f"{route}[{index}]" if isinstance(sources, list) else route
            yield Change(f"{own}.limit", rows, why)


def _validation_limits(validation: Any, why: str) -> Iterator[Change]:
    if isinstance(validation, list):
        yield from _limits("dataset.validation", validation, VALIDATION_ROWS, why)
    elif validation is not None and validation.fraction is not None:
        yield Change("dataset.validation.fraction", max(VALIDATION_SHARE, validation.fraction), "leaves a row or two")
        yield Change("dataset.validation.limit", VALIDATION_ROWS, why)
    elif validation is not None:
        yield Change("dataset.validation.limit", VALIDATION_ROWS, why)


def _algorithm(plan: Plan, given: Given, steps: int) -> Iterator[Change]:
    samples = int(plan.get("algorithm.batch.samples_per_prompt", 1))
    prompts = int(plan.get("algorithm.batch.prompts", PROMPTS))
    halves = int(plan.get("algorithm.batch.minibatch", prompts)) < prompts
    batch = {
        "prompts": PROMPTS,
        "samples_per_prompt": min(samples, SAMPLES),
        "minibatch": PROMPTS // 2 if halves else PROMPTS,
    }
    yield Change("algorithm.batch", batch, "a batch that a laptop holds; as many samples and halves as it needs")
    yield Change("algorithm.steps", steps, "enough for an update, a weight sync and a save")
    yield from given.drop("algorithm.epochs", "algorithm.critic.minibatch", "algorithm.staleness", why="steps are few")
    if given.has("algorithm.critic.model"):
        yield Change("algorithm.critic.model", None, "the critic starts from the small model too")
    if int(plan.get("algorithm.critic.warmup_steps", 0)) > 1:
        yield Change("algorithm.critic.warmup_steps", 1, "the second step trains the actor")
    yield from _filter(plan, given)
    if plan.get("algorithm.overlong.buffer_tokens"):
        buffer = min(int(plan.get("algorithm.overlong.buffer_tokens")), ANSWER_TOKENS // 3)
        yield Change("algorithm.overlong.buffer_tokens", buffer, "answers are shorter here")
        yield from given.drop("algorithm.overlong.max_tokens", why="answers are shorter here")
    yield from given.drop("algorithm.distillation", why="teachers need an inference engine on GPUs")
    if str(plan.get("hardware.train.engine", "fsdp2")) not in CPU_ENGINES:
        yield from given.drop("algorithm.optimizer", "algorithm.critic.optimizer", why="words of another engine")


def _filter(plan: Plan, given: Given) -> Iterator[Change]:
    """Groups can only be filtered where some differ, or the run would draw new ones for ever."""
    if not plan.get("algorithm.filter_groups.enabled") and not given.has("algorithm.filter_groups"):
        return
    if tells_apart(plan):
        yield Change("algorithm.epochs", EPOCHS, "filtered groups are replaced from few rows")
    else:
        yield Change("algorithm.filter_groups.enabled", False, "all answers of a random model may score the same")


def _run(plan: Plan, given: Given) -> Iterator[Change]:
    said = "a validation before and after"
    yield Change("run.evaluate.before_training", True, said)
    yield Change("run.evaluate.samples", 1, said)
    yield from given.drop(*(f"run.evaluate.{name}" for name in ("every", "only", "limit", "batch")), why=said)
    yield from given.drop("run.evaluate.log_samples", why="trackers hear of real runs only")
    saved = "a checkpoint at the end, from a fresh start"
    yield Change("run.checkpoint.resume", "never", saved)
    yield from given.drop(*(f"run.checkpoint.{name}" for name in CHECKPOINT_PARTS), why=saved)
    yield Change("run.log", ["console"], "trackers hear of real runs only")
    yield Change("run.save_rollouts", True, "the answers are looked at")
    yield Change("run.save_validations", True, "the answers are looked at")
    yield from given.drop("run.profile", "run.trace", "run.timeline", "run.deterministic", why="costs time here")
    yield from given.drop("run.retries", why="a failure is to be seen")
    for name in unread_secrets(plan):
        yield Change(f"run.secrets.{name}", None, "it cannot be read here")


def unread_secrets(plan: Plan) -> list[str]:
    """Secrets of the spec that this machine does not have."""
    secrets = plan.experiment.run.secrets if plan.experiment.run else None
    return [name for name, secret in (secrets or {}).items() if not _is_here(name, secret)]


def _is_here(name: str, secret: Secret) -> bool:
    try:
        resolve_secrets({name: secret.model_dump(exclude_none=True)})
    except SecretMissingError:
        return False
    return True


def _verl(plan: Plan, given: Given) -> Iterator[Change]:
    overrides: Mapping[str, Any] = plan.get("verl.overrides") or {}
    kept = {key: value for key, value in overrides.items() if key.startswith(KEPT_OVERRIDES)}
    if len(kept) < len(overrides):
        yield Change("verl.overrides", kept or None, "keys of engines and machines are left out")
    yield from given.drop("verl.version", "verl.defaults", why="the installed release runs")


def _left_out(plan: Plan, given: Given) -> Iterator[LeftOut]:
    """What the spec asks for that no rehearsal shows."""
    engine, rollout = str(plan.get("hardware.train.engine")), str(plan.get("hardware.rollout.engine"))
    if engine not in CPU_ENGINES:
        yield LeftOut(f"training engine {engine}", "fsdp2 trains in its place")
    if rollout != CPU_ROLLOUT:
        yield LeftOut(f"inference engine {rollout}", f"{CPU_ROLLOUT} generates in its place")
    if not plan.on_cpu:
        yield LeftOut(f"{plan.gpus} GPUs: memory, speed, parallel sizes", "one process on a CPU; see `plan`")
    for route, what in GPU_PARTS.items():
        if given.has(route):
            yield LeftOut(what, f"{route} needs GPUs")
    if plan.get("hardware.rollout.asynchronous") or plan.get("hardware.rollout.placement") == "separate":
        yield LeftOut("generating while training", "the synchronous trainer runs here")
    if plan.get("algorithm.filter_groups.enabled") and not tells_apart(plan):
        yield LeftOut("group filtering", "all answers of a random model may score the same")
    if plan.experiment.agent.model.lora is not None and not plan.get("agent.model.lora.merge"):
        yield LeftOut("sending adapters to the engine", "merged weights are sent in their place")
    if has_turns(given) and not plays_turns(given):
        yield LeftOut("turns after the first", "a random model calls no tool of verl's own agent loop")
    for name in unread_secrets(plan):
        yield LeftOut(f"the secret {name}", "it cannot be read here")


GPU_PARTS = {
    "agent.model.mtp": "multi-token prediction",
    "rewards.model": "the reward model",
    "algorithm.distillation": "distillation from teachers",
    "hardware.train.offload": "offloading",
    "hardware.train.quantization": "quantised training",
    "hardware.rollout.quantization": "quantised generation",
    "run.profile": "profiling",
    "run.trace": "tracing",
}
