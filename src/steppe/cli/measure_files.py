"""`steppe measure files`."""

import sys
from pathlib import Path

from steppe.errors import Exit, Mistake


def files(directory: Path, /, *, quick: bool = False, size: int | None = None, json: Path | None = None) -> Exit:
    """Measure files in a directory: read and written by size of request, cold and warm, raw and compressed.

    Cold reads are of a file of which no page lies in memory, which is looked at before each pass; where that cannot be had, the report
    says so.

    Examples:

        steppe measure files . --quick
        steppe measure files /scratch --json disk.json

    Parameters
    ----------
    directory
        A directory on the disk that is to be measured; nothing stays in it.
    quick
        Few sizes of a small file: under a minute.
    size
        MiB of the file that is read; 256 by default, 64 with --quick.
    json
        Writes all samples and the machine to this file.
    """
    if size is not None and size < 1:
        raise Mistake(f"--size {size} must be 1 MiB at least.")
    from steppe.cli.making import Bar
    from steppe.comm import keep_stops, kept_stops
    from steppe.measure import measure_files, rates_text, write_document

    keep_stops()
    with Bar("files") as tell:
        document = measure_files(directory, quick, size, tell, lambda: bool(kept_stops()))
    if json is not None:
        write_document(document, json)
    sys.stdout.write(rates_text(document))
    return Exit.DONE if document.complete else Exit.STOPPED
