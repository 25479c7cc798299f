"""What changes in a spec to run it here, change by change.

Everything that decides whether parts fit together stays: prompts, rewards, tools, environments, the algorithm with its
loss. What costs is cut: the model, the machines, batches, rows and answers. What only a GPU or another machine can do
is left out and said, never silently replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orbiter_spec.plan.model import Plan

STEPS = 2
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
MODEL_PARTS_OF_GPUS = (
    "tokenizer",
    "config",
    "lora",
    "attention",
    "config_overrides",
    "shared_memory",
    "fused_kernel_backend",
    "mlp_shards",
    "freeze_vision",
    "mtp",
)


@dataclass(frozen=True, slots=True)
class Change:
    """A value laid over the spec, and why; the same as `--set route=value`."""

    route: str
    value: Any
    why: str

    @property
    def argument(self) -> str:
        """The change as an argument of `--set`; a value of None takes back what was written. JSON is YAML."""
        return f"{self.route}=" + ("" if self.value is None else json.dumps(self.value, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of the spec that this rehearsal cannot exercise, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Shrunk:
    """How a spec is made small."""

    changes: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """Arguments of `--set`."""
        return tuple(change.argument for change in self.changes)


def shrink(plan: Plan, model: str | None, *, byte_tokens: bool, steps: int = STEPS, workers: int = 1) -> Shrunk:
    """The changes that make the planned spec run here in about a minute.

    `model` is the folder of the small model, None to keep the spec's own. `byte_tokens` says that a byte-level
    tokenizer stands in for the model's, whose texts are about four times as long. `workers` are training processes.
    """
    given = Given(plan.given)
    changes = [
        Change("name", f"{plan.experiment.name[:90]}-rehearsal", "its runs are told apart"),
        *_agent(plan, given, model, byte_tokens),
        *_dataset(plan, given),
        *_rewards(plan, given),
        *_algorithm(plan, given, steps),
        Change("hardware", {"accelerator": "cpu", "workers": workers}, "this machine"),
        *_run(given),
        *_verl(plan, given),
    ]
    return Shrunk(tuple(changes), tuple(_left_out(plan, given)))


class Given:
    """Which parts of a spec its author wrote."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._heads = {route[: len(route) - len(tail)] for route in values for tail in _tails(route)}

    def has(self, route: str) -> bool:
        """True when `route` or anything inside it was written."""
        return route in self._values or route in self._heads

    def drop(self, *routes: str, why: str) -> Iterator[Change]:
        """Take back what was written under `routes`."""
        return (Change(route, None, why) for route in routes if self.has(route))


def _tails(route: str) -> Iterator[str]:
    """Every part of `route` that may be cut off at its end, with the dot or bracket before it."""
    return (route[index:] for index, letter in enumerate(route) if letter in ".[")


def _agent(plan: Plan, given: Given, model: str | None, byte_tokens: bool) -> Iterator[Change]:
    if model is not None:
        yield Change("agent.model.path", model, "the same family, two layers deep, with random weights")
        routes = [f"agent.model.{part}" for part in MODEL_PARTS_OF_GPUS]
        yield from given.drop(*routes, why="belongs to the whole model or to GPUs")
    prompt, response = (int(plan.get(f"agent.limits.{name}_tokens", 512)) for name in ("prompt", "response"))
    stretch = TOKENS_PER_BYTE_TOKEN if byte_tokens else 1
    talk = BYTE_CONVERSATION_TOKENS if byte_tokens else CONVERSATION_TOKENS
    most = talk if has_turns(given) else ANSWER_TOKENS
    if prompt * stretch > PROMPT_TOKENS or byte_tokens:
        limit = max(PROMPT_TOKENS, min(prompt * stretch, 2 * PROMPT_TOKENS))
        yield Change("agent.limits.prompt_tokens", limit, "a small model's context; bytes stand for tokens")
    if response > most:
        yield Change("agent.limits.response_tokens", most, "a random model answers without end")
    if given.has("agent.environment") or given.has("agent.tools"):
        yield from _turns(plan)
    yield from given.drop("agent.workers", "agent.limits.filter_workers", why="one process drives the agents")


def _turns(plan: Plan) -> Iterator[Change]:
    """A random model never ends a turn, so each is cut: the next ones would not be reached."""
    if int(plan.get("agent.turns.max") or TURNS + 1) > TURNS:
        yield Change("agent.turns.max", TURNS, "a few turns show what all do")
    if int(plan.get("agent.turns.tokens") or TURN_TOKENS + 1) > TURN_TOKENS:
        yield Change("agent.turns.tokens", TURN_TOKENS, "a random model ends no turn by itself")


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


