"""What the first prompts say before anything is trained: the chat template, the tokenizer, lengths and images.

Only a tokenizer that lies in a local folder is looked at, with the `tokenizers` library and Jinja rather than with
transformers, which takes ten times as long to load as all of compile. The chat template is rendered as transformers
renders it. What takes the user's libraries (`pillow`, `tokenizers`) is left out where they are not installed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orbiter_spec.data.request import BuildResult, DatasetRequest, TokenizerRequest
from orbiter_spec.diagnostics import Diagnostic, Severity

SAMPLED_ROWS = 200
VERL_PROMPT_TOKENS = 512
EXAMPLES = 3
MARK = "<image>"

Rows = Sequence[Mapping[str, Any]]


def check_prompts(request: DatasetRequest, rows: Rows) -> Iterator[Diagnostic]:
    """Findings about built rows, the first of a dataset, where the spec names the model or the data."""
    yield from _check_images(request, rows)
    folder = Path(request.tokenizer.name) if request.tokenizer is not None else None
    if request.tokenizer is None or folder is None or not (folder / "tokenizer_config.json").is_file():
        return
    config = _read_json(folder / "tokenizer_config.json")
    yield from _check_pad(config, request.tokenizer)
    template = request.tokenizer.chat_template or _own_template(folder, config)
    if template is None:
        help = "set agent.model.chat_template, or take an instruct model"
        yield Diagnostic("ORB447", "tokenizer has no chat template", request.tokenizer.place, help=help)
        return
    yield from _check_rendered(template, config, folder, request, rows)


def first_rows(result: BuildResult) -> Rows:
    """Up to `SAMPLED_ROWS` training rows of a build, or those a check has kept."""
    file = next((path for path in result.files if path.stem == "train"), None)
    if file is None:
        return result.samples
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        batch = next(opened.iter_batches(batch_size=SAMPLED_ROWS), None)
        rows: Rows = batch.to_pylist() if batch is not None else []
        return rows


def _check_pad(config: Mapping[str, Any], tokenizer: TokenizerRequest) -> Iterator[Diagnostic]:
    """verl pads with the end token where there is no pad token, and cannot pad without either."""
    if config.get("pad_token") is None and config.get("eos_token") is None:
        yield Diagnostic(
            "ORB448",
            "tokenizer has neither a pad token nor an end token",
            tokenizer.place,
            help="add pad_token to its tokenizer_config.json",
        )


def _check_rendered(
    template: str, config: Mapping[str, Any], folder: Path, request: DatasetRequest, rows: Rows
) -> Iterator[Diagnostic]:
    assert request.tokenizer is not None
    place = request.tokenizer.place
    prompts = [[dict(message) for message in row["prompt"]] for row in rows]
    try:
        texts = _render(template, config, prompts, request.tokenizer, generation=True)
        bare = _render(template, config, prompts[:1], request.tokenizer, generation=False)
    except Exception as error:  # whatever the template raises
        note = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        yield Diagnostic("ORB447", "chat template fails on the first prompts", place, note=note)
        return
    if texts and texts[:1] == bare:
        yield Diagnostic(
            "ORB454",
            "chat template adds no generation prompt: the model is not told that it is its turn",
            place,
            help="render add_generation_prompt in the template",
            severity=Severity.WARNING,
        )
    yield from _check_lengths(texts, folder, request, rows)


def _check_lengths(texts: Sequence[str], folder: Path, request: DatasetRequest, rows: Rows) -> Iterator[Diagnostic]:
    counts = _count(texts, folder)
    limit = request.prompt_tokens or VERL_PROMPT_TOKENS
    over = [(count, row) for count, row in zip(counts, rows, strict=False) if count > limit]
    if over:
        names = [f"{_name(row)} has {count}" for count, row in over[:EXAMPLES]]
        yield Diagnostic(
            "ORB450",
            f"{len(over)} of the first {len(counts)} prompts have more than {limit} tokens",
            request.place,
            note=", ".join(names),
            help="raise agent.limits.prompt_tokens, or add a length step: verl drops or refuses them",
            severity=Severity.WARNING,
        )


def _count(texts: Sequence[str], folder: Path) -> list[int]:
    try:
        from tokenizers import Tokenizer

        loaded = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception:  # not installed, no such file, or of another version: nothing is known
        return []
    return [len(found) for found in loaded.encode_batch(list(texts), add_special_tokens=False)]


def _render(
    template: str,
    config: Mapping[str, Any],
    prompts: Sequence[Sequence[Mapping[str, Any]]],
    tokenizer: TokenizerRequest,
    *,
    generation: bool,
) -> list[str]:
    """As `apply_chat_template` of transformers does."""
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: form
    compiled = environment.from_string(template)
    tokens = {name: _text(config.get(name)) for name in ("bos_token", "eos_token", "pad_token", "unk_token")}
    given = {**tokens, "tools": None, "documents": None, **tokenizer.chat_template_args}
    return [compiled.render(messages=list(prompt), add_generation_prompt=generation, **given) for prompt in prompts]


def _refuse(message: str) -> None:
    raise ValueError(message)


def _text(token: Any) -> str:
    return str(token.get("content", "")) if isinstance(token, Mapping) else str(token or "")


def _own_template(folder: Path, config: Mapping[str, Any]) -> str | None:
    own = folder / "chat_template.jinja"
    if own.is_file():
        return own.read_text(encoding="utf-8")
    written = config.get("chat_template")
    if isinstance(written, list):
        written = next((item.get("template") for item in written if item.get("name") == "default"), None)
    return written if isinstance(written, str) else None


def _check_images(request: DatasetRequest, rows: Rows) -> Iterator[Diagnostic]:
    for row in rows:
        images = row.get("images")
        if images is None:
            continue
        marks = sum(str(message["content"]).count(MARK) for message in row["prompt"])
        if marks != len(images):
            help = f"write {MARK} in the prompt once for each image"
            message = f"{_name(row)} has {len(images)} images and its prompt {marks} times {MARK}"
            yield Diagnostic("ORB452", message, request.place, help=help)
            return
        broken = next((reason for image in images if (reason := _broken(image)) is not None), None)
        if broken is not None:
            yield Diagnostic("ORB451", f"an image of {_name(row)} does not open", request.place, note=broken)
            return


def _broken(image: Any) -> str | None:
    """Why an image cannot be opened; None for one that can, or that lies elsewhere."""
    data = image.get("bytes") if isinstance(image, Mapping) else None
    if data is None:
        text = str(image)
        return f"no file {text}" if "://" not in text and not text.startswith(("/", "data:")) else None
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(io.BytesIO(data)) as opened:
            opened.verify()
    except Exception as error:  # whatever a broken file makes the decoder raise
        return " ".join(f"{type(error).__name__}: {error}".split())[:160]
    return None


def _name(row: Mapping[str, Any]) -> str:
    info = row["extra_info"]
    return f"{info['source']} row {info['row']}"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
