"""The format `raw`: an array and what it is, in one piece that a client reads without copying.

    u32 n | n bytes of JSON, filled with blanks | the array, little-endian, C order

The array begins at a multiple of 64 bytes.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from steppe.api.documents import ArrayHead
from steppe.array_types import Array

MEDIA_TYPE = "application/vnd.steppe.array"
ALIGNED = 64  # [byte]
HEAD = 64 * 1024  # [byte] the longest head that is read


def has_value(values: Array) -> NDArray[np.bool_]:
    """Where an array has values: finite numbers; of whole numbers all but the least one of their type, which stands for no value."""
    there: NDArray[np.bool_] = np.isfinite(values) if values.dtype.kind == "f" else values != np.iinfo(values.dtype).min
    return there


def encode_head(facts: Mapping[str, object]) -> bytes:
    """The bytes before the array; a multiple of 64.

    facts: variable, units, dtype, shape, dims, step, date, scenario, box, scale, offset, missing, as far as they are known. Numbers that
    are not finite become null.
    """
    text = msgspec.json.encode(facts)
    blanks = -(4 + len(text)) % ALIGNED
    return b"".join(((len(text) + blanks).to_bytes(4, "little"), text, b" " * blanks))


def array_of(head: ArrayHead, body: bytes | bytearray | memoryview) -> Array:
    """The array behind a head, as an engine gives both: a view of `body`, in the shape and dtype that the head says."""
    return np.frombuffer(body, np.dtype(head["dtype"]).newbyteorder("<")).reshape(head["shape"])


def decode(content: bytes | bytearray | memoryview) -> tuple[ArrayHead, Array]:
    """The head of an array, and the array: a view of `content`, in the shape and dtype that the head says.

    Raises
    ------
    ValueError
        `content` is cut short, too long, or no array.
    """
    view = memoryview(content).cast("B")
    length = int.from_bytes(view[:4], "little")
    if len(view) < 4 or length > HEAD or len(view) < 4 + length:
        raise ValueError(f"{len(view)} bytes are no array of Steppe: the head is cut short or of {length} bytes. Ask for format=raw.")
    try:
        facts: Any = msgspec.json.decode(view[4 : 4 + length], type=dict[str, Any])
        dtype = np.dtype(facts["dtype"]).newbyteorder("<")
        shape = tuple(int(length) for length in facts["shape"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"The head of an array of Steppe cannot be read ({error}). Ask for format=raw.") from None
    if dtype.hasobject or min(shape, default=0) < 0 or len(view) - 4 - length != prod(shape) * dtype.itemsize:
        raise ValueError(f"An array of {dtype} of shape {shape} has {prod(shape) * dtype.itemsize} bytes, {len(view) - 4 - length} came.")
    return facts, np.frombuffer(view, dtype, offset=4 + length).reshape(shape)
