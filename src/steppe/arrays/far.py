"""Elements that lie in the memory of other hosts: requests by host, and the answers put in order.

gather      equal indices are asked for once; neighbours are asked for as runs
pages       whole pages, as runs of neighbours
update      every element is sent, in order, and changed by the other host's server
"""

import time
from collections.abc import Callable, Iterator
from ctypes import string_at
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from typing_extensions import Buffer

from steppe.array_types import Array, Integers
from steppe.arrays.access import ANSWERED, GATHER, ElementLoops, access, distinct
from steppe.arrays.layout import PageLayout, runs_of
from steppe.arrays.serving import Answer, Handler, PageRequest
from steppe.arrays.site import ArraySite
from steppe.timeline import span

MOST = 1 << 20  # elements of a request
FEW = 16  # elements that are sent as they are
LONG = 64  # elements of a run that is sooner copied by itself than in a loop over all elements
SAMPLE = 512  # indices of a call
FACTOR = {"i": "i8", "f": "f8"}  # what a factor of integers or floats is sent as
SHORT, LARGEST = np.uint32, np.iinfo(np.uint32).max  # as which indices are sent that fit


@dataclass
class Traffic:
    """The messages between hosts for one array on this rank."""

    messages: int = 0
    sent: int = 0  # bytes, in both directions
    longest_wait: float = 0.0  # [s]
    hits: int = 0  # elements read from stored pages
    misses: int = 0  # pages fetched to be stored
    passed_by: int = 0  # elements fetched alone: too few of their page were asked for, or there was no room


Wait = Callable[[], Array]  # waits for the answers, and returns the values in the order of the indices


class Fetch(NamedTuple):
    """A gather under way."""

    wait: Wait
    """The elements, in the shape of the indices."""


class Far:
    """The part of an array that lies on other hosts."""

    def __init__(self, site: ArraySite, number: int, dtype: DTypeLike, layout: PageLayout) -> None:
        self._site, self._number, self._dtype, self._layout = site, number, np.dtype(dtype), layout
        self._two = max(layout.hosts) == 1  # then all that is elsewhere is on one host
        self.traffic = Traffic()

    def pages(self, numbers: Integers) -> list[tuple[Integers, Wait]]:
        """Asks for whole pages, given in order: groups of them, each on one host, and their elements under way."""
        layout, found = self._layout, list[tuple[Integers, Wait]]()
        for host, places in self._split(numbers << layout.shift, max(MOST >> layout.shift, 1)):
            group = numbers[places]
            runs = runs_of(group) << layout.shift
            runs[-1, 1] = min(runs[-1, 1], layout.length - runs[-1, 0])
            n = int(runs[:, 1].sum())
            found.append((group, self._waiting(n, [(self._send(host, GATHER, n, runs), slice(None))])))
        return found

    def change(self, operation: int, index: Integers, x: Array, a: float = 1, b: float = 1) -> Wait:
        """Does an operation of `access` on elements (n,) of other hosts; gives the elements, or the former values of `FETCH_UPDATE`."""
        inverse, asked = None, []
        if operation == GATHER and index.size > FEW and _repeats(index):
            index, inverse = _distinct(index)
        for host, places in self._split(index):
            where = np.ascontiguousarray(index[places])
            values = (np.array([a, b], FACTOR[self._dtype.kind]), x[places]) if x.size else ()
            asked.append((self._send(host, operation, where.size, _packed(where, self._layout.length), *values), places))
        found = self._waiting(index.size, asked)
        return found if inverse is None else lambda: found()[inverse]

    def _waiting(self, n: int, asked: list[tuple[Answer, Integers | slice]]) -> Wait:
        """Waits for answers and counts the time: n values, in the places of each answer."""

        def wait() -> Array:
            begin = time.perf_counter()
            with span("exchange"):
                contents = [np.frombuffer(answer.wait(), self._dtype) for answer, _ in asked]
            self.traffic.longest_wait = max(self.traffic.longest_wait, time.perf_counter() - begin)
            if len(asked) == 1 and isinstance(asked[0][1], slice):
                return contents[0]
            found = np.empty(n, self._dtype)
            for content, (_, places) in zip(contents, asked, strict=True):
                if content.size:
                    found[places] = content
            return found

        return wait

    def _split(self, index: Integers, most: int = MOST) -> Iterator[tuple[int, Integers | slice]]:
        """Hosts, and the places of their indices, at most `most` at once."""
        hosts = self._layout.page_hosts[(index[:1] if self._two else index) >> self._layout.shift]
        if (hosts == hosts[0]).all():
            yield from ((int(hosts[0]), slice(first, first + most)) for first in range(0, index.size, most))
            return
        order = np.argsort(hosts, kind="stable")  # a radix sort: hosts are int16
        for group in np.split(order, np.flatnonzero(np.diff(hosts[order])) + 1):
            yield from ((int(hosts[group[0]]), group[first : first + most]) for first in range(0, group.size, most))

    def _send(self, host: int, operation: int, elements: int, where: Integers, *values: Array) -> Answer:
        answer = self._site.link(host).ask(self._number, operation, where, *values)
        self.traffic.messages += 1
        answered = elements * self._dtype.itemsize if operation in ANSWERED else 0
        self.traffic.sent += answered + sum(each.nbytes for each in (where, *values))
        return answer


