"""Whole numbers of neighbouring cells in few bits: a table of int16 packed without loss, and unpacked at the speed of memory.

A row of cells in strip order is cut into blocks of 1,024 = 16 rows of 64 lanes; lane l of row r is, inland, the northern neighbour of
lane l of row r + 1, so that their difference is small. A block keeps its first row as distances from its least value (none, 8 or 16
bits each) and of the 15 others the differences to the row above, less their least, in as many bits as the greatest one needs:

    packed = offsets of the blocks, uint32 | least first values, uint16 | least differences, uint16 | widths, uint8 | bytes of the
             first row, uint8 | for each block: first row | 15 rows of differences, each lane's bits one after another in 16-bit words

All arithmetic is modulo 2^16, so any int16 comes back. Lag 64 and blocks of 1,024 were measured the best of five predictors and two
sizes (the design's table of codecs). The unpacking is written in LLVM's own language, one straight run of instructions for each
width: 64 lanes are one vector there, whatever the processor's width, and nothing depends on a vectoriser's mood.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Bytes
from steppe.kernels import cache as cache_files

LANES, ROWS = 64, 16
BLOCK = LANES * ROWS  # cells
SYMBOL = "unpack_blocks"


def pack(values: NDArray[np.int16]) -> bytes:
    """A table (rows, columns) of int16 in few bits; columns is a multiple of 1,024."""
    blocks = np.ascontiguousarray(values).view(np.uint16).reshape(-1, ROWS, LANES)
    first = blocks[:, 0]
    base = first.min(axis=1)
    distances = first - base[:, None]
    first_bytes = np.select([distances.max(axis=1) == 0, distances.max(axis=1) < 256], [0, 1], 2).astype(np.uint8)
    differences = (blocks[:, 1:] - blocks[:, :-1]).view(np.int16)
    least = differences.min(axis=(1, 2)).view(np.uint16)
    differences = differences.view(np.uint16) - least[:, None, None]
    greatest = differences.max(axis=(1, 2)).astype(np.uint32)
    widths = np.where(greatest > 0, np.floor(np.log2(np.maximum(greatest, 1))) + 1, 0).astype(np.uint8)
    lengths = first_bytes * np.uint32(LANES // 2) + _words(widths.astype(np.uint32)) * np.uint32(LANES)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    payload = np.zeros(int(offsets[-1]), np.uint16)
    for size in (1, 2):
        for place in np.flatnonzero(first_bytes == size):
            row = distances[place].astype(np.uint8).view(np.uint16) if size == 1 else distances[place]
            payload[offsets[place] : offsets[place] + len(row)] = row
    for width in range(1, 17):
        chosen = np.flatnonzero(widths == width)
        words = np.zeros((chosen.size, _words(width), LANES), np.uint16)
        for r in range(ROWS - 1):
            word, shift = divmod(r * width, 16)
            words[:, word] |= differences[chosen, r] << np.uint16(shift)
            if shift + width > 16:
                words[:, word + 1] |= differences[chosen, r] >> np.uint16(16 - shift)
        starts = offsets[chosen] + first_bytes[chosen] * np.uint32(LANES // 2)
        payload[starts[:, None] + np.arange(_words(width) * LANES)] = words.reshape(chosen.size, _words(width) * LANES)
    parts = (offsets[:-1].astype("<u4"), base.astype("<u2"), least.astype("<u2"), widths, first_bytes, payload.astype("<u2"))
    return b"".join(part.tobytes() for part in parts)


def unpack(tables: Sequence[tuple[Bytes, NDArray[np.int16]]]) -> None:
    """Tables that were packed, each into a C-contiguous (rows, columns), all of one shape; all arrays are writable.

    The packed bytes are not checked: verify their checksum before.
    """
    unpack_at([array.ctypes.data for table in tables for array in table], tables[0][1].shape)


def unpack_at(addresses: Sequence[int], shape: tuple[int, ...]) -> None:
    """The same with addresses: packed, unpacked, packed, unpacked ... Asking each array for its address takes as long as reading one."""
    rows, columns = shape
    places = np.array(addresses)
    _compiled()(len(places) // 2, rows * columns // BLOCK, columns // BLOCK, columns, places.ctypes.data)


def _words(width: Any) -> Any:
    """The number of 16-bit words for 15 numbers of a width."""
    return (width * (ROWS - 1) + 15) // 16


def _text() -> str:
    """The unpacking in LLVM's language. Its first two arguments are for `cache.MachineFunction`."""
    lanes = f"<{LANES} x i16>"
    numbers = ("tables", "blocks", "per_row", "columns")
    arguments = ["ptr %unused1", "ptr %unused2", *(f"i64 %{name}" for name in numbers), "ptr %addresses"]
    lines = [f"define i32 @{SYMBOL}({', '.join(arguments)}) {{", "entry:", "br label %table", "table:"]
    lines += ["%k = phi i64 [0, %entry], [%k_next, %table_done]", "%pair = shl i64 %k, 1", "%pair_out = add i64 %pair, 1"]
    for name, at in (("offsets", "pair"), ("out", "pair_out")):
        lines += [f"%p_{name} = getelementptr ptr, ptr %addresses, i64 %{at}", f"%{name} = load ptr, ptr %p_{name}"]
    for name, before in (("bases", 4), ("leasts", 6), ("widths", 8), ("firsts", 9), ("words", 10)):
        lines += [f"%n_{name} = mul i64 %blocks, {before}", f"%{name} = getelementptr i8, ptr %offsets, i64 %n_{name}"]
    lines += ["br label %loop", "loop:"]
    lines += ["%b = phi i64 [0, %table], [%next, %done]", "%row = udiv i64 %b, %per_row", "%block = urem i64 %b, %per_row"]
    lines += ["%line = mul i64 %row, %columns", f"%column = mul i64 %block, {BLOCK}", "%at = add i64 %line, %column"]
    lines += ["%to = getelementptr i16, ptr %out, i64 %at"]
    for name, kind in (("offset", "i32"), ("base", "i16"), ("least", "i16"), ("width", "i8"), ("first", "i8")):
        lines += [f"%p_{name} = getelementptr {kind}, ptr %{name}s, i64 %b", f"%{name} = load {kind}, ptr %p_{name}, align 1"]
    lines += ["%offset64 = zext i32 %offset to i64", "%from = getelementptr i16, ptr %words, i64 %offset64"]
    for name in ("base", "least"):
        lines += [f"%one_{name} = insertelement {lanes} poison, i16 %{name}, i32 0"]
        lines += [f"%all_{name} = shufflevector {lanes} %one_{name}, {lanes} poison, <{LANES} x i32> zeroinitializer"]
    lines += ["switch i8 %first, label %first2 [i8 0, label %first0 i8 1, label %first1]", "first0:", "br label %rows", "first1:"]
    lines += [f"%bytes = load <{LANES} x i8>, ptr %from, align 1", f"%wide = zext <{LANES} x i8> %bytes to {lanes}"]
    lines += [f"%after1 = getelementptr i16, ptr %from, i64 {LANES // 2}", "br label %rows", "first2:"]
    lines += [
        f"%whole = load {lanes}, ptr %from, align 2",
        f"%after2 = getelementptr i16, ptr %from, i64 {LANES}",
        "br label %rows",
        "rows:",
    ]
    lines += [f"%distance = phi {lanes} [zeroinitializer, %first0], [%wide, %first1], [%whole, %first2]"]
    lines += ["%source = phi ptr [%from, %first0], [%after1, %first1], [%after2, %first2]"]
    lines += [f"%x0 = add {lanes} %all_base, %distance", f"store {lanes} %x0, ptr %to, align 2"]
    lines += [f"switch i8 %width, label %w16 [{' '.join(f'i8 {w}, label %w{w}' for w in range(16))}]"]
    for width in range(17):
        lines += [f"w{width}:", *_rows(width, lanes), "br label %done"]
    lines += ["done:", "%next = add i64 %b, 1", "%more = icmp ult i64 %next, %blocks", "br i1 %more, label %loop, label %table_done"]
    lines += ["table_done:", "%k_next = add i64 %k, 1", "%k_more = icmp ult i64 %k_next, %tables"]
    lines += ["br i1 %k_more, label %table, label %end"]
    return "\n".join([*lines, "end:", "ret i32 0", "}", ""])


