"""verl's FSDP2 engine, registered for the device `cpu`.

Three things in verl's engine assume an accelerator, and each can be answered in a subclass:

* attention is `flash_attention_2` unless `model.override_config.attn_implementation` says otherwise; there is no such
  kernel for a CPU, so that name means torch's own (`sdpa`) here. Packed sequences (`use_remove_padding`) need it too
  and are refused;
* a forward-only engine (the reference model) gets `CPUOffloadPolicy(pin_memory=True)`; pinning needs an accelerator,
  and on a CPU there is nothing to offload to, so the policy is left out;
* the critic is loaded with `flash_attention_2` by name; here it takes the attention its configuration names. The value
  head does not come from the checkpoint, so it is drawn from the engine's seed: the same on each run.

Strategy `fsdp` (FSDP1) is not registered: verl then says that no engine exists for the device.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from verl.utils import model as verl_model
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp import transformer_impl
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead, FSDPEngineWithValueHead

from orbiter_spec.runtime.moved import require
from orbiter_spec.runtime.threads import set_threads

FLASH_ATTENTION, CPU_ATTENTION = "flash_attention_2", "sdpa"


@contextmanager
def replaced(module: ModuleType, name: str, value: Any) -> Iterator[None]:
    """`module.name` is `value` inside the block."""
    original = require(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, original)


class _CpuFsdp:
    """The part common to both engines."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.use_remove_padding:  # type: ignore[attr-defined]
            raise ValueError("packed sequences need flash attention: set model.use_remove_padding=False on the CPU")

    def _build_module(self) -> Any:
        config = self.model_config.hf_config  # type: ignore[attr-defined]
        if config._attn_implementation in (None, FLASH_ATTENTION):
            config._attn_implementation = CPU_ATTENTION
        return super()._build_module()  # type: ignore[misc]

    def _build_fsdp_module(self, module: torch.nn.Module) -> Any:
        set_threads(module, processes=int(os.environ.get("RAY_LOCAL_WORLD_SIZE", "1")))
        with replaced(transformer_impl, "CPUOffloadPolicy", lambda **_: None):
            built = super()._build_fsdp_module(module)  # type: ignore[misc]
        self._uses_fsdp2_cpu_offload_policy = False
        return built


@EngineRegistry.register(model_type="language_model", backend="fsdp2", device="cpu")
class CpuEngineWithLMHead(_CpuFsdp, FSDPEngineWithLMHead):  # type: ignore[misc]
    """Actor and reference model."""


@EngineRegistry.register(model_type="value_model", backend="fsdp2", device="cpu")
class CpuEngineWithValueHead(_CpuFsdp, FSDPEngineWithValueHead):  # type: ignore[misc]
    """Critic."""

    def _build_module(self) -> Any:
        def load(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
            return load_value_model(local_path, torch_dtype, model_config, trust_remote_code, self.engine_config.seed)

        with replaced(verl_model, "load_valuehead_model", load):
            return super()._build_module()


def load_value_model(
    local_path: str, torch_dtype: torch.dtype, model_config: Any, trust_remote_code: bool, seed: int
) -> Any:
    """A token classifier with one label: the model's body and a value head drawn from `seed`."""
    from transformers import AutoModelForTokenClassification

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AutoModelForTokenClassification.from_pretrained(
            local_path,
            dtype=torch_dtype,
            config=model_config,
            attn_implementation=model_config._attn_implementation,
            trust_remote_code=trust_remote_code,
        )