def handler(dtype: DTypeLike, shift: int, table: Integers, memory: Array, placed: bool) -> Handler:
    """Answers requests for the pages of this host, whose addresses are in `table`; keeps their memory alive.

    placed: each element has its place in the memory.
    """
    kind = np.dtype(dtype)
    loops: ElementLoops = access(kind.name)
    elements = memory[: memory.size // kind.itemsize * kind.itemsize].view(kind)  # other ranks may ask when this one has dropped its array

    def answer(request: PageRequest) -> Buffer:
        _, operation, where, values = request
        if placed and operation == GATHER and where.ndim > 1 and where[:, 1].sum() > LONG * len(where):
            return np.concatenate([elements[first : first + count] for first, count in where.tolist()]).data
        index = _from_runs(where) if where.ndim > 1 else where.astype(np.int64, copy=False)
        n = index.size
        if n <= FEW and operation == GATHER:  # sooner copied than a kernel is called
            size, mask = kind.itemsize, (1 << shift) - 1
            return b"".join(string_at(int(table[i >> shift]) + size * (i & mask), size) for i in index.tolist())
        factors, x = np.ones(2, FACTOR[kind.kind]), np.empty(0, kind)
        if operation != GATHER:  # which is sent without them
            factors = np.frombuffer(values, factors.dtype, 2)
            x = np.frombuffer(values, kind, offset=factors.nbytes)
        found = np.empty(n if operation in ANSWERED else 0, kind)
        loops.change(n, operation, shift, *factors, table, index, x, found)
        return found.data if found.size else b""

    return answer


def _sample(index: Integers) -> Integers:
    """Indices that follow each other in the middle of a call, from which the rest is judged."""
    first = max(0, (index.size - SAMPLE) // 2)
    return index[first : first + SAMPLE]


def _repeats(index: Integers) -> bool:
    """True if it is worth while to look for equal indices: they are a twentieth of a sample, at least."""
    sample = np.sort(_sample(index))
    return int(np.count_nonzero(sample[1:] == sample[:-1])) * 20 >= sample.size


def _distinct(index: Integers) -> tuple[Integers, Integers]:
    """The different indices, and the place of each index among them."""
    width = (2 * index.size - 1).bit_length()
    slots, found, inverse, counts = np.full(1 << width, -1), np.empty_like(index), np.empty_like(index), np.zeros(1, np.int64)
    distinct(index.size, width, index, slots, found, inverse, counts)
    return found[: counts[0]], inverse


def _packed(index: Integers, length: int) -> Integers:
    """Indices (n,) as they are sent: as runs (first, count), where these are shorter. length: of the array."""
    sample = _sample(index)
    if index.size > FEW and 2 * int(np.count_nonzero(np.diff(sample) == 1)) >= sample.size:
        runs = runs_of(index)
        if runs.size < index.size:
            return runs
    return index.astype(SHORT) if length <= LARGEST else index


def _from_runs(runs: Integers) -> Integers:
    first, lengths = runs.T
    ends = np.cumsum(lengths)
    index: Integers = np.arange(ends[-1]) + np.repeat(first - ends + lengths, lengths)
    return index
