"""Files of one process: reads and writes by size of request, in order and not, from memory and from the disk, raw and compressed.

A sample is the time of one request, the mean over a block of them. The kernel reads ahead by megabytes: most requests of a cold file
find their bytes in memory and a few wait for all, so blocks of cold reads are longer than that. Cold means that no page of the file was in
memory before each pass over it, which is verified; caches below the kernel cannot be emptied.
"""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numcodecs import Blosc, Zstd, blosc
from numpy.typing import NDArray

from steppe.array_types import Floats, Integers
from steppe.comm.raw import page_buffer, pointers
from steppe.errors import Failure
from steppe.measure.files.disk import COLD, MIB, PAGE, WARM, describe_place, open_direct, put_out, workplace
from steppe.measure.records.document import Document, made_now
from steppe.measure.records.measured import Measured, SeriesName, series_of
from steppe.measure.records.sample import is_enough
from steppe.measure.timing.machine import Others, describe_machine
from steppe.measure.timing.rounds import ROUNDS, Tell, measure_rounds, take_blocks
from steppe.measure.timing.system import read_blocks, steady_clock, steady_ticks, write_durably

KIB = 1 << 10
ROWS, WIDTH = 2_048, 512  # cells of a map like those that models read
DRY = 0.4  # of the cells have no rain
PAPER = (3_748, 29_016, 58_032, 88_144, 116_064, 232_128)  # the requests of ADVISE (1995), table 13
QUICK_SIZES, SIZES = (4 * KIB, 58_032, MIB, 16 * MIB), sorted({*(1 << i for i in range(9, 25)), *PAPER})
QUICK_CHUNKS, CHUNKS = (58_032, MIB), (*PAPER, MIB)
QUICK_WRITES, WRITES = (4 * KIB, MIB), tuple(1 << i for i in range(12, 25, 2))
SEQUENTIAL, PERMUTED = "sequential", "permuted"
DIRECT = "direct"
BLOCK, AHEAD = MIB, 16 * MIB  # least bytes of a block of requests in order: from memory; from the disk, where the kernel reads ahead
SCATTERED = 16  # most requests of a block in random order
WRITTEN = 8 * MIB  # bytes of a block of writes, or one request
FEW_WRITES = 64  # most requests of a block of writes
PRECISION = 0.02
BUDGET, QUICK_BUDGET = 2.0, 0.4  # [s] of a series
QUICK_FILE, FILE = 64, 256  # [MiB]
NEAR, FAR = 1.2, 4.0  # ratios: cold reads nearer to warm ones, or faster than direct ones by more, are suspect
Places = Integers
Maps = NDArray[np.int16]


class Codec(NamedTuple):
    """A codec with its functions, of one thread."""

    name: str
    compress: Callable[[Maps], bytes]
    decompress: Callable[[bytes, Maps], object]


