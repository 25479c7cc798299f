"""verl's agent loop for whole episodes: environments, tools, or both.

It extends verl's own tool loop, which keeps what the model wrote token by token and calls the tools. Added to it: an
environment answers every turn that calls no tool, until it says that the episode is over; turns have a token limit;
the chat template is continued for any family (`continuation.py`); failures are counted and end no batch.

An environment that fails, hangs or dies is begun again, and its tokens are thrown away, `retries` times. After that
`on_error` decides: `stop` raises, which ends the run; a number is the return of the episode, and the run goes on. A
sample without a single generated token (the environment could not even be reset) trains nothing: its mask is 0.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
from verl.tools.schemas import ToolResponse
from verl.utils.profiler import simple_timer

from . import formats
from .client import UserCodeError
from .continuation import REPLACED, TemplateContinuation
from .episode import Counts, Episode, find_host, row_seed, show
from .formats import decode
from .settings import read_settings

TOOL_ERRORS = ("Error executing tool ", "Unknown function ", "Invalid JSON in arguments ")
"""How verl's tool loop begins what it shows the model about a call that failed."""
CALL_GRACE_SECONDS = 10.0
QWEN_END = "<|im_end|>"
LONG_CHARACTERS = 20_000
"""Text that takes some milliseconds to encode."""


