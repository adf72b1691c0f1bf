"""The SQLite connection of a journal. Damage raises one error that names the file, a full disk another one, at any time."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from steppe.errors import DamagedError, NoSpaceError

ADVICE = (
    "Put a copy of it back. Without the file the run continues from the newest checkpoint of main, "
    "and all orders and all other scenarios are gone with it."
)
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
JSON = ("arguments", "detail", "path", "facts")  # columns that hold JSON or NULL


class Database(sqlite3.Connection):
    """A connection to the file of a journal; open it with `sqlite3.connect(path, factory=Base)`."""

    def __init__(self, path: Path | str, **options: Any) -> None:
        super().__init__(path, isolation_level=None, check_same_thread=False, **options)
        self.path = path
        self.text_factory = self._text

    def execute(self, text: str, values: object = ()) -> sqlite3.Cursor:
        """Runs a statement.

        Raises
        ------
        DamagedError
            The file is damaged; also raised while rows are read.
        NoSpaceError
            The disk is full.
        """
        found: sqlite3.Cursor = self.cursor(_JournalCursor).execute(text, values)
        return found

    def damaged(self, why: object) -> NoReturn:
        """Raises DamagedError with the name of the file."""
        raise DamagedError(f'"{self.path}" is no journal of a run, or is damaged: {why}. {ADVICE}') from None

    def plain(self, text: str | bytes) -> Any:
        """The value of a JSON text; raises DamagedError for any other text."""
        try:
            return json.loads(text)
        except ValueError as error:
            self.damaged(error)

    def check(self, tables: Mapping[str, str]) -> None:
        """Reads and verifies the whole file. tables: the columns of each.

        Raises
        ------
        DamagedError
            Pages are wrong, an index differs from its table, a text is not UTF-8, or a column of JSON holds other text.
        sqlite3.Error
            A table or a column is missing, or the file cannot be read.
        """
        (found,) = self.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            self.damaged(str(found).rstrip("."))
        for table, columns in tables.items():
            places = [at for at, name in enumerate(columns.split(", ")) if name in JSON]
            for row in self.execute(f"SELECT {columns} FROM {table}"):
                for text in (row[at] for at in places if row[at] is not None):
                    self.plain(text)

    def _text(self, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            self.damaged(error)


def _checked(method: Callable[..., Any]) -> Any:
    """A method of a cursor, with the errors of a journal."""

    def checked(cursor: "_JournalCursor", *values: object) -> Any:
        try:
            return method(cursor, *values)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            cursor.fault(error)

    return checked


class _JournalCursor(sqlite3.Cursor):
    execute, __next__ = _checked(sqlite3.Cursor.execute), _checked(sqlite3.Cursor.__next__)
    fetchone, fetchall = _checked(sqlite3.Cursor.fetchone), _checked(sqlite3.Cursor.fetchall)

    def fault(self, error: sqlite3.DatabaseError | UnicodeDecodeError) -> NoReturn:
        base = self.connection  # SQLite's messages quote damaged text, and then are not UTF-8
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if isinstance(base, Database) and (isinstance(error, UnicodeDecodeError) or code in DAMAGE):
            base.damaged(error)
        if code == sqlite3.SQLITE_FULL:
            raise NoSpaceError("The disk of the journal is full. Make room; what was accepted is safe.") from None
        raise error
