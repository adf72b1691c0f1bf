"""`steppe compact`: makes a long journal begin at a checkpoint."""

import sys
from pathlib import Path

from steppe.errors import Exit, Mistake


def compact(run: Path, /, *, checkpoint: str = "", main_only: bool = False) -> Exit:
    """Shorten the journal of a steered run: it begins at a checkpoint, and main keeps its state.

    No server may serve the run meanwhile. The old journal stays beside the new one, with the orders before the checkpoint, and can
    still be replayed. main can be restarted, but no longer rewound to before the checkpoint.

    Examples:

        steppe compact runs/queensland
        steppe compact runs/queensland --checkpoint 0000003650

    Parameters
    ----------
    run
        The run folder.
    checkpoint
        The checkpoint at which the journal begins; default: the newest in the history of main.
    main_only
        Keep only main; the other scenarios stay in the old journal.
    """
    from steppe.control.orders import JOURNAL

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
