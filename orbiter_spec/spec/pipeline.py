"""`dataset.pipeline`: the steps between the rows of the sources and the rows that are built, one mapping a step."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from orbiter_spec.spec.base import (
    FiniteFloat,
    Fraction,
    Identifier,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Section,
)

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


class Filter(Section):
    """Keep the rows for which an expression over their fields is true."""

    shorthand: ClassVar[str | None] = "expression"

    expression: Annotated[str, Field(min_length=1, max_length=4000)] = Field(
        description="Expression over the row's fields, such as len(question) < 2000 and meta.level in [1, 2]."
    )


class FilterByScore(Section):
    """Keep the rows whose score is high enough."""

    shorthand: ClassVar[str | None] = "min"

    min: FiniteFloat = Field(description="Lowest score that is kept.")
    max: FiniteFloat | None = Field(None, description="Highest score that is kept. Left out: no limit.")
    column: str | None = Field(None, description="Column with the score. Left out: score, or else reward.")


class Deduplicate(Section):
    """Keep the first of rows that are the same, or nearly the same by the Jaccard similarity of their word shingles."""

    shorthand: ClassVar[str | None] = "threshold"

    threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="Similarity from which two rows count as one, by MinHash. Left out: 1, only equal texts."
    )
    columns: list[str] | None = Field(
        None, description="Columns that are compared. Left out: the input, or the messages of chats."
    )
    shingle_words: PositiveInt | None = Field(None, description="Words in a shingle. Left out: 3.")


class Augment(Section):
    """Add changed copies of the rows."""

    noise: Fraction | None = Field(None, description="Share of the input's characters that is changed. Left out: none.")
    swap: bool | None = Field(None, description="Exchange input and expected answer. Left out: false.")
    keep: bool | None = Field(None, description="Keep the unchanged rows as well. Left out: true.")
    seed: NonNegativeInt | None = Field(None, description="Seed of the noise. Left out: the dataset's.")

    @model_validator(mode="after")
    def _something(self) -> Augment:
        if not self.noise and not self.swap:
            raise ValueError("give noise, swap, or both")
        return self


class Template(Section):
    """Add rows made from Jinja templates over lists of values."""

    texts: list[str] = Field(description="Templates of the input, Jinja2 over the variables.", min_length=1)
    variables: dict[str, list[Any]] = Field(
        description="Values of each variable; each row takes one combination of them."
    )
    rows: PositiveInt | None = Field(
        None, description="Rows to add; fewer when there are fewer combinations. Left out: every combination."
    )
    expected: str | None = Field(None, description="Template of the expected answer. Left out: none.")
    seed: NonNegativeInt | None = Field(None, description="Seed of the choice. Left out: the dataset's.")


class FunctionStep(Section):
    """Call a function of the user's on each row: it returns a row, several rows, or None to drop it."""

    shorthand: ClassVar[str | None] = "call"

    call: str = Field(description="path/to/file.py:name or package.module:name, called with the row as a dict.")
    args: dict[str, Any] | None = Field(None, description="Keyword arguments of the function. Left out: none.")


class Length(Section):
    """Measure prompts in tokens, by the model's tokenizer and chat template."""

    shorthand: ClassVar[str | None] = "max"

    max: PositiveInt | None = Field(None, description="Tokens of a prompt at most. Left out: agent.limits'.")
    min: PositiveInt | None = Field(None, description="Tokens of a prompt at least. Left out: 1.")
    over: Literal["drop", "truncate_left", "truncate_right", "fail"] | None = Field(
        None, description="What happens to a longer prompt; truncating shortens its last user message. Left out: drop."
    )


class Sample(Section):
    """Keep some of the rows, drawn with a seed, in their order."""

    shorthand: ClassVar[str | None] = "rows"

    rows: PositiveInt | None = Field(None, description="Rows to keep. Left out: see fraction.")
    fraction: Share | None = Field(None, description="Share of the rows to keep. Left out: see rows.")
    seed: NonNegativeInt | None = Field(None, description="Seed of the draw. Left out: the dataset's.")

    @model_validator(mode="after")
    def _one_of(self) -> Sample:
        if (self.rows is None) == (self.fraction is None):
            raise ValueError("give either rows or fraction")
        return self


