"""`dataset`: where rows come from and how they become prompts with an expected answer."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from orbiter_spec.spec.base import FiniteFloat, NonNegativeInt, PositiveFloat, PositiveInt, Section
from orbiter_spec.spec.pipeline import Step


class RunRecords(Section):
    """The answers that an earlier run recorded, as rows: the row that was asked, with `response` and `score` beside."""

    shorthand: ClassVar[str | None] = "path"

    path: str = Field(description="Run folder, relative to the spec that names it.")
    answers: Literal["train", "validation"] | None = Field(
        None, description="Answers of training or of validation. Left out: train."
    )
    best: PositiveInt | Literal["all"] | None = Field(
        None, description="Different answers kept of each prompt, the best first, or all. Left out: 1."
    )
    min_score: FiniteFloat | None = Field(None, description="Lowest score that is kept. Left out: no limit.")
    max_score: FiniteFloat | None = Field(None, description="Highest score that is kept. Left out: no limit.")


class Hub(Section):
    """A dataset of Hugging Face's, from its cache or over the network; loaded only by commands that build rows."""

    shorthand: ClassVar[str | None] = "name"

    name: str = Field(description="Repository of the dataset, such as openai/gsm8k.")
    config: str | None = Field(None, description="Configuration. Left out: the only one.")
    split: str | None = Field(None, description="Split. Left out: train.")


class Source(Section):
    """Rows of a file, of several, of a dataset on Hugging Face, or the answers of an earlier run."""

    shorthand: ClassVar[str | None] = "path"

    path: str | None = Field(
        None,
        description="File, pattern or folder, relative to the spec that names it: JSONL, JSON, CSV, Parquet or Arrow, "
        "text also compressed. Left out: see run and hub.",
    )
    run: RunRecords | None = Field(None, description="Answers of an earlier run as rows. Left out: see path.")
    hub: Hub | None = Field(None, description="Dataset on Hugging Face. Left out: see path.")
    name: str | None = Field(
        None,
        description="Written to every row as data_source. Left out: the row's own data_source, or the file's stem.",
    )
    limit: PositiveInt | None = Field(None, description="Rows to take from the start. Left out: all.")
    weight: PositiveFloat | None = Field(
        None,
        description="Share of the training rows beside the other sources' weights; the largest number of rows that "
        "keeps the shares is drawn, none twice. Left out: every row.",
    )

    @model_validator(mode="after")
    def _one_of(self) -> Source:
        if sum(given is not None for given in (self.path, self.run, self.hub)) != 1:
            raise ValueError("give one of path, run and hub")
        return self


class Validation(Section):
    """Rows for validation: files of their own, or a share of the training rows."""

    shorthand: ClassVar[str | None] = "path"

    path: str | list[Source] | None = Field(None, description="Files with validation rows. Left out: see fraction.")
    fraction: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="Share of the training rows set aside, drawn with the seed. Left out: none is."
    )
    column: str | None = Field(
        None, description="Column of the training rows that says which are for validation. Left out: none does."
    )
    value: str | None = Field(None, description="What that column says of them. Left out: validation.")
    limit: PositiveInt | None = Field(None, description="Rows to take from the start. Left out: all.")

    @model_validator(mode="after")
    def _one_of(self) -> Validation:
        if sum(given is not None for given in (self.path, self.fraction, self.column)) != 1:
            raise ValueError("give one of path, fraction and column")
        return self


class Columns(Section):
    """Names of the columns that carry meaning."""

    input: str | None = Field(None, description="The question. Left out: question, input, prompt or problem.")
    expected: str | None = Field(None, description="The answer. Left out: answer, expected, target or ground_truth.")
    chat: str | None = Field(None, description="A list of role and content messages. Left out: prompts are rendered.")
    source: str | None = Field(None, description="Column written to data_source. Left out: the source's name.")
    images: str | None = Field(None, description="Column with images. Left out: none.")
    videos: str | None = Field(None, description="Column with videos of prepared rows. Left out: videos.")
    audios: str | None = Field(None, description="Column with audio of prepared rows. Left out: audios.")
    prompt: str | None = Field(None, description="Column with the messages of prepared rows. Left out: prompt.")
    scorer: str | None = Field(
        None, description="Column by which verl's own scoring is chosen in prepared rows. Left out: data_source."
    )


class Dataset(Section):
    """The rows to train on and to validate with."""

    train: Source | list[Source] = Field(description="One source, or several in order.")
    validation: Validation | list[Source] | None = Field(
        None, description="Validation files or a share of the training rows. Left out: the training rows serve."
    )
    columns: Columns | None = Field(None, description="Names of the columns that carry meaning. Left out: by name.")
    pipeline: list[Step] | None = Field(
        None, description="Steps that training rows go through, in order, before they are built. Left out: none."
    )
    prepared: bool | None = Field(
        None, description="Files are already in verl's row format and reach it untouched. Left out: rows are built."
    )
    shuffle: bool | None = Field(None, description="Draw training rows in random order. Left out: true.")
    loader_workers: NonNegativeInt | None = Field(
        None, description="Processes that load rows. Left out: 8, and 0 on a CPU."
    )
    limit: PositiveInt | None = Field(None, description="Training rows verl takes. Left out: all.")
    trust_remote_code: bool | None = Field(None, description="Run code shipped with a tokenizer. Left out: false.")
    custom_class: str | None = Field(
        None, description="verl dataset class as path/to/file.py:Name. Left out: verl's RLHFDataset."
    )
    seed: NonNegativeInt | Literal["random"] | None = Field(
        None,
        description="Seed of the row order, or random for another order each time. Left out: the experiment's seed.",
    )
    tokenizer: str | None = Field(None, description="Tokenizer that measures prompts. Left out: the model's.")
    shared_memory: bool | None = Field(None, description="Copy data files to /dev/shm first. Left out: false.")
    shuffle_validation: bool | None = Field(None, description="Draw validation rows in random order. Left out: false.")
    image_patch_size: PositiveInt | None = Field(None, description="Pixels of an image patch. Left out: 14.")
    processor_args: dict[str, Any] | None = Field(
        None, description="Arguments of the multi-modal processor, by its names. Left out: none."
    )
    raw_chat: bool | None = Field(None, description="Keep the messages beside the tokens. Left out: true.")
    raw_input_ids: bool | None = Field(None, description="Keep token ids without chat template. Left out: false.")
    full_prompt: bool | None = Field(None, description="Keep the prompt's text. Left out: false.")
    multi_modal_inputs: bool | None = Field(None, description="Keep processed images and videos. Left out: true.")
