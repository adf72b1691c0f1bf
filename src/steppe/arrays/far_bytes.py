"""A file whose bytes lie on several hosts: one request a host, which its page server answers.

request = (offset, length) of records in the part of the host | the bytes of all records, of a write
"""

from collections.abc import Iterator

import numpy as np
from typing_extensions import Buffer

from steppe.array_types import Bytes, Integers
from steppe.arrays.byte_records import ByteRecords, copy_records, cut
from steppe.arrays.image import FileImage
from steppe.arrays.serving import Answer, PageRequest
from steppe.arrays.site import ArraySite

READ, WRITE = range(2)


class SpreadImage:
    """The parts of a file on all hosts: `image` on this one. Every rank makes and closes it; part: the bytes of a host."""

    def __init__(self, site: ArraySite, image: FileImage, part: int) -> None:
        self._site, self._image, self._part = site, image, part
        site.arrays += 1
        self._number = site.arrays
        if site.server:
            site.served[self._number] = self._answer
        site.meet(f"the opening of file {self._number}")

    def close(self) -> None:
        """Returns when no rank has a request."""
        self._site.meet(f"the closing of file {self._number}")
        self._site.served.pop(self._number, None)

    def write(self, row: int, records: ByteRecords, source: Bytes) -> None:
        """Writes the records, whose bytes lie one behind another in `source`. Returns when all are written."""
        under_way = []
        for host, some, at in self._by_host(records):
            if host == self._site.host:
                self._image.write(row, some, source, at)
            else:
                data = np.empty(some.total, np.uint8)
                copy_records(at.size, at, some.places, some.lengths, source, data)
                under_way.append(self._ask(host, WRITE, some, data))
        for answer in under_way:
            answer.wait()

    def read(self, records: ByteRecords, into: Bytes) -> None:
        """Fills `into` with the records, one behind another."""
        under_way = []
        for host, some, at in self._by_host(records):
            if host == self._site.host:
                self._image.read(some, into, at)
            else:
                under_way.append((some, at, self._ask(host, READ, some)))
        for some, at, answer in under_way:
            copy_records(at.size, some.places, at, some.lengths, np.frombuffer(answer.wait(), np.uint8), into)

    def _by_host(self, records: ByteRecords) -> Iterator[tuple[int, ByteRecords, Integers]]:
        """Each host with its part of the records, and where these begin in the bytes of all."""
        pieces, places, hosts = cut(records, self._part)
        for host in np.unique(hosts).tolist():
            here = np.flatnonzero(hosts == host)
            yield host, ByteRecords(pieces.offsets[here], pieces.lengths[here]), places[here]

    def _ask(self, host: int, operation: int, records: ByteRecords, *data: Bytes) -> Answer:
        return self._site.link(host).ask(self._number, operation, np.stack(records, axis=1), *data)

    def _answer(self, request: PageRequest) -> Buffer:
        """Does what a rank of another host asks of the part of this one."""
        records = ByteRecords(*np.ascontiguousarray(request.where.T))
        if request.operation == WRITE:
            self._image.write(-1, records, np.frombuffer(request.values, np.uint8))
            return b""
        found = np.empty(records.total, np.uint8)
        self._image.read(records, found)
        return found.data
