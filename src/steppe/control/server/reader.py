"""Reads a journal beside its writer, however long it is: neither an order nor the event loop waits."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from steppe.control.orders import RULES, Command
from steppe.control.server.journal_file import COMMAND
from steppe.control.server.records import command_of

PIECE = 1 << 16  # [byte] of lines in one piece


class JournalReader:
    """A thread with a read-only connection of its own. The file is opened at the first call.

    Parameters
    ----------
    path
        Of the journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "journal")
        self._base: sqlite3.Connection | None = None

    async def page(self, after: int, limit: int) -> tuple[int, bool]:
        """The number of the last of at most `limit` commands after `after`, and whether more follow."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._page, after, limit)

    async def lines(self, after: int, last: int) -> AsyncGenerator[bytes]:
        """The commands after `after` up to `last`, one JSON object a line, in pieces; one piece is in memory at a time."""
        while after < last:
            piece, after = await asyncio.get_running_loop().run_in_executor(self._thread, self._lines, after, last)
            yield piece

    def close(self) -> None:
        """Ends the thread and the connection. A running stream of lines raises RuntimeError."""
        self._thread.shutdown()
        if self._base is not None:
            self._base.close()

    def _connection(self) -> sqlite3.Connection:
        if self._base is None:
            self._base = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        return self._base

    def _page(self, after: int, limit: int) -> tuple[int, bool]:
        text = "SELECT coalesce(max(seq), ?) FROM (SELECT seq FROM command WHERE seq > ? ORDER BY seq LIMIT ?)"
        (last,) = self._connection().execute(text, (after, after, limit)).fetchone()
        return int(last), self._connection().execute("SELECT 1 FROM command WHERE seq > ? LIMIT 1", (last,)).fetchone() is not None

    def _lines(self, after: int, last: int) -> tuple[bytes, int]:
        """A piece, and the number of its last command."""
        text = f"SELECT {COMMAND} FROM command WHERE seq > ? AND seq <= ? ORDER BY seq"
        lines, size = [], 0
        with closing(self._connection().execute(text, (after, last))) as rows:
            for row in rows:
                command = command_of(row)
                after = command.seq
                row = msgspec.to_builtins(command) | ({"effects": self._effects(command)} if command.kind in RULES else {})
                lines.append(msgspec.json.encode(row) + b"\n")
                size += len(lines[-1])
                if size >= PIECE:
                    return b"".join(lines), after
        return b"".join(lines), last

    def _effects(self, rule: Command) -> list[dict[str, object]]:
        """The effects of an event or a trigger, in all branches."""
        text = "SELECT branch, step, kind, text FROM emission WHERE source = ? ORDER BY number"
        rows = self._connection().execute(text, (f"{rule.kind}:{rule.seq}",))
        return [dict(zip(("branch", "step", "kind", "text"), row, strict=True)) for row in rows]


def named_by(path: Path) -> frozenset[str]:
    """The SHA-256 of all arrays and lists of cells that the orders of a journal name. Any thread or process may call it."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
        rows = base.execute("SELECT arguments FROM command WHERE kind IN ('set', 'event')")
        return frozenset(name for (arguments,) in rows for name in digests_of(json.loads(arguments)))


def digests_of(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The SHA-256 that the arguments of an order name."""
    change = arguments.get("change", arguments)
    yield from (change[name] for name in ("cells", "upload") if change.get(name))
