"""`steppe measure compare`."""

import sys
from pathlib import Path

from steppe.errors import Exit, Mistake


def compare(first: Path, second: Path, /, *, fail_if_slower: str | None = None) -> Exit:
    """Compare two measurements series by series: same, faster, slower, or cannot tell.

    A ratio is time of the second over time of the first, with a 95 % interval. A series is same, faster or slower only if the
    whole interval lies within 5 % of 1, or beyond.

    Examples:

        steppe measure compare before.json after.json
        steppe measure compare before.json after.json --fail-if-slower 10%

    Parameters
    ----------
    first
        A file of `steppe measure ... --json`.
    second
        Another such file, from another day, machine or MPI library.
    fail_if_slower
        End with code 1 when a series of the second is slower by more than this, as 10%.
    """
    from steppe.measure import compare as compare_documents
    from steppe.measure import compared_text, read_document

    share = None if fail_if_slower is None else _share(fail_if_slower)
    documents = [read_document(path) for path in (first, second)]
    for path, document in zip((first, second), documents, strict=True):
        if not document.series:
            raise Mistake(f'"{path}" holds no measured series. `steppe measure messages`, `files` and `kernels` write some with --json.')
        if not all(series.samples for series in document.series):
            raise Mistake(f'"{path}" holds no samples, from which the intervals are computed. Give the file that --json wrote.')
    found = compare_documents(documents[0], documents[1])
    sys.stdout.write(compared_text(found))
    slower = [] if share is None else found.slower_than(share)
    if slower:
        sys.stdout.write(f"{len(slower)} of {len(found.matches)} series are slower by more than {fail_if_slower}.\n")
    return Exit.FAILURE if slower else Exit.DONE


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / 100.0
    except ValueError:
        share = -1.0
    if not 0.0 <= share < 100.0:
        raise Mistake(f'--fail-if-slower "{text}" must be a percentage of 0 or more, as 10%.')
    return share
