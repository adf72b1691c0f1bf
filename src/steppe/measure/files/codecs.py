"""The codecs of Steppe's stores, and data like the maps that models read."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numcodecs import Blosc, Zstd, blosc
from numpy.typing import NDArray

ROWS, WIDTH = 2_048, 512  # cells of a map
DRY = 0.4  # of the cells have no rain


class Codec(NamedTuple):
    """A codec with its functions, of one thread."""

    name: str
    compress: Callable[[NDArray[np.int16]], bytes]
    decompress: Callable[[bytes, NDArray[np.int16]], object]


def codecs() -> list[Codec]:
    """The codecs that stores of runs and weather use."""
    blosc.use_threads = False
    levels = {"lz4": 5, "lz4hc": 3, "zstd": 6}
    found = [(f"blosc {name} {level}", Blosc(name, level, Blosc.SHUFFLE)) for name, level in levels.items()] + [("zstd 3", Zstd(3))]
    return [Codec(name, one.encode, one.decode) for name, one in found]


def maps(cells: int, seed: int = 1) -> NDArray[np.int16]:
    """Daily rain (cells,) [0.1 mm] as whole numbers: smooth showers with dry land between them, repeated after 2 MiB."""
    random = np.random.default_rng(seed)
    y, x = np.meshgrid(np.arange(ROWS) / WIDTH, np.arange(WIDTH) / WIDTH, indexing="ij", sparse=True)
    waves = random.normal(size=(6, 4))
    field = sum(np.sin(20.0 * a * x + b * 5.0) * np.cos(20.0 * c * y + d * 5.0) for a, b, c, d in waves)
    field += 0.05 * random.standard_normal(field.shape)
    rain = np.maximum(0.0, field - np.quantile(field, DRY))
    return np.resize(np.rint(100.0 * rain).astype(np.int16), cells)
