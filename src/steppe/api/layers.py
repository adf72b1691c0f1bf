"""The variables of a run by name, with the names of their levels."""

from collections.abc import Iterable
from functools import partial

import msgspec

from steppe.api.replies import Levels, VariableInfo
from steppe.levels import Layered, Space


def by_name(variables: Iterable[VariableInfo]) -> Layered[VariableInfo]:
    """Name -> variable; "ozone[3]" is level 3 of ozone, a variable without levels."""
    found = {each.name: each for each in variables}
    spaces = {each.levels.name: _space(each.levels) for each in found.values() if each.levels}
    return Layered(found, spaces, partial(msgspec.structs.replace, levels=None))


def _space(levels: Levels) -> Space:
    return Space(tuple(levels.values), levels.units, levels.standard_name, levels.positive, tuple(levels.bounds), levels.long_name)
