"""path or class name that verl takes as it is written

## What it checks

Paths of models, rows, tools and code do not begin with `~`, and those of checkpoints and samples neither; what is
resumed from, or saved to, is no `hdfs://` address. A class that is named whole has a module before its name. A manager
of rewards that is imported is named by `reward.reward_manager.name`.

## Why it matters

verl expands no `~`: code and rows are not found, a model is taken for a repository, and output goes to a folder that
is called `~`. Checkpoints live on local disks in this trainer, so an hdfs address becomes a local folder's name. The
`module.name` beside the manager's file is read by nothing, and a name without its module is refused.

## Bad

```yaml
reward.custom_reward_function.path: ~/rewards.py
```

## Good

```yaml
reward.custom_reward_function.path: /home/me/rewards.py
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

MODEL, ROLLOUT, MANAGER = "actor_rollout_ref.model", "actor_rollout_ref.rollout", "reward.reward_manager"
READ: tuple[str, ...] = (
    f"{MODEL}.path",
    f"{MODEL}.tokenizer_path",
    f"{MODEL}.hf_config_path",
    f"{MODEL}.lora_adapter_path",
    "reward.reward_model.model_path",
    "reward.custom_reward_function.path",
    f"{MANAGER}.module.path",
    "data.train_files",
    "data.val_files",
    "data.custom_cls.path",
    f"{ROLLOUT}.multi_turn.tool_config_path",
    f"{ROLLOUT}.multi_turn.function_tool_path",
    f"{ROLLOUT}.agent.agent_loop_config_path",
    "trainer.v1.sampler.custom_sampler.path",
)
DEFAULTS = (
    "~/models/deepseek-llm-7b-chat",
    "~/data/rlhf/gsm8k/train.parquet",
    "~/data/rlhf/gsm8k/test.parquet",
)
"""verl's own stand-ins, which say that nothing was written."""
WRITTEN = ("trainer.default_local_dir", "trainer.rollout_data_dir", "trainer.validation_data_dir")
CLASSES = ("trainer.checkpoint_callback_class", f"{ROLLOUT}.agent.agent_loop_manager_class")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each path, then at the names."""
    for key in (*READ, "critic.model.path") if uses_critic(settings) else READ:
        for path in _texts(settings.get(key)):
            if path.startswith("~") and path not in DEFAULTS:
                yield KeyFinding(key, f"{path!r}, and verl expands no ~", "write the folder's whole path")
    for key in WRITTEN:
        for path in _texts(settings.get(key)):
            if path.startswith(("~", "hdfs://")):
                note = f"{path!r} becomes a folder of this name where verl was started"
                yield KeyFinding(key, note, "write the whole path of a local folder", severity=Severity.WARNING)
    resumed = settings.get("trainer.resume_from_path")
    if settings.get("trainer.resume_mode") == "resume_path" and str(resumed).startswith(("~", "hdfs://")):
        note = f"{resumed!r} is looked for as a local folder of this name"
        yield KeyFinding("trainer.resume_from_path", note, "copy it, and write the whole path of the local folder")
    for key in CLASSES:
        name = settings.get(key)
        if isinstance(name, str) and name and "." not in name:
            yield KeyFinding(key, f"{name!r} has no module", f"write package.module.{name}")
    yield from _manager(settings)


def _manager(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """The class of an imported manager goes by the manager's own name."""
    inner, name = settings.get(f"{MANAGER}.module.name"), settings.get(f"{MANAGER}.name", "naive")
    if settings.get(f"{MANAGER}.source") != "importlib" or inner in (None, "custom_reward_manager", name):
        return
    note = f"{inner!r} is read by nothing; {name!r} is looked for in the file"
    related = ((f"{MANAGER}.name", f"{name}"),)
    severity = Severity.ERROR if name == "naive" else Severity.WARNING
    yield KeyFinding(
        f"{MANAGER}.module.name", note, f"set {MANAGER}.name to {inner}", related=related, severity=severity
    )


def _texts(value: Any) -> Iterator[str]:
    yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))
