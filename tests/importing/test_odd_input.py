"""Input that is no plain launch script gets a clear answer."""

from __future__ import annotations

import time

import pytest

from tests.importing.helpers import BASE, ids, imported

COMMAND = "python3 -m verl.trainer.main_ppo " + " ".join(BASE)


@pytest.mark.parametrize(
    ("text", "identifier", "words"),
    [
        ("", "ORB651", "nothing here starts"),
        ("echo hello\n", "ORB651", "nothing here starts"),
        ("#!/usr/bin/env fish\nset X 1\n" + COMMAND, "ORB652", "fish"),
        ("#!/usr/bin/env python3\nprint('main_ppo')\n", "ORB652", "python3"),
        ("set -x N 4\nif test $N = 4\n  echo 1\nend\n", "ORB652", "fish"),
        (COMMAND + "\n" + COMMAND + " trainer.nnodes=2\n", "ORB653", "2 launches"),
        ("x" * 2_000_000, "ORB651", "2000000 characters"),
        ("a\0b", "ORB651", "binary"),
    ],
)
def test_refusals(text: str, identifier: str, words: str) -> None:
    found = imported(text)
    assert found.spec_text is None
    assert [problem.id for problem in found.diagnostics] == [identifier]
    assert words in found.diagnostics[0].message + found.diagnostics[0].note
    assert found.diagnostics[0].help


def test_windows_line_ends() -> None:
    unix = "python3 -m verl.trainer.main_ppo \\\n  " + " \\\n  ".join(BASE) + "\n"
    assert imported(unix.replace("\n", "\r\n")).spec_text == imported(unix).spec_text


def test_a_byte_order_mark_is_no_part_of_a_word() -> None:
    assert imported("\ufeff" + COMMAND).original == imported(COMMAND).original


def test_one_of_two_launches_can_be_chosen() -> None:
    found = imported(COMMAND + "\n" + COMMAND + " trainer.nnodes=2\n", launch=2)
    assert found.original["trainer.nnodes"] == 2
    assert ids(imported(COMMAND, launch=3)) == ["ORB653"]


def test_a_command_with_variables_before_it_is_no_list_of_overrides() -> None:
    assert imported("HYDRA_FULL_ERROR=1 CUDA_VISIBLE_DEVICES=0,1 " + COMMAND).original == imported(COMMAND).original


def test_functions_that_call_themselves_get_an_answer() -> None:
    assert ids(imported("f() {\n  f\n}\nf\n" + COMMAND)) == ["ORB651"]


def test_the_environment_that_omegaconf_would_read() -> None:
    text = COMMAND + " 'trainer.default_local_dir=${oc.env:CKPT}' 'trainer.project_name=${oc.env:NAME,mine}'"
    found = imported(text, {"CKPT": "/ckpt"})
    assert found.original["trainer.default_local_dir"] == "/ckpt"
    assert found.original["trainer.project_name"] == "mine"
    assert not found.diagnostics
    left_out = imported(text)
    assert left_out.spec_text is not None
    assert ids(left_out) == ["ORB661"]
    assert "CKPT" in left_out.diagnostics[0].message


def test_zsh_is_read_with_a_warning() -> None:
    found = imported("#!/bin/zsh\n" + COMMAND)
    assert found.spec_text is not None
    assert "ORB652" in ids(found)


def test_a_pasted_command_with_a_prompt() -> None:
    assert imported("$ " + COMMAND).original == imported(COMMAND).original


def test_another_entry_is_told() -> None:
    assert "ORB654" in ids(imported(COMMAND.replace("main_ppo", "main_dapo")))


def test_a_large_script_is_read_in_reasonable_time() -> None:
    begun = time.process_time()
    found = imported("# comment\necho a b c\n" * 20_000 + COMMAND)
    assert found.spec_text is not None
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    "text", ["python -m verl.trainer.main_ppo a='", "A=(", "${", "$((", "`", "<<EOF", "a=$(", "\\"]
)
def test_unfinished_text_is_no_crash(text: str) -> None:
    imported(text)
    imported(COMMAND + " " + text)