class EpisodeOutput(AgentLoopOutput):  # type: ignore[misc]
    """A sample whose reward stands at the last token of the model, or of each turn that earned some.

    `step_rewards` are (position in the response, reward) and already have their weight; what is left of the total
    goes to the last of the model's tokens.
    """

    step_rewards: tuple[tuple[int, float], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """verl's fields, with the reward where it was earned."""
        steps = self.step_rewards
        output: dict[str, Any] = super().as_dict()
        output.pop("step_rewards", None)
        if "rm_scores" in output and steps:
            scores = torch.zeros_like(output["rm_scores"])
            for position, reward in steps:
                scores[position] += reward
            scores[-1] += output["rm_scores"].sum() - scores.sum()
            output["rm_scores"] = scores
        return output


class EpisodeLoop(ToolAgentLoop):  # type: ignore[misc]
    """One sample of one row; verl makes a new one each time."""

    def __init__(self, *args: Any, settings: str | None = None, **kwargs: Any) -> None:
        kwargs["hf_model_type"] = type_by_marks(kwargs.get("hf_model_type"), kwargs["tokenizer"])
        super().__init__(*args, **kwargs)
        self.settings = read_settings(settings)
        self.environment_settings: dict[str, Any] | None = self.settings["environment"]
        builder: Any = self.continuous_token_builder  # type: ignore[has-type]
        if type(builder) in REPLACED:
            self.continuous_token_builder = TemplateContinuation(
                self.tokenizer, chat_template_kwargs=self.apply_chat_template_kwargs
            )
        if self.environment_settings is not None and not self.tools:
            self.tool_parser = formats.NoCalls(self.tokenizer)
        self.counts = Counts()
        self.episode: Episode | None = None
        self.attempts_left = 0
        self.step_rewards: list[tuple[int, float]] = []

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """One sample. Raises UserCodeError where the spec says that a failure ends the run."""
        if self.environment_settings is None:
            return self._finish(await super().run(sampling_params, **kwargs))
        host = await find_host(self.settings)
        async with host.environments:
            return await self._attempts(sampling_params, kwargs)

    async def _attempts(self, sampling_params: dict[str, Any], kwargs: dict[str, Any]) -> AgentLoopOutput:
        assert self.environment_settings is not None
        messages = list(kwargs["raw_prompt"])
        self.attempts_left = self.environment_settings["retries"]
        while True:
            try:
                host = await find_host(self.settings)
                return await self._attempt(host, messages, sampling_params, kwargs)
            except UserCodeError as error:
                if error.kind == "tool":
                    raise
                show(error)
                self.counts.failure(error)
                if self.attempts_left <= 0 or error.kind == "row":
                    self._give_up(error)
                    return self._finish(await self._empty(messages))
                self.attempts_left -= 1
                retries = self.counts.retries + 1
                self.counts = Counts(
                    retries=retries,
                    environment_failures=self.counts.environment_failures,
                    environment_timeouts=self.counts.environment_timeouts,
                )
                self.step_rewards = []

    async def _attempt(
        self, host: Any, messages: list[dict[str, Any]], sampling_params: dict[str, Any], kwargs: dict[str, Any]
    ) -> AgentLoopOutput:
        assert self.environment_settings is not None
        info = kwargs.get("extra_info") or {}
        self.episode = await Episode.begin(self.environment_settings, host, row_of(info), row_seed(info))
        try:
            opened = self._opening(messages, self.episode)
            output = await super().run(sampling_params, **{**kwargs, "raw_prompt": opened})
            await self._truncate(output)
            return self._finish(output)
        finally:
            await self.episode.close()

    async def _truncate(self, output: AgentLoopOutput) -> None:
        """Add what an episode that a limit ended is still due."""
        assert self.episode is not None
        reward = 0.0 if self.counts.failed else await self.episode.truncate()
        if reward and any(output.response_mask):
            self.counts.environment_return += reward
            self.step_rewards.append((last_trained(output.response_mask), reward))

    def _opening(self, messages: list[dict[str, Any]], episode: Episode) -> list[dict[str, Any]]:
        """The row's messages with the environment's system prompt and first observation."""
        opened = [dict(message) for message in messages]
        last = opened[-1] if opened and opened[-1]["role"] == "user" else None
        if last is None:
            opened.append({"role": "user", "content": episode.state})
        else:
            last["content"] = "\n\n".join(part for part in (str(last["content"]).strip(), episode.state) if part)
        if not episode.prefix or opened[0]["role"] == "system":
            return opened
        with_system = [{"role": "system", "content": episode.prefix}, *opened]
        if takes_system(self.tokenizer, self.apply_chat_template_kwargs):
            return with_system
        opened[0] = {**opened[0], "content": f"{episode.prefix}\n\n{opened[0]['content']}"}
        return opened

    async def _handle_pending_state(self, agent_data: AgentData, sampling_params: dict[str, Any]) -> AgentState:
        state = await super()._handle_pending_state(agent_data, sampling_params)
        if len(agent_data.prompt_ids) >= self.prompt_length:
            self.counts.overlong_prompt = 1
        return state

    async def _handle_generating_state(
        self, agent_data: AgentData, sampling_params: dict[str, Any], ignore_termination: bool = False
    ) -> AgentState:
        room = self.response_length - len(agent_data.response_mask)
        most = min(room, self.settings["turn_tokens"] or room)
        state = await super()._handle_generating_state(
            agent_data, {**sampling_params, "max_tokens": max(1, most)}, ignore_termination
        )
        self.counts.turns += 1
        if state is not AgentState.TERMINATED or self.episode is None:
            return state
        return await self._answer_turn(agent_data)

    async def _answer_turn(self, agent_data: AgentData) -> AgentState:
        """Let the environment answer the turn; go on unless it is over or a limit is reached."""
        assert self.episode is not None
        text = decode(self.tokenizer, agent_data.response_ids)
        try:
            with simple_timer("tool_calls", agent_data.metrics):
                reward = await self.episode.step(text)
        except UserCodeError as error:
            if self.attempts_left > 0:
                raise
            show(error)
            self.counts.failure(error)
            self._give_up(error)
            return AgentState.TERMINATED
        agent_data.turn_scores.append(reward)
        self.counts.environment_return += reward
        self.counts.done = int(self.episode.done)
        self.step_rewards.append((len(agent_data.response_mask) - 1, reward))
        if self.episode.done or self._is_full(agent_data):
            return AgentState.TERMINATED
        return await self._observe(agent_data, text)

    async def ct_merge_assistant_token(
        self,
        runtime_token_ids: list[int],
        assistant_token_ids: list[int],
        response_mask: list[int],
        response_logprobs: list[float] | None = None,
        assistant_logprobs: list[float] | None = None,
    ) -> tuple[Any, list[int], list[float] | None]:
        """verl's own, without its thread: lists are joined, and a thread costs a hundred times that."""
        builder = self.continuous_token_builder
        merged = builder.merge_assistant_tokens(runtime_token_ids, assistant_token_ids)
        mask, log_probs = builder.align_response_metadata(
            merged, response_mask, response_logprobs, assistant_logprobs=assistant_logprobs
        )
        return merged, mask, log_probs

    async def ct_merge_context_msg(
        self,
        previous_messages: list[dict[str, Any]],
        updated_messages: list[dict[str, Any]],
        runtime_token_ids: list[int],
        response_mask: list[int],
        response_logprobs: list[float] | None = None,
        tools: list[dict[str, Any]] | None = None,
    ) -> tuple[Any, list[int], list[float] | None]:
        """verl's own, in a thread only where the texts are long enough to keep others waiting."""
        given = (previous_messages, updated_messages, runtime_token_ids, response_mask, response_logprobs, tools)
        if (
            sum(len(str(message["content"])) for message in updated_messages[len(previous_messages) :])
            > LONG_CHARACTERS
        ):
            merged: tuple[Any, list[int], list[float] | None] = await super().ct_merge_context_msg(*given)
            return merged
        builder = self.continuous_token_builder
        result = builder.merge_context_tokens(previous_messages, updated_messages, runtime_token_ids, tools=tools)
        return result, *builder.align_response_metadata(result, response_mask, response_logprobs)

    def _is_full(self, agent_data: AgentData) -> bool:
        turns = agent_data.assistant_turns
        return (
            len(agent_data.response_mask) >= self.response_length
            or bool(self.max_assistant_turns and turns >= self.max_assistant_turns)
            or bool(self.max_user_turns and agent_data.user_turns >= self.max_user_turns)
        )

    async def _observe(self, agent_data: AgentData, answer: str) -> AgentState:
        """Put the observation after the turn, if there is room for it and an answer."""
        assert self.episode is not None
        if agent_data.messages[-1]["role"] != "assistant":
            agent_data.messages.append({"role": "assistant", "content": answer})
        before = list(agent_data.messages)
        after = [*before, {"role": "user", "content": self.episode.state}]
        merged, mask, log_probs = await self.ct_merge_context_msg(
            before, after, agent_data.prompt_ids, agent_data.response_mask, agent_data.response_logprobs or None
        )
        if len(mask) >= self.response_length:
            return AgentState.TERMINATED
        agent_data.messages = after
        agent_data.prompt_ids, agent_data.response_mask = merged.token_ids, mask
        agent_data.response_logprobs = log_probs or agent_data.response_logprobs
        agent_data.user_turns += 1
        return AgentState.GENERATING

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        state = await super()._handle_processing_tools_state(agent_data)
        most = self.settings["max_tool_failures"]
        return AgentState.TERMINATED if most and self.counts.tool_failures >= most else state

    async def _call_tool(
        self, tool_call: Any, tools_kwargs: dict[str, Any], agent_data: AgentData
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """verl's call, counted and with a time limit that holds for every kind of tool."""
        own = self.settings["tools"].get(tool_call.name, {})
        seconds = own.get("timeout_seconds", self.settings["tool_timeout_seconds"])
        self.counts.tool_calls += 1
        try:
            called = super()._call_tool(tool_call, tools_kwargs, agent_data)
            response, reward, further = await asyncio.wait_for(called, seconds + CALL_GRACE_SECONDS)
        except TimeoutError:
            text = f"{TOOL_ERRORS[0]}'{tool_call.name}': no answer within {seconds:g} s"
            response, reward, further = ToolResponse(text=text), 0.0, {}
        fatal = agent_data.extra_fields.pop("fatal", None)
        if fatal is not None:
            raise UserCodeError(fatal.who, fatal.said, fatal.where, "tool")
        if (response.text or "").startswith(TOOL_ERRORS):
            self.counts.tool_failures += 1
        return response, reward, further

    def _give_up(self, error: UserCodeError) -> None:
        """After the last attempt: end the run, or set the return that the spec names."""
        assert self.environment_settings is not None
        if self.environment_settings["on_error"] == "stop":
            raise error
        self.counts.failed = 1
        self.counts.environment_return = float(self.environment_settings["on_error"])
        self.step_rewards = []

    async def _empty(self, messages: list[dict[str, Any]]) -> AgentLoopOutput:
        """A sample of one masked token: there is nothing to train on, and a group keeps its size."""
        prompt = await self.ct_build_initial_tokens(messages)
        return AgentLoopOutput(
            prompt_ids=prompt,
            response_ids=[self.tokenizer.eos_token_id],
            response_mask=[0],
            response_logprobs=[0.0] if self.rollout_config.calculate_log_probs else None,
            routed_experts=None,
            multi_modal_data={},
            mm_processor_kwargs={},
            mm_processor_output=None,
            num_turns=0,
            metrics=AgentLoopMetrics(),
            extra_fields={"turn_scores": [], "tool_rewards": []},
        )

    def _finish(self, output: AgentLoopOutput) -> AgentLoopOutput:
        """Cut what comes after the model's last token, and add what was counted."""
        last = last_trained(output.response_mask) + 1
        values = {name: getattr(output, name) for name in output.model_fields_set}
        for name in ("response_ids", "response_mask", "response_logprobs"):
            values[name] = values[name][:last] if values.get(name) else None
        values["extra_fields"]["episode"] = self.counts.as_numbers()
        if self.environment_settings is not None:
            trajectory = self.episode.trajectory if self.episode else None
            values["extra_fields"]["trajectory"] = vars(trajectory) if trajectory else {}
        return EpisodeOutput(**values, step_rewards=tuple(self._credited(last)))

    def _credited(self, response_tokens: int) -> list[tuple[int, float]]:
        """The steps' rewards with the weight of the part of the reward that they are, where the spec asks for them."""
        settings = self.environment_settings
        if settings is None or settings["credit"] != "step":
            return []
        return [(at, reward * settings["weight"]) for at, reward in self.step_rewards if at < response_tokens]


def last_trained(mask: Sequence[int]) -> int:
    """Position of the model's last token; 0 where there is none."""
    return max((index for index, flag in enumerate(mask) if flag), default=0)


def row_of(extra_info: Mapping[str, Any]) -> dict[str, Any]:
    """The row's own fields: as JSON in rows that orbiter-spec built, else what `extra_info` holds."""
    fields = extra_info.get("fields")
    row: dict[str, Any] = json.loads(fields) if isinstance(fields, str) else dict(extra_info)
    return row


def type_by_marks(model_type: str | None, tokenizer: Any) -> str | None:
    """None for a model of Qwen's types whose tokenizer does not end turns as Qwen's do.

    verl's builder for these types refuses it. Models distilled into Qwen's have a template and marks of their own.
    """
    foreign = tokenizer.convert_tokens_to_ids(QWEN_END) in (None, tokenizer.unk_token_id)
    return None if foreign and str(model_type).startswith("qwen") else model_type


_system: dict[tuple[int, str], bool] = {}


def takes_system(tokenizer: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether the chat template has a system turn."""
    key = (id(tokenizer), str(tokenizer.chat_template))
    if key not in _system:
        messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
        try:
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **arguments)
            _system[key] = True
        except Exception:
            _system[key] = False
    return _system[key]
