"""`orbiter-spec data`: rows are built once, seen as the model reads them, and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.data.teacher_server import teacher_server

SPEC = """\
version: 1
name: counted
agent:
  model: builtin:tiny-llama
  instructions: Add.
  prompt: "{{ question }}"
  limits: {prompt_tokens: 24, response_tokens: 8}
dataset:
  train: rows.jsonl
  validation: {fraction: 0.25}
  pipeline: %s
rewards: [{name: right, builtin: exact_match}]
algorithm: {name: grpo, batch: {prompts: 2}}
hardware: cpu
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORBITER_CACHE", str(tmp_path / "cache"))
    return write(tmp_path, [{"filter": "level > 0"}, {"deduplicate": {}}])


def write(folder: Path, pipeline: list[Any]) -> Path:
    rows = [{"question": f"{i % 16}+1?", "answer": i % 16 + 1, "level": i % 4} for i in range(24)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "spec.yaml").write_text(SPEC % json.dumps(pipeline), encoding="utf-8")
    return folder / "spec.yaml"


def test_build_says_what_happened_to_the_rows(cli: Any, spec: Path, tmp_path: Path) -> None:
    done = cli("data", "build", spec, "-o", "rows", "--format", "json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["rows"] == {"train": 9, "validation": 3}
    assert [(step["step"], step["rows_in"], step["rows_out"]) for step in content["steps"]] == [
        ("filter", 24, 18),
        ("deduplicate", 18, 12),
    ]
    assert content["steps"][0]["dropped"] == {"not level > 0": 6}
    assert parquet.read_table(tmp_path / "rows" / "train.parquet").num_rows == 9
    text = cli("data", "build", spec).stdout
    assert "1. filter: 24 rows in, 18 out" in text and "6 dropped: not level > 0 (rows.jsonl row 1" in text


def test_compile_takes_the_rows_that_were_built(cli: Any, spec: Path, tmp_path: Path) -> None:
    content = json.loads(cli("data", "build", spec, "--format", "json").stdout)
    assert cli("compile", spec, "-o", "out").returncode == 0
    for file in map(Path, content["files"]):
        assert (tmp_path / "out" / "data" / file.name).read_bytes() == file.read_bytes()


def test_preview_is_what_verl_reads(cli: Any, spec: Path, tmp_path: Path) -> None:
    done = cli("data", "preview", spec, "-n", 2, "--format", "json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["whole_build"] is False
    first = content["rows"][0]
    assert first["messages"] == [{"role": "system", "content": "Add."}, {"role": "user", "content": "2+1?"}]
    assert (first["expected"], first["fields"]) == ("3", {"question": "2+1?", "answer": 3, "level": 2})
    transformers = pytest.importorskip("transformers")
    cli("compile", spec, "-o", "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out" / "model")
    ids = tokenizer.apply_chat_template(first["messages"], add_generation_prompt=True)["input_ids"]
    assert first["tokens"] == len(ids)
    assert first["text"] == tokenizer.apply_chat_template(first["messages"], add_generation_prompt=True, tokenize=False)
    cli("data", "build", spec)
    again = json.loads(cli("data", "preview", spec, "-n", 2, "--start", 9, "--format", "json").stdout)
    assert again["whole_build"] is True and [row["row"] for row in again["rows"]] == [9]
    text = cli("data", "preview", spec, "-n", 1, "--validation").stdout
    assert "--- validation row 1, rows," in text and "<|im_start|>" in text


def test_stats_count_every_row(cli: Any, spec: Path) -> None:
    done = cli("data", "stats", spec, "--format", "json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    train = content["splits"]["train"]
    assert train["rows"] == 9 and train["sources"] == {"rows": {"rows": 9, "with_expected": 9, "rewards": ["right"]}}
    assert train["messages"] == {"2": 9} and content["rewards"] == ["right"]
    lengths = train["lengths"]
    assert lengths["unit"] == "tokens" and sum(count for _, _, count in lengths["bins"]) == lengths["measured"] == 9
    assert lengths["least"] <= lengths["median"] <= lengths["p90"] <= lengths["p99"] <= lengths["most"]
    text = cli("data", "stats", spec).stdout
    assert "rows: 9 rows, 100.0% with an expected answer, scored by right" in text and "prompt tokens: least" in text


def test_a_teacher_is_asked_by_build_alone(cli: Any, spec: Path, tmp_path: Path) -> None:
    def answer(exchange: Any) -> None:
        exchange.say(f"it is {exchange.number}")

    with teacher_server(answer) as server:
        write(tmp_path, [{"synthesize": {"url": server.url, "model": "big", "prompt": "{{ question }}"}}])
        for quiet in ("preview", "stats"):
            done = cli("data", quiet, spec)
            assert done.returncode == 1 and "ORB460" in done.stderr
        assert cli("compile", spec, "-o", "out").returncode == 0
        assert server.requests == 0
        done = cli("data", "build", spec)
        assert done.returncode == 0, done.stderr
        assert server.requests == 24
    assert cli("data", "stats", spec).returncode == 0
    assert cli("compile", spec, "-o", "out").returncode == 0
    assert (tmp_path / "out" / "data" / "train.parquet").is_file()


def test_a_spec_with_errors_builds_nothing(cli: Any, spec: Path, tmp_path: Path) -> None:
    for pipeline in ([{"filter": "nonsense ("}], [{"filter": "level > 9"}]):
        done = cli("data", "build", write(tmp_path, pipeline), "-o", "rows")
        assert done.returncode == 1 and "error[ORB" in done.stderr and "Traceback" not in done.stderr
        assert not (tmp_path / "rows").exists()


def test_prepared_rows_are_nobodys_to_build(cli: Any, spec: Path, tmp_path: Path) -> None:
    assert cli("compile", spec, "-o", "out").returncode == 0
    text = spec.read_text(encoding="utf-8").replace("rows.jsonl", "out/data/train.parquet")
    head, _, tail = text.partition("  validation:")
    spec.write_text(f"{head}  prepared: true\nrewards{tail.partition('rewards')[2]}", encoding="utf-8")
    done = cli("data", "build", spec)
    assert done.returncode == 2 and "prepared" in done.stderr


def test_an_unknown_tokenizer_shows_messages(cli: Any, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    spec.write_text(spec.read_text(encoding="utf-8").replace("builtin:tiny-llama", "empty"), encoding="utf-8")
    done = cli("data", "preview", spec, "-n", 1, "--set", "hardware=8xH100")
    if done.returncode == 0:
        assert "[user] 2+1?" in done.stdout and "shown as messages" in done.stdout
    else:
        assert "error[ORB" in done.stderr


TOOLS = '''
def search(query: str, top: int = 3) -> str:
    """Look something up.

    Args:
        query: What to look up.
        top: How many results.

    Returns:
        Text.
    """
    raise RuntimeError("nobody calls it")
'''
SHOWS_TOOLS = (
    "{{ tools | tojson }}|{% for m in messages %}{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}>{% endif %}"
)


@pytest.mark.timeout(240)
def test_preview_shows_tools_as_the_model_sees_them(cli: Any, spec: Path, tmp_path: Path) -> None:
    pytest.importorskip("verl")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    model = json.dumps({"path": "builtin:tiny-llama", "chat_template": SHOWS_TOOLS})
    sets = ("--set", f"agent.model={model}", "--set", 'agent.tools=[{"function": "tools.py:search", "name": "find"}]')
    done = cli("data", "preview", spec, "-n", "1", "--format", "json", *sets, timeout=200)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "find",
                "description": "Look something up.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "What to look up."},
                        "top": {"type": "integer", "description": "How many results."},
                    },
                    "required": ["query"],
                },
            },
        }
    ]
    assert content["rows"][0]["text"].startswith(json.dumps(content["tools"]) + "|")
    (tmp_path / "tools.py").write_text(TOOLS + "\nraise OSError('no such disk')\n", encoding="utf-8")
    broken = cli("data", "preview", spec, *sets, timeout=200)
    assert broken.returncode != 0
    assert "tools cannot be loaded" in broken.stderr and "Traceback" not in broken.stderr
