"""What becomes of `rewards` in a rehearsal: the parts stay, and one is added in which random answers differ.

A random model is never right. Where every answer of a group scores the same, the advantages and with them the gradient
are zero, and the loss would be shown by nothing but its name. So a part of small weight is added that tells random
answers apart; the scores of the spec's own parts are reported as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rehearse.changes import Change, Given

DIFFERENCE = "rehearsal"
"""Name of the part that tells random answers apart."""
_DIFFERS = {"name": DIFFERENCE, "builtin": "character_share", "weight": 0.01, "args": {"kind": "letters"}}
_SHORTER = "length_penalty"


def shrink_rewards(plan: Plan, given: Given, answer_tokens: int) -> Iterator[Change]:
    """Changes of the rewards of a spec whose answers are cut to `answer_tokens`."""
    rewards = plan.experiment.rewards
    if given.has("rewards.model"):
        yield Change("rewards.model", None, "a reward model needs an inference engine on a GPU")
        if not rewards.parts and rewards.scorer is None:
            part = {"name": "stand_in", "builtin": _SHORTER, "args": {"target": answer_tokens // 2}}
            yield Change("rewards.parts", [part], "something has to score in the model's place")
        yield from _served_parts(plan, answer_tokens)
    if tells_apart(plan):
        why = "random answers differ in it, so that the loss has a gradient"
        yield Change(f"rewards.parts[{len(rewards.parts)}]", _DIFFERS, why)
    yield from given.drop("rewards.workers", why="one process scores")


def tells_apart(plan: Plan) -> bool:
    """True when a part is added: only a sum takes one without changing what the others mean."""
    rewards = plan.experiment.rewards
    free = DIFFERENCE not in {part.label for part in rewards.parts}
    return bool(rewards.parts) and rewards.combine in (None, "sum") and free


def _served_parts(plan: Plan, answer_tokens: int) -> Iterator[Change]:
    """Parts that ask the reward model itself; a spec that has one writes its parts under `rewards.parts`."""
    for index, part in enumerate(plan.experiment.rewards.parts):
        if part.builtin == "reward_model":
            values = {"name": part.label, "builtin": _SHORTER, "args": {"target": answer_tokens // 2}}
            for name, value in values.items():
                yield Change(f"rewards.parts[{index}].{name}", value, "something has to score in the model's place")
