"""The sites of a world that the bridge has made of several launches."""

import os
from dataclasses import dataclass

from steppe.comm.launch import is_bridged
from steppe.comm.node import of_all
from steppe.comm.world import World

NAME = "STEPPE_BRIDGE_SITE"  # the variable with the name of this site
LONGEST = 64  # bytes of a name


@dataclass(frozen=True)
class Sites:
    """The sites of a world. names: in the order of their first ranks; of: the number of the site of each rank."""

    names: tuple[str, ...]
    of: tuple[int, ...]

    def ranks(self, site: int) -> list[int]:
        """The ranks of a site, ascending."""
        return [rank for rank, number in enumerate(self.of) if number == site]

    def leads(self, rank: int) -> bool:
        """True for the first rank of each site."""
        return self.of.index(self.of[rank]) == rank

    def __str__(self) -> str:
        return ", ".join(f"{name} ({ranks_text(self.ranks(site))})" for site, name in enumerate(self.names))


def find_sites(world: World, name: str | None = None) -> Sites:
    """The sites of a world, one without the bridge. Every rank calls it. name: replaces that of this site (tests)."""
    mine = (name or site_name() or "1").encode()[:LONGEST].ljust(LONGEST, b"\0")
    told = [bytes(row.tolist()).rstrip(b"\0").decode(errors="replace") for row in of_all(world, [*mine])]
    names = tuple(dict.fromkeys(told))
    return Sites(names, tuple(names.index(each) for each in told))


def ranks_text(ranks: list[int]) -> str:
    """Ranks in words.

    >>> ranks_text([3]), ranks_text([0, 1, 2, 3]), ranks_text([0, 2, 4])
    ('rank 3', 'ranks 0 to 3', 'ranks 0, 2, 4')
    """
    first, last = ranks[0], ranks[-1]
    if len(ranks) > 2 and ranks == [*range(first, last + 1)]:
        return f"ranks {first} to {last}"
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def site_name() -> str:
    """The name of the site of this rank; if the bridge does not tell it, its number, which MPI knows once it has begun; else ""."""
    if not is_bridged():
        return ""
    if NAME in os.environ:
        return os.environ[NAME]
    from mpi4py import MPI

    return str(1 + int(MPI.COMM_WORLD.Get_attr(MPI.APPNUM) or 0))
