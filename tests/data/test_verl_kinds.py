"""verl's own dataset class takes the rows we build, text, chats and images, and counts tokens as we do."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from orbiter_spec.data.build import build
from orbiter_spec.data.request import (
    Columns,
    DatasetRequest,
    SourceRequest,
    StepRequest,
    TemplateRequest,
    TokenizerRequest,
)
from orbiter_spec.data.tiny_model import CHAT_TEMPLATE
from orbiter_spec.data.tokenizing import PromptMeter
from tests.data.test_verl_rows import dataset_of

pytest.importorskip("verl")

TEXTS = [
    "Der Fuchs springt über den Hund.",
    "SELECT name FROM cats WHERE age > 3;",
    "一二三四五六七",
    "x" * 30,
    "Why? " * 20,
]
CHATS = [
    [{"role": "user", "content": text}, {"role": "assistant", "content": "No."}, {"role": "user", "content": "Why?"}]
    for text in TEXTS
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-pair tokenizer trained on the texts."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS * 5, vocab_size=400, special_tokens=special, show_progress=False)
    whole = PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, eos_token=special[2], pad_token=special[0])
    whole.chat_template = CHAT_TEMPLATE
    home = tmp_path_factory.mktemp("tokenizer")
    whole.save_pretrained(home)
    return home


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def built(home: Path, rows: list[dict[str, Any]], *steps: StepRequest, **options: Any) -> Path:
    path = home / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    request = DatasetRequest((SourceRequest(path, shown="rows.jsonl"),), pipeline=steps, **options)
    result = build(request, home / "data")
    assert result.diagnostics == ()
    return result.files[0]


def tokens_of(dataset: Any, tokenizer: Any) -> list[int]:
    """As verl's agent loop tokenises a prompt."""
    counts = []
    for index in range(len(dataset)):
        ids = tokenizer.apply_chat_template(dataset[index]["raw_prompt"], add_generation_prompt=True, tokenize=True)
        counts.append(len(ids["input_ids"] if hasattr(ids, "keys") else ids))
    return counts


def kinds() -> dict[str, tuple[list[dict[str, Any]], dict[str, Any]]]:
    prompt = {"prompt": TemplateRequest("Q: {{ question }}"), "instructions": TemplateRequest("Be {{ how }}.")}
    return {
        "text": ([{"question": text, "answer": "a", "how": "brief"} for text in TEXTS], prompt),
        "chat": ([{"messages": chat, "answer": "a"} for chat in CHATS], {"columns": Columns(chat="messages")}),
    }


@pytest.mark.parametrize("kind", ["text", "chat"])
def test_verl_tokenises_what_we_measured(kind: str, tmp_path: Path, folder: Path, tokenizer: Any) -> None:
    rows, options = kinds()[kind]
    path = built(tmp_path, rows, **options)
    dataset = dataset_of(path, tokenizer, filter_overlong_prompts=False)
    prompts = [row["prompt"] for row in parquet.read_table(path).to_pylist()]
    assert [dataset[index]["raw_prompt"] for index in range(len(dataset))] == prompts
    assert PromptMeter(TokenizerRequest(str(folder))).count(prompts) == tokens_of(dataset, tokenizer)


@pytest.mark.parametrize("kind", ["text", "chat"])
def test_the_length_step_keeps_what_verl_keeps(kind: str, tmp_path: Path, folder: Path, tokenizer: Any) -> None:
    rows, options = kinds()[kind]
    every = dataset_of(built(tmp_path, rows, **options), tokenizer, filter_overlong_prompts=False)
    counts = tokens_of(every, tokenizer)
    limit = sorted(counts)[2]
    asked = {**options, "tokenizer": TokenizerRequest(str(folder))}
    (tmp_path / "ours").mkdir()
    ours = parquet.read_table(built(tmp_path / "ours", rows, StepRequest("length", {"max": limit}), **asked))
    theirs = dataset_of(
        tmp_path / "data/train.parquet", tokenizer, max_prompt_length=limit, filter_overlong_prompts_workers=1
    )
    kept = [row["prompt"] for row in ours.to_pylist()]
    assert 0 < len(kept) < len(rows)
    assert kept == [theirs[index]["raw_prompt"] for index in range(len(theirs))]


@pytest.mark.parametrize("kind", ["text", "chat"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_truncated_prompts_fit_and_keep_their_other_end(
    kind: str, side: str, tmp_path: Path, folder: Path, tokenizer: Any
) -> None:
    rows, options = kinds()[kind]
    long = "start " + "word " * 60 + "end"
    row = {"question": long, "how": "brief", "answer": "a", "messages": [{"role": "user", "content": long}]}
    step = StepRequest("length", {"max": 60, "over": f"truncate_{side}"})
    path = built(tmp_path, [*rows, row], step, tokenizer=TokenizerRequest(str(folder)), **options)
    dataset = dataset_of(path, tokenizer, filter_overlong_prompts=False)
    assert len(dataset) >= 5
    assert max(tokens_of(dataset, tokenizer)) <= 60
    last = dataset[len(dataset) - 1]["raw_prompt"][-1]["content"]
    assert last.endswith("end") if side == "left" else "start" in last


def picture(colour: str) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (56, 56), colour).save(stream, "PNG")
    return stream.getvalue()


class Processor:
    """What verl asks of a processor while it builds messages; its own classes need a hub's files."""

    image_processor = None


def test_verl_opens_the_images_we_build(tmp_path: Path, tokenizer: Any) -> None:
    for name in ("red", "blue"):
        (tmp_path / f"{name}.png").write_bytes(picture(name))
    rows = [{"question": "<image>What colour?", "image": f"{name}.png", "answer": name} for name in ("red", "blue")]
    path = built(tmp_path, rows, StepRequest("shuffle"), columns=Columns(images="image"))
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset

    config = OmegaConf.create({"cache_dir": str(tmp_path / "cache"), "filter_overlong_prompts": False})
    dataset = RLHFDataset(str(path), tokenizer, config, processor=Processor())
    for index in range(2):
        row = dataset[index]
        image, text = row["raw_prompt"][0]["content"]
        assert text == {"type": "text", "text": "What colour?"}
        pixel = image["image"].convert("RGB").getpixel((3, 3))
        assert pixel == {"red": (255, 0, 0), "blue": (0, 0, 255)}[row["reward_model"]["ground_truth"]]
