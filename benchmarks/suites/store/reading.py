"""What reading costs: decoding in memory, whole scans beside other readers, waiting in a run, sizes, one series and one map."""

import json
import mmap
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numcodecs import blosc

from benchmarks.figures import Figure
from benchmarks.peers import peer_python
from benchmarks.queensland import new_output, run_file
from benchmarks.rounds import alternate, measured, output, pinned, ratio, thread_seconds
from benchmarks.suites.pasture import Kernel, make_case
from benchmarks.suites.store.data import archived, copies, netcdf, shards_size, size
from steppe.clock import Clock
from steppe.engine import Plan, Simulation, read_run_file
from steppe.io import ForcingReader, ForcingStore
from steppe.io.forcing.pack_file import open_fastest, raw_bytes
from steppe.io.shard_file import new_memory
from steppe.packed import MISSING

RATE = "M cell-days/s"
PEER = str(Path(__file__).with_name("peer.py"))
NETCDF_PEERS = ("xarray + dask, defaults", "xarray + dask, a year a chunk", "netCDF4")
ROUNDS, QUICK_ROUNDS = 5, 2
# What whole files are read into. It begins with a page: 16 bytes behind one, as NumPy's does, some processors copy eight times as slowly.
WHOLE = mmap.mmap(-1, 1 << 20)


def figures(quick: bool) -> list[Figure]:
    """All of them, in the order of the targets of `store.md` 9."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    stores = copies()
    files = netcdf(stores["shards"])
    return [
        *decoding(stores, rounds),
        *scans(stores, files, rounds, 365 if quick else 0),
        *cold(stores["bits"], rounds),
        *waiting(2 if quick else 10, stores, rounds),
        *sizes(stores, files),
        *looks(stores["shards"], files, rounds),
    ]


def decoding(stores: dict[str, Path], rounds: int) -> list[Figure]:
    """Records of one slab, in memory, to the rows that a kernel takes; CPU time of one pinned thread, beside the pasture's kernel."""
    store = ForcingStore.open(stores["shards"])
    tiles = range(3)
    cells = len(tiles) * next(iter(store.variables.values())).layout.chunk[1]
    cell_days = cells * next(iter(store.variables.values())).layout.chunk[0]
    runs: dict[str, Callable[[], float]] = {}
    for kind, path in stores.items():
        runs[kind] = measured(thread_seconds, partial(_decode_all, _records(path, tiles)))
    in_place = {"lz4, in place": _in_place(stores["shards"], tiles), "bits, in place": _in_place(stores["bits"], tiles)}
    runs |= {name: measured(thread_seconds, partial(_decode_all, records)) for name, records in in_place.items()}
    runs["zstd-3, in place"] = measured(thread_seconds, partial(_decompress_all, _recoded(store, tiles)))
    case = make_case(cells, 16)
    kernel = Kernel()
    kernel.prepare(case)
    runs["kernel"] = measured(thread_seconds, kernel.run, kernel.reset)
    reads = {f"read {kind}": measured(thread_seconds, partial(_read_all, path, tiles)) for kind, path in stores.items() if kind != "raw"}
    reads["read raw"] = measured(thread_seconds, partial(_read_all, stores["raw"], tiles))
    with pinned():
        samples = alternate(runs | reads, 3 * rounds)
    per_day = {name: np.array(times) / (case.cell_days if name == "kernel" else cell_days) for name, times in samples.items()}
    whole = {kind: per_day[kind] + per_day[f"read {kind}"] for kind in stores}
    share = {kind: ratio(list(per_day[kind]), list(per_day["kernel"])) for kind in stores}
    with_read = {kind: ratio(list(whole[kind]), list(per_day["kernel"])) for kind in stores}
    bits, lz4, zstd = (list(per_day[f"{name}, in place"]) for name in ("bits", "lz4", "zstd-3"))
    values = len(store.variables) / float(np.median(bits)) / 1e9
    faster, fastest = ratio(lz4, bits), ratio(zstd, bits)
    return [
        Figure("kernel of the pasture", 1e-6 / float(np.median(per_day["kernel"])), RATE, samples={"seconds": samples["kernel"]}),
        Figure("bits, decoded in memory", values, "thousand million values/s"),
        Figure("1  lz4 / bits, decoding", faster.value, "x", at_least=3.0, note=faster.spread),
        Figure("1  zstd-3 / bits, decoding", fastest.value, "x", at_least=10.0, note=fastest.spread),
        *(
            Figure(f"2  decoding / kernel, {kind}", share[kind].value, at_most=0.08 if kind != "shards" else None, note=share[kind].spread)
            for kind in ("bits", "shards")
        ),
        *(
            Figure(f"2  preadv, checksum, decoding / kernel, {kind}", with_read[kind].value, at_most=limit, note=with_read[kind].spread)
            for kind, limit in (("bits", 0.2), ("raw", 0.2), ("shards", None))
        ),
    ]


