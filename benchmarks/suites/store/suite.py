"""The store beside its targets: what reading costs, what writing costs, and what Australia would."""

from benchmarks.figures import Figure
from benchmarks.suites.store import australia, reading, writing


def figures(quick: bool) -> list[Figure]:
    """Every part."""
    return [figure for part in (reading, writing, australia) for figure in part.figures(quick)]
