"""Words and values of launch scripts, as bash would have them."""

from __future__ import annotations

import pytest

from orbiter_spec.importing.shell import follow

LAUNCH = "python3 -m verl.trainer.main_ppo "


def arguments(script: str, **environ: str) -> list[str]:
    return [argument.text for launch in follow(script, environ).launches for argument in launch.arguments]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (LAUNCH + "a=1 b='x y' c=\"z w\"", ["a=1", "b=x y", "c=z w"]),
        (LAUNCH + "\\\n  a=1 \\\n  b=2\n", ["a=1", "b=2"]),
        ("N=8\n" + LAUNCH + "a=$N b=${N} c='$N' d=\\$N", ["a=8", "b=8", "c=$N", "d=$N"]),
        (LAUNCH + "a=${X:-7} b=${X-8} c=${X:=9} d=$X", ["a=7", "b=8", "c=9", "d=9"]),
        ("export X=1 Y=2; " + LAUNCH + "a=$X$Y", ["a=12"]),
        ('A=(x=1 "y=2 3")\nA+=(z=4)\n' + LAUNCH + '"${A[@]}"', ["x=1", "y=2 3", "z=4"]),
        ("A=(\n  x=1  # one\n\n  y=2\n)\n" + LAUNCH + "${A[@]} n=${#A}", ["x=1", "y=2", "n=3"]),
        (LAUNCH + 'a=1 "$@"', ["a=1"]),
        ("set -- b=2 c=3\n" + LAUNCH + '"$@" d=${1}', ["b=2", "c=3", "d=b=2"]),
        (LAUNCH + "a=${1:-5}", ["a=5"]),
        ("N=4\n" + LAUNCH + "a=$((N * 2 + 1)) b=$(( (N+2)/4 ))", ["a=9", "b=1"]),
        (
            "P=/m/Qwen/Qwen3-8B\n" + LAUNCH + "a=${P##*/} b=${P%/*} c=${P//\\//_}",
            ["a=Qwen3-8B", "b=/m/Qwen", "c=_m_Qwen_Qwen3-8B"],
        ),
        (
            "F=\"['a.parquet','b.parquet']\"\n" + LAUNCH + 'data.train_files="$F"',
            ["data.train_files=['a.parquet','b.parquet']"],
        ),
        (LAUNCH + "a=1 2>&1 | tee log.txt", ["a=1"]),
        (LAUNCH + "a=1 > log.txt 2>&1 &", ["a=1"]),
        ("FOO=1 BAR=2 " + LAUNCH + "a=1", ["a=1"]),
        ("FLAGS='a=1 b=2'\n" + LAUNCH + '$FLAGS "$FLAGS"', ["a=1", "b=2", "a=1 b=2"]),
        ("cat <<EOF\n" + LAUNCH + "x=1\nEOF\n" + LAUNCH + "a=1", ["a=1"]),
        ("if true; then\n  N=2\nelse\n  N=4\nfi\n" + LAUNCH + "a=$N", ["a=2"]),
        ("function train() {\n" + LAUNCH + "a=1\n}\ntrain", ["a=1"]),
        ("ray job submit --address=x -- " + LAUNCH + "a=1", ["a=1"]),
        ("torchrun --nproc 1 verl/trainer/main_ppo.py a=1", ["a=1"]),
        (LAUNCH + "+a.b=null ~c ++d={x:1}", ["+a.b=null", "~c", "++d={x:1}"]),
        (LAUNCH + "a=$HOME/x", ["a=/home/me/x"]),
        (LAUNCH + "a='it'\"'\"'s'", ["a=it's"]),
        (LAUNCH + "a=1 # b=2\n", ["a=1"]),
        (LAUNCH + "a=$'x\\ty\\'z'", ["a=x\ty'z"]),
        ("V=N\nN=4\n" + LAUNCH + "a=${!V}", ["a=4"]),
        ("$PYTHON -m verl.trainer.main_ppo a=1", ["a=1"]),
        (f"if [[ $# -gt 0 ]]; then N=1; else N=2; fi\n{LAUNCH} a=$N b=$#", ["a=2", "b=0"]),
        (f"bash -c '{LAUNCH} a=1 b=$N'", ["a=1", "b="]),
        (f'N=4\nsrun -N 1 bash -lc "cd /x && {LAUNCH} a=1 b=$N"', ["a=1", "b=4"]),
        (f"docker run --gpus all image bash -c '{LAUNCH} a=1'", ["a=1"]),
        (f"bash <<EOF\n{LAUNCH} a=1\nEOF\n", ["a=1"]),
        (f"ssh host << 'EOF'\ncd x\n{LAUNCH} a=1\nEOF\n", ["a=1"]),
        (f"cat > run.sh <<'EOF'\n{LAUNCH} a=1\nEOF\nsbatch run.sh\n", ["a=1"]),
        (f'run() {{\n  local N=$1\n  shift\n  {LAUNCH} a=$N "$@"\n}}\nrun 4 b=7\n', ["a=4", "b=7"]),
        (f"run() {{\n  {LAUNCH} a=${{1:-2}}\n}}\nN=3\nrun $N\n", ["a=3"]),
        (f"run()\n{{\n  {LAUNCH} a=1\n}}\n", ["a=1"]),
        (f'if [ "$X" = 1 ]; then\n  N=2\nelse\n  N=4\nfi\n{LAUNCH} a=$N', ["a=4"]),
        (f"X=1\nif [[ $X == 2 ]]; then N=2; elif [ $X -eq 1 ]; then N=3; else N=4; fi\n{LAUNCH} a=$N", ["a=3"]),
        (f"if ! [ -z $X ] && [ 1 = 1 ]; then N=2; else N=4; fi\n{LAUNCH} a=$N", ["a=4"]),
        (f"if false; then if true; then N=2; fi; else N=4; fi\n{LAUNCH} a=$N", ["a=4"]),
        (f'N=8\n[ -z "$N" ] && N=4\n[ -n "$N" ] || N=5\n{LAUNCH} a=$N', ["a=8"]),
        (
            f'A=(a=1)\nif [ x = y ]; then A+=(b=2); fi\nif [ x = x ]; then A+=(c=3); fi\n{LAUNCH} "${{A[@]}}"',
            ["a=1", "c=3"],
        ),
        (f'if [ -d /data ]; then A=(a=1); else A=(a=2); fi\n{LAUNCH} "${{A[@]}}"', ["a=1"]),
    ],
)
def test_words(script: str, expected: list[str]) -> None:
    assert arguments(script, HOME="/home/me") == expected


