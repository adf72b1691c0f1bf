"""`steppe measure files`."""

from pathlib import Path
from typing import TYPE_CHECKING

from steppe.cli.measuring import Passes, Targets, is_stopped, on_ranks
from steppe.errors import Exit, Mistake

if TYPE_CHECKING:
    from steppe.comm.raw import Raw
    from steppe.measure import Document


def files(
    directory: Path,
    /,
    *,
    quick: bool = False,
    size: int | None = None,
    passes: Passes = None,
    json: Path | None = None,
    html: Path | None = None,
) -> Exit:
    """Measure files in a directory: read and written by size of request, cold and warm, raw and compressed.

    After mpiexec it measures many ranks on one disk: three ways to read common data, writing to a file for each rank or to one file, and
    three ways to write the output.

    A cold read is one of a file of which no page lies in memory. The command verifies that before each pass; if it cannot, the report
    states that.

    Examples:

        steppe measure files . --quick
        steppe measure files /scratch --json disk.json
        mpiexec -n 4 steppe measure files /scratch --html ranks.html

    Parameters
    ----------
    directory
        A directory on the measured disk; nothing stays in it.
    quick
        Few sizes of a small file: under a minute.
    size
        Size of the file that is read, in MiB; 256 by default, 64 with --quick. After mpiexec 64 and 16.
    passes
        Passes over all series, 5 by default. Fewer take less time and leave wider intervals.
    json
        Write all samples and the machine to this file.
    html
        Write a report with pictures to this file.
    """
    if size is not None and size < 1:
        raise Mistake(f"--size {size} must be 1 MiB at least.")
    from steppe.cli.making import CountBar
    from steppe.comm import find_launch, keep_stops

    launch = find_launch()
    if launch is not None:
        return on_ranks(launch, lambda: Targets(json, html), lambda raw: _of_ranks(raw, directory, quick, size, passes), _finish)
    from steppe.measure import measure_files

    targets = Targets(json, html)
    keep_stops()
    with CountBar("files") as tell:
        document = measure_files(directory, quick, size, tell, is_stopped, passes)
    return _finish(document, targets)


def _of_ranks(raw: "Raw", directory: Path, quick: bool, size: int | None, passes: int | None) -> "Document":
    from steppe.cli.making import CountBar
    from steppe.measure import measure_ranked_files

    with CountBar("files of ranks", quiet=raw.rank > 0) as tell:
        return measure_ranked_files(raw, directory, quick, size, tell, is_stopped, passes)


def _finish(document: "Document", targets: Targets) -> Exit:
    from steppe.measure import rates_text

    return targets.finish(document, rates_text(document))
