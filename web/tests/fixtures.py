"""Writes web/tests/fixtures.json, what the page's tests decode: `python web/tests/fixtures.py`, from the repository's root.

Frames and arrays are packed by the code that packs them for the socket and for HTTP; dates are those of cftime.
"""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import cftime
import numpy as np

from steppe.api import decode, encode_head
from steppe.api.frame import DROPPED, DROPPED_MAGIC, KEY, REPLAYING, empty_frame, numbered, tell_missing

PATH = Path(__file__).parent / "fixtures.json"
CALENDARS = ("standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")
DAYS = (0, 1, 58, 59, 60, 364, 365, 366, 1154, 1155, 20000, 53000)


def frame(bits: int, seed: int) -> dict[str, Any]:
    """A frame of 7 x 5 cells and the values from which it was made: numbers, "missing" or "outside"."""
    random = np.random.default_rng(seed)
    values = random.uniform(-40, 4000, (7, 5))
    top = 2**bits - 1
    offset = np.float32(-50)
    scale = np.float32(4100 / (top - 2))
    missing, outside = random.random((7, 5)) < 0.2, random.random((7, 5)) < 0.2
    content, levels = empty_frame(bits, 7, 5, (138.0, -10.6, 0.1, float(scale), float(offset), 1154.0, 1155))
    found = np.round((values - np.float64(offset)) / np.float64(scale)).astype(levels.dtype)
    levels[:] = np.where(outside, top, np.where(missing, top - 1, found)).ravel()
    tell_missing(content, int((missing & ~outside).sum()), KEY | REPLAYING)
    kinds = np.where(outside, "outside", np.where(missing, "missing", "")).ravel()
    cells = [str(kind) or float(value) for kind, value in zip(kinds, values.ravel(), strict=True)]
    return {
        "bits": bits,
        "bytes": b64encode(numbered(bytes(content), 2, 41, 0)).decode(),
        "cells": cells,
        "number": 41,
        "stream": 2,
        "step": 1155,
    }


def array(dtype: str) -> dict[str, Any]:
    """An array of 3 x 4 numbers, of which one is none."""
    values = np.arange(12, dtype=dtype).reshape(3, 4) / 7
    values[1, 2] = np.nan
    head = {
        "variable": "green",
        "units": "kg ha-1",
        "dtype": values.dtype.str,
        "shape": list(values.shape),
        "dims": ["lat", "lon"],
        "step": 3,
    }
    content = encode_head(head) + values.tobytes()
    assert decode(content)[0]["step"] == 3
    return {"bytes": b64encode(content).decode(), "values": [None if np.isnan(value) else float(value) for value in values.ravel()]}


def dates() -> list[dict[str, Any]]:
    """Days after 1 January 2000 in each calendar."""
    rows = []
    for calendar in CALENDARS:
        for day in DAYS:
            date = cftime.num2date(day, "days since 2000-01-01", calendar=calendar)
            rows.append({"calendar": calendar, "day": day, "date": f"{date.year:04}-{date.month:02}-{date.day:02}"})
    return rows


def text() -> str:
    """The whole file."""
    found = {
        "frames": [frame(8, 1), frame(16, 2)],
        "drops": b64encode(DROPPED.pack(DROPPED_MAGIC, 3, 17)).decode(),
        "arrays": [array("<f4"), array("<f8")],
        "dates": dates(),
    }
    return json.dumps(found, indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
