"""An image of a field: values become colours of a palette, and colours a PNG file."""

import struct
import zlib
from functools import cache

import numpy as np

from steppe.array_types import Array, Bytes
from steppe.view.colour import SHADES, Colours

LEVELS = 255  # colours; number 0 of the palette is transparent: no value
FAST = 1  # level of zlib: an image is needed at once


def levels(values: Array, colours: Colours) -> Bytes:
    """Number in the palette of each value: 1 to 255 from low to high, clipped; 0 where there is no value."""
    span = (colours.high - colours.low) or 1.0
    with np.errstate(invalid="ignore"):
        number = np.clip((np.asarray(values, np.float64) - colours.low) / span * LEVELS, 0, LEVELS - 1)
    return np.where(np.isfinite(values), np.nan_to_num(number).astype(np.uint8) + 1, 0).astype(np.uint8)


def png(image: Bytes, name: str) -> bytes:
    """A PNG file of levels (rows, columns) in the colours `name` of cmcrameri, or of "classes"; W3C Recommendation PNG, 11.2 and 11.3."""
    height, width = image.shape
    lines = np.zeros((height, width + 1), np.uint8)  # each line begins with its filter, 0: none
    lines[:, 1:] = image
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": _palette(name),
        b"tRNS": b"\0",
        b"IDAT": zlib.compress(lines.tobytes(), FAST),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts.items()
    )


@cache
def _palette(name: str) -> bytes:
    from cmcrameri import cm  # brings matplotlib, which only pictures need

    if name == "classes":
        colours = SHADES[np.arange(LEVELS) * len(SHADES) // LEVELS]
    else:
        colours = getattr(cm, name)(np.linspace(0.0, 1.0, LEVELS))[:, :3]
    numbers: bytes = np.rint(255 * colours).astype(np.uint8).tobytes()
    return bytes(3) + numbers
