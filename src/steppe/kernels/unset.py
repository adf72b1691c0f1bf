"""Finds names that may have no value where a function reads them: Python raises an error there, and compiled code would read 0.

Loops are taken to run at least once, so what is given a value in the body of one has a value behind it.
"""

import ast
from collections.abc import Iterable, Sequence

from steppe.errors import ModelError, place
from steppe.kernels.text import Definition

Names = frozenset[str]
ENDS = ast.Return | ast.Raise | ast.Break | ast.Continue


def check_values(found: Definition, nodes: Iterable[ast.AST], file: str) -> None:
    """Checks that each local name has a value on every path to where it is read. nodes: of the body.

    Raises
    ------
    ModelError
        The message names the file, the line, its text, and the name.
    """
    arguments = {each.arg for each in ast.walk(found.args) if isinstance(each, ast.arg)}
    given = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    given |= {str(node.name) for node in nodes if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name}
    _Paths(frozenset(given - arguments), file).through(found.body, frozenset())


class _Paths:
    """local: names that are no arguments; all others have a value everywhere."""

    def __init__(self, local: Names, file: str) -> None:
        self._local, self._file = local, file

    def through(self, body: Sequence[ast.stmt], given: Names) -> Names | None:
        """The names with a value behind some statements; None if no path goes on there."""
        for statement in body:
            after = self._behind(statement, given)
            if after is None:
                return None
            given = after
        return given

    def _behind(self, statement: ast.stmt, given: Names) -> Names | None:
        match statement:
            case ast.If():
                given = self._read(statement.test, given)
                return _both(self.through(statement.body, given), self.through(statement.orelse, given))
            case ast.For():
                given = self._read(statement.iter, given) | _stored(statement.target)
                return self._behind_loop(statement, given)
            case ast.While():
                return self._behind_loop(statement, self._read(statement.test, given))
            case ast.Match():
                given = self._read(statement.subject, given)
                paths: list[Names | None] = [given]  # where no case fits
                for case in statement.cases:
                    taken = given | _stored(case.pattern)
                    taken = taken if case.guard is None else self._read(case.guard, taken)
                    paths.append(self.through(case.body, taken))
                    if case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
                        paths[0] = None
                found = None
                for path in paths:
                    found = _both(found, path)
                return found
            case ast.AnnAssign(value=None):
                return given
            case ast.AugAssign(target=ast.Name() as target):
                self._expect(target, given)
                return self._read(statement.value, given)
            case _:
                after = self._read(statement, given) | _stored(statement)
                return None if isinstance(statement, ENDS) else after

    def _behind_loop(self, loop: ast.For | ast.While, given: Names) -> Names:
        body = [given for given in (self.through(loop.body, given),) if given is not None]
        after = body[0] if body else given | frozenset().union(*map(_stored, loop.body))  # each path ends the loop or the function
        return self.through(loop.orelse, after) or after

    def _read(self, node: ast.AST, given: Names) -> Names:
        """Checks the names that a node reads; returns `given` with those that get one inside it."""
        for each in ast.walk(node):
            if isinstance(each, ast.NamedExpr | ast.comprehension):
                given |= _stored(each.target)
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                self._expect(each, given)
        return given

    def _expect(self, name: ast.Name, given: Names) -> None:
        if name.id in self._local and name.id not in given:
            raise ModelError(
                f'{place(self._file, name.lineno)}: "{name.id}" may have no value here. Give it one on every path, such as before the `if`.'
            )


def _stored(node: ast.AST) -> Names:
    """The names to which a node gives a value."""
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return frozenset(stored | {str(each.name) for each in ast.walk(node) if isinstance(each, ast.MatchAs | ast.MatchStar) and each.name})


def _both(one: Names | None, other: Names | None) -> Names | None:
    """The names with a value where two paths meet."""
    return other if one is None else one if other is None else one & other
