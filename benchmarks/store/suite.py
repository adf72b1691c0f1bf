"""The store beside its targets: what reading costs, what writing costs, and what Australia would."""

import importlib
from importlib.util import find_spec

from benchmarks.figures import Figure

PARTS = ("benchmarks.store.reading", "benchmarks.store.writing", "benchmarks.store.australia")


def figures(quick: bool) -> list[Figure]:
    """Every part that is there."""
    return [figure for name in PARTS if find_spec(name) for figure in importlib.import_module(name).figures(quick)]
