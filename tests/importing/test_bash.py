"""The words of a launch script are those that bash itself gives; here, in a test, bash is run beside the reader."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbiter_spec.importing.shell import follow

BASH = shutil.which("bash")
LAUNCH = "python3 -m verl.trainer.main_ppo"
FAKE = "python3() { printf '%s\\0' \"${@:3}\"; }\n"

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash to compare with")


def ours(script: str) -> list[str]:
    return [argument.text for launch in follow(script, {"HOME": "/home/me"}).launches for argument in launch.arguments]


def of_bash(script: str) -> list[str]:
    environment = {"HOME": "/home/me", "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [BASH or "bash", "-c", FAKE + script], capture_output=True, text=True, timeout=20, env=environment, check=False
    )
    return done.stdout.split("\0")[:-1]


SCRIPTS = (
    'declare -A SIZES=([small]=4 [large]="8 9")\n{} a=${{SIZES[small]}} b="${{SIZES[large]}}" n=${{#SIZES[@]}}',
    "declare -A M\nM[a]=1\nM[b c]=2\nK=a\n{} a=${{M[$K]}} b=${{M[b c]}} c=${{M[none]:-3}}",
    'declare -A M=(a 1 b "2 3")\nM+=([c]=4)\nM[a]+=5\n{} a=${{M[a]}} b="${{M[b]}}" c=${{M[c]}}',
    'declare -A BATCH=([7b]=256 [32b]=512)\nSIZE=32b\nKEY="${{SIZE}}"\n{} data.train_batch_size=${{BATCH[$KEY]}}',
    'declare -A M=([only]=1)\n{} "${{M[@]}}" "${{!M[@]}}"',
    "f() {{\n local N=3 M\n M=$((N+1))\n {} a=$N b=$M c=$OUTER\n}}\nN=1\nOUTER=7\nf\n{} a=$N b=${{M-unset}}",
    "N=1\nf() {{ local N=$N; N=$((N+1)); {} a=$N; }}\nf\n{} a=$N",
    'A=(x "y z")\nf() {{ local -a A=("${{A[@]}}" 3); {} "${{A[@]}}"; }}\nf\n{} "${{A[@]}}"',
    "f() {{ declare X=5; declare -g Y=6; typeset Z=7; {} a=$X b=$Y c=$Z; }}\nf\n{} a=${{X-no}} b=$Y c=${{Z-no}}",
    "readonly N=4 M\nN=5\n{} a=$N b=${{M-unset}}",
    "declare -r N=4\nf() {{ local N=5; {} a=$N; }}\nf",
    "declare -ri N=2*3\n{} a=$N",
    "declare -i N=4\nN=N*2\nN+=3\n{} a=$N",
    "typeset -u NAME=qwen\ndeclare -l LOW=ABC\n{} a=$NAME b=$LOW",
    "declare -n REF=N\nN=1\nREF=9\n{} a=$N b=$REF",
    'declare -a A=(1 2)\nA+=(3)\nA[5]=x\n{} "${{A[@]}}" n=${{#A[@]}} last=${{A[-1]}} keys="${{!A[*]}}"',
    'A=([2]=c [0]=a b)\n{} ${{A[@]}} "${{!A[@]}}"',
    "A=(1 2 3 4)\nI=1\n{} ${{A[I]}} ${{A[$I+1]}} ${{A[@]:1:2}} ${{A[@]: -1}} ${{A[@]:2}}",
    'A=(one two)\n{} pre"${{A[@]}}"post "${{A[@]/#/+}}" "${{A[@]%e}}" "${{A[*]}}"',
    'A=()\n{} "${{A[@]}}" x "${{A[@]+y}}" ${{A[@]:-d e}} "pre${{A[@]}}"',
    'A=(1 "2 3")\n{} ${{A[@]+"${{A[@]}}"}} "${{A[@]:+"${{A[@]}}"}}" ${{U:+z}} ${{U:-"${{A[@]}}"}}',
    'IFS=,\nA=(a b c)\n{} "f=[${{A[*]}}]"',
    'let N=4*2 M=N+1\nlet "K = M ** 2" N++\n{} a=$N b=$M c=$K',
    "((N = 3, M = N << 2))\n(( N += 10 ))\n((M--))\n{} a=$N b=$M",
    "N=4\nif (( N > 3 && N % 2 == 0 )); then S=even; else S=odd; fi\n{} a=$S",
    "N=4\n((N > 8)) && S=big || S=small\nif let N-4; then T=1; else T=2; fi\n{} a=$S b=$T",
    "N=16\nG=8\n{} a=$((N/G)) b=$((N>G?N:G)) c=$(( (N+G-1) / G )) d=$((-7/2)) e=$((-7%3)) f=$((0x10 + 010))",
    "N='2+3'\n{} a=$((N*2)) b=$(($N*2)) c=$((16#ff)) d=$((~0)) e=$((1<<62))",
    'A=(3 4)\n(( A[1] += 5 ))\n{} a=$((A[0]*A[1])) "${{A[@]}}"',
    "X=5\nunset X\nA=(1 2 3)\nunset 'A[1]'\n{} a=${{X:-gone}} \"${{A[@]}}\" n=${{#A[@]}}",
    "export 'N=a b' M=2\n{} a=\"$N\" b=$M",
    'P=X\ndeclare "$P=3" "${{P}}Y=4"\n{} a=$X b=$XY',
    "N=abcdef\n{} a=${{N:2}} b=${{N:1:2}} c=${{N: -2}} d=${{N:1:-1}} e=${{N^}} f=${{N^^}} g=${{N/b/X}} h=${{N/#ab/Y}}",
    "f() {{ local A=$1; shift; {} a=$A \"$@\" n=$#; }}\nf 1 'x y' z",
    "f() {{ g; }}\ng() {{ {} a=$N; }}\nh() {{ local N=5; f; }}\nN=1\nh\nf",
    "# local X=1\nX='local Y=2'\n{} a=\"$X\"",
    'N=" a  b "\n{} x${{N}}y $N "$N"',
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_as_bash_has_it(script: str) -> None:
    text = script.format(*[LAUNCH] * 4)
    assert ours(text) == of_bash(text)


numbers = st.integers(0, 99).map(str) | st.sampled_from(["N", "M", "0x1F", "017", "2#101", "A[1]", "A[N>4]"])
binary = st.sampled_from(re.findall(r"\S+", "+ - * / % ** << >> < <= > >= == != & | ^ && || ,"))
unary = st.sampled_from(["-", "+", "!", "~", "++N ,", "N-- +", "M = ", "N += "])
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, binary, inner).map(" ".join),
        st.tuples(unary, inner).map(" ".join),
        inner.map("({})".format),
        st.tuples(inner, inner, inner).map(lambda three: f"{three[0]} ? {three[1]} : {three[2]}"),
    ),
    max_leaves=8,
)


@settings(max_examples=20, deadline=None)
@given(st.lists(expressions, min_size=15, max_size=15))
def test_arithmetic_as_bash_has_it(texts: list[str]) -> None:
    """Each expression in a shell of its own kind: what bash refuses is unknown here, all else is equal."""
    values = "N=4\nM=-7\nA=(5 9 2)\n"
    script = "".join(f"({values}printf '%s\\0' \"$(( {text} )) $N $M\")\n" for text in texts)
    theirs = subprocess.run([BASH or "bash", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    answers = iter(theirs.stdout.split("\0")[:-1])
    for text in texts:
        found = follow(f'{values}{LAUNCH} "$(( {text} )) $N $M"', {})
        argument = found.launches[0].arguments[0]
        refused = f"$(( {text} ))" in argument.unknown
        if not refused:
            assert argument.text == next(answers), text
    assert not list(answers), "bash worked out more than the reader"


@pytest.mark.parametrize(
    ("script", "what", "line"),
    [
        ("readonly N=1\nN=2\n", "readonly", 2),
        ('declare -A M=([a]=1 [b]=2)\n{} "${{M[@]}}"\n', "order", 2),
        ("\nread -r -p 'size? ' N\n", "input", 2),
        ("mapfile -t A < list.txt\n", "input", 1),
        ("N=1\nlet N=4/0\n", "arithmetic", 2),
        ("X=$((NOBODY * 2))\n", "variable", 1),
        ("for ((i = 1; i < 4; i++)); do\n  X=$i\ndone\n", "loop", 1),
    ],
)
def test_what_cannot_be_followed_is_told_with_its_line(script: str, what: str, line: int) -> None:
    traps = follow(script.format(LAUNCH), {}).traps
    assert (what, line) in [(trap.what, trap.line) for trap in traps]


def test_what_was_read_from_outside_is_unknown_wherever_it_goes() -> None:
    script = f"read N\nM=$((N * 2))\ndeclare -A P=([a]=$M)\n{LAUNCH} a=$N b=$M c=${{P[a]}} d=1"
    arguments = follow(script, {}).launches[0].arguments
    assert [(item.text, bool(item.unknown)) for item in arguments] == [
        ("a=", True),
        ("b=", True),
        ("c=", True),
        ("d=1", False),
    ]
