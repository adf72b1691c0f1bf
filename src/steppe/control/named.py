"""Which arrays and lists of cells the orders of a journal name, for any thread or process: each call opens and reads the file."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any


def named_by(path: Path) -> frozenset[str]:
    """The SHA-256 of all that orders of a journal name."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
        rows = base.execute("SELECT arguments FROM command WHERE kind IN ('set', 'event')")
        return frozenset(name for (arguments,) in rows for name in digests_of(json.loads(arguments)))


def digests_of(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The SHA-256 that the arguments of an order name."""
    change = arguments.get("change", arguments)
    yield from (change[name] for name in ("cells", "upload") if change.get(name))
