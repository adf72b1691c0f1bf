"""The expression of a trigger, such as "mean(water) < 20 and max(runoff) > 3": read into a tree, never run as code.

    either     both { "or" both }                     both    test { "and" test }
    test       sum [ "<" | ">" sum ]                   sum     product { "+" | "-" product }
    product    factor { "*" | "/" factor }
    factor     number │ variable │ variable "[" level "]" │ "-" factor │ "(" either ")" │ "mean" | "min" | "max" | "sum" "(" sum ")"

A variable has a value for each cell; only what mean, min, max or sum makes of it is one number, and only numbers are compared.
"""

import re
from collections.abc import Callable, Collection
from typing import Literal, NamedTuple

from steppe.errors import RequestError, closest
from steppe.levels import Layered, parted, which_level

LENGTH = 1024  # [byte]
NODES = 100
DEPTH = 25
AGGREGATES = ("mean", "min", "max", "sum")
WORDS = ("and", "or", *AGGREGATES)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>(?u:[^\W\d]\w*)(?:\[[^][]*\])?)|(?P<sign>[-+*/<>()]))", re.ASCII
)

Kind = Literal["truth", "number", "cells"]


class Node(NamedTuple):
    """A part of an expression. what: an operator, the name of an aggregate, "variable", "number" or "negative"."""

    what: str
    kind: Kind
    parts: tuple["Node", ...] = ()
    name: str = ""
    value: float = 0.0


class ExpressionError(Exception):
    """The text is no expression. column: where it goes wrong, from 1; nearest: the variable that may have been meant."""

    def __init__(self, text: str, column: int, nearest: str | None = None) -> None:
        super().__init__(text)
        self.column, self.nearest = column, nearest


def parse(text: str, variables: Collection[str]) -> Node:
    """The tree of an expression that is true or false.

    Raises
    ------
    ExpressionError
        It is too long, no expression of this grammar, names an unknown variable, or is not true or false.
    """
    if len(text.encode()) > LENGTH:
        raise ExpressionError(f"The expression has {len(text.encode()):,} bytes; {LENGTH:,} are allowed.", LENGTH + 1)
    reader = _Reader(text, variables)
    found = reader.either()
    if reader.word:
        raise ExpressionError(f'"{reader.word}" was not expected at column {reader.column}.', reader.column)
    if found.kind != "truth":
        raise ExpressionError('The expression is neither true nor false. Compare it with something, as in "mean(x) > 3".', 1)
    return found


def names_of(node: Node) -> set[str]:
    """The variables in an expression."""
    return {node.name} if node.what == "variable" else set().union(*(names_of(part) for part in node.parts))


