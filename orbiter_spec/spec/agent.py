"""`agent`: the model that is trained, what it is asked, and how it answers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.agent_code import Environment, Tool
from orbiter_spec.spec.base import Fraction, NonNegativeFloat, NonNegativeInt, PositiveInt, Section


class Lora(Section):
    """Low-rank adapters (Hu et al., arXiv:2106.09685) trained instead of the full weights."""

    rank: PositiveInt | None = Field(None, description="Rank of the update matrices. Left out: the adapter's.")
    alpha: PositiveInt | None = Field(None, description="Scaling numerator. Left out: twice the rank.")
    targets: str | list[str] | None = Field(None, description="Modules to adapt, or all-linear. Left out: all-linear.")
    exclude: str | list[str] | None = Field(None, description="Modules never adapted. Left out: none.")
    adapter: str | None = Field(None, description="Folder of an adapter to start from. Left out: a fresh one.")
    dropout: Fraction | None = Field(None, description="Dropout inside the adapter (Megatron only). Left out: 0.")
    kind: Literal["lora", "vlm_lora", "canonical_lora", "dora"] | None = Field(
        None, description="Adapter kind (Megatron only). Left out: lora."
    )
    merge: bool | None = Field(
        None,
        description="Send merged weights to the rollout instead of the adapter (FSDP and Megatron). Left out: false.",
    )
    a_init: str | None = Field(None, description="Initialisation of the A matrix (Megatron only). Left out: xavier.")
    b_init: str | None = Field(None, description="Initialisation of the B matrix (Megatron only). Left out: zero.")
    dropout_position: Literal["pre", "post"] | None = Field(
        None, description="Dropout before or after the adapter (Megatron only). Left out: pre."
    )
    dtype: str | None = Field(None, description="Type of the adapter's weights (Megatron only). Left out: the model's.")
    fully_sharded: bool | None = Field(
        None, description="Shard the adapter over the rollout's tensor-parallel group. Left out: the engine decides."
    )


class PolicyLora(Lora):
    """Adapters of the policy, which the rollout has to follow."""

    layered_summon: bool | None = Field(
        None, description="Gather adapter weights layer by layer at each sync to save GPU memory. Left out: false."
    )


class MultiTokenPrediction(Section):
    """Multi-token prediction heads: trained beside the model, or used for speculative decoding in the rollout."""

    enabled: bool | None = Field(None, description="Use the heads at all. Left out: true.")
    train: bool | None = Field(None, description="Train the heads. Left out: false.")
    rollout: bool | None = Field(None, description="Use the heads for speculative decoding. Left out: false.")
    detach_encoder: bool | None = Field(None, description="Stop gradients into the trunk. Left out: false.")
    loss_factor: NonNegativeFloat | None = Field(None, description="Weight of the heads' loss. Left out: 0.1.")
    method: str | None = Field(None, description="vLLM's speculative method. Left out: mtp.")
    speculative_tokens: PositiveInt | None = Field(None, description="Tokens vLLM drafts at once. Left out: 1.")
    speculative_algorithm: str | None = Field(None, description="SGLang's algorithm. Left out: EAGLE.")
    speculative_steps: PositiveInt | None = Field(None, description="SGLang's draft steps. Left out: 3.")
    draft_tokens: PositiveInt | None = Field(None, description="SGLang's draft tokens. Left out: 4.")
    eagle_topk: PositiveInt | None = Field(None, description="SGLang's branching per draft step. Left out: 1.")


class Model(Section):
    """The policy model: a Hugging Face name or a local folder; `builtin:tiny-llama` is made on the spot."""

    shorthand: ClassVar[str | None] = "path"

    path: str = Field(description="Hugging Face repository, local folder, or builtin:tiny-llama.")
    tokenizer: str | None = Field(None, description="Tokenizer repository or folder. Left out: the model's own.")
    config: str | None = Field(None, description="Folder of config.json if not the model's. Left out: the model's own.")
    trust_remote_code: bool | None = Field(None, description="Run Python code shipped with the model. Left out: false.")
    lora: PolicyLora | None = Field(
        None, description="Train adapters instead of the full weights. Left out: full weights."
    )
    attention: str | None = Field(
        None, description="Attention implementation of transformers, such as sdpa. Left out: flash_attention_2 on GPUs."
    )
    config_overrides: dict[str, Any] | None = Field(
        None, description="Entries of config.json to replace, by name. Left out: none."
    )
    chat_template: str | None = Field(None, description="Jinja chat template text. Left out: the tokenizer's own.")
    external_lib: str | None = Field(None, description="Python package imported to register the model. Left out: none.")
    shared_memory: bool | None = Field(None, description="Copy weights to /dev/shm before loading. Left out: false.")
    fused_kernel_backend: Literal["torch", "triton"] | None = Field(
        None, description="Backend of the fused kernels. Left out: torch."
    )
    mlp_shards: PositiveInt | None = Field(
        None, description="Compute each MLP in this many tiles to save memory. Left out: in one piece."
    )
    freeze_vision: bool | None = Field(None, description="Keep the vision tower fixed. Left out: false.")
    mtp: MultiTokenPrediction | None = Field(None, description="Multi-token prediction. Left out: off.")


class Turns(Section):
    """Limits of a conversation with several turns."""

    enabled: bool | None = Field(None, description="Hold conversations of several turns. Left out: true.")
    max: PositiveInt | None = Field(None, description="Assistant turns at most. Left out: no limit beside the tokens.")
    tokens: PositiveInt | None = Field(
        None, description="Tokens of one assistant turn at most. Left out: what is left of the response."
    )
    max_user: PositiveInt | None = Field(None, description="User or tool turns at most. Left out: no limit.")
    max_parallel_tool_calls: PositiveInt | None = Field(None, description="Tool calls run from one turn. Left out: 1.")
    tool_response_characters: PositiveInt | None = Field(
        None, description="Characters of a tool's answer that are kept. Left out: 256."
    )
    tool_response_truncate: Literal["left", "middle", "right"] | None = Field(
        None, description="Which part of a long tool answer is cut. Left out: middle."
    )
    max_tool_failures: PositiveInt | None = Field(
        None, description="Failed tool calls that end a conversation. Left out: no limit."
    )
    tool_format: str | None = Field(
        None,
        description="How tool calls are written and parsed: a parser of verl's, plain (the turn is the argument of the "
        "only tool) or tags (<tool>argument</tool>). Left out: hermes.",
    )
    inference_chat_template: bool | None = Field(
        None, description="Render turns as the inference engine does instead of as training does. Left out: false."
    )
    repeats: PositiveInt | None = Field(
        None, description="Samples that go on from one interrupted conversation. Left out: none."
    )
    tokenization_check: Literal["strict", "ignore_strippable", "disable"] | None = Field(
        None, description="Check that incremental and whole tokenisation agree. Left out: strict."
    )


class Limits(Section):
    """Token limits of one sample."""

    prompt_tokens: PositiveInt | None = Field(None, description="Tokens of a prompt at most. Left out: 512.")
    response_tokens: PositiveInt | None = Field(None, description="Tokens of a response at most. Left out: 512.")
    drop_overlong: bool | None = Field(None, description="Drop prompts over the limit before training. Left out: true.")
    truncation: Literal["error", "left", "right", "middle"] | None = Field(
        None, description="What happens to a long prompt that is not dropped. Left out: error."
    )
    filter_workers: PositiveInt | None = Field(None, description="Processes that filter long prompts. Left out: 1.")


class Sampling(Section):
    """How answers are drawn while training."""

    temperature: NonNegativeFloat | None = Field(None, description="Softmax temperature. Left out: 1.0.")
    top_p: Fraction | None = Field(None, description="Nucleus probability. Left out: 1.0.")
    top_k: int | None = Field(None, ge=-1, description="Most likely tokens kept; -1 keeps all. Left out: -1.")
    sample: bool | None = Field(None, description="Draw instead of taking the likeliest token. Left out: true.")
    ignore_eos: bool | None = Field(None, description="Go on after the end token. Left out: false.")


class Agent(Section):
    """Who answers: the model, what it is asked, and its limits."""

    model: Model = Field(description="The policy model.")
    instructions: str | None = Field(None, description="System prompt, Jinja2 over the row's fields. Left out: none.")
    prompt: str | None = Field(
        None, description="User prompt, Jinja2 over the row's fields. Left out: the input column as it is."
    )
    turns: Turns | None = Field(None, description="Limits of a conversation with several turns. Left out: one turn.")
    environment: Environment | None = Field(
        None, description="What answers the model's turns and rewards them. Left out: nothing does."
    )
    tools: list[Tool] | None = Field(None, description="Functions that the model may call. Left out: none.")
    tool_config: str | None = Field(None, description="verl tool configuration file. Left out: no tools.")
    function_tools: str | None = Field(None, description="Python file with verl function tools. Left out: none.")
    loop: str | None = Field(None, description="verl agent loop by name. Left out: single_turn_agent.")
    loop_config: str | None = Field(None, description="File that registers agent loops. Left out: verl's own loops.")
    limits: Limits | None = Field(None, description="Token limits of one sample. Left out: verl's 512 and 512.")
    sampling: Sampling | None = Field(None, description="How answers are drawn while training. Left out: as is.")
    chat_template_args: dict[str, Any] | None = Field(
        None, description="Arguments of the chat template, such as enable_thinking. Left out: none."
    )
    workers: NonNegativeInt | None = Field(
        None, ge=1, description="Processes that drive agent loops. Left out: 8, and 1 on a CPU."
    )
