"""Shared by the commands that measure: the files of the results, and how ranks measure and end together."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter, validators

from steppe.errors import Exit, Mistake

if TYPE_CHECKING:
    from steppe.comm import Launch
    from steppe.comm.raw import Raw, Threads
    from steppe.measure import Document

Found = TypeVar("Found")
Passes = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=100))]
SECOND = 1.0  # [s] that the other ranks wait while rank 0 reports a mistake


class Targets:
    """The files for the results of a measurement, checked before anything is measured.

    Raises
    ------
    Mistake
        One of them cannot be written.
    """

    def __init__(self, json: Path | None, html: Path | None) -> None:
        from steppe.files import check_writable

        check_writable(json)
        check_writable(html)
        self._json, self._html = json, html

    def finish(self, document: "Document", text: str) -> Exit:
        """Writes the files, then prints `text`; returns the exit code."""
        from steppe.measure import write_document, write_report

        if self._json is not None:
            write_document(document, self._json)
        if self._html is not None:
            write_report(document, self._html)
        sys.stdout.write(text)
        return Exit.DONE if document.complete else Exit.STOPPED


def on_ranks(
    launch: "Launch",
    check: Callable[[], Targets],
    work: "Callable[[Raw], Found]",
    finish: "Callable[[Found, Targets], Exit]",
    threads: "Threads" = "single",
) -> Exit:
    """Measures on all ranks that a launcher started. Rank 0 calls `check` first, every rank `work`, and rank 0 alone `finish`.

    The other ranks end before rank 0, with code 0: some launchers end all ranks when one ends with another code.
    """
    from steppe.comm import keep_stops, prepare_rank

    prepare_rank(launch)
    from steppe.comm.raw import open_raw

    raw = None
    try:
        raw = open_raw(launch, threads)
        keep_stops()
        targets = raw.on_first(check)
        found = work(raw)
        raw.barrier()
        raw.close()
    except Mistake as mistake:  # every rank raises it; rank 0 reports it
        if raw is not None:
            raw.close()
        if launch.rank == 0:
            raise
        time.sleep(SECOND)  # some launchers end all ranks when the first has ended
        return mistake.exit_code
    except BaseException as error:
        if raw is not None:
            raw.abort(f"{type(error).__name__}: {error}")
        raise
    return Exit.DONE if targets is None else finish(found, targets)


def refuse_ranks(launch: "Launch", why: str) -> Exit:
    """Ends a command that needs one process. Rank 0 raises the mistake, the other ranks return its exit code."""
    if launch.rank == 0:
        raise Mistake(why)
    time.sleep(SECOND)  # as above
    return Exit.MISTAKE


def is_stopped() -> bool:
    """True if a stop was requested; the command keeps the finished series."""
    from steppe.comm import kept_stops

    return bool(kept_stops())
