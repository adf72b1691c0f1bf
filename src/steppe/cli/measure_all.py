"""`steppe measure all`."""

from pathlib import Path
from typing import TYPE_CHECKING

from steppe.cli.measuring import Passes, Targets, is_stopped, on_ranks
from steppe.errors import Exit

if TYPE_CHECKING:
    from steppe.comm.raw import Raw
    from steppe.measure import Document, Tell

Part = tuple["Document", str]  # a measurement, and its text for a terminal
REST = (
    "Messages, and files of many ranks, need ranks: mpiexec -n 2 steppe measure all, or as many as there are cores, measures them, too.\n"
)


def measure_all(
    directory: Path = Path(),
    /,
    *,
    quick: bool = False,
    passes: Passes = None,
    json: Path | None = None,
    html: Path | None = None,
) -> Exit:
    """Measure all of this machine: messages and files of many ranks where there are ranks, then files and kernels.

    After mpiexec the other ranks end before rank 0 measures files and kernels.

    Examples:

        steppe measure all --quick --html machine.html
        mpiexec -n 2 steppe measure all /scratch --json machine.json \\
            --html machine.html

    Parameters
    ----------
    directory
        A directory on the measured disk, by default the working directory; nothing stays in it.
    quick
        Less of each: under a minute for each.
    passes
        Passes over all series, 5 by default. Fewer take less time and leave wider intervals.
    json
        Write all samples, the machine and the fits to this file.
    html
        Write a report with pictures to this file.
    """
    from steppe.comm import find_launch, keep_stops

    def check() -> Targets:
        from steppe.measure import check_directory

        targets = Targets(json, html)
        check_directory(directory, quick)
        return targets

    def finish(found: list[Part], targets: Targets) -> Exit:
        from steppe.measure import joined

        stopped = any(not document.complete for document, _ in found)
        parts = [*found, *([] if stopped else _alone(directory, quick, passes, 0.5 if found else 0.0))]
        heads = [] if found else [REST]
        return targets.finish(joined([document for document, _ in parts]), "\n".join(heads + [text for _, text in parts]))

    launch = find_launch()
    if launch is not None:
        return on_ranks(launch, check, lambda raw: _on_ranks(raw, directory, quick, passes), finish)
    targets = check()
    keep_stops()
    return finish([], targets)


def _on_ranks(raw: "Raw", directory: Path, quick: bool, passes: int | None) -> list[Part]:
    from steppe.cli.making import CountBar
    from steppe.measure import MessageOptions, measure_messages, measure_ranked_files, messages_text, rates_text

    with CountBar("all", quiet=raw.rank > 0) as tell:
        document, fits = measure_messages(raw, MessageOptions(quick, passes=passes), _between(tell, 0.0, 0.25), is_stopped)
        found = [(document, messages_text(document, fits))]
        if document.complete:  # the same on all ranks
            document = measure_ranked_files(raw, directory, quick, None, _between(tell, 0.25, 0.5), is_stopped, passes)
            found.append((document, rates_text(document)))
    return found


def _alone(directory: Path, quick: bool, passes: int | None, begin: float) -> list[Part]:
    """Measures files, then kernels, in this process alone. After a stop it measures no kernels."""
    from steppe.cli.making import CountBar
    from steppe.measure import measure_files, measure_processor, rates_text

    middle, found = (begin + 1.0) / 2.0, list[Part]()
    with CountBar("all") as tell:
        document = measure_files(directory, quick, None, _between(tell, begin, middle), is_stopped, passes)
        found.append((document, rates_text(document)))
        if document.complete:
            document = measure_processor(None, quick, _between(tell, middle, 1.0), is_stopped, passes)
            found.append((document, rates_text(document)))
    return found


def _between(tell: "Tell", low: float, high: float) -> "Tell":
    return lambda part, now="": tell(low + part * (high - low), now)