class Files:
    """A folder with files to read and write, memory for requests, and a clock of known cost."""

    def __init__(self, folder: Path, size: int, budget: float) -> None:
        self._folder, self._size, self._budget = folder, size, budget
        self._clock = steady_clock()
        self._buffer = page_buffer(AHEAD)
        self._buffer[:] = maps(AHEAD // 2).view(np.uint8)
        self._memory = np.int64(pointers([self._buffer])[0])
        self.ticks = steady_ticks()
        self.path = folder / "raw"
        self.warnings: list[str] = []
        self._coded: dict[tuple[str, int], tuple[Maps, list[bytes]]] = {}  # chunks, and compressed
        with self.path.open("w+b") as file:
            for begin in range(0, size, AHEAD):
                file.write(self._buffer[: min(AHEAD, size - begin)].data)
            file.flush()
            left = put_out(file.fileno(), size)
        self.can_be_cold = left == 0
        if left:
            pages = -(-size // PAGE)
            self.warnings.append(f"Reads could not be made cold: {left} of {pages} pages of the file stay in memory on this file system.")

    def read(self, order: str, state: str, size: int) -> list[Measured]:
        """Requests of `size` bytes of the large file; no series where the file system does not support that."""
        if (state == COLD and not self.can_be_cold) or (state == DIRECT and size % PAGE):
            return []
        step = size if order == SEQUENTIAL else max(size, PAGE)  # no page is read twice
        places = np.arange(self._size // step, dtype=np.int64) * step
        if order == PERMUTED:
            places = np.random.default_rng(size).permutation(places)
        block = AHEAD if state == COLD else BLOCK
        k = max(1, min(block // size if order == SEQUENTIAL else min(SCATTERED, 4 * MIB // size), places.size))
        found = self._passes(self.path, order, state, places, np.full(places.size, size, np.int64), k)
        if found is None:
            return []
        times, converged = found
        return [series_of(SeriesName("files", "read", f"{order}, {state}", bytes=size), times, k, converged)]

    def _passes(self, path: Path, order: str, state: str, places: Places, sizes: Places, k: int) -> tuple[Floats, bool] | None:
        """Block times of k requests each, and whether the median is known; None where the file system has no direct reads."""
        file = open_direct(path) if state == DIRECT else os.open(path, os.O_RDWR)
        if file is None:
            return None
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM if order == PERMUTED else os.POSIX_FADV_NORMAL)
        length, blocks = path.stat().st_size, places.size // k
        if state == WARM:
            every = np.arange(0, length, BLOCK, dtype=np.int64)
            whole = every, np.minimum(BLOCK, length - every)
            read_blocks(self._clock, (np.int64(file), self._memory), whole, np.empty(1), every.size, 0.0)
        cursor = 0

        def take(wanted: int) -> Floats:
            nonlocal cursor
            if cursor == 0 and state == COLD and (left := put_out(file, length)):
                raise Failure(f"{left} pages of a file that was put out of memory are in memory again: something else reads it.")
            end = min(blocks, cursor + min(wanted, max(1, AHEAD // int(sizes[0] * k))))
            times, part = np.empty(end - cursor), slice(cursor * k, end * k)
            requests = places[part], sizes[part]
            if bad := read_blocks(self._clock, (np.int64(file), self._memory), requests, times, k, self.ticks.cost):
                raise Failure(f"{bad} requests did not read what they were to read.")
            cursor = end % blocks
            return times

        try:
            return take_blocks(take, PRECISION, self._budget)
        finally:
            os.close(file)

    def write(self, size: int) -> list[Measured]:
        """Requests of `size` bytes to a file that grows: until all are written, and until all are on the disk."""
        k = max(1, min(FEW_WRITES, WRITTEN // size))
        places = np.arange(k, dtype=np.int64) * size
        file = os.open(self._folder / "written", os.O_RDWR | os.O_CREAT)
        durable: list[float] = []

        def take(_wanted: int) -> Floats:
            both = np.empty(2)
            os.ftruncate(file, 0)
            if write_durably(self._clock, (np.int64(file), self._memory), places, np.int64(size), both):
                raise Failure(f"Requests of {size} bytes were not written whole: the disk is full or fails.")
            durable.append(both[1] / k)
            return both[:1] / k

        try:
            times, converged = take_blocks(take, PRECISION, self._budget)
        finally:
            os.close(file)
        until = np.array(durable)
        return [
            series_of(SeriesName("files", "write", "into memory", bytes=size), times, k, converged),
            series_of(SeriesName("files", "write", f"durable, {k} together", bytes=size), until, k, is_enough(until, PRECISION)),
        ]

    def codec(self, codec: Codec, size: int) -> list[Measured]:
        """Chunks of `size` bytes of maps: times to compress, to read and to decompress; the work is the compressed bytes of a chunk."""
        count = max(8, min(256, AHEAD // size))
        if (codec.name, size) not in self._coded:
            chunks = maps(count * size // 2).reshape(count, size // 2)
            self._coded[codec.name, size] = chunks, [codec.compress(chunk) for chunk in chunks]
        chunks, coded = self._coded[codec.name, size]
        path = self._folder / "coded"
        path.write_bytes(b"".join(coded))
        sizes = np.array([len(one) for one in coded], np.int64)
        places = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)[:-1]])
        mean, out = float(sizes.mean()), np.empty(size // 2, np.int16)
        series = partial(series_of, work=mean, unit="bytes compressed")
        found = []
        for name, each, do in (("compress", list(chunks), codec.compress), ("decompress", coded, lambda one: codec.decompress(one, out))):
            times, converged = take_blocks(_in_turn(each, do), PRECISION, self._budget)
            found.append(series(SeriesName("codecs", name, codec.name, bytes=size), times, 1, converged))
        for state in (COLD, WARM) if self.can_be_cold else (WARM,):
            with path.open("r+b") as file:
                os.fsync(file.fileno())
            k = count if state == COLD else min(count, max(1, round(BLOCK / mean)))
            read = self._passes(path, SEQUENTIAL, state, places, sizes, k)
            assert read is not None
            found.append(series(SeriesName("codecs", "read compressed", f"{codec.name}, {state}", bytes=size), read[0], k, read[1]))
        return found


def _in_turn(each: Sequence[Any], do: Callable[[Any], object]) -> Callable[[int], Floats]:
    number = 0

    def take(wanted: int) -> Floats:
        nonlocal number
        times = np.empty(min(wanted, 32))
        for i in range(times.size):
            one = each[number % len(each)]
            begin = time.perf_counter_ns()
            do(one)
            times[i] = 1e-9 * (time.perf_counter_ns() - begin)
            number += 1
        return times

    return take


def check_directory(directory: Path, quick: bool) -> None:
    """Raises `Mistake` where `measure_files` would."""
    with workplace(directory, (QUICK_FILE if quick else FILE) * MIB):
        pass


def measure_files(
    directory: Path, quick: bool, size: int | None, tell: Tell, stop: Callable[[], bool], passes: int | None = None
) -> Document:
    """Measures the disk of a directory.

    size: of the file [MiB]; tell: shows the progress; stop: called between series; passes: over all series, `ROUNDS` when None.

    Raises
    ------
    Mistake
        The directory does not exist, cannot be written in, or has too little room.
    Failure
        The disk fails.
    """
    length = (size or (QUICK_FILE if quick else FILE)) * MIB
    requests = [one for one in (QUICK_SIZES if quick else SIZES) if one <= length // 4]
    others = Others()
    with workplace(directory, length) as folder:
        try:
            files = Files(folder, length, (QUICK_BUDGET if quick else BUDGET) / ROUNDS)
            series, complete = measure_rounds(_plan(files, quick, requests), PRECISION, tell, stop, passes or ROUNDS)
        except OSError as error:
            raise Failure(f'Files in "{directory}" cannot be measured: {error.strerror or error}.') from None
    _suspect(series)
    if not quick and length < FILE * MIB:
        files.warnings.append(f"The file has {length // MIB} MiB: caches below the kernel may hold it.")
    return Document(
        made=made_now(),
        complete=complete,
        machine={**describe_machine(), "filesystem": describe_place(directory)},
        clock=files.ticks.kept(others.share()),
        warnings=files.warnings,
        series=series,
    )


def _plan(files: Files, quick: bool, requests: list[int]) -> list[Callable[[], list[Measured]]]:
    reads = [
        partial(files.read, order, state, size) for order in (SEQUENTIAL, PERMUTED) for state in (COLD, WARM, DIRECT) for size in requests
    ]
    writes = [partial(files.write, size) for size in (QUICK_WRITES if quick else WRITES) if size <= max(requests)]
    coded = [partial(files.codec, codec, size) for codec in codecs() for size in (QUICK_CHUNKS if quick else CHUNKS)]
    return [*reads, *writes, *coded]


def _suspect(series: list[Measured]) -> None:
    """Adds warnings to cold reads that are too fast to come from a disk."""
    reads = {(one.variant, one.bytes): one for one in series if one.operation == "read"}
    direct = max((one.bytes / one.statistics.median for (variant, _), one in reads.items() if variant.endswith(DIRECT)), default=0.0)
    for (variant, size), one in reads.items():
        if not variant.endswith(COLD):
            continue
        rate, warm = size / one.statistics.median, reads.get((variant.replace(COLD, WARM), size))
        if warm is not None and rate * NEAR > size / warm.statistics.median:
            one.warnings.append("Suspect: nearly as fast as from memory; something below the kernel holds the file.")
        elif direct and rate > FAR * direct:
            one.warnings.append(f"Suspect: {rate / direct:.1f} times the fastest direct read; something below the kernel holds the file.")


def codecs() -> list[Codec]:
    """The codecs that stores of runs and weather use."""
    blosc.use_threads = False
    levels = {"lz4": 5, "lz4hc": 3, "zstd": 6}
    found = [(f"blosc {name} {level}", Blosc(name, level, Blosc.SHUFFLE)) for name, level in levels.items()] + [("zstd 3", Zstd(3))]
    return [Codec(name, one.encode, one.decode) for name, one in found]


def maps(cells: int) -> Maps:
    """Daily rain (cells,) [0.1 mm] as whole numbers: smooth showers with dry land between them, repeated after 2 MiB."""
    random = np.random.default_rng(1)
    y, x = np.meshgrid(np.arange(ROWS) / WIDTH, np.arange(WIDTH) / WIDTH, indexing="ij", sparse=True)
    waves = random.normal(size=(6, 4))
    field = sum(np.sin(20.0 * a * x + b * 5.0) * np.cos(20.0 * c * y + d * 5.0) for a, b, c, d in waves)
    field += 0.05 * random.standard_normal(field.shape)
    rain = np.maximum(0.0, field - np.quantile(field, DRY))
    return np.resize(np.rint(100.0 * rain).astype(np.int16), cells)