def _rewards(plan: Plan, given: Given) -> Iterator[Change]:
    if given.has("rewards.model"):
        yield Change("rewards.model", None, "a reward model needs an inference engine on a GPU")
        if not plan.experiment.rewards.parts and plan.experiment.rewards.scorer is None:
            part = {"name": "stand_in", "builtin": "length_penalty", "args": {"target": ANSWER_TOKENS // 2}}
            yield Change("rewards.parts", [part], "something has to score in the model's place")
        yield from _served_parts(plan)
    yield from given.drop("rewards.workers", why="one process scores")


def _served_parts(plan: Plan) -> Iterator[Change]:
    """Parts that ask the reward model; a spec that has one writes its parts under `rewards.parts`."""
    for index, part in enumerate(plan.experiment.rewards.parts):
        judged = part.judge is not None and part.judge.address is None
        if judged or part.builtin == "reward_model":
            why = "something has to score in the model's place"
            values = {"name": part.label, "builtin": "length_penalty", "args": {"target": ANSWER_TOKENS // 2}}
            for name, value in {**values, **({"judge": None} if judged else {})}.items():
                yield Change(f"rewards.parts[{index}].{name}", value, why)


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
    if given.has("algorithm.filter_groups"):
        yield Change("algorithm.filter_groups", None, "all answers of a random model may score the same")
    if given.has("algorithm.overlong") or plan.get("algorithm.overlong.buffer_tokens"):
        buffer = min(int(plan.get("algorithm.overlong.buffer_tokens", ANSWER_TOKENS)), ANSWER_TOKENS // 3)
        yield Change("algorithm.overlong", {"buffer_tokens": buffer}, "answers are shorter here")
    yield from given.drop("algorithm.distillation", why="teachers need an inference engine on GPUs")
    if str(plan.get("hardware.train.engine", "fsdp2")) not in CPU_ENGINES:
        yield from given.drop("algorithm.optimizer", "algorithm.critic.optimizer", why="words of another engine")


def _run(given: Given) -> Iterator[Change]:
    kept = {"before_training": True, "samples": 1, "log_samples": 0}
    yield Change("run.evaluate", kept, "a validation before and after")
    yield Change("run.checkpoint", {"resume": "never"}, "a checkpoint at the end, from a fresh start")
    yield Change("run.log", ["console"], "trackers hear of real runs only")
    yield Change("run.save_rollouts", True, "the answers are looked at")
    yield Change("run.save_validations", True, "the answers are looked at")
    yield from given.drop("run.profile", "run.trace", "run.timeline", "run.deterministic", why="costs time here")


def _verl(plan: Plan, given: Given) -> Iterator[Change]:
    overrides: Mapping[str, Any] = plan.get("verl.overrides") or {}
    kept = {key: value for key, value in overrides.items() if key.startswith(KEPT_OVERRIDES)}
    if len(kept) < len(overrides):
        yield Change("verl.overrides", kept or None, "keys of engines and machines are left out")
    yield from given.drop("verl.version", "verl.defaults", why="the installed release runs")


def _left_out(plan: Plan, given: Given) -> Iterator[LeftOut]:
    """What the spec asks for that no rehearsal shows."""
    if plan.on_cpu:
        return
    engine, rollout = plan.get("hardware.train.engine"), plan.get("hardware.rollout.engine")
    if engine not in CPU_ENGINES:
        yield LeftOut(f"training engine {engine}", "fsdp2 trains in its place")
    yield LeftOut(f"inference engine {rollout}", "transformers generates in its place")
    yield LeftOut(f"{plan.gpus} GPUs: memory, speed, parallel sizes", "one process on a CPU; see `plan`")
    for route, what in GPU_PARTS.items():
        if given.has(route):
            yield LeftOut(what, f"{route} needs GPUs")
    if plan.get("hardware.rollout.asynchronous") or plan.get("hardware.rollout.placement") == "separate":
        yield LeftOut("generating while training", "the synchronous trainer runs here")
    if given.has("algorithm.filter_groups") or plan.get("algorithm.filter_groups.enabled"):
        yield LeftOut("group filtering", "all answers of a random model may score the same")


GPU_PARTS = {
    "agent.model.lora": "LoRA adapters",
    "agent.model.mtp": "multi-token prediction",
    "rewards.model": "the reward model",
    "algorithm.distillation": "distillation from teachers",
    "hardware.train.offload": "offloading",
    "hardware.train.quantization": "quantised training",
    "hardware.rollout.quantization": "quantised generation",
    "run.profile": "profiling",
    "run.trace": "tracing",
}
