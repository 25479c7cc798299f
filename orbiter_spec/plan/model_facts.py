"""What is known about a model before its weights are: the fields of config.json, and parameter counts by formula."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Sizes of one model. Parameters are counts, not bytes; `dtype` is how the weights are published.

    `active_parameters` are those a token passes through, the same as `parameters` for a dense model. `source` names
    the file, or the shipped table, that the facts come from.
    """

    architecture: str
    parameters: int
    embedding_parameters: int
    active_parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    intermediate: int
    experts: int
    tied_embeddings: bool
    dtype: str
    source: str
