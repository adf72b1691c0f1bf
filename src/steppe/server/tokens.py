"""Tokens: what is kept of them, and those that were made for a run beside the ones of its server.

RUN_FOLDER/tokens.json      name, role, SHA-256 and end of each; replaced whole, and read again by a server at work
"""

import json
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from steppe.api import ROLES
from steppe.control.orders import JOURNAL
from steppe.errors import DamagedError, FolderError, Mistake, nearest
from steppe.files import take, write_whole

FILE = "tokens.json"


@dataclass(frozen=True, slots=True)
class Token:
    """The stored facts of a token: never its text.

    digest: its SHA-256; expires: seconds since 1970; run: the only one that it opens, "" for all.
    """

    name: str
    role: str
    digest: bytes
    expires: float | None = None
    run: str = ""

    @classmethod
    def of(cls, name: str, role: str, text: str, expires: float | None = None) -> "Token":
        """The record of the token `text`."""
        return cls(name, role, digest_of(text), expires)

    def is_over(self, now: float) -> bool:
        """Whether the token has expired. now: seconds since 1970."""
        return self.expires is not None and self.expires <= now


def digest_of(text: str | bytes) -> bytes:
    """The SHA-256 of a token."""
    return sha256(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")).digest()


def new_token() -> str:
    """A token: 256 random bits."""
    return secrets.token_urlsafe(32)


def _token(name: str, role: str, digest: str, expires: float) -> Token:
    if role not in ROLES:
        raise ValueError(f'"{role}" is no role')
    return Token(str(name), role, bytes.fromhex(digest), float(expires))


class TokenStore(ABC):
    """A file of tokens, readable by its owner alone. It is replaced whole; a running server reads it again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, ...] = ()

    def is_new(self) -> bool:
        """Whether the file has changed since the last call; at the first call, whether it exists."""
        try:
            facts = os.stat(self.path)
            seen: tuple[int, ...] = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        except OSError:
            seen = ()
        before, self._seen = self._seen, seen
        return seen != before

    @abstractmethod
    def read(self) -> list[Token]:
        """All tokens of the file; raises DamagedError or Mistake."""

    @abstractmethod
    def forget(self, digest: bytes) -> None:
        """Removes the token of a digest, if the file has it; raises SteppeError or OSError."""

    def put(self, text: str) -> None:
        """Replaces the file, durably."""
        write_whole(self.path, text.encode(), mode=0o600)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Locks the file against changes by other processes."""
        place = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            take(place, wait=True)
            yield
        finally:
            os.close(place)


class TokenFile(TokenStore):
    """The tokens that were made for the run in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE)

    def read(self) -> list[Token]:
        """All of them, those that are over too.

        Raises
        ------
        DamagedError
            The file is not what was written, or another user's: a user with the right to write into a folder must not become its admin.
        """
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_uid != os.geteuid():
                    raise DamagedError(f'"{self.path}" belongs to another user. No token in it is taken.')
                rows = json.loads(file.read())["tokens"]
            return [_token(**row) for row in rows]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedError(f'"{self.path}" cannot be read ({error}). Remove it, and make new tokens.') from None

    def add(self, token: Token) -> None:
        """Adds a token; raises Mistake when the file has one of its name."""

        def with_it(there: list[Token]) -> list[Token]:
            if token.name in [each.name for each in there]:
                raise Mistake(f'There is a token "{token.name}" already. Choose another name, or revoke that one.')
            return [*there, token]

        self._change(with_it)

    def remove(self, name: str) -> None:
        """Removes a token; raises Mistake when there is none of this name."""

        def without(there: list[Token]) -> list[Token]:
            names = [each.name for each in there]
            if name not in names:
                raise Mistake(f'There is no token "{name}" in "{self.path.parent}".{nearest(name, names)}')
            return [each for each in there if each.name != name]

        self._change(without)

    def forget(self, digest: bytes) -> None:
        """Removes a token, if the file has it."""
        self._change(lambda there: [each for each in there if each.digest != digest])

    def _change(self, change: Callable[[list[Token]], list[Token]]) -> None:
        folder = self.path.parent
        if not (folder / JOURNAL).is_file():
            raise FolderError(f'"{folder}" is no folder of a run that is or was served. `steppe serve run.toml` makes one.')
        with self.alone():
            rows = [
                {"name": each.name, "role": each.role, "digest": each.digest.hex(), "expires": each.expires} for each in change(self.read())
            ]
            self.put(json.dumps({"tokens": rows}, indent=1))
