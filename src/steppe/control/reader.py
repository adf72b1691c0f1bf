"""Reading a journal beside its writer, however long it is: neither an order nor the event loop waits for it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec

from steppe.control.records import COMMAND, command_of

PIECE = 1 << 16  # [byte] of lines that are read at once


class Reader:
    """A thread with a connection of its own, which only reads. Nothing is opened before the first question.

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
        """The number of the last of at most `limit` commands behind the command `after`, and whether there are more behind that one."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._page, after, limit)

    async def lines(self, after: int, last: int) -> AsyncGenerator[bytes]:
        """The commands behind `after` up to `last`, a JSON object a line, in pieces; no more than one piece is in memory."""
        while after < last:
            piece, after = await asyncio.get_running_loop().run_in_executor(self._thread, self._lines, after, last)
            yield piece

    def close(self) -> None:
        """Ends the thread and the connection; a stream of lines that is under way raises RuntimeError."""
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
                lines.append(msgspec.json.encode(command) + b"\n")
                size += len(lines[-1])
                if size >= PIECE:
                    return b"".join(lines), after
        return b"".join(lines), last
