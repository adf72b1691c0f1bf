"""`steppe measure report`."""

import sys
from pathlib import Path


def report(file: Path, /, *, html: Path | None = None) -> None:
    """Draw a measurement or a fit as one HTML file that needs no network: warnings, pictures, tables, the machine, the data.

    Examples:

        steppe measure report machine.json
        steppe measure report disk.json --html disk.html

    Parameters
    ----------
    file
        A file of `steppe measure ... --json`.
    html
        The file to write; by default beside the first one.
    """
    from steppe.files import check_writable
    from steppe.measure import read_document, write_report

    path = html or file.with_suffix(".html")
    check_writable(path)
    document = read_document(file)
    write_report(document, path)
    sys.stdout.write(f"{path}\n")
