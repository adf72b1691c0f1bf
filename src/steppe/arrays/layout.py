"""Pages of an array: which rank owns each, and where it lies in the memory of its host. Pure arithmetic, without messages.

blocks      page g belongs to rank g * ranks // pages: contiguous pages, in order of rank
wrapped     page g belongs to rank g mod ranks, as in DOLIB (D'Azevedo and Romine 1994)
"""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.errors import ArrayError

Kind = Literal["blocks", "wrapped"]
PAGE = 65_536  # [bytes]


def runs_of(numbers: Integers) -> Integers:
    """Numbers (n,) that follow each other as pairs (first, count), (runs, 2)."""
    begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1] + 1)[: numbers.size])
    return np.stack([numbers[begins], np.diff(begins, append=numbers.size)], axis=1)


@dataclass(frozen=True)
class PageLayout:
    """The pages of an array of `length` elements of `itemsize` bytes over ranks on hosts.

    hosts: the host of each rank, numbered from 0. page [bytes]: a power of two, at least one element.

    Raises
    ------
    ArrayError
        The kind or the page size cannot be.
    """

    length: int
    itemsize: int
    hosts: tuple[int, ...]
    kind: Kind = "blocks"
    page: int = PAGE

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ArrayError(f'An array has no layout "{self.kind}". Choose "blocks" or "wrapped".')
        if not isinstance(self.page, int | np.integer) or self.page < self.itemsize or self.page & (self.page - 1):
            raise ArrayError(f"A page has {self.page} bytes, expected a power of two of at least {self.itemsize}.")

    @property
    def shift(self) -> int:
        """An index shifted down by this is the number of its page."""
        return (self.page // self.itemsize).bit_length() - 1

    @property
    def pages(self) -> int:
        """The number of pages; the last one may be partly used."""
        return -(-self.length * self.itemsize // self.page)

    @cached_property
    def owners(self) -> Integers:
        """The rank of each page, (pages,)."""
        page, ranks = np.arange(self.pages), len(self.hosts)
        return page % ranks if self.kind == "wrapped" else page * ranks // max(self.pages, 1)

    @cached_property
    def page_hosts(self) -> NDArray[np.int16]:
        """The host of each page, (pages,)."""
        return np.array(self.hosts, np.int16)[self.owners]

    def bytes_on(self, host: int) -> int:
        """The memory of a host [bytes]."""
        ranks, pages = len(self.hosts), self.pages
        mine = [rank for rank, of in enumerate(self.hosts) if of == host]
        if self.kind == "wrapped":
            return self.page * sum(-(-(pages - rank) // ranks) for rank in mine if rank < pages)
        return self.page * sum(-(-(rank + 1) * pages // ranks) - -(-rank * pages // ranks) for rank in mine)

    def pages_of(self, host: int) -> Integers:
        """The pages in the memory of a host, in the order in which they lie there: by rank, then by number."""
        mine = np.flatnonzero(self.page_hosts == host)
        return mine[np.argsort(self.owners[mine], kind="stable")]

    def table(self, host: int, address: int) -> Integers:
        """The address of each page for a process of `host` that sees its memory at `address`; 0 for pages of other hosts."""
        found = np.zeros(self.pages, np.int64)
        here = self.pages_of(host)
        found[here] = address + self.page * (here if self.have_places() else np.arange(here.size))
        return found

    def pieces(self, host: int) -> Integers:
        """Where the pages of a host lie in its memory and in that of all, see `comm.placed`: (pieces, 3) [bytes]."""
        first, count = runs_of(self.pages_of(host)).T * self.page
        return np.stack([np.cumsum(count) - count, first, count], axis=1)

    def in_one_piece(self) -> bool:
        """True if the memory of the only host has all elements in order."""
        return max(self.hosts) == 0 and (self.kind == "blocks" or len(self.hosts) == 1)

    def have_places(self) -> bool:
        """True if the pages of a host can lie where they would lie in memory of all pages: few pieces, which the system can map."""
        return self.in_one_piece() or (self.kind == "blocks" and self.page % mmap.PAGESIZE == 0)

    def elements_of(self, rank: int) -> Sequence[tuple[int, int]]:
        """The ranges (first, one after the last) of elements of a rank; neighbouring pages are one range."""
        runs = runs_of(np.flatnonzero(self.owners == rank)).tolist()
        return [(first << self.shift, min(self.length, (first + count) << self.shift)) for first, count in runs]
