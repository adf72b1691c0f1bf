"""Fetches a file over HTTP: after a break it goes on where it was, and under its name the file is whole or absent.

FILE.part         the bytes that are here
FILE.part.json    ETag or date of the file on the server; if it changes, the download begins anew
"""

import json
import os
import time
from collections.abc import Callable
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from steppe.errors import Failure, ForcingError, SteppeError
from steppe.files import place, writing
from steppe.io.alone import alone

PIECE = 1 << 20  # bytes
TIMEOUT = 60.0  # [s] without a byte
TRIES = 6  # in a row without a byte ...
PAUSE = 1.0  # [s] ... after the first; twice as long each time
REFUSED = {401: "asks for a login", 403: "refuses it", 404: "has no such file", 410: "has it no more"}


class NotOnServer(ForcingError):
    """The server answers, but has no file of this name."""


class _Again(Exception):
    """The connection or the server failed in a way that may pass."""


def fetch(
    url: str,
    path: Path,
    check: Callable[[Path], None],
    progress: Callable[[float], None] | None = None,
    pause: float = PAUSE,
) -> None:
    """Downloads the file of `url` to `path`, unless it is there.

    Parameters
    ----------
    check
        Gets the whole file before it is renamed; raises if the file is wrong. Such a file is removed.
    progress
        Gets the part of the file that is here, 0 to 1.

    Raises
    ------
    NotOnServer, ForcingError
        The server has no such file or refuses it, or the address is not valid.
    Failure
        The connection broke off too often; the same call goes on where it was.
    FolderError
        Another process fetches the same file.
    NoSpaceError
        The disk is full.
    """
    if path.exists():
        return
    if urlsplit(url).scheme not in ("http", "https"):
        raise ForcingError(f'"{url}" is no address. Give one that begins with http:// or https://, or a folder.')
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path):
        if not path.exists():
            _fetch(url, path, check, progress or (lambda share: None), pause)


def _fetch(url: str, path: Path, check: Callable[[Path], None], progress: Callable[[float], None], pause: float) -> None:
    part = path.with_name(path.name + ".part")
    idle = 0
    while True:
        before = _size(part)
        try:
            _receive(url, part, progress)
            break
        except _Again as error:
            idle = 0 if _size(part) > before else idle + 1
            if idle == TRIES:
                raise Failure(
                    f'"{url}" broke off after {_size(part):,} bytes and gave no more in {TRIES} tries ({error}). '
                    "The same command continues from there."
                ) from None
            time.sleep(pause * 2.0 ** max(idle - 1, 0))
    _notes(part).unlink(missing_ok=True)
    try:
        check(part)
    except SteppeError as error:
        part.unlink(missing_ok=True)
        raise type(error)(f'What "{url}" gives is not what it should be, and was removed: {error}') from None
    with writing(path):
        place(part, path)


def _receive(url: str, part: Path, progress: Callable[[float], None]) -> None:
    """Appends the bytes that the server sends. Raises `_Again` if the file is not whole then."""
    start, known = _size(part), _remembered(part)
    headers = {"User-Agent": "steppe", "Accept-Encoding": "identity"}
    if start and known.get("validator"):
        headers |= {"Range": f"bytes={start}-", "If-Range": known["validator"]}
    try:
        response: HTTPResponse = urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code == 416:  # no further bytes: the file is whole, or another one
            if error.headers.get("Content-Range", "").endswith(f"/{start}"):
                return
            part.unlink(missing_ok=True)
            raise _Again("the server has no bytes from there on") from None
        if error.code == 429 or error.code >= 500:
            raise _Again(f"the server says {error.code} {error.reason}") from None
        kind = NotOnServer if error.code in (404, 410) else ForcingError
        says = REFUSED.get(error.code, "does not give it")
        raise kind(f'"{url}": the server {says} ({error.code} {error.reason}). Check the address and the years.') from None
    except (URLError, HTTPException, OSError) as error:
        raise _Again(str(getattr(error, "reason", error)) or type(error).__name__) from None
    with response:
        if response.status != 206:
            start = 0  # the server sends the whole file
        total = _total(response.headers, start)
        _remember(part, response.headers)
        with writing(part), part.open("r+b" if start else "wb") as file:
            file.seek(start)
            file.truncate()
            while piece := _piece(response):
                file.write(piece)
                progress(file.tell() / total if total else 0.0)
            size = file.tell()
            file.flush()
            os.fsync(file.fileno())
    if total is not None and size != total:
        if size > total:
            part.unlink()
        raise _Again(f"{size:,} of {total:,} bytes came")


def _piece(response: HTTPResponse) -> bytes:
    try:
        return response.read1(PIECE)
    except (HTTPException, OSError) as error:
        raise _Again(str(error) or type(error).__name__) from None


def _total(headers: Message, start: int) -> int | None:
    """Size of the whole file; None if the server does not state it."""
    span = headers.get("Content-Range", "")
    if span:
        first, _, total = span.removeprefix("bytes ").partition("-")[0], *span.rpartition("/")[1:]
        if first.strip() != str(start):
            raise _Again(f'the server gave "{span}" for the bytes from {start}')
        return int(total) if total.isdigit() else None
    length = headers.get("Content-Length")
    return int(length) if length and length.isdigit() else None


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _notes(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _remember(part: Path, headers: Message) -> None:
    """Stores the strong ETag or date of the file, which a later file does not share. A weak ETag does not identify bytes."""
    etag = headers.get("ETag", "")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")
    _notes(part).write_text(json.dumps({"validator": validator}))


def _remembered(part: Path) -> dict[str, str]:
    try:
        notes: dict[str, str] = json.loads(_notes(part).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return notes