def test_what_is_not_known_is_said_at_the_word() -> None:
    script = follow("N=$(nproc)\n" + LAUNCH + "a=$N b=$UNSET c=1", {})
    unknown = {argument.text: argument.unknown for argument in script.launches[0].arguments}
    assert unknown == {"a=": ("$(nproc)",), "b=": ("UNSET",), "c=1": ()}


def test_a_branch_that_is_decided_is_no_doubt() -> None:
    assert not follow("if [ a = a ]; then N=1; else N=2; fi\n", {}).traps
    doubtful = follow("if [ -d /data ]; then A=(a=1); N=1; else A=(a=2); N=2; fi\n", {}).traps
    assert [trap.text for trap in doubtful if trap.what == "condition"] == [
        "A=(...) taken",
        "N=1 taken",
        "A=(...) not taken",
        "N=2 not taken",
    ]


@pytest.mark.parametrize("script", ["f() {\n f\n}\nf\n", "a() {\nb;b\n}\nb() {\na;a\n}\na\n"])
def test_functions_without_an_end_are_refused(script: str) -> None:
    with pytest.raises(RecursionError):
        follow(script, {})


def test_lines_are_those_of_the_script() -> None:
    script = follow("# one\nA=(\n  a=1\n  b=2\n)\n" + LAUNCH + '"${A[@]}" \\\n  c=3\n', {})
    assert [(argument.text, argument.line) for argument in script.launches[0].arguments] == [
        ("a=1", 3),
        ("b=2", 4),
        ("c=3", 7),
    ]