def _rows(width: int, lanes: str) -> list[str]:
    """The 15 rows of one width: word by word, each row the one above plus its difference."""

    def splat(number: int) -> str:
        return f"<{', '.join([f'i16 {number}'] * LANES)}>"

    lines, x = [], "%x0"
    for word in range(_words(width)):
        at = f"%w{width}_p{word}"
        lines += [f"{at} = getelementptr i16, ptr %source, i64 {word * LANES}", f"%w{width}_{word} = load {lanes}, ptr {at}, align 2"]
    for r in range(ROWS - 1):
        name = f"%w{width}_r{r}"
        added = "%all_least"
        if width:
            word, shift = divmod(r * width, 16)
            lines.append(f"{name}_a = lshr {lanes} %w{width}_{word}, {splat(shift)}")
            bits = f"{name}_a"
            if shift + width > 16:
                lines.append(f"{name}_b = shl {lanes} %w{width}_{word + 1}, {splat(16 - shift)}")
                lines.append(f"{name}_c = or {lanes} {bits}, {name}_b")
                bits = f"{name}_c"
            lines.append(f"{name}_d = and {lanes} {bits}, {splat((1 << width) - 1 if width < 16 else -1)}")
            lines.append(f"{name}_e = add {lanes} {name}_d, %all_least")
            added = f"{name}_e"
        lines.append(f"{name} = add {lanes} {x}, {added}")
        to = f"%w{width}_t{r}"
        lines += [f"{to} = getelementptr i16, ptr %to, i64 {(r + 1) * LANES}", f"store {lanes} {name}, ptr {to}, align 2"]
        x = name
    return lines


@cache
def _compiled() -> cache_files.MachineFunction:
    """The machine code of the unpacking, from the cache of kernels."""
    found = cache_files.kept(f"bitpack_{cache_files.key(_text())}", lambda: (SYMBOL, cache_files.object_of(_text())))
    return cache_files.MachineFunction(*found, [ctypes.c_int64] * 4 + [ctypes.c_void_p])