class _Reader:
    """Reads a text from left to right. word: what comes next, "" at the end; column: where it stands, from 1."""

    def __init__(self, text: str, variables: Collection[str]) -> None:
        self._text, self._variables = text, variables
        self._at = self._nodes = self._depth = 0
        self._advance()

    def _advance(self) -> None:
        found = _TOKEN.match(self._text, self._at)
        if found:
            self.kind, self.word = str(found.lastgroup), found[str(found.lastgroup)]
            self.column, self._at = found.end() - len(self.word) + 1, found.end()
            return
        rest = self._text[self._at :]
        self.column = self._at + len(rest) - len(rest.lstrip()) + 1
        if rest.strip():
            raise ExpressionError(f'"{rest.lstrip()[0]}" at column {self.column} is not taken.', self.column)
        self.kind, self.word = "end", ""

    def _taken(self, *words: str) -> str:
        word = self.word
        if word not in words:
            return ""
        self._advance()
        return word

    def _made(self, node: Node, column: int) -> Node:
        self._nodes += 1
        if self._nodes > NODES:
            raise ExpressionError(f"The expression has more than {NODES} parts.", column)
        return node

    def either(self) -> Node:
        return self._logical("or", self._both)

    def _both(self) -> Node:
        return self._logical("and", self._test)

    def _logical(self, word: str, part: Callable[[], Node]) -> Node:
        column = self.column
        found = part()
        while self._taken(word):
            behind = self.column
            other = part()
            for each, where in ((found, column), (other, behind)):
                if each.kind != "truth":
                    raise ExpressionError(f'"{word}" at column {behind} joins what is true or false.', where)
            found = self._made(Node(word, "truth", (found, other)), behind)
        return found

    def _test(self) -> Node:
        column = self.column
        found = self._sum()
        if sign := self._taken("<", ">"):
            behind = self.column
            other = self._sum()
            for each, where in ((found, column), (other, behind)):
                if each.kind != "number":
                    text = "has a value for each cell" if each.kind == "cells" else "is true or false"
                    raise ExpressionError(f"What is compared at column {where} {text}; take its mean(), min(), max() or sum().", where)
            found = self._made(Node(sign, "truth", (found, other)), behind)
        return found

    def _sum(self) -> Node:
        return self._arithmetic(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._arithmetic(("*", "/"), self._factor)

    def _arithmetic(self, signs: tuple[str, str], part: Callable[[], Node]) -> Node:
        column = self.column
        found = part()
        while sign := self._taken(*signs):
            behind = self.column
            other = part()
            for each, where in ((found, column), (other, behind)):
                if each.kind == "truth":
                    raise ExpressionError(f'"{sign}" takes numbers; at column {where} is what is true or false.', where)
            kind: Kind = "cells" if "cells" in (found.kind, other.kind) else "number"
            found = self._made(Node(sign, kind, (found, other)), behind)
        return found

    def _factor(self) -> Node:
        column, word, kind = self.column, self.word, self.kind
        self._depth += 1
        if self._depth > DEPTH:
            raise ExpressionError(f"The expression is nested in more than {DEPTH} levels.", column)
        try:
            self._advance()
            if word == "-":
                inner = self._factor()
                if inner.kind == "truth":
                    raise ExpressionError(f'"-" takes a number; at column {column} is what is true or false.', column)
                return self._made(Node("negative", inner.kind, (inner,)), column)
            if word == "(":
                return self._closed(self.either())
            if kind == "number":
                value = float(word)
                if value == float("inf"):
                    raise ExpressionError(f"{word} does not fit into 64 bits.", column)
                return self._made(Node("number", "number", value=value), column)
            if word in AGGREGATES and self.word == "(":
                return self._made(self._aggregate(word), column)
            if kind == "name" and word not in WORDS:
                return self._made(self._variable(word, column), column)
            found = f'"{word}"' if word else "the end"
            raise ExpressionError(f"A number or a variable was expected at column {column}, not {found}.", column)
        finally:
            self._depth -= 1

    def _aggregate(self, word: str) -> Node:
        self._advance()
        column = self.column
        inner = self._sum()
        if inner.kind != "cells":
            raise ExpressionError(f"{word}() at column {column} takes what has a value for each cell: a variable.", column)
        return self._closed(Node(word, "number", (inner,)))

    def _closed(self, found: Node) -> Node:
        column = self.column
        if not self._taken(")"):
            raise ExpressionError(f'A ")" was expected at column {column}.', column)
        return found

    def _variable(self, name: str, column: int) -> Node:
        if isinstance(self._variables, Layered):
            try:
                name = self._variables.numbered(name)
            except RequestError as error:
                raise ExpressionError(f"{error} (column {column})", column, parted(name)[0]) from None
        if name not in self._variables:
            close, whole = closest(name, self._variables), parted(name)[0]
            hint = f' Did you mean "{close}"?' if close else ""
            if isinstance(self._variables, Layered) and whole != name and whole in self._variables:
                raise ExpressionError(f"{self._variables.missing(name)} (column {column})", column, whole)
            raise ExpressionError(f'There is no variable "{name[:64]}" (column {column}).{hint}', column, close)
        if isinstance(self._variables, Layered) and (levels := self._variables.levels(name)):
            raise ExpressionError(which_level(name, *levels), column)
        return Node("variable", "cells", name=name)
