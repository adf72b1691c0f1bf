"""`steppe remove`: removes a run folder."""

import sys
from pathlib import Path

from steppe.errors import Mistake


def remove(run: Path, /, *, branches: bool = False, yes: bool = False) -> None:
    """Remove a run folder with its results and checkpoints, and nothing else. The command asks first.

    It refuses a run that a process uses, and a folder with files that Steppe did not write.

    Examples:

        steppe remove runs/queensland
        steppe remove runs/queensland --branches --yes

    Parameters
    ----------
    run
        The run folder, or the folder of an ensemble.
    branches
        Remove the branches in it, too.
    yes
        Do not ask.
    """
    from steppe.engine.check import in_bytes
    from steppe.io import check_removal, remove_run

    found = check_removal(run, branches)
    parts = [found.model, found.days, f"{found.state}, {found.detail}" if found.detail else found.state, in_bytes(found.size)]
    parts += [f"with its branches {', '.join(found.branches)}"] if found.branches else []
    what = f'"{run}" ({"; ".join(filter(None, parts))})'
    if not yes:
        if not sys.stdin.isatty():
            raise Mistake(f"{what} is removed only after a yes, and there is no terminal to ask. Give --yes.")
        sys.stdout.write(f"Remove {what}? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("Nothing is removed.")
            return
    remove_run(run, branches)
    print(f"{run} is removed.")
