"""Expert weights that verl sends one expert at a time end up where transformers keeps them."""

from __future__ import annotations

import pytest
import torch

from orbiter_spec.runtime.packed_experts import expert_views


@pytest.mark.parametrize("kind", ["qwen3_moe", "mixtral", "deepseek_v3"])
def test_views_take_what_verl_sends(kind: str) -> None:
    pytest.importorskip("verl")
    from transformers import AutoConfig, AutoModelForCausalLM
    from verl.workers.engine.fsdp.utils import unfuse_moe_params

    sizes = {"hidden_size": 16, "intermediate_size": 24, "moe_intermediate_size": 8, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 32}
    experts = {"num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2}
    groups = {"n_group": 1, "topk_group": 1, "first_k_dense_replace": 1} if kind == "deepseek_v3" else {}
    config = AutoConfig.for_model(kind, **sizes, **heads, **experts, **groups)
    sender, taker = (AutoModelForCausalLM.from_config(config) for _ in range(2))
    slots = dict(taker.state_dict())
    views = expert_views(slots)
    assert views
    every = slots | {name: view for part in views.values() for name, view in part.items()}
    sent = dict(unfuse_moe_params(sender.state_dict().items(), kind))
    assert not sent.keys() & views.keys()
    for name, value in sent.items():
        every[name].copy_(value)
    assert all(torch.equal(value, taker.state_dict()[name]) for name, value in sender.state_dict().items())


def test_a_dense_model_has_none() -> None:
    assert expert_views({"model.layers.0.mlp.gate_proj.weight": torch.zeros(4, 4)}) == {}
