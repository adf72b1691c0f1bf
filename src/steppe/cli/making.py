"""Shared by commands that make a store or a file: types of options, the grid of the options, and a progress bar."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steppe.errors import GridError

if TYPE_CHECKING:
    from rich.progress import Progress

    from steppe.grid import Grid
    from steppe.measure import Tell

Day = Annotated[str, Parameter(metavar="DATE")]
OptionalDay = Annotated[str | None, Parameter(metavar="DATE")]
Region = Annotated[str | None, Parameter(metavar="NAME")]


def grid_of(region: str | None, file: Path | None, points: Path | None) -> "Grid":
    """The grid that the options name.

    Raises
    ------
    GridError
        Not exactly one is given, or it cannot be read.
    """
    from steppe.grid import read_grid

    if sum(source is not None for source in (region, file, points)) != 1:
        raise GridError("A store is made for one grid. Give exactly one of --region, --file and --points.")
    return read_grid(region, file, points)


class CountBar:
    """Shows progress: a bar on a terminal, a line every ten seconds elsewhere (ranks never have a terminal). quiet: nothing."""

    def __init__(self, what: str, quiet: bool = False) -> None:
        self._what, self._quiet = what, quiet
        self._bar: Progress | None = None

    def __enter__(self) -> "Tell":
        if self._quiet:
            return lambda part, now="": None
        if not sys.stderr.isatty():
            from steppe.cli.progress import Shares

            return Shares(self._what)
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        bar = self._bar = Progress(console=Console(stderr=True))
        bar.start()
        task = bar.add_task(self._what, total=1.0)
        return lambda part, now="": bar.update(task, completed=part, description=escape(f"{self._what} {now}".rstrip()))

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
