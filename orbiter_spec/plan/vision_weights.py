"""The vision towers of the vision-language models we know, and the text model inside each.

A tower is small beside its language model, and verl trains or freezes it whole; its tensors are listed all the same,
so that counts come out exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from orbiter_spec.plan.weights import Config, Weight

INNER_TEXT = {
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "gemma3": "gemma3_text",
}


def text_config(config: Config) -> Config:
    """The language model's own fields: nested ones over the outer ones, under the architecture that it is."""
    kind = config.get("model_type")
    if kind not in INNER_TEXT:
        return config
    merged = {**config, **(config.get("text_config") or {}), "model_type": INNER_TEXT[kind]}
    if "tie_word_embeddings" in config:
        merged["tie_word_embeddings"] = config["tie_word_embeddings"]
    return merged


def vision_weights(config: Config) -> Iterator[Weight]:
    """The tensors of the vision tower; none for a model without one."""
    tower = TOWERS.get(config.get("model_type", ""))
    if tower is not None:
        yield from tower(config["vision_config"], text_config(config)["hidden_size"])


def _linear(rows: int, columns: int, count: int = 1) -> Iterator[Weight]:
    yield Weight("vision", rows, columns, count, linear=True)
    yield Weight("vision", rows, count=count)


def _qwen2(vision: Config, text_hidden: int) -> Iterator[Weight]:
    width, depth = vision.get("embed_dim", 1280), vision.get("depth", 32)
    yield _patches(vision, width)
    yield Weight("vision", width, count=4 * depth)
    yield from _block_attention(width, depth)
    yield from _linear(int(width * vision.get("mlp_ratio", 4)), width, depth)
    yield from _linear(width, int(width * vision.get("mlp_ratio", 4)), depth)
    yield Weight("vision", width, count=2)
    yield from _merger(vision, width, text_hidden)


def _qwen2_5(vision: Config, text_hidden: int) -> Iterator[Weight]:
    width, depth, inner = vision.get("hidden_size", 1280), vision.get("depth", 32), vision["intermediate_size"]
    yield _patches(vision, width)
    yield Weight("vision", width, count=2 * depth + 1)
    yield from _block_attention(width, depth)
    yield from _linear(inner, width, 2 * depth)
    yield from _linear(width, inner, depth)
    yield from _merger(vision, width, text_hidden)


def _qwen3(vision: Config, text_hidden: int) -> Iterator[Weight]:
    width, depth, inner = vision["hidden_size"], vision["depth"], vision["intermediate_size"]
    merged = width * vision.get("spatial_merge_size", 2) ** 2
    deep = len(vision.get("deepstack_visual_indexes", (8, 16, 24)))
    yield _patches(vision, width)
    yield Weight("vision", width)
    yield Weight("vision", vision.get("num_position_embeddings", 2304), width)
    yield Weight("vision", width, count=4 * depth + 2)
    yield from _block_attention(width, depth)
    yield from _linear(inner, width, depth)
    yield from _linear(width, inner, depth)
    yield Weight("vision", merged, count=2 * deep)
    yield from _linear(merged, merged, 1 + deep)
    yield from _linear(text_hidden, merged, 1 + deep)


def _siglip(vision: Config, text_hidden: int) -> Iterator[Weight]:
    width, depth, inner = vision["hidden_size"], vision["num_hidden_layers"], vision["intermediate_size"]
    patch = vision["patch_size"]
    yield Weight("vision", width, 3 * patch * patch)
    yield Weight("vision", width)
    yield Weight("vision", (vision["image_size"] // patch) ** 2, width)
    yield Weight("vision", width, count=4 * depth + 2)
    yield from _linear(width, width, 4 * depth)
    yield from _linear(inner, width, depth)
    yield from _linear(width, inner, depth)
    if vision.get("vision_use_head", True):
        yield Weight("vision", width, count=3)
        yield from _linear(3 * width, width)
        yield from _linear(width, width)
        yield from _linear(inner, width)
        yield from _linear(width, inner)
    yield Weight("vision", width, text_hidden)
    yield Weight("vision", width)


def _patches(vision: Config, width: int) -> Weight:
    patch = vision.get("patch_size", 14)
    channels = vision.get("in_channels", vision.get("in_chans", 3))
    return Weight("vision", width, channels * vision.get("temporal_patch_size", 2) * patch * patch)


def _block_attention(width: int, depth: int) -> Iterator[Weight]:
    yield from _linear(3 * width, width, depth)
    yield from _linear(width, width, depth)


def _merger(vision: Config, width: int, text_hidden: int) -> Iterator[Weight]:
    merged = width * vision.get("spatial_merge_size", 2) ** 2
    yield from _linear(merged, merged)
    yield from _linear(text_hidden, merged)


TOWERS: Mapping[str, Callable[[Config, int], Iterator[Weight]]] = {
    "qwen2_vl": _qwen2,
    "qwen2_5_vl": _qwen2_5,
    "qwen3_vl": _qwen3,
    "qwen3_vl_moe": _qwen3,
    "gemma3": _siglip,
}
