"""verl's part inside vLLM's worker, with weights that can be loaded again.

vLLM's linear layers for a CPU pack their weights for oneDNN, or for AMX, and drop the originals. verl sends new
weights after every step, and there would be nothing left to load them into: the worker raises, and verl's sender waits
for ever. With both packings off the layers keep their weights and use torch's own product.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

from orbiter_spec.runtime.moved import require


def keep_weights() -> None:
    """Turn both packings off in this process. Raises ImportError when vLLM's code has moved."""
    packings = (
        ("vllm._custom_ops", "_supports_onednn", False),
        ("vllm.model_executor.layers.utils", "check_cpu_sgl_kernel", lambda *_, **__: False),
    )
    for module_name, name, off in packings:
        module = import_module(module_name)
        require(module, name)
        setattr(module, name, off)


class CpuVllmWorker(vLLMColocateWorkerExtension):  # type: ignore[misc]
    """Mixed into vLLM's worker class before the model is loaded."""

    def __new__(cls, **kwargs: Any) -> Any:
        """Prepare the process, then verl's own preparation."""
        keep_weights()
        return super().__new__(cls, **kwargs)
