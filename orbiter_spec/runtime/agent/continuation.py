"""The chat template, one turn at a time.

What was generated is never tokenised again: the tokens of a turn stay as the model wrote them, and only what comes
after them is rendered. verl has builders for some families, whose quirks they know; the general one renders the next
message after two made-up ones, which templates that insist on alternating roles (Mistral, Gemma) refuse, and it leaves
out what the template puts between turns.

Here the template renders the conversation's own beginning, one marked assistant turn and the new messages. What stands
behind the mark is exactly what has to follow any answer: the end of the assistant's turn, the new messages, the
beginning of the next answer. If the model already wrote the end of its turn, that token is not repeated; if it was cut
off by a limit, it is closed. All of it is context (mask 0).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from verl.utils.tokenizer.continuous_token import (
    ContinuousTokenBuilder,
    MergeResult,
    QwenContinuousTokenBuilder,
)

MARK = "OrbiterAssistantTurn"
TOOL_CALL_ID = "orbiter00"
REPLACED = (ContinuousTokenBuilder, QwenContinuousTokenBuilder)
"""verl's builders that `TemplateContinuation` stands in for; the others know their templates."""


class TemplateContinuation(ContinuousTokenBuilder):  # type: ignore[misc]
    """verl's builder of running conversations, for any template that renders an assistant's text as it is."""

    def merge_context_tokens(
        self,
        previous_messages: list[dict[str, Any]],
        updated_messages: list[dict[str, Any]],
        runtime_token_ids: list[int],
        *,
        tools: list[dict[str, Any]] | None = None,
    ) -> MergeResult:
        """Append the messages that `updated_messages` has more than `previous_messages`."""
        self._assert_append_only(previous_messages, updated_messages)
        appended = [_with_call_id(message) for message in updated_messages[len(previous_messages) :]]
        ids = self._tail(_beginning(previous_messages), appended, tools)
        ids = self._not_repeated(runtime_token_ids, ids)
        return MergeResult(token_ids=[*runtime_token_ids, *ids], appended_token_count=len(ids), kind="context")

    def _tail(self, first: list[Any], appended: list[Any], tools: list[dict[str, Any]] | None) -> list[int]:
        """Tokens after an assistant's text, up to where the next answer begins.

        System prompt and tools are left out where the template allows: some templates put them into the last user
        turn, and they were said already.
        """
        marked = [{"role": "assistant", "content": MARK}, *appended]
        user = [message for message in first if message["role"] != "system"]
        errors = []
        for messages, schemas in ((user, None), (first, tools)):
            try:
                text = self.tokenizer.apply_chat_template(
                    [*messages, *marked],
                    tokenize=False,
                    add_generation_prompt=True,
                    tools=schemas,
                    **self.chat_template_kwargs,
                )
            except Exception as error:
                errors.append(error)
                continue
            _, found, tail = str(text).partition(MARK)
            if found:
                return list(self.tokenizer.encode(tail, add_special_tokens=False))
            errors.append(ValueError("the template does not render an assistant's text"))
        raise ValueError(
            "orbiter-spec: the chat template cannot go on after an assistant turn with "
            f"{[message['role'] for message in appended]}: {errors[-1]}"
        )

    def _not_repeated(self, runtime: list[int], ids: list[int]) -> list[int]:
        """`ids` without the end of the assistant's turn, if the model wrote it."""
        if not runtime or runtime[-1] not in special_ids(self.tokenizer):
            return ids
        ends = [index for index, token in enumerate(ids[:3]) if token == runtime[-1]]
        return ids[ends[0] + 1 :] if ends else ids


@lru_cache(maxsize=8)
def special_ids(tokenizer: Any) -> frozenset[int]:
    """Tokens that are no text. Tokenizers make the lists anew whenever they are asked; a builder lives one sample."""
    return frozenset(tokenizer.all_special_ids) | frozenset(getattr(tokenizer, "added_tokens_decoder", ()))


def _beginning(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages before the first answer."""
    answers = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
    return messages[: answers[0]] if answers else list(messages)


def _with_call_id(message: dict[str, Any]) -> dict[str, Any]:
    """Tool messages with an id: Mistral's templates ask for one of nine letters and digits."""
    return {"tool_call_id": TOOL_CALL_ID, **message} if message.get("role") == "tool" else message
