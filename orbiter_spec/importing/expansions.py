"""What an expansion does to a value once it is known: cutting, replacing, integer arithmetic. Text in, text out."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase


def halves(text: str) -> tuple[str, str]:
    r"""The two sides of `/` in `${X/old/new}`; `\/` is no separator."""
    match = re.match(r"((?:[^/\\]|\\.)*)(?:/(.*))?\Z", text, re.DOTALL)
    return (match[1], match[2] or "") if match else (text, "")


def trim(value: str, operator: str, pattern: str) -> str:
    """`${X##*/}` and its kin, for patterns with `*` at one end."""
    cuts = range(len(value) + 1)
    if operator.startswith("#"):
        order = cuts if operator == "#" else reversed(cuts)
        return next((value[cut:] for cut in order if fnmatchcase(value[:cut], pattern)), value)
    order = reversed(cuts) if operator == "%" else cuts
    return next((value[:cut] for cut in order if fnmatchcase(value[cut:], pattern)), value)


def calculate(text: str) -> int | None:
    """An integer expression with + - * / % and parentheses; None for anything else."""
    if len(text) > 200 or not re.fullmatch(r"[\d\s+\-*/%()]+", text) or "**" in text:
        return None
    try:
        return _value_of(ast.parse(text.strip().replace("/", "//"), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None


def _value_of(node: object) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value_of(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _value_of(node.left), _value_of(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Mod):
            return left % right
        return left // right
    raise ValueError("not an integer expression")
