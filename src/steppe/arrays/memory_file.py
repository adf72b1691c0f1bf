"""A file in the memory of all ranks: any rank reads and writes any bytes at the speed of memory. Only open, flush and close touch the disk.

DONIO of D'Azevedo and Romine (1994). Its do_open, do_read, do_write, do_lseek, do_lsize, do_flush and do_close are `MemoryFile`, `read`,
`write`, `seek`, `size=`, `flush` and `close`; `read_at` and `write_at` pass many records in one call.
"""

import os
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import Buffer

from steppe.array_types import Array, Bytes
from steppe.arrays.byte_records import ByteRecords, first_overlap, flat_bytes, merged, records_of
from steppe.arrays.disk import LARGEST, NO_FILE, BlockWriter, Identity, NewFile, identity_of, read_part
from steppe.arrays.far_bytes import SpreadImage
from steppe.arrays.image import FileImage, part_of, pool_of
from steppe.arrays.site import site_of
from steppe.comm import World, agree_on
from steppe.errors import ArrayError, Failure, SteppeError
from steppe.files import not_a_file

FileMode = Literal["r", "w", "r+"]


class MemoryFile:
    """A file whose bytes all ranks share. Opening, `sync`, `flush`, `close` and the end of `with` are calls of all ranks alike.

    Parameters
    ----------
    path
        The file. It is replaced in one step when the file is flushed or closed; until then, and after any crash, the old one is there.
    mode
        "r" reads a file, "r+" reads and changes one, "w" makes one.
    world
        The ranks, from `open_world`.
    size
        The bytes of the file, for "w". Bytes that no rank writes are zero.
    check
        Find writes of several ranks to the same bytes between two calls of `sync`. Each rank then keeps 16 bytes a record.

    Raises
    ------
    Mistake
        There is no such file. Raised on every rank, as the others.
    ArrayError
        The ranks open different files, or `size` is missing or not wanted.
    NoSpaceError
        The disk has no room for the new file.
    Failure
        The system refused, the file was cut while it was read, or a host has too little memory.

    Examples
    --------
    >>> from steppe.comm import Serial
    >>> world = Serial()
    >>> with MemoryFile("elements.bin", "w", world, size=24) as file:
    ...     file.write_at([0, 16], 8, np.array([1, 3]))
    >>> with MemoryFile("elements.bin", "r", world) as file:
    ...     file.read_at([16, 8], 8).view(np.int64).tolist()
    [3, 0]
    """

    def __init__(self, path: str | os.PathLike[str], mode: FileMode, world: World, *, size: int | None = None, check: bool = False) -> None:
        self.path, self.mode = os.fsdecode(path), mode
        self._world, self._site, self._pool, self._process = world, site_of(world), pool_of(world), os.getpid()
        self._row, self._leads = self._site.row, self._site.row == 0  # the first of a host has its disk
        self._log: list[ByteRecords] | None = [] if check else None
        self._position, self._changed = 0, mode == "w"
        self._writer: BlockWriter | None = None
        self._image: FileImage | None = None
        name, what = int.from_bytes(os.urandom(4)), f'the opening (mode "{mode}", size={size}, check={check})'
        first, used = world.rank == 0, self._pool.in_use()
        about, (name, *in_use) = self._met(
            what, lambda: _about(self.path, mode, size, self._site.unwritten) if first else None, name, *used
        )
        self.size, self._new = about[2], NewFile(self.path, f"{name:08x}")
        self._image = self._made(in_use) if mode == "w" else self._pool.take(about, in_use, mode == "r+") or self._read(about, in_use)
        part = part_of(self.size, max(self._site.hosts) + 1)
        self._spread = SpreadImage(self._site, self._image, part) if self._site.several else None
        if mode != "r":
            self._site.unwritten[self._new.path] = self._discard

    def write_at(self, offsets: ArrayLike, lengths: ArrayLike, data: Buffer | Array) -> None:
        """Writes records. All ranks see them after the next `sync`, this rank at once. A later record of a call wins over an earlier one.

        Parameters
        ----------
        offsets, lengths
            Of each record [bytes], (n,); one length may stand for all.
        data
            The bytes of the records, one behind another: an array or a buffer.

        Raises
        ------
        IndexOutOfRangeError
            A record lies outside the file; nothing was written.
        ArrayError
            The data have another length, or the file is closed or only read.
        """
        image = self._opened(writes=True)
        records, source = records_of(offsets, lengths, self.size, self.path), flat_bytes(data)
        if source.size != records.total:
            raise ArrayError(f'{source.size} bytes are given for records of "{self.path}" of {records.total} bytes in all. Give as many.')
        (self._spread or image).write(self._row, records, source)
        self._changed = True
        if self._log is not None:
            self._log.append(records)
        if self._writer and self._leads:
            self._writer.start_full()

    def read_at(self, offsets: ArrayLike, lengths: ArrayLike, out: Bytes | None = None) -> Bytes:
        """The bytes of records, one behind another, (bytes,) uint8.

        Of a file that is only read, records that follow each other are a view of the common memory, without a copy.

        Parameters
        ----------
        offsets, lengths
            Of each record [bytes], (n,); one length may stand for all.
        out
            Is filled and returned: contiguous, (bytes,) uint8.

        Raises
        ------
        IndexOutOfRangeError
            A record lies outside the file.
        ArrayError
            `out` has another length or dtype, or the file is closed.
        """
        image, records = self._opened(), records_of(offsets, lengths, self.size, self.path)
        if out is None and self.mode == "r" and records.are_one_range:
            first, count = int(records.offsets[0]) if records.total else image.begin, records.total
            if image.begin <= first and first + count <= image.begin + image.size:
                return image.view(first - image.begin, count)
        found = np.empty(records.total, np.uint8) if out is None else out
        is_array = isinstance(found, np.ndarray) and found.dtype == np.uint8 and found.flags.c_contiguous and found.flags.writeable
        if not is_array or found.shape != (records.total,):
            given = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
            raise ArrayError(
                f'Records of "{self.path}" of {records.total} bytes in all are read into {given}. '
                f"Give a contiguous, writeable array uint8 ({records.total},)."
            )
        (self._spread or image).read(records, found)
        return found

    def read(self, count: int | None = None) -> bytes:
        """The next `count` bytes from this rank's own position on, fewer at the end of the file; by default all."""
        rest = max(0, self.size - self._position)
        found = self.read_at(self._position if rest else 0, rest if count is None or count < 0 else min(count, rest)).tobytes()
        self._position += len(found)
        return found

    def write(self, data: Buffer | Array) -> int:
        """Writes at this rank's own position, and returns the number of bytes; raises as `write_at` does."""
        source = flat_bytes(data)
        self.write_at(self._position, source.size, source)
        self._position += source.size
        return source.size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves this rank's own position [bytes], from the begin, from where it is (os.SEEK_CUR) or from the end (os.SEEK_END).

        Raises
        ------
        ArrayError
            The new position lies before the file, or is none.
        """
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}.get(whence)
        if begin is None or not isinstance(offset, int | np.integer):
            raise ArrayError(f'"{self.path}" cannot seek({offset!r}, {whence!r}). Give a whole number of bytes, and 0, 1 or 2.')
        position = begin + int(offset)
        if position < 0:
            raise ArrayError(f'Position {position} lies before the begin of "{self.path}". Positions are 0 or more.')
        self._position = position
        return position

    def tell(self) -> int:
        """This rank's own position [bytes]."""
        return self._position

    def sync(self) -> None:
        """Returns when every rank has called it. What was written before is seen by all ranks after it.

        Raises
        ------
        ArrayError
            With `check`: several ranks wrote to the same bytes since the last `sync`. Raised on every rank.
        """
        self._opened()
        self._site.meet(f'sync of "{self.path}"')
        if self._log is not None:
            parts = self._world.gather(np.stack(merged(self._log)))
            self._log.clear()
            agree_on(self._world, _overlap_of([ByteRecords(*part) for part in parts], self.path) if parts is not None else None)

    def flush(self) -> None:
        """Replaces the file on the disk, durably, if a rank has written since it was opened or flushed. It is also a `sync`.

        Raises
        ------
        NoSpaceError, Failure
            The old file is still there, the bytes are still in memory, and the call may be repeated.
        """
        image = self._opened()
        if self._log is not None:
            self.sync()
        _, (changed,) = self._met("flush", lambda: None, int(self._changed))
        if not changed:
            return
        writer = self._writer or self._begin(image)
        try:
            self._met("the writing", lambda: writer.finish() if self._leads else None)
            image.identity, _ = self._met("the placing", lambda: _placed(self._new) if self._site.rank == 0 else None)
        finally:
            self._discard()
        self._changed = False

    def close(self) -> None:
        """Flushes the file and leaves its memory to the next one. A second call does nothing; raises as `flush` does."""
        if self._image is None:
            return
        if self.mode != "r":
            self.flush()
        image = self._opened()
        if self._spread:
            self._spread.close()
        self._pool.keep(image)
        self._image = None
        self._site.unwritten.pop(self._new.path, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes the file; after an error it leaves the old file on the disk and sends no message."""
        if kind:
            self._discard()
            self._image = None
            self._site.unwritten.pop(self._new.path, None)
        self.close()

    def _made(self, in_use: list[int]) -> FileImage:
        """Zeros for a new file, which is begun aside."""
        image, ranks = self._pool.make(self._world, self.size, in_use), len(self._site.mates)
        first, last = (image.segment.size * k // ranks for k in (self._row, self._row + 1))
        image.segment[first:last] = 0
        self._begin(image)  # returns when all ranks have set their zeros
        return image

    def _read(self, about: Identity, in_use: list[int]) -> FileImage:
        """The bytes of a file on the disk."""
        image = self._pool.make(self._world, self.size, in_use)
        self._met("the reading", lambda: _filled(image, self.path, about) if self._leads else None)
        image.identity = about
        return image

    def _begin(self, image: FileImage) -> BlockWriter:
        """Makes the new file aside."""
        self._met("the making", lambda: self._new.create(self.size) if self._site.rank == 0 else None)
        self._writer = BlockWriter(self._new, image.room, image.written, image.begin, image.size)
        return self._writer

    def _discard(self) -> None:
        """Ends the writing, and removes the new file if it has not taken its place."""
        if self._writer:
            self._writer.close()
        self._new.discard()
        self._writer = None

    def _opened(self, writes: bool = False) -> FileImage:
        """The image of an open file.

        Raises
        ------
        ArrayError
            The file is closed, belongs to another process, or is only read.
        """
        if self._image is None:
            raise ArrayError(f'"{self.path}" is closed. Open it again.')
        if os.getpid() != self._process:
            raise ArrayError(f'"{self.path}" was opened by process {self._process}, of which this one is a copy. Open it after the fork.')
        if writes and self.mode == "r":
            raise ArrayError(f'"{self.path}" is open for reading, mode "r". Open it with mode "r+" to change it.')
        return self._image

    def _met(self, what: str, work: Callable[[], Identity | None], *mine: int) -> tuple[Identity, list[int]]:
        """The greatest of the results of `work` (None: zeros), and of `mine`, of all ranks. An error of one rank is raised on all."""
        found, error = None, None
        try:
            found = work()
        except SteppeError as raised:
            error = raised
        failed, *told = self._site.meet(f'{what} of "{self.path}"', [int(error is not None), *(found or NO_FILE), *mine])
        if failed:
            agree_on(self._world, error)
        return (told[0], told[1], told[2], told[3], told[4]), told[5:]


def _about(path: str, mode: str, size: int | None, written: Collection[str]) -> Identity:
    """Identity and size of a file that is to be read, or the size alone of one that is made; raises `ArrayError` for what does not fit.

    written: the files that are open for writing.
    """
    if mode in ("r", "r+") and size is not None:
        raise ArrayError(f'"{path}" is opened with mode "{mode}" and size={size}. Leave `size` out: the file has one; mode "w" takes it.')
    is_size = size is None or (isinstance(size, int | np.integer) and 0 <= size <= LARGEST)
    if mode not in get_args(FileMode) or (size is None) is (mode == "w") or not is_size:
        raise ArrayError(
            f'"{path}" cannot be opened with mode "{mode}" and size={size}. Give "r", "r+", or "w" with a whole number of bytes.'
        )
    if kind := not_a_file(os.path.realpath(path)):  # also of an empty path
        raise ArrayError(f'"{path}" is {kind}, not a file. Give the path of a file.')
    if mode != "r" and os.path.realpath(path) in written:
        raise ArrayError(f'"{path}" is open for writing already. Close it before it is opened again.')
    if mode != "r" and os.path.exists(path) and not os.access(path, os.W_OK):
        raise ArrayError(f'"{path}" may not be written. Change its permissions, or choose another file.')
    return identity_of(path) if size is None else (0, 0, size, 0, 0)


def _filled(image: FileImage, path: str, about: Identity) -> None:
    """Reads this host's part of a file; raises `Failure` if the file is not what it was."""
    image.written[:] = 0
    read_part(path, image.begin, image.bytes)
    if identity_of(path)[1:] != about[1:]:
        raise Failure(f'"{path}" was changed while it was read. Open it again when its writer has finished.')


def _placed(new: NewFile) -> Identity:
    """Gives the new file its name; what it is from then on."""
    new.place()
    return identity_of(new.path)


def _overlap_of(parts: list[ByteRecords], path: str) -> ArrayError | None:
    """The error of records of several ranks that overlap."""
    found = first_overlap(parts)
    if found is None:
        return None
    one, other, first, last = found
    return ArrayError(
        f'Ranks {one} and {other} both wrote bytes {first} to {last} of "{path}" between two calls of sync. '
        "Let one rank write them, or call sync between."
    )
