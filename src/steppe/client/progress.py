"""A bar while a caller waits, in a terminal or a notebook."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """The display of an operation. Nothing is imported, and nothing drawn, before the first `tell`.

    Parameters
    ----------
    text
        What is being done.
    wanted
        None: when there is a terminal or a notebook.
    """

    def __init__(self, text: str, wanted: bool | None) -> None:
        self._text = text
        self._wanted = (sys.stderr.isatty() or "ipykernel" in sys.modules) if wanted is None else wanted
        self._bar: Progress | None = None
        self._first = 0

    def __enter__(self) -> Self:
        return self

    def tell(self, done: int | None, total: int | None, note: str = "") -> None:
        """Shows the number of steps that are done, and of all."""
        if not self._wanted:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._first = done or 0
            self._task = self._bar.add_task(self._text, total=None, note=note)
        steps = None if total is None else total - self._first
        self._bar.update(self._task, completed=(done or 0) - self._first, total=steps, note=note)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
