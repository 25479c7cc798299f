"""Small tokenizers with the chat templates of model families: the special tokens and the structure of the real ones.

The vocabulary is bytes and a few merges learnt from English, so that a text has more than one tokenisation: a loop that
decoded and encoded again would give other tokens than were generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

QWEN = (
    "{%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}"
    "{%- else %}{{- '<|im_start|>system\nYou are Qwen.<|im_end|>\n' }}{%- endif %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'user' or (message.role == 'system' and not loop.first) or message.role == 'assistant' %}"
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{%- elif message.role == 'tool' %}"
    "{%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}"
    "{{- '\n<tool_response>\n' }}{{- message.content }}{{- '\n</tool_response>' }}"
    "{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}"
    "{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
)
LLAMA = (
    "{{- bos_token }}{%- for message in messages %}"
    "{%- set role = 'ipython' if message.role == 'tool' else message.role %}"
    "{{- '<|start_header_id|>' + role + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}"
)
MISTRAL = (
    "{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}"
    "{%- set messages = messages[1:] %}{%- endif %}{{- bos_token }}"
    "{%- set ns = namespace(index=0) %}{%- for message in messages %}{%- if message.role != 'tool' %}"
    "{%- if (message.role == 'user') != (ns.index % 2 == 0) %}"
    "{{- raise_exception('conversation roles must alternate') }}{%- endif %}"
    "{%- set ns.index = ns.index + 1 %}{%- endif %}{%- endfor %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'user' %}"
    "{%- if loop.last and system is defined %}{{- '[INST] ' + system + '\n\n' + message.content + '[/INST]' }}"
    "{%- else %}{{- '[INST] ' + message.content + '[/INST]' }}{%- endif %}"
    "{%- elif message.role == 'tool' %}"
    "{%- if message.tool_call_id is not defined or message.tool_call_id | length != 9 %}"
    "{{- raise_exception('tool call ids have nine characters') }}{%- endif %}"
    "{{- '[TOOL_RESULTS] ' + message.content + '[/TOOL_RESULTS]' }}"
    "{%- else %}{{- ' ' + message.content | trim + eos_token }}{%- endif %}{%- endfor %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if message['role'] == 'assistant' %}{% set role = 'model' %}"
    "{% else %}{% set role = message['role'] %}{% endif %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
PHI = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + '<|end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)

QWEN3 = (
    "{%- if tools %}{{- '<|im_start|>system\n' }}"
    "{%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}{{- '# Tools\n<tools>' }}"
    "{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}{{- '\n</tools><|im_end|>\n' }}"
    "{%- elif messages[0].role == 'system' %}"
    "{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}"
    "{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}"
    "{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}"
    "{%- if ns.multi_step_tool and message.role == 'user' and message.content is string and not("
    "message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}"
    "{%- set ns.multi_step_tool = false %}{%- set ns.last_query_index = index %}{%- endif %}{%- endfor %}"
    "{%- for message in messages %}{%- set content = message.content if message.content is string else '' %}"
    "{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}"
    "{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}"
    "{%- elif message.role == 'assistant' %}{%- set reasoning = '' %}{%- if '</think>' in content %}"
    "{%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}"
    "{%- if loop.index0 > ns.last_query_index and (loop.last or reasoning) %}"
    "{{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning.strip('\n') + '\n</think>\n\n' }}"
    "{{- content.lstrip('\n') }}"
    "{%- else %}{{- '<|im_start|>' + message.role + '\n' + content }}{%- endif %}{{- '<|im_end|>\n' }}"
    "{%- elif message.role == 'tool' %}"
    "{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}"
    "{{- '\n<tool_response>\n' }}{{- content }}{{- '\n</tool_response>' }}"
    "{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}"
    "{%- endif %}"
)
DEEPSEEK_R1 = (
    "{%- set ns = namespace(is_tool=false, is_output_first=true, system_prompt='') %}"
    "{%- for message in messages %}{%- if message['role'] == 'system' %}"
    "{%- set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}"
    "{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}"
    "{{ '<|User|>' + message['content'] }}{%- endif %}"
    "{%- if message['role'] == 'assistant' %}{%- if ns.is_tool %}"
    "{{ '<|tool_outputs_end|>' + message['content'] + '<|end_of_sentence|>' }}{%- set ns.is_tool = false -%}"
    "{%- else %}{%- set content = message['content'] %}{%- if '</think>' in content %}"
    "{%- set content = content.split('</think>')[-1] %}{%- endif %}"
    "{{ '<|Assistant|>' + content + '<|end_of_sentence|>' }}{%- endif %}{%- endif %}"
    "{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}"
    "{{ '<|tool_outputs_begin|><|tool_output_begin|>' + message['content'] + '<|tool_output_end|>' }}"
    "{%- set ns.is_output_first = false %}{%- else %}"
    "{{ '\n<|tool_output_begin|>' + message['content'] + '<|tool_output_end|>' }}{%- endif %}{%- endif %}{%- endfor -%}"
    "{% if ns.is_tool %}{{ '<|tool_outputs_end|>' }}{% endif %}"
    "{% if add_generation_prompt and not ns.is_tool %}{{ '<|Assistant|><think>\n' }}{% endif %}"
)


@dataclass(frozen=True)
class Family:
    """A template, its special tokens, the one that ends a turn, and the model type that verl looks at."""

    name: str
    template: str
    special: tuple[str, ...]
    end: str
    model_type: str
    begin: str | None = None
    has_tools: bool = True
    renders_calls_as_text: bool = True
    """False where the template wants calls apart from the text, and refuses two answers in a row without them."""
    opened: str = ""
    """What the generation prompt begins of the answer, and the template leaves out of answers given."""


FAMILIES = (
    Family("qwen2.5", QWEN, ("<|endoftext|>", "<|im_start|>", "<|im_end|>"), "<|im_end|>", "qwen2"),
    Family(
        "llama-3",
        LLAMA,
        ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        "<|eot_id|>",
        "llama",
        "<|begin_of_text|>",
    ),
    Family(
        "mistral-v3",
        MISTRAL,
        ("<s>", "</s>", "[INST]", "[/INST]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
        "</s>",
        "mistral",
        "<s>",
        renders_calls_as_text=False,
    ),
    Family(
        "gemma-2",
        GEMMA,
        ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
        "<end_of_turn>",
        "gemma2",
        "<bos>",
        has_tools=False,
    ),
    Family(
        "phi-3.5",
        PHI,
        ("<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"),
        "<|end|>",
        "phi3",
    ),
)
THINKING = (
    Family("qwen3", QWEN3, ("<|endoftext|>", "<|im_start|>", "<|im_end|>"), "<|im_end|>", "qwen3"),
    Family(
        "deepseek-r1-distill",
        DEEPSEEK_R1,
        (
            "<|begin_of_sentence|>",
            "<|end_of_sentence|>",
            "<|User|>",
            "<|Assistant|>",
            *(f"<|tool_output{part}|>" for part in ("s_begin", "s_end", "_begin", "_end")),
        ),
        "<|end_of_sentence|>",
        "qwen2",
        "<|begin_of_sentence|>",
        renders_calls_as_text=False,
        opened="<think>\n",
    ),
)
"""Families whose templates leave the thinking out of every answer before the last question."""
ENGLISH = "the game is over and the room has a door to the north, a lamp and a key: take the key, go north, look"


def tokenizer_of(family: Family) -> Any:
    """A byte-level tokenizer with some merges and the family's special tokens and template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(family.special),
        show_progress=False,
    )
    made.train_from_iterator([ENGLISH] * 4, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=family.end, pad_token=family.special[0], bos_token=family.begin
    )
    tokenizer.chat_template = family.template
    return tokenizer
