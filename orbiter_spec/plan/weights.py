"""The weights of a model, tensor by tensor, from the fields of its config.json.

A count alone would not do: FSDP2 shards every tensor along its rows and pads what does not divide, LoRA adds rank times
(rows + columns) to each linear layer, tensor parallelism leaves norms whole. So an architecture is said as a row of
traits and unrolled into tensors; each group of equal tensors is one `Weight`. Experts are the three-dimensional tensors
that transformers 5 makes of them: rows are experts.

An architecture that has no row here is unknown, and an unknown is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Weight:
    """`count` equal tensors of `rows` x `columns` parameters; `linear` ones take a LoRA adapter.

    `kind` is embedding, head, attention, mlp, expert, router, norm or vision.
    """

    kind: str
    rows: int
    columns: int = 1
    count: int = 1
    linear: bool = False

    @property
    def parameters(self) -> int:
        """Parameters of all `count` tensors."""
        return self.rows * self.columns * self.count


@dataclass(frozen=True, slots=True)
class Traits:
    """How one architecture differs from Llama. A string names the config field that says whether a bias is there."""

    qkv_bias: bool | str = False
    output_bias: bool | str = False
    mlp_bias: bool | str = False
    head_bias: bool = False
    norm_bias: bool = False
    norms: int = 2
    query_norm: str = ""
    gated: bool = True
    fused_qkv: bool = False
    fused_gate: bool = False
    latent: bool = False
    sinks: bool = False
    expert_bias: bool = False
    shared_gate: bool = False
    always_sparse: bool = False


QUERY_NORM = "per head"
WIDE_QUERY_NORM = "all heads"

ARCHITECTURES: Mapping[str, Traits] = {
    "llama": Traits(qkv_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias"),
    "smollm3": Traits(qkv_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias"),
    "mistral": Traits(),
    "mixtral": Traits(always_sparse=True),
    "qwen2": Traits(qkv_bias=True),
    "qwen2_moe": Traits(qkv_bias="qkv_bias", shared_gate=True),
    "qwen3": Traits(qkv_bias="attention_bias", output_bias="attention_bias", query_norm=QUERY_NORM),
    "qwen3_moe": Traits(qkv_bias="attention_bias", output_bias="attention_bias", query_norm=QUERY_NORM),
    "gemma": Traits(qkv_bias="attention_bias", output_bias="attention_bias"),
    "gemma2": Traits(qkv_bias="attention_bias", output_bias="attention_bias", norms=4),
    "gemma3_text": Traits(qkv_bias="attention_bias", output_bias="attention_bias", norms=4, query_norm=QUERY_NORM),
    "phi": Traits(qkv_bias=True, output_bias=True, mlp_bias=True, head_bias=True, norm_bias=True, norms=1, gated=False),
    "phi3": Traits(fused_qkv=True, fused_gate=True),
    "olmo2": Traits(qkv_bias="attention_bias", output_bias="attention_bias", query_norm=WIDE_QUERY_NORM),
    "glm4": Traits(qkv_bias="attention_bias", norms=4, fused_gate=True),
    "glm4_moe": Traits(qkv_bias="attention_bias", query_norm="use_qk_norm"),
    "deepseek_v2": Traits(latent=True),
    "deepseek_v3": Traits(latent=True),
    "gpt_oss": Traits(
        qkv_bias="attention_bias", output_bias="attention_bias", sinks=True, expert_bias=True, always_sparse=True
    ),
}
ON_BY_DEFAULT = {"qwen2_moe": {"qkv_bias"}, "gpt_oss": {"attention_bias"}}


def text_weights(config: Config) -> Iterator[Weight]:
    """All tensors of the language model in `config`, whose `model_type` is in ARCHITECTURES."""
    traits = ARCHITECTURES[config["model_type"]]
    hidden, vocab, layers = config["hidden_size"], config["vocab_size"], config["num_hidden_layers"]
    yield Weight("embedding", vocab, hidden)
    if not config.get("tie_word_embeddings"):
        yield Weight("head", vocab, hidden)
    if traits.head_bias:
        yield Weight("head", vocab)
    yield Weight("norm", hidden, count=(layers * traits.norms + 1) * (2 if traits.norm_bias else 1))
    yield from _latent_attention(config, layers) if traits.latent else _attention(config, traits, layers)
    sparse = _sparse_layers(config, traits)
    yield from _mlp(config["intermediate_size"], config, traits, layers - sparse)
    if sparse:
        yield from _experts(config, traits, sparse)


def expert_count(config: Config) -> int:
    """Routed experts of one sparse layer; 0 for a dense model."""
    names = ("num_experts", "num_local_experts", "n_routed_experts")
    return int(next((config[name] for name in names if config.get(name)), 0))


def head_size(config: Config) -> int:
    """Width of one attention head."""
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def key_value_heads(config: Config) -> int:
    """Heads of keys and values."""
    return int(config.get("num_key_value_heads") or config["num_attention_heads"])


def cache_width(config: Config) -> int:
    """Numbers that the KV cache keeps per token and layer."""
    if ARCHITECTURES[config["model_type"]].latent:
        return int(config["kv_lora_rank"]) + int(config["qk_rope_head_dim"])
    return 2 * key_value_heads(config) * head_size(config)


def _has(flag: bool | str, config: Config) -> bool:
    if isinstance(flag, bool):
        return flag
    return bool(config.get(flag, flag in ON_BY_DEFAULT.get(config["model_type"], ())))


def _linear(kind: str, rows: int, columns: int, count: int, bias: bool = False) -> Iterator[Weight]:
    if count and rows:
        yield Weight(kind, rows, columns, count, linear=True)
        if bias:
            yield Weight(kind, rows, count=count)


def _attention(config: Config, traits: Traits, layers: int) -> Iterator[Weight]:
    hidden, size = config["hidden_size"], head_size(config)
    queries, keys = config["num_attention_heads"] * size, key_value_heads(config) * size
    bias = _has(traits.qkv_bias, config)
    if traits.fused_qkv:
        yield from _linear("attention", queries + 2 * keys, hidden, layers, bias)
    else:
        yield from _linear("attention", queries, hidden, layers, bias)
        yield from _linear("attention", keys, hidden, 2 * layers, bias)
    yield from _linear("attention", hidden, queries, layers, _has(traits.output_bias, config))
    if traits.query_norm == WIDE_QUERY_NORM:
        yield Weight("norm", queries, count=layers)
        yield Weight("norm", keys, count=layers)
    elif traits.query_norm == QUERY_NORM or config.get(traits.query_norm):
        yield Weight("norm", size, count=2 * layers)
    if traits.sinks:
        yield Weight("attention", config["num_attention_heads"], count=layers)


def _latent_attention(config: Config, layers: int) -> Iterator[Weight]:
    """DeepSeek's attention: queries, keys and values pass through a narrow latent."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    rotary, plain, value = (config[name] for name in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
    bias = bool(config.get("attention_bias"))
    narrow, latent = config.get("q_lora_rank"), config["kv_lora_rank"]
    if narrow:
        yield from _linear("attention", narrow, hidden, layers, bias)
        yield Weight("norm", narrow, count=layers)
    yield from _linear("attention", heads * (rotary + plain), narrow or hidden, layers)
    yield from _linear("attention", latent + rotary, hidden, layers, bias)
    yield Weight("norm", latent, count=layers)
    yield from _linear("attention", heads * (plain + value), latent, layers)
    yield from _linear("attention", hidden, heads * value, layers, bias)


