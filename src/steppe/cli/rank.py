"""`steppe run` as one of several ranks: how each begins, and the one way out.

    rank 0    reads the command line as ever ... rank_of_run() ... commands ... dismisses the others with the exit code
    others    follow(): rank_of_run(), then orders; their command line is rank 0's, and they import nothing that reads it

Where rank 0 ends before it came to `rank_of_run` (a mistyped option, `--help`), `release` lets the others go.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steppe.errors import Exit, Mistake

if TYPE_CHECKING:
    from steppe.comm import Whereabouts, World

_joined = False


def is_follower() -> bool:
    """Whether this process is a rank above 0."""
    from steppe.comm import find_launch

    launch = find_launch()
    return launch is not None and launch.rank > 0


def follow() -> Exit:
    """What ranks above 0 do in place of a command; ends with what rank 0 ends with."""
    from steppe.cli.stop import Stop

    with rank_of_run() as (world, where), Stop(says=False) as stop:
        from steppe.comm import cores_of_rank
        from steppe.engine import obey

        return Exit(obey(world, stop, where, cores_of_rank(world)))


def release(code: Exit) -> None:
    """Ends the ranks that follow, when rank 0 has ended with `code` before they could join."""
    from steppe.comm import find_launch

    if _joined or find_launch() is None:
        return
    with rank_of_run() as (world, where):
        from steppe.comm import cores_of_rank
        from steppe.engine import Crew

        cores_of_rank(world)
        Crew(world, where=where).dismiss(code)


@contextmanager
def rank_of_run() -> Iterator[tuple["World", "Whereabouts"]]:
    """The world of this command, and what it has to keep true: where it is.

    Called before anything is imported that starts threads. Whatever is raised within ends all ranks with one line. Requests to stop wait
    until `steppe.comm.listen_to_stops`. In one process nothing of all this happens.

    Raises
    ------
    Mistake
        There is no MPI library, or the launcher is not the library's.
    """
    from steppe.cli.control import tell
    from steppe.comm import Whereabouts, find_launch, last_words, open_world, prepare_rank

    global _joined
    _joined = True
    launch = find_launch()
    if launch is not None:
        prepare_rank(launch)
    try:
        world = open_world(on_abort=lambda code: tell({"outcome": code}))
    except Mistake:
        if launch is not None and launch.rank > 0:
            sys.exit(Mistake.exit_code)  # rank 0 says it for all, none of which knows of the others
        raise
    where = Whereabouts()
    if launch is not None and world.rank == 0:
        tell({"ready": world.size})
    with last_words(world, where, "--debug" in sys.argv):
        yield world, where
        world.close()
