"""Expert weights under both of their names.

transformers keeps the experts of a layer packed: `experts.gate_up_proj` of shape [experts, 2 x intermediate, hidden]
and `experts.down_proj` of shape [experts, hidden, intermediate]. verl sends them one expert at a time, under the names
that published checkpoints use (`unfuse_moe_params` in verl/workers/engine/fsdp/utils.py). A view into the packed tensor
takes each, so nothing is held twice.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

GATE_UP, DOWN = ".experts.gate_up_proj", ".experts.down_proj"


def expert_views(weights: Mapping[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
    """For each packed name in `weights`, the views of its parts by the names of single experts."""
    found: dict[str, dict[str, torch.Tensor]] = {}
    for name, packed in weights.items():
        if packed.dim() != 3 or not name.endswith((GATE_UP, DOWN)):
            continue
        base = name.rpartition(".")[0]
        if name.endswith(DOWN):
            found[name] = {f"{base}.{index}.down_proj.weight": packed[index] for index in range(len(packed))}
        else:
            halves = zip(("gate_proj", "up_proj"), packed.chunk(2, dim=1), strict=True)
            found[name] = {
                f"{base}.{index}.{half}.weight": part[index] for half, part in halves for index in range(len(packed))
            }
    return found
