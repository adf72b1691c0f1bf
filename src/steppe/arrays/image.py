"""The bytes of a file in the memory of its hosts, and memory that is used again.

Host h has one part, the bytes from h * part on, which its ranks share. With one host that is the whole file:

    memory of a host = bytes of its part, to a whole page | written: (ranks of a host and its server, blocks) int64

The first use of memory takes most of the time of a write, so a closed file leaves its memory to the next one. If that is the same file,
and it was not changed meanwhile, its bytes are still there.
"""

import weakref
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from steppe.array_types import Bytes, Integers
from steppe.arrays.byte_records import ByteRecords, copy_records, count_written
from steppe.arrays.disk import NO_FILE, SHIFT, Identity
from steppe.arrays.layout import PAGE
from steppe.arrays.site import site_of
from steppe.comm import World, shared
from steppe.errors import Failure

KEPT, MOST = 1 << 30, 8  # bytes of memory that a host keeps for the next files, and pieces of it


class FileImage:
    """This host's part of a file, in a segment of memory that all its ranks have. `ImagePool` makes it.

    begin, size: of the part in the file; bytes: of the part, (size,); room: the same, to a whole page; written: by each rank of the host to
    each block, (ranks of the host and, last, its server, blocks) [bytes]. identity: of the file on the disk whose bytes these are, if any.
    """

    def __init__(self, segment: Bytes) -> None:
        self.segment, self.identity = segment, NO_FILE
        self.begin, self.size = 0, 0
        self._lent: list[weakref.ref[Bytes]] = []

    def open(self, rows: int) -> None:
        """Makes `bytes` and `room` again: the views of one open file are other objects than those of the next."""
        room, counts = lengths_of(self.size, rows)
        self.room: Bytes = np.frombuffer(self.segment.data, np.uint8, room)
        self.bytes: Bytes = self.room[: self.size]
        self.written: Integers = self.segment[room : room + counts].view(np.int64).reshape(rows, -1)
        self._lent = [each for each in self._lent if each() is not None] + [weakref.ref(self.room)]

    def close(self) -> None:
        """Forgets `bytes`; views that the caller still has keep the memory from being used for another file."""
        del self.room, self.bytes, self.written

    @property
    def is_free(self) -> bool:
        """True if no view of the memory is left."""
        return all(each() is None for each in self._lent)

    def write(self, row: int, records: ByteRecords, source: Bytes, places: Integers | None = None) -> None:
        """Copies source[places[k]] on to record k of this part, and counts the bytes in `written[row]` behind them.

        places: by default the records lie one behind another.
        """
        at = records.places if places is None else places
        copy_records(at.size, at, records.offsets, records.lengths, source, self.bytes)
        count_written(at.size, SHIFT, *records, self.written[row])

    def read(self, records: ByteRecords, into: Bytes, places: Integers | None = None) -> None:
        """Copies record k of this part to into[places[k]] on; places as in `write`."""
        at = records.places if places is None else places
        copy_records(at.size, records.offsets, at, records.lengths, self.bytes, into)

    def view(self, offset: int, length: int) -> Bytes:
        """Bytes of this part where they lie; they cannot be changed."""
        found = self.bytes[offset : offset + length]
        found.flags.writeable = False
        return found


def part_of(size: int, hosts: int) -> int:
    """The bytes of a file that lie on each host but the last ones: whole pages."""
    return -(-size // (hosts * PAGE)) * PAGE


def lengths_of(size: int, rows: int) -> tuple[int, int]:
    """Bytes of `room` and of `written` for a part."""
    return -(-size // PAGE) * PAGE, 8 * rows * -(-size // (1 << SHIFT))


class ImagePool:
    """The memory of closed files of a world, the one closed last first; the same on all ranks. `pool_of` finds it.

    hosts: the host of each rank.
    """

    def __init__(self, hosts: tuple[int, ...]) -> None:
        self._hosts, self._rows = hosts, max(map(hosts.count, hosts)) + 1
        self._closed: list[FileImage] = []

    def in_use(self) -> list[int]:
        """Of each image, 1 if a view of it is left on this rank."""
        return [int(not image.is_free) for image in self._closed]

    def take(self, identity: Identity, in_use: Sequence[int], writes: bool) -> FileImage | None:
        """The image of a file that was not changed since it was closed, if there is one; for writing only one without a view of it.

        in_use: the greatest of all ranks.
        """
        for image, used in zip(self._closed if identity[0] else (), in_use, strict=False):
            if image.identity == identity and not (writes and used):
                self._closed.remove(image)
                image.open(self._rows)
                return image
        return None

    def make(self, world: World, size: int, in_use: Sequence[int]) -> FileImage:
        """Memory for this host's part of a file of `size` bytes, with what was in it before. Every rank calls it.

        in_use: the greatest of all ranks.

        Raises
        ------
        Failure
            A host has not so much memory. Raised on every rank.
        """
        part = part_of(size, max(self._hosts) + 1)
        length = sum(lengths_of(part, self._rows))
        fits = (image for image, used in zip(self._closed, in_use, strict=False) if not used and length <= image.segment.size <= 2 * length)
        image = next(fits, None)
        if image is None:
            image = FileImage(self._segment(world, length))
        else:
            self._closed.remove(image)
        image.identity, image.begin = NO_FILE, min(self._hosts[world.rank] * part, size)
        image.size = min(part, size - image.begin)
        image.open(self._rows)
        return image

    def keep(self, image: FileImage) -> None:
        """Keeps the memory of a closed file for the next."""
        image.close()
        self._closed.insert(0, image)
        while len(self._closed) > MOST or sum(each.segment.size for each in self._closed) > KEPT:
            self._closed.pop()

    def clear(self) -> None:
        """Gives the memory of closed files back. Every rank calls it."""
        self._closed.clear()

    def _segment(self, world: World, length: int) -> Bytes:
        try:
            return shared(world, self._hosts, length)
        except Failure:
            if not self._closed:
                raise
        self.clear()
        return shared(world, self._hosts, length)


_pools: WeakKeyDictionary[World, ImagePool] = WeakKeyDictionary()


def pool_of(world: World) -> ImagePool:
    """The pool of a world; at the first call all ranks of the world call it."""
    if world not in _pools:
        _pools[world] = ImagePool(site_of(world).hosts)
    return _pools[world]
