"""`steppe list`: the run folders below a folder."""

import json as json_format
import sys
from pathlib import Path

HEAD = ("folder", "model", "days", "state", "size")


def list(folder: Path = Path("."), /, *, json: bool = False) -> None:
    """Show the run folders below a folder: model, days, state, size on the disk.

    Branches and scenarios belong to their run. States are finished, unfinished, in use, ensemble, failed and damaged.

    Examples:

        steppe list
        steppe list runs --json

    Parameters
    ----------
    folder
        The folder; default: the working folder.
    json
        The same as JSON on standard output.
    """
    from dataclasses import asdict

    from steppe.engine.check import in_bytes
    from steppe.io import find_runs

    found = find_runs(folder)
    if json:
        sys.stdout.write(json_format.dumps([asdict(each) | {"path": str(each.path)} for each in found], indent=2) + "\n")
        return
    if not found:
        print(f'There is no run folder in "{folder}".')
        return
    rows = [HEAD]
    for each in found:
        with_branches = f"; {len(each.branches):,} branches" if each.branches else ""
        state = f"{each.state}: {each.detail}" if each.detail else each.state
        rows.append((str(each.path), each.model, each.days, state + with_branches, in_bytes(each.size)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