class Shuffle(Section):
    """Put the rows in an order drawn with a seed, whatever their number."""

    shorthand: ClassVar[str | None] = "seed"

    seed: NonNegativeInt | None = Field(None, description="Seed of the order. Left out: the dataset's.")


class Split(Section):
    """Set rows aside for validation here, so that later steps change the training rows only."""

    shorthand: ClassVar[str | None] = "fraction"

    fraction: Share = Field(description="Share of the rows, or of the groups, set aside.")
    by: str | None = Field(
        None, description="Column whose equal values stay on one side. Left out: each row is drawn by itself."
    )
    seed: NonNegativeInt | None = Field(None, description="Seed of the draw. Left out: the dataset's.")


class Synthesize(Section):
    """Ask a teacher model, behind an OpenAI-compatible address, about each row."""

    url: str = Field(description="Address up to /v1, such as http://localhost:8000/v1.")
    model: str = Field(description="Name of the model at that address.")
    prompt: str = Field(description="What is asked, Jinja2 over the row's fields.")
    instructions: str | None = Field(None, description="System prompt, Jinja2 over the row's fields. Left out: none.")
    api_key_env: Identifier | None = Field(
        None, description="Environment variable that holds the key; it is written nowhere. Left out: no key."
    )
    write: str | None = Field(None, description="Column that takes an answer of text. Left out: answer.")
    format: Literal["text", "json"] | None = Field(
        None,
        description="json lays an object's fields over the row, and makes a row of each of a list. Left out: text.",
    )
    required: list[str] | None = Field(None, description="Fields that a JSON object must have. Left out: none.")
    samples: PositiveInt | None = Field(None, description="Answers asked for each row. Left out: 1.")
    keep: bool | None = Field(None, description="Keep the row itself beside what is made of it. Left out: false.")
    on_error: Literal["stop", "drop"] | None = Field(
        None, description="What a row without a usable answer does: stop the build, or be dropped. Left out: stop."
    )
    temperature: NonNegativeFloat | None = Field(None, description="Softmax temperature. Left out: the server's.")
    top_p: Fraction | None = Field(None, description="Nucleus probability. Left out: the server's.")
    max_tokens: PositiveInt | None = Field(None, description="Tokens of an answer at most. Left out: the server's.")
    args: dict[str, Any] | None = Field(None, description="Further fields of each request. Left out: none.")
    concurrency: PositiveInt | None = Field(None, description="Requests under way at once. Left out: 8.")
    requests_per_minute: PositiveFloat | None = Field(None, description="Requests begun a minute. Left out: no limit.")
    timeout_seconds: PositiveFloat | None = Field(None, description="Time of one attempt at most. Left out: 120.")
    attempts: PositiveInt | None = Field(None, description="Attempts for one answer. Left out: 5.")
    cache: str | None = Field(
        None, description="File that keeps every answer, relative to the spec. Left out: .orbiter/answers.sqlite."
    )


class Step(Section):
    """One step of the pipeline: its name and its settings."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    filter: Filter | None = Field(None, description="Keep rows by an expression. Left out: another step.")
    filter_by_score: FilterByScore | None = Field(None, description="Keep rows by score. Left out: another step.")
    deduplicate: Deduplicate | None = Field(None, description="Drop equal or similar rows. Left out: another step.")
    augment: Augment | None = Field(None, description="Add changed copies. Left out: another step.")
    template: Template | None = Field(None, description="Add rows from templates. Left out: another step.")
    synthesize: Synthesize | None = Field(None, description="Ask a teacher model. Left out: another step.")
    function: FunctionStep | None = Field(None, description="Call a function on each row. Left out: another step.")
    length: Length | None = Field(None, description="Limit prompts in tokens. Left out: another step.")
    sample: Sample | None = Field(None, description="Keep some rows. Left out: another step.")
    shuffle: Shuffle | None = Field(None, description="Draw a new order. Left out: another step.")
    split: Split | None = Field(None, description="Set validation rows aside. Left out: another step.")

    @model_validator(mode="after")
    def _one_step(self) -> Step:
        if len(self.model_fields_set) != 1:
            raise ValueError("give each step one name")
        return self

    @property
    def name(self) -> str:
        """The step's name."""
        return next(iter(self.model_fields_set))
