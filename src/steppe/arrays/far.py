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

from steppe.array_types import Array, Integers
from steppe.arrays.access import FETCH_UPDATE, ElementLoops, access, distinct
from steppe.arrays.layout import PageLayout, runs_of
from steppe.arrays.serving import Answer, PageRequest
from steppe.arrays.site import ArraySite
from steppe.timeline import span

GATHER = 3  # an operation beside those that change elements
MOST = 1 << 20  # elements of a request
FEW = 16  # elements that are sent as they are
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

    def gather(self, index: Integers) -> Wait:
        """Asks for elements of other hosts."""
        inverse = None
        if index.size > FEW and _repeats(index):
            index, inverse = _distinct(index)
        values = self.change(GATHER, index)
        return values if inverse is None else lambda: values()[inverse]

    def pages(self, numbers: Integers) -> list[tuple[Integers, Wait]]:
        """Asks for whole pages, given in order: groups of them, each on one host, and their elements under way."""
        layout, hosts, found = self._layout, self._layout.page_hosts[numbers], list[tuple[Integers, Wait]]()
        most = max(MOST >> layout.shift, 1)
        of_hosts = [numbers[hosts == host] for host in np.unique(hosts)]
        for group in (some[first : first + most] for some in of_hosts for first in range(0, some.size, most)):
            runs = runs_of(group) << layout.shift
            runs[-1, 1] = min(runs[-1, 1], layout.length - runs[-1, 0])
            n = int(runs[:, 1].sum())
            answer = self._send(int(layout.page_hosts[group[0]]), GATHER, n, len(runs), runs.reshape(-1))
            found.append((group, self._waiting(n, [(answer, slice(None))])))
        return found

    def change(self, operation: int, index: Integers, x: Array | None = None, a: float = 1, b: float = 1) -> Wait:
        """Gathers, scatters or updates elements of other hosts; gives the elements, or the former values of `FETCH_UPDATE`."""
        asked = []
        for host, places in self._split(index):
            some, values = np.ascontiguousarray(index[places]), None if x is None else x[places]
            n_runs, sent = _as_runs(some, self._layout.length)
            asked.append((self._send(host, operation, some.size, n_runs, sent, values, a, b), places))
        return self._waiting(index.size, asked)

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

    def _split(self, index: Integers) -> Iterator[tuple[int, Integers | slice]]:
        """Hosts, and the places of their indices, at most `MOST` at once."""
        hosts = self._layout.page_hosts[(index[:1] if self._two else index) >> self._layout.shift]
        if (hosts == hosts[0]).all():
            yield from ((int(hosts[0]), slice(first, first + MOST)) for first in range(0, index.size, MOST))
            return
        order = np.argsort(hosts, kind="stable")  # a radix sort: hosts are int16
        for group in np.split(order, np.flatnonzero(np.diff(hosts[order])) + 1):
            yield from ((int(hosts[group[0]]), group[first : first + MOST]) for first in range(0, group.size, MOST))

    def _send(
        self, host: int, operation: int, elements: int, n_runs: int, sent: Array, x: Array | None = None, a: float = 1, b: float = 1
    ) -> Answer:
        values = np.ascontiguousarray(x) if x is not None else np.empty(0, self._dtype)
        factors = (np.array(each, FACTOR[self._dtype.kind]).tobytes() for each in (a, b))
        request = PageRequest(operation, self._number, elements, n_runs, sent.nbytes, values.nbytes, *factors)
        answer = self._site.link(host).ask(request, sent.data.cast("B"), values.data.cast("B"))
        self.traffic.messages += 1
        self.traffic.sent += sent.nbytes + values.nbytes + (elements * self._dtype.itemsize if operation in (GATHER, FETCH_UPDATE) else 0)
        return answer


def handler(dtype: DTypeLike, shift: int, table: Integers, memory: Array) -> Callable[[PageRequest, memoryview], bytes | memoryview]:
    """Answers requests for the pages of this host, whose addresses are in `table`; keeps their memory alive."""
    kind = np.dtype(dtype)
    loops: ElementLoops = access(kind.name)
    nothing, counts = np.empty(0, np.int64), np.zeros(2, np.int64)

    def answer(request: PageRequest, content: memoryview) -> bytes | memoryview:
        assert memory.size  # other ranks may ask after this one has dropped its array
        sent = content[: request.indices]
        if request.runs:
            index = _from_runs(np.frombuffer(sent, np.int64))
        else:
            index = np.frombuffer(sent, SHORT if request.indices == 4 * request.elements else np.int64).astype(np.int64, copy=False)
        n = index.size
        if n <= FEW and request.operation == GATHER:  # sooner copied than a kernel is called
            size, mask = kind.itemsize, (1 << shift) - 1
            return b"".join(string_at(int(table[i >> shift]) + size * (i & mask), size) for i in index.tolist())
        found = np.empty(n if request.operation in (GATHER, FETCH_UPDATE) else 0, kind)
        if request.operation == GATHER:
            loops.gather_pages(n, np.iinfo(np.int64).max, shift, table, index, found, counts)
        else:
            a, b = (np.frombuffer(each, FACTOR[kind.kind])[0] for each in (request.a, request.b))
            x = np.frombuffer(content[request.indices :], kind)
            loops.change(n, request.operation, shift, a, b, table, index, x, found, nothing, counts)
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


def _as_runs(index: Integers, length: int) -> tuple[int, Array]:
    """The number of runs and their pairs, or 0 and the indices where pairs are no shorter. length: of the array."""
    sample = _sample(index)
    if index.size > FEW and 2 * int(np.count_nonzero(np.diff(sample) == 1)) >= sample.size:
        runs = runs_of(index)
        if runs.size < index.size:
            return len(runs), runs.reshape(-1)
    return 0, index.astype(SHORT) if length <= LARGEST else index


def _from_runs(pairs: Integers) -> Integers:
    first, lengths = pairs[::2], pairs[1::2]
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) + np.repeat(first - ends + lengths, lengths)
