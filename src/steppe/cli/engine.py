"""`steppe engine`: computes a served run; `steppe serve` starts it."""

from pathlib import Path

from steppe.cli.compiling import compiling_is_said
from steppe.cli.rank import rank_of_run
from steppe.cli.stop import Stop
from steppe.errors import Exit


def engine(folder: Path, *, epoch: int) -> Exit:
    """Compute the run of a folder for its server, which starts this command.

    Examples:

        steppe engine runs/queensland --epoch 1

    Parameters
    ----------
    folder
        The run folder.
    epoch
        Number of this start of an engine of the run.
    """
    with rank_of_run() as rank:
        from steppe.engine import Ranks
        from steppe.engine.loop import EngineLoop

        with Stop(says=False) as stop:
            made = EngineLoop(folder, epoch, Ranks(rank.world, where=rank.where), stop)
            with compiling_is_said(made.note, made.compiles):
                return made.run(rank.cores)
