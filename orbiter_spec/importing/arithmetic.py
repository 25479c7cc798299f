"""Integer arithmetic as bash does it in `$(( ))`, `(( ))`, `let` and `declare -i`: 64 bits, C's operators, assignments.

Names are read and written through the caller, who also decides what an unset name is worth. What bash refuses (a
division by zero, a sign out of place) raises ValueError; nothing is guessed. Grammar and precedence: bash's manual,
"Shell Arithmetic".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

LONGEST = 1000
DEEPEST = 40
TOKEN = re.compile(
    r"\s*(?P<token>\d+\#[0-9A-Za-z@_]+|0[xX][0-9A-Fa-f]+|\d+|[A-Za-z_]\w*|<<=|>>=|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||"
    r"\+\+|--|[-+*/%&|^]=|[-+*/%<>=!~&|^?:,()\[\]])"
)
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=")
LEVELS: tuple[tuple[str, ...], ...] = (
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"


class Names(Protocol):
    """What arithmetic asks of a shell's variables."""

    def number_text(self, name: str, index: str | None, *, assigns: bool) -> str:
        """The text of a variable; `assigns` where a new value follows, so that an unset one may count as 0."""

    def put_number(self, name: str, index: str | None, value: int) -> None:
        """Give a variable a number."""


def calculate(text: str, names: Names, depth: int = 0) -> int:
    """The value of an expression. Raises ValueError where bash would refuse it."""
    if len(text) > LONGEST or depth > DEEPEST:
        raise ValueError("the expression is too long")
    if not text.strip():
        return 0
    parser = _Parser(text, names, depth)
    value = parser.comma()
    if parser.at < len(parser.tokens):
        raise ValueError(f"{parser.tokens[parser.at]} is out of place")
    return value


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text[at]} is no part of an expression")
        found.append(match["token"])
        at = match.end()
    return found


def wrapped(value: int) -> int:
    """The value in 64 bits with a sign."""
    return (value + 2**63) % 2**64 - 2**63


class _Parser:
    """Recursive descent; `live` is false in the branch of `?:`, `&&` or `||` that is not taken."""

    def __init__(self, text: str, names: Names, depth: int) -> None:
        self.tokens = _tokens(text)
        self.names = names
        self.depth = depth
        self.at = 0
        self.live = True

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if token and token in wanted:
            self.at += 1
            return token
        return ""

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise ValueError(f"{token} is missing")

    def comma(self) -> int:
        value = self.assignment()
        while self.take(","):
            value = self.assignment()
        return value

    def assignment(self) -> int:
        start = self.at
        name = self.name()
        operator = self.take(*ASSIGNMENTS) if name else ""
        if name and operator:
            before = 0 if operator == "=" else self.read(name, assigns=True)
            value = self.assignment()
            return self.write(name, value if operator == "=" else self.apply(operator[:-1], before, value))
        self.at = start
        return self.ternary()

    def ternary(self) -> int:
        condition = self.either()
        if not self.take("?"):
            return condition
        first = self.guarded(bool(condition), self.comma)
        self.expect(":")
        second = self.guarded(not condition, self.ternary)
        return first if condition else second

    def guarded(self, wanted: bool, read: Callable[[], int]) -> int:
        outer, self.live = self.live, self.live and wanted
        value = read()
        self.live = outer
        return value

    def either(self) -> int:
        value = self.both()
        while self.take("||"):
            other = self.guarded(not value, self.both)
            value = int(bool(value or other))
        return value

    def both(self) -> int:
        value = self.binary(0)
        while self.take("&&"):
            other = self.guarded(bool(value), lambda: self.binary(0))
            value = int(bool(value and other))
        return value

    def binary(self, level: int) -> int:
        if level == len(LEVELS):
            return self.power()
        value = self.binary(level + 1)
        while operator := self.take(*LEVELS[level]):
            value = self.apply(operator, value, self.binary(level + 1))
        return value

    def power(self) -> int:
        base = self.unary()
        if not self.take("**"):
            return base
        return self.apply("**", base, self.power())

    def unary(self) -> int:
        sign = self.take("!", "~", "-", "+")
        if sign:
            value = self.unary()
            return wrapped({"!": int(not value), "~": ~value, "-": -value, "+": value}[sign])
        step = self.take("++", "--")
        if step:
            name = self.name()
            if name is None:
                raise ValueError(f"{step} has no name")
            return self.write(name, self.apply(step[0], self.read(name, assigns=True), 1))
        return self.postfix()

    def postfix(self) -> int:
        if self.take("("):
            value = self.comma()
            self.expect(")")
            return value
        name = self.name()
        if name is None:
            return self.number()
        step = self.take("++", "--")
        value = self.read(name, assigns=bool(step))
        if step:
            self.write(name, self.apply(step[0], value, 1))
        return value

    def name(self) -> tuple[str, str | None] | None:
        """A name, with the text between its brackets."""
        name = self.peek()
        if not re.match(r"[A-Za-z_]", name):
            return None
        self.at += 1
        if not self.take("["):
            return name, None
        start, depth = self.at, 1
        while depth and self.at < len(self.tokens):
            depth += {"[": 1, "]": -1}.get(self.peek(), 0)
            self.at += 1
        return name, " ".join(self.tokens[start : self.at - 1])

    def number(self) -> int:
        token = self.peek()
        self.at += 1
        if "#" in token:
            base, _, digits = token.partition("#")
            return wrapped(_in_base(digits, int(base)))
        if token[:2] in ("0x", "0X"):
            return wrapped(int(token, 16))
        if token.isdigit():
            return wrapped(int(token, 8 if len(token) > 1 and token[0] == "0" else 10))
        raise ValueError(f"{token or 'the end'} is out of place")

    def read(self, name: tuple[str, str | None], *, assigns: bool) -> int:
        if not self.live:
            return 0
        return calculate(self.names.number_text(*name, assigns=assigns), self.names, self.depth + 1)

    def write(self, name: tuple[str, str | None], value: int) -> int:
        if self.live:
            self.names.put_number(*name, value)
        return value

    def apply(self, operator: str, left: int, right: int) -> int:
        if operator in ("/", "%"):
            return self.divide(operator, left, right)
        if operator == "**":
            if right < 0:
                raise ValueError("an exponent below 0")
            return wrapped(pow(left, right, 2**64))
        if operator in ("<<", ">>"):
            return wrapped(left << (right & 63)) if operator == "<<" else left >> (right & 63)
        return wrapped(int(_OPERATIONS[operator](left, right)))

    def divide(self, operator: str, left: int, right: int) -> int:
        if right == 0:
            if self.live:
                raise ValueError("a division by 0")
            return 0
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrapped(quotient if operator == "/" else left - quotient * right)


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "|": int.__or__,
    "^": int.__xor__,
    "&": int.__and__,
    "==": int.__eq__,
    "!=": int.__ne__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}


def _in_base(digits: str, base: int) -> int:
    """Digits in a base from 2 to 64; up to 36 the case of a letter does not matter."""
    if not 2 <= base <= 64:
        raise ValueError(f"no base {base}")
    value = 0
    for digit in digits.lower() if base <= 36 else digits:
        place = DIGITS.index(digit)
        if place >= base:
            raise ValueError(f"{digit} is no digit of base {base}")
        value = value * base + place
    return value