def _records(path: Path, tiles: range) -> list[tuple[Any, Any, Any]]:
    """(file, record, where to) of every chunk of some tiles of the second slab; memory for one tile is used again and again."""
    store, found = ForcingStore.open(path), []
    layouts = {name: stored.layout for name, stored in store.variables.items()}
    out = {name: np.empty(layout.chunk, layout.dtype) for name, layout in layouts.items()}
    for tile in tiles:
        for name, layout in layouts.items():
            file = open_fastest(path, store[name], (0, tile // layout.chunks[1]))
            found.append((file, file.read(1, tile % layout.chunks[1], new_memory), out[name]))
    return found


def _in_place(path: Path, tiles: range) -> list[tuple[Any, Any, Any]]:
    """The same with memory for one chunk, which stays in the cache of the processor."""
    records = _records(path, tiles)
    return [(file, record, records[0][2]) for file, record, _ in records]


def _decode_all(records: list[tuple[Any, Any, Any]]) -> None:
    for file, record, out in records:
        file.decode(record, out)


def _recoded(store: ForcingStore, tiles: range) -> list[tuple[bytes, Any]]:
    out = np.empty(next(iter(store.variables.values())).layout.chunk, np.int16)
    chunks = [store.chunk(name, (1, tile)) for tile in tiles for name in store.variables]
    return [(blosc.compress(np.ascontiguousarray(chunk), b"zstd", 3, blosc.SHUFFLE, 0, 2), out) for chunk in chunks]


def _decompress_all(records: list[tuple[bytes, Any]]) -> None:
    for record, out in records:
        blosc.decompress(record, out)


def _read_all(path: Path, tiles: range) -> None:
    """The records of one slab from the page cache into memory that is used again, checksums verified."""
    store, files, place = _opened(path), _OPEN[path], _PLACE
    for tile in tiles:
        for name, stored in store.variables.items():
            shard_j, j = divmod(tile, stored.layout.chunks[1])
            if (name, shard_j) not in files:
                files[name, shard_j] = open_fastest(path, stored, (0, shard_j))
            files[name, shard_j].read(1, j, lambda length: place[:length])


_OPEN: dict[Path, dict[tuple[str, int], Any]] = {}
_STORES: dict[Path, ForcingStore] = {}
_PLACE = np.empty(1 << 20, np.uint8)


def _opened(path: Path) -> ForcingStore:
    if path not in _STORES:
        _STORES[path], _OPEN[path] = ForcingStore.open(path), {}
    return _STORES[path]


def scans(stores: dict[str, Path], files: Path, rounds: int, days: int) -> list[Figure]:
    """All six variables of all cells and days, from the page cache: CPU time of a cell-day that the files hold, beside other readers."""
    store = ForcingStore.open(stores["shards"])
    rows = days or next(iter(store.variables.values())).axis.rows
    held: dict[str, list[float]] = {}
    python = peer_python("peers-store")

    def peer(task: str) -> float:
        path = files if task in NETCDF_PEERS else stores["shards"]
        found = json.loads(output([python, PEER, task, str(path), str(rows)]))
        seconds = float(found["cpu"]) / (found["count"] / 6)
        held.setdefault(task, []).append(found["count"] / 6 / found["wall"] / 1e6)
        return seconds

    runs: dict[str, Callable[[], float]] = {f"own, {kind}": measured(_scan, path, rows) for kind, path in stores.items()}
    runs |= {f"own, {kind}, to float32": measured(_scan, path, rows, True) for kind, path in stores.items()}
    runs["preadv of the same bytes"] = measured(lambda path: min(_preadv(path), _preadv(path)), stores["bits"])
    runs |= {task: measured(peer, task) for task in ("zarrs", "zarr-python", *NETCDF_PEERS)}
    samples = alternate(runs, rounds)
    rate = [
        Figure(f"scan, {name}", 1e-6 / float(np.median(times)), f"{RATE} of CPU", note=_by_the_clock(held.get(name)), samples={name: times})
        for name, times in samples.items()
    ]

    def times(slow: str, fast: str, target: float | None, name: str) -> Figure:
        found = ratio(samples[slow], samples[fast])
        return Figure(name, found.value, "x", at_least=target, note=found.spread)

    return [
        *rate,
        times("preadv of the same bytes", "own, bits", 0.2, "3  warm: bits / preadv of its bytes"),
        times("zarrs", "own, shards, to float32", 2.0, "4  own / zarrs, plain shards, to float32"),
        times("zarrs", "own, shards", None, "4  own / zarrs, plain shards, integers as the kernel takes them"),
        times("xarray + dask, defaults", "own, bits", 100.0, "5  bits / open_mfdataset"),
        times("xarray + dask, defaults", "own, bits, to float32", None, "5  bits, to float32 / open_mfdataset"),
        times("xarray + dask, a year a chunk", "own, bits", 40.0, "5  bits / open_mfdataset, a year a chunk"),
    ]


def _by_the_clock(rates: list[float] | None) -> str:
    return f"{float(np.median(rates)):.3g} by the clock" if rates else ""


def _scan(path: Path, days: int, to_floats: bool = False) -> float:
    """CPU seconds a cell-day of this process, all threads."""
    store = ForcingStore.open(path)
    clock = Clock.daily(_first_day(store), store.calendar)
    _preadv(path)  # what was driven out of the page cache is there again
    values = np.empty((0, 0), np.float32)
    with ForcingReader(path, range(store.n_cells), None, clock, decode_ahead=False) as reader:
        begin = time.process_time()
        stream = reader.stream(range(store.n_cells))
        for piece in reader.pieces(range(days)):
            for _, packed in stream.tiles(piece):
                if to_floats:
                    shape = len(piece), packed.rows.shape[1]
                    values = values if values.shape == shape else np.empty(shape, np.float32)
                    for row_of, scale, offset in zip(packed.row_of, packed.scale, packed.offset, strict=True):
                        raw = packed.rows[row_of[0] : row_of[-1] + 1]
                        np.multiply(raw, np.float32(scale), out=values)
                        values += np.float32(offset)
                        values[raw == MISSING] = np.nan
        return (time.process_time() - begin) / (days * store.n_cells)


def _first_day(store: ForcingStore) -> str:
    return next(iter(store.variables.values())).axis.period()[:10]


def _preadv(path: Path) -> float:
    """CPU seconds a cell-day of reading the files of the fast copy, or the shards, as they are into memory that is used again."""
    store = ForcingStore.open(path)
    all_days = next(iter(store.variables.values())).axis.rows
    begin = time.process_time()
    for file in sorted(path.glob("pack/*/*.sbp")) or sorted(path.glob("*/c/*/*")):
        with open(file, "rb", buffering=0) as handle:
            while handle.readinto(WHOLE):
                pass
    return (time.process_time() - begin) / (all_days * store.n_cells)


def cold(path: Path, rounds: int) -> list[Figure]:
    """Reading and decoding when nothing is in the page cache of this machine, beside reading the same bytes; by the clock."""
    store = ForcingStore.open(path)
    rows, clock = next(iter(store.variables.values())).axis.rows, Clock.daily(_first_day(store), store.calendar)
    files = sorted((path / "pack").glob("*/*.sbp"))

    def forget() -> None:
        os.sync()
        for file in files:
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)

    def bytes_alone() -> float:
        forget()
        buffer, begin = WHOLE, time.perf_counter()
        for file in files:
            with open(file, "rb", buffering=0) as handle:
                while handle.readinto(buffer):
                    pass
        return time.perf_counter() - begin

    def decoded(ahead: bool) -> float:
        forget()
        with ForcingReader(path, range(store.n_cells), None, clock, decode_ahead=ahead) as reader:
            begin, stream = time.perf_counter(), reader.stream(range(store.n_cells))
            for piece in reader.pieces(range(rows)):
                for _ in stream.tiles(piece):
                    pass
            return time.perf_counter() - begin

    samples = alternate({"bytes": bytes_alone, "read": measured(decoded, False)}, rounds)
    found = ratio(samples["bytes"], samples["read"])
    rate = sum(file.stat().st_size for file in files) / float(np.median(samples["bytes"])) / 1e9
    name = "3  cold: bits, read and decoded / read alone"
    return [Figure(name, found.value, "x", at_least=0.6, note=f"{found.spread}; the bytes alone at {rate:.2g} GB/s")]


def waiting(years: int, stores: dict[str, Path], rounds: int) -> list[Figure]:
    """How long the computing thread of a run waits for its weather, beside its computing, with a processor to spare."""
    path = run_file(years)
    spare = len(os.sched_getaffinity(0)) > 1
    found = []
    for kind, store in stores.items():
        shares = []
        for _ in range(rounds):
            run = read_run_file(path, {"forcing.store": json.dumps(str(store))})
            with Simulation(Plan.of(run), new_output()) as simulation:
                begin = time.perf_counter()
                simulation.run()
                taken = time.perf_counter() - begin
                reading = simulation.reading
                assert reading is not None
                shares.append(reading.stall_seconds / (taken - reading.stall_seconds))
        target = 0.01 if spare and kind != "raw" else None
        note = f"{os.getloadavg()[0]:.1f} processes at work on {len(os.sched_getaffinity(0))} processors"
        found.append(Figure(f"6  waiting / computing, {kind}", float(np.median(shares)), at_most=target, note=note, samples={kind: shares}))
    return found


def sizes(stores: dict[str, Path], files: Path) -> list[Figure]:
    """Bytes beside plain integers, and beside NetCDF with all cells of the box."""
    store = ForcingStore.open(stores["shards"])
    raw, shards, bits = raw_bytes(store), shards_size(store), size(stores["bits"] / "pack")
    small = shards_size(ForcingStore.open(archived(stores["shards"])))
    return [
        Figure("7  shards / plain integers", shards / raw, at_most=0.40, note=f"{shards / 1e6:.0f} of {raw / 1e6:.0f} MB"),
        Figure("7  bits / plain integers", bits / raw, at_most=0.35, note=f"{bits / 1e6:.0f} MB"),
        Figure("7  shards / NetCDF, deflate 4", shards / size(files), at_most=1.15, note=f"{size(files) / 1e6:.0f} MB"),
        Figure("7  archive / NetCDF, deflate 4", small / size(files), at_most=0.70, note=f"{small / 1e6:.0f} MB"),
    ]


def looks(store: Path, files: Path, rounds: int) -> list[Figure]:
    """One cell's years and one day's map through xarray, beside the NetCDF files."""
    python, walls = peer_python("peers-store"), {}

    def look(task: str) -> float:
        return float(json.loads(output([python, PEER, task, str(store if task.endswith("zarr") else files), "0"]))["wall"])

    tasks = ("series, zarr", "map, zarr", "series, netcdf", "map, netcdf")
    walls = alternate({task: measured(look, task) for task in tasks}, rounds)
    series, maps = ratio(walls["series, netcdf"], walls["series, zarr"]), ratio(walls["map, zarr"], walls["map, netcdf"])
    return [
        Figure("8  series of ten years, xarray and zarrs", 1e3 * float(np.median(walls["series, zarr"])), "ms", at_most=25.0),
        Figure("8  map of a day, xarray and zarrs", 1e3 * float(np.median(walls["map, zarr"])), "ms", at_most=4.0),
        Figure("8  series, NetCDF / store", series.value, "x", at_least=30.0, note=series.spread),
        Figure("8  map, store / NetCDF", maps.value, "x", at_most=10.0, note=maps.spread),
    ]
