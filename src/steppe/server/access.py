"""The access of clients: tokens with a role, sessions of logged-in users, and limits of failed logins by address."""

import asyncio
import hmac
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from steppe.errors import SteppeError
from steppe.files import write_whole
from steppe.server.tokens import Token, TokenStore, digest_of
from steppe.service.principal import Principal

LOG = logging.getLogger("steppe.server")

SESSION = 12 * 3600.0  # [s] after the last request
SESSIONS = "server.sessions"  # of a server that has ended
MINUTE = 60.0  # [s]
LOOK = 1.0  # [s] between two reads of the files of tokens; an unknown token causes one at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor(Principal):
    """A client with a valid token.

    expires: seconds since 1970. token: the digest of the token, by which rates and sockets are counted: names may be the same. by_header:
    with a token in a header, which no other site can make a browser send.
    """

    expires: float | None
    token: str
    by_header: bool = True

    @classmethod
    def of(cls, token: Token, expires: float | None, by_header: bool) -> "Visitor":
        """The holder of a token."""
        return cls(name=token.name, role=token.role, expires=expires, token=token.digest.hex(), run=token.run, by_header=by_header)


class Access:
    """The tokens and sessions of a server.

    Parameters
    ----------
    tokens
        Those that are taken.
    now
        Seconds since 1970.
    elapsed
        Seconds of a monotonic clock.
    """

    def __init__(
        self, tokens: Iterable[Token], now: Callable[[], float] = time.time, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self._given = list(tokens)
        self._files: dict[str, TokenStore] = {}
        self._revoked: set[bytes] = set()
        self._looked, self._looking = -LOOK, asyncio.Lock()
        self._now, self._elapsed = now, elapsed
        self._know(self._given)
        self._sessions: dict[bytes, tuple[Token, float]] = {}
        self._failures: dict[str, list[float]] = {}

    def _know(self, tokens: Iterable[Token]) -> None:
        self._tokens = [token for token in tokens if token.digest not in self._revoked]
        self._principals = {token.digest: Visitor.of(token, token.expires, by_header=True) for token in self._tokens}

    def take_from(self, files: Mapping[str, TokenStore]) -> None:
        """Takes the tokens of files, too, as they are now and as they will be: each opens the run of its file alone, "" all runs."""
        self._files |= files
        if (found := self._read()) is not None:
            self._know(found)

    async def look(self, *texts: str | bytes) -> bool:
        """Reads the files of tokens again, in a thread, where that is due or one of some tokens is not known: it may be new.

        Returns False without a read, and at once: the tokens are those of before.
        """
        known = all(self._fitting(digest_of(text)) for text in texts)
        if known and (self._looking.locked() or self._elapsed() < self._looked + LOOK):
            return False
        came = self._elapsed()
        async with self._looking:
            if self._looked <= came:  # waiting callers share one read
                await self._look()
        return True

    async def take_also(self, files: Mapping[str, TokenStore]) -> None:
        """Does what `take_from` does, on an event loop."""
        async with self._looking:
            self._files |= files
            await self._look()

    async def _look(self) -> None:
        self._looked = self._elapsed()
        found = await asyncio.to_thread(self._read)
        if found is not None:
            self._know(found)

    def _read(self) -> list[Token] | None:
        """The tokens that are taken now; None when no file has changed."""
        new = [file.is_new() for file in self._files.values()]  # a list, since each call of `is_new` resets its file
        if not any(new):
            return None
        found = list(self._given)
        for run, file in self._files.items():
            try:
                found += (replace(token, run=run) for token in file.read())
            except SteppeError as error:
                LOG.error("%s", error)
        return found

    def by_token(self, text: str | bytes) -> Visitor | None:
        """The holder of a token. It is compared with all tokens, so that the time tells nothing."""
        token = self._find(text)
        return self._principals[token.digest] if token else None

    def _find(self, text: str | bytes) -> Token | None:
        found = self._fitting(digest_of(text))
        return found if found is not None and not self._over(found) else None

    def _fitting(self, given: bytes) -> Token | None:
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, given):
                found = token
        return found

    def revoke(self, text: str) -> None:
        """Takes a token no longer, and ends the sessions that were opened with it; nor does the next server, but where a user gave it."""
        digest = digest_of(text)
        for token in [token for token in self._tokens if token.digest == digest]:  # an unknown digest must not fill the memory
            self._revoked.add(digest)
            file = self._files.get(token.run)
            if file is None or token in self._given:
                LOG.warning(
                    "The %s token stood in an address and is revoked. Replace it in the token file before the next start.", token.role
                )
            else:
                threading.Thread(target=_forget, args=(file, digest)).start()  # the disk may be slow
        self._know(self._tokens)
        self._sessions = {key: session for key, session in self._sessions.items() if session[0].digest != digest}

    def _over(self, token: Token) -> bool:
        return token.digest not in self._principals or token.is_over(self._now())

    # ---- sessions: the cookie holds a random text, this process what it means -----------------------------------------------------------
    def open_session(self, text: str) -> str | None:
        """The text of a cookie for the holder of a token; None if the token is not valid."""
        token = self._find(text)
        if token is None:
            return None
        now = self._now()
        self._sessions = {key: session for key, session in self._sessions.items() if session[1] > now}
        cookie = secrets.token_urlsafe(32)
        self._sessions[digest_of(cookie)] = (token, now + SESSION)
        return cookie

    def by_session(self, cookie: str) -> Visitor | None:
        """The holder of a session, which is prolonged."""
        key = digest_of(cookie)
        token, until = self._sessions.get(key, (None, 0.0))
        now = self._now()
        if token is None or until <= now or self._over(token):
            self._sessions.pop(key, None)
            return None
        until = now + SESSION
        self._sessions[key] = (token, until)
        until = until if token.expires is None else min(until, token.expires)
        return Visitor.of(token, until, by_header=False)

    def close_session(self, cookie: str) -> None:
        """Ends a session."""
        self._sessions.pop(digest_of(cookie), None)

    def keep_sessions(self, folder: Path) -> None:
        """Writes the open sessions for the next server of a folder: SHA-256 of cookie and token, and the end. A failure is logged."""
        rows = [(key.hex(), token.digest.hex(), until) for key, (token, until) in self._sessions.items()]
        try:
            if rows:
                write_whole(folder / SESSIONS, json.dumps(rows).encode(), mode=0o600)
        except (OSError, SteppeError) as error:
            LOG.warning('"%s" cannot be written: %s. Users log in again.', folder / SESSIONS, error)

    def take_sessions(self, folder: Path) -> None:
        """Opens the sessions that the server before has written, if their tokens are still valid. A file of another user opens none."""
        known = {token.digest.hex(): token for token in self._tokens}
        try:
            with open(folder / SESSIONS, "rb") as file:
                own, content = os.fstat(file.fileno()).st_uid == os.geteuid(), file.read()
            (folder / SESSIONS).unlink()  # a session that ends later must not come back with the next server
            for key, token, until in json.loads(content) if own else ():
                if token in known:
                    self._sessions[bytes.fromhex(key)] = known[token], float(until)
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError) as error:
            LOG.warning('"%s" cannot be taken: %s. Users log in again.', folder / SESSIONS, error)

    # ---- failures to log in -------------------------------------------------------------------------------------------------------------
    def wait_to_login(self, address: str, free: int) -> float:
        """Seconds until an address may try to log in again: none for `free` failures a minute, then one more second each."""
        failures = [moment for moment in self._failures.get(address, ()) if moment > self._elapsed() - MINUTE]
        if not failures:
            self._failures.pop(address, None)
            return 0.0
        self._failures[address] = failures
        over = len(failures) - free
        return max(0.0, failures[-1] + 1.0 + over - self._elapsed()) if over >= 0 else 0.0

    def login_failed(self, address: str) -> None:
        """Counts a failure."""
        if len(self._failures) > 10_000:  # an attack from everywhere must not fill the memory
            self._failures.clear()
        self._failures.setdefault(address, []).append(self._elapsed())


def _forget(file: TokenStore, digest: bytes) -> None:
    try:
        file.forget(digest)
    except (SteppeError, OSError) as error:
        LOG.error('A token stood in an address and stays in "%s": %s', file.path, error)
