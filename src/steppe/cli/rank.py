"""`steppe run` as one of several ranks: how each rank begins and ends.

    rank 0    joins ── executes the command line: run() within rank_of_run() ── dismisses the others with the exit code
    others    join ── sleep, serve orders until rank 0 dismisses them; their command line is rank 0's

All ranks join before they do or import anything else: no rank waits awake for a late one.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steppe.errors import Exit, Mistake

if TYPE_CHECKING:
    from steppe.comm import Launch, RankLocation, Sites, World
    from steppe.engine import RunFile

FIRST_WORD = 1.0  # [s] for rank 0 to report a mistake of all ranks


@dataclass(frozen=True)
class Rank:
    """A rank. world: all ranks; where: its place in the run, kept up to date; cores: to use, None for all; sites: those of the bridge."""

    world: "World"
    where: "RankLocation"
    cores: int | None
    sites: "Sites | None" = None


_joined: Rank | None = None


def run_together(launch: "Launch", command: Callable[[], Exit]) -> Exit:
    """Runs a command on rank 0 while the other ranks serve its orders; returns the same exit code on every rank."""
    global _joined
    from steppe.comm import last_words

    try:
        _joined = rank = join(launch)
    except Mistake as mistake:
        # every rank raises it, and none knows of the others; a launcher may end all when the first has ended
        if launch.rank == 0:
            sys.stderr.write(f"steppe: {mistake}\n")
        else:
            time.sleep(FIRST_WORD)
        return mistake.exit_code
    with last_words(rank.world, rank.where, _debug()):
        if rank.world.rank == 0:
            code = command()
            from steppe.engine import Ranks

            Ranks(rank.world).dismiss(code)
        else:
            code = _serve(rank)
        rank.world.close()
    return code


def join(launch: "Launch") -> Rank:
    """Joins all ranks.

    It must be called before the import of anything that starts threads. Requests to stop are kept for a `Stop`.

    Raises
    ------
    Mistake
        There is no MPI library, or the launcher is not the library's.
    """
    from steppe.cli.control import tell
    from steppe.comm import RankLocation, cores_of_rank, find_sites, keep_stops, name_output, open_world, prepare_rank

    prepare_rank(launch)
    world = open_world(on_abort=lambda code: tell({"outcome": code}))
    keep_stops()
    if launch.bridged:
        name_output(world.rank)
    cores = cores_of_rank(world)  # all ranks have come here
    sites = find_sites(world) if launch.bridged else None
    if world.rank == 0:
        tell({"ready": world.size})
    return Rank(world, RankLocation(), cores, sites if sites and len(sites.names) > 1 else None)


@contextmanager
def rank_of_run() -> Iterator[Rank]:
    """Yields rank 0 of the ranks that have joined, or the only rank. An exception within ends all ranks, with one line of text."""
    from steppe.comm import RankLocation, Serial, last_words

    rank = _joined or Rank(Serial(), RankLocation(), None)
    with last_words(rank.world, rank.where, _debug()):
        yield rank


def _serve(rank: Rank) -> Exit:
    from steppe.cli.stop import Stop
    from steppe.engine import OwnFiles, serve_orders

    def tell(text: str) -> None:
        if rank.sites and rank.sites.leads(rank.world.rank) and rank.sites.of[rank.world.rank] != rank.sites.of[0]:
            sys.stderr.write(f"steppe: {text}\n")

    logging.getLogger("steppe").addHandler(logging.NullHandler())  # rank 0 reports it
    with Stop(says=False) as stop:
        own = OwnFiles(_read_own, tell)
        return Exit(serve_orders(rank.world, stop, rank.where, rank.cores, rank.sites, own))


def _read_own() -> "RunFile":
    from steppe.cli.run import own_run_file  # imports the libraries of command lines, which other ranks do not need

    return own_run_file(sys.argv[1:])


def _debug() -> bool:
    return "--debug" in sys.argv