def _mlp(width: int, config: Config, traits: Traits, count: int) -> Iterator[Weight]:
    hidden, bias = config["hidden_size"], _has(traits.mlp_bias, config)
    if traits.fused_gate:
        yield from _linear("mlp", 2 * width, hidden, count, bias)
    else:
        yield from _linear("mlp", width, hidden, count * (2 if traits.gated else 1), bias)
    yield from _linear("mlp", hidden, width, count, bias)


def _sparse_layers(config: Config, traits: Traits) -> int:
    layers = int(config["num_hidden_layers"])
    if not expert_count(config):
        return 0
    if traits.always_sparse:
        return layers
    if "first_k_dense_replace" in config:
        return layers - int(config["first_k_dense_replace"])
    step, dense = int(config.get("decoder_sparse_step", 1)), config.get("mlp_only_layers") or ()
    return sum(layer not in dense and (layer + 1) % step == 0 for layer in range(layers))


def _experts(config: Config, traits: Traits, layers: int) -> Iterator[Weight]:
    hidden, experts = config["hidden_size"], expert_count(config)
    width = config.get("moe_intermediate_size") or config["intermediate_size"]
    yield Weight("expert", experts, 2 * width * hidden, layers)
    yield Weight("expert", experts, hidden * width, layers)
    yield Weight("router", experts, hidden, layers)
    if traits.expert_bias:
        yield Weight("expert", experts, 2 * width, layers)
        yield Weight("expert", experts, hidden, layers)
        yield Weight("router", experts, count=layers)
    shared = config.get("shared_expert_intermediate_size") or width * int(config.get("n_shared_experts") or 0)
    if shared:
        yield from _mlp(shared, config, traits, layers)
    if traits.shared_gate:
        yield from _linear("mlp", 1, hidden, layers)
