"""`steppe compact`: a journal that has grown long begins anew."""

import sys
from pathlib import Path

from steppe.cli.replay import JOURNAL
from steppe.errors import Exit, Mistake


def compact(run: Path, /, *, checkpoint: str = "", main_only: bool = False) -> Exit:
    """Make the journal of a steered run short again: it begins at a checkpoint, and main stands where it stood.

    The run must not be served meanwhile. What was ordered before the checkpoint stays in the old journal, which is kept beside the new one
    and can still be replayed. main cannot be rewound to before the checkpoint any more, but restarted.

    Examples:

        steppe compact runs/queensland
        steppe compact runs/queensland --checkpoint 0000003650

    Parameters
    ----------
    run
        The run folder.
    checkpoint
        Where the journal begins; the newest on the way to main, if none is named.
    main_only
        Leave the other scenarios behind, in the old journal.
    """
    if not (run / JOURNAL).is_file():
        raise Mistake(f'There is no journal "{run / JOURNAL}".')
    from steppe.jobs.compact import compact_run
    from steppe.server.runs import held

    with held(run, "`steppe compact`"):
        done = compact_run(run, checkpoint, main_only, _say)
    sys.stdout.write(
        f"The journal begins at step {done.at.step}; {done.kept:,} of {done.of:,} orders are in it. The old one is {run / done.journal}.\n"
    )
    return Exit.DONE


def _say(text: str) -> None:
    sys.stderr.write(f"steppe: {text}\n")
