"""The words of a launch script are those that bash itself gives; here, in a test, bash is run beside the reader."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

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
    'E=vllm\nR=no\nif [ "${{U:-1}}" != 0 ] && {{ [ "$E" = vllm ] || [ "$E" = sglang ]; }}; then R=yes; fi\n{} a=$R',
    'E=hf\nR=no\nif [ "${{U:-1}}" != 0 ] && {{ [ "$E" = vllm ] || [ "$E" = sglang ]; }}; then R=yes; fi\n{} a=$R',
    'E=hf\nR=no\nif [ "${{U:-0}}" != 0 ] && {{ [ "$E" = hf ]; }}; then R=yes; fi\n{} a=$R',
    "N=1\n[ $N = 1 ] && {{ A=2; B=3; }} || {{ A=4; B=5; }}\n[ $N = 2 ] && {{ A=6; C=7; }}\n{} a=$A b=$B c=$C",
    "N=1\nif ! {{ [ $N = 2 ] && [ $N = 1 ]; }}; then M=x; fi\n{{ K=5; }}\n{} a=$M b=$K",
    "N=2\n[ $N = 1 ] && {{ {{ A=1; }}; [ $N = 2 ] && {{ A=2; }}; A=3; }}\n{{ [ $N = 2 ] && {{ B=1; }}; }} && C=2\n"
    "{} a=$A b=$B c=$C",
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_as_bash_has_it(script: str) -> None:
    text = script.format(*[LAUNCH] * 4)
    assert ours(text) == of_bash(text)


PLACES = (
    'HERE="$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)"\n{} a="$HERE/data" b=$(basename "$HERE")',
    'ROOT=$(cd "$(dirname "${{BASH_SOURCE[0]:-$0}}")/.." >/dev/null 2>&1 && pwd)\n{} a=$ROOT',
    "HERE=`dirname $0`\n{} a=$HERE b=$(realpath $HERE) c=$(dirname $(readlink -f $0)) d=$(basename $0 .sh)",
    'cd "$(dirname "$0")"\n{} a=$PWD b=$(pwd) c=$(realpath ..) d="$(cd ..; pwd)" e=$PWD',
    "(cd scripts/deep && pwd)\n{} a=$(pwd) b=$OTHER",
    "cd scripts || exit 1\ncd deep/../deep\n{} a=$(pwd)",
    "cd\n{} a=$(pwd) b=$(cd $PWD/; pwd)",
    'N=$(basename "/m/Qwen2.5 7B/")\n{} "a=$N" b=$(dirname /a) c=$(dirname a) d=$(dirname /a/b//) e=$(basename /)',
    'X=$(echo "a  b" c)\n{} a="$X" b=$X c=$(printf "%s" x) d=$(printf "%s/%s\\n" p q) e=$(echo)',
    "A=($(echo 1 2 3))\n{} a=${{A[1]}} n=${{#A[@]}} b=$(basename a.tar.gz .gz) c=$(basename .gz .gz)",
    'ROOT=${{ROOT:-$(realpath "$(dirname "$0")/../..")}}\n{} a=$ROOT "${{@:0}}"',
)


@pytest.mark.parametrize("script", PLACES)
def test_a_script_finds_its_own_folder_as_in_bash(tmp_path: Path, script: str) -> None:
    text = script.format(*[LAUNCH] * 2)
    (tmp_path / "scripts/deep").mkdir(parents=True)
    file = tmp_path / "scripts/run.sh"
    file.write_text(FAKE + text, encoding="utf-8")
    environment = {"HOME": str(tmp_path / "scripts"), "PATH": os.environ["PATH"], "PWD": str(tmp_path)}
    done = subprocess.run(
        [BASH or "bash", "scripts/run.sh"], capture_output=True, text=True, timeout=20, env=environment, cwd=tmp_path
    )
    found = follow(text, environment, "scripts/run.sh")
    shown = [argument.text for launch in found.launches for argument in launch.arguments]
    assert shown == re.sub(r"\A/[^\0]*\n", "", done.stdout).split("\0")[:-1]
    assert not any(
        argument.unknown for launch in found.launches for argument in launch.arguments if argument.text != "b="
    )


@pytest.mark.parametrize(
    "inner",
    [
        "date +%s",
        "pwd | tr / _",
        "cd nowhere $X && pwd",
        "ls",
        "dirname",
        "dirname a b",
        "echo -e 'a\\n'",
        "cat <(pwd)",
    ],
)
def test_an_answer_that_takes_a_shell_is_not_known(inner: str) -> None:
    found = follow(f"{LAUNCH} a=$({inner})", {"PWD": "/work", "HOME": "/"}, "run.sh")
    assert [trap.what for trap in found.traps if trap.what == "substitution"]
    assert found.launches[0].arguments[0].unknown


def test_a_folder_that_may_not_be_entered_is_not_known() -> None:
    script = f'if [ -d data ]; then\n  cd data\nfi\n{LAUNCH} a=$(pwd) b="$PWD"'
    found = follow(script, {"PWD": "/work"}, "run.sh")
    assert all(argument.unknown for argument in found.launches[0].arguments)


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
