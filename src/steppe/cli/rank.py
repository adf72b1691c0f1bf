"""A command that several ranks run together: how each begins, and the one way out."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steppe.errors import Mistake

if TYPE_CHECKING:
    from steppe.comm import Whereabouts, World


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
    from steppe.comm import Whereabouts, find_launch, last_words, open_world, prepare_rank

    launch = find_launch()
    if launch is not None:
        prepare_rank(launch)
    try:
        world = open_world()
    except Mistake:
        if launch is not None and launch.rank > 0:
            sys.exit(Mistake.exit_code)  # rank 0 says it for all, none of which knows of the others
        raise
    where = Whereabouts()
    if launch is not None and world.rank == 0:
        from steppe.cli.control import Speaker

        speaker = Speaker()
        speaker.say({"ready": world.size})
        speaker.close()
    with last_words(world, where, "--debug" in sys.argv):
        yield world, where
        world.close()
