"""Random settings: known keys, new ones, sections, odd values and interpolations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from orbiter_spec.lower.compose import literal
from orbiter_spec.lower.target import load_target

ODD_TEXTS = (
    *(
        "",
        " ",
        "a b",
        "a,b",
        "it's",
        'say "x"',
        "'\"",
        "\\",
        "a\\",
        "\\'",
        'x\\"',
        "a\\\\",
        "a=b",
        "a:b",
        "[1]",
        "{a:1}",
    ),
    *(
        "0.5_4.0",
        "1e-6",
        "1E5",
        "1_000",
        "0x1f",
        "0o7",
        "012",
        "1:30",
        "on",
        "No",
        "y",
        "~",
        "null",
        "None",
        "TRUE",
        "nan",
    ),
    *(
        ".inf",
        "-",
        "- a",
        "? a",
        "<<",
        "=",
        "!",
        "&a",
        "*a",
        "#x",
        "a #x",
        "%",
        "@x",
        "`",
        "|",
        ">",
        "2024-01-01",
        "+1",
    ),
    *(
        "é",
        "漢字",
        "😀",
        "\u2028",
        "\x85",
        "\x7f",
        "\ufeff",
        "\xa0",
        "line\nbreak",
        "\ttab",
        "end\n",
        "\r\n",
        "$HOME",
        "a$",
    ),
    *("token_k1,seq_max_k2", "Et*6|t*6|t*5L", "pkg://x.y", "/data/a b.parquet", "http://head:8265", "true ", "???x"),
    *("${x}", "\\${x}", "a${b", "\\\\${x}\\", "$${x}", "${oc.env:HOME}"),
)
INTERPOLATIONS = (
    *(
        "${trainer.project_name}",
        "run-${trainer.nnodes}",
        "${oc.select:data.max_prompt_length,7}",
        "${oc.select:no.such,x y}",
    ),
    *(
        "${oc.select:no.such,[1,'a']}",
        "${oc.select:no.such}",
        "\\${a}-${trainer.total_epochs}",
        "${actor_rollout_ref.model.mtp}",
    ),
)

texts = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=12)).filter(lambda text: text != "???").map(literal)
floats = st.one_of(st.floats(allow_nan=False), st.sampled_from([1e-06, 1e16, 5e-324, 0.1, 1.0, -0.0]))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), floats, texts)
names = st.sampled_from(["a", "b-c", "d_1", "7", "x y", "p.q", "k:v", "null", "_x"])
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)


def settings(engine: str, release: str = "0.9.1") -> st.SearchStrategy[dict[str, Any]]:
    """Up to eight settings for `engine` of a release that do not contradict each other."""
    target = load_target(release)
    leaves = [key for key in target.keys(engine) if key != "model_engine"]
    known = st.sampled_from(leaves)
    below = known.map(lambda key: f"{key}.deep.er")
    new = st.sampled_from(
        ["actor_rollout_ref.rollout.brand_new", "trainer.some.new.key", "data.x-1", "reward.reward_kwargs"]
    )
    chosen = st.dictionaries(
        st.one_of(known, known, below, new), st.one_of(values, st.sampled_from(INTERPOLATIONS)), max_size=8
    )
    return chosen.filter(_free_of_conflicts)


def _free_of_conflicts(chosen: dict[str, Any]) -> bool:
    return not any(key != other and other.startswith(f"{key}.") for key in chosen for other in chosen)
