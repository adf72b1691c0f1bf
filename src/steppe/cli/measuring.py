"""What the commands that measure share: where the results go, and how ranks measure together and end together."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steppe.errors import Exit, Mistake

if TYPE_CHECKING:
    from steppe.comm import Launch
    from steppe.comm.raw import Raw
    from steppe.measure import Document

SECOND = 1.0  # [s] that the other ranks give rank 0 to say what is wrong


class Targets:
    """The files that a measurement becomes. Made before anything is measured.

    Raises
    ------
    Mistake
        One of them cannot be written.
    """

    def __init__(self, json: Path | None, html: Path | None) -> None:
        from steppe.measure import check_target

        check_target(json)
        check_target(html)
        self._json, self._html = json, html

    def write(self, document: "Document") -> None:
        """Writes what was asked for."""
        from steppe.measure import write_document, write_report

        if self._json is not None:
            write_document(document, self._json)
        if self._html is not None:
            write_report(document, self._html)


def on_ranks(
    launch: "Launch",
    json: Path | None,
    html: Path | None,
    work: "Callable[[Raw], Document]",
    show: "Callable[[Document], None]",
    threads: Literal["single", "multiple"] = "single",
) -> Exit:
    """Measures on all ranks that a launcher started. work: on every rank; show: of rank 0, when the files are written."""
    from steppe.comm import keep_stops, prepare_rank

    prepare_rank(launch)
    from steppe.comm.raw import open_raw

    raw = None
    try:
        raw = open_raw(launch, threads)
        keep_stops()
        targets = _targets_of_all(raw, json, html)
        document = work(raw)
        if targets is not None:
            targets.write(document)
            show(document)
        raw.barrier()
        raw.close()
    except Mistake as mistake:  # of all alike; rank 0 says it
        if raw is not None:
            raw.close()
        if launch.rank == 0:
            raise
        time.sleep(SECOND)  # some launchers end all when the first has ended
        return mistake.exit_code
    except BaseException as error:
        if raw is not None:
            raw.abort(f"{type(error).__name__}: {error}")
        raise
    return Exit.DONE if document.complete else Exit.STOPPED


def _targets_of_all(raw: "Raw", json: Path | None, html: Path | None) -> Targets | None:
    """Of rank 0, whose folders they are; None of the others. What is wrong with them is a mistake of all."""
    targets, problem = None, ""
    if raw.rank == 0:
        try:
            targets = Targets(json, html)
        except Mistake as mistake:
            problem = str(mistake)
    problem = raw.texts(problem)[0]
    if problem:
        raise Mistake(problem)
    return targets
