"""`explain` without a spec: every word of the language and of the target has an answer."""

from __future__ import annotations

import pytest

from orbiter_spec.cli.explain_word import explain_word
from orbiter_spec.lower.lowering import TABLE
from orbiter_spec.lower.target import load_target
from orbiter_spec.spec.fields import fields
from orbiter_spec.spec.reference import entries


@pytest.mark.parametrize("route", fields())
def test_every_field_has_values_and_a_meaning(route: str) -> None:
    """The models know the field; the reference is read from the schema, and must know it too."""
    entry = entries()[route]
    assert entry.values and entry.meaning
    lines = explain_word(route)
    assert lines is not None and lines[0] == f"{route}: {entry.meaning}"


def test_a_field_names_the_keys_it_sets() -> None:
    lines = explain_word("algorithm.batch.samples_per_prompt")
    assert lines is not None and "  sets     actor_rollout_ref.rollout.n" in lines


def test_a_key_names_the_field_that_sets_it() -> None:
    target = load_target()
    keys = {key: row.field for row in TABLE for key in row.keys.get("*", ()) if target.has("dp", key)}
    for key in keys:
        lines = explain_word(key)
        assert lines is not None and any(line.startswith("  set by   ") for line in lines), key
    assert len(keys) > 200


def test_an_unknown_word_names_the_nearest(cli) -> None:
    done = cli("explain", "algorithm.learning_rte")
    assert done.returncode == 2
    assert "did you mean algorithm.learning_rate?" in done.stderr


def test_a_file_alone_is_told_what_is_missing(cli, project) -> None:
    done = cli("explain", project)
    assert done.returncode == 2
    assert "name a field or a key as well" in done.stderr
