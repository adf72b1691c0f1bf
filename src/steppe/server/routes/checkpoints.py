"""The durable checkpoints that are kept, and each as one file: a tar of its folder, made while it is sent."""

import asyncio
import os
import tarfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from steppe.api.documents import CheckpointStatus
from steppe.control import Refused
from steppe.control.orders import folder_of
from steppe.server.query import BRANCH, read_query
from steppe.server.request import Request, Response

PARTS = ("manifest.json", "arrays.bin")
PIECE = 1 << 20  # [byte] read at once
BLOCK, END = 512, bytes(1024)  # of a tar


class TarPart(NamedTuple):
    """A file of a checkpoint, open. head: what stands before it in a tar; size: its bytes."""

    head: bytes
    file: BinaryIO
    size: int

    @property
    def padding(self) -> bytes:
        """What stands behind it."""
        return bytes(-self.size % BLOCK)


async def checkpoints(request: Request) -> Response:
    """GET checkpoints."""
    return Response(200, msgspec.json.encode({"checkpoints": await _kept(request)}))


async def download(request: Request) -> Response:
    """GET checkpoints/{checkpoint}."""
    name, branch = request.parameters["checkpoint"], read_query(request.scope["query_string"], BRANCH)["branch"]
    known = [each for each in request.run.checkpoints() if each["name"] == name and branch in (None, each["branch"])]
    if not known:
        where = "" if branch is None else f" of the branch {branch}"
        names = [each["name"] for each in await _kept(request)]
        raise Refused("unknown-checkpoint", f'There is no checkpoint "{name[:64]}"{where}.', value=name[:64], allowed=names)
    found = known[-1]  # of several branches the one that was made last
    try:
        parts = await asyncio.to_thread(_opened, _folder(request, found))
    except FileNotFoundError:
        text = f'The checkpoint "{name}" of step {found["step"]} was removed when newer ones were made.'
        raise Refused("expired-checkpoint", text, value=name) from None
    length = sum(len(part.head) + part.size + len(part.padding) for part in parts) + len(END)
    stream = _tar(parts)
    await anext(stream)
    headers = ((b"content-length", b"%d" % length), (b"content-disposition", f'attachment; filename="{name}.tar"'.encode()))
    return Response(200, media=b"application/x-tar", headers=headers, stream=stream)


async def _kept(request: Request) -> list[CheckpointStatus]:
    made = request.run.checkpoints()
    return await asyncio.to_thread(lambda: [each for each in made if _folder(request, each).is_dir()])


def _folder(request: Request, checkpoint: CheckpointStatus) -> Path:
    return folder_of(request.run.folder, checkpoint["branch"]) / "checkpoints" / checkpoint["name"]


def _opened(folder: Path) -> list[TarPart]:
    """The files of a checkpoint. Once they are open it may be removed: they are all of the same one, and stay until they are closed."""
    parts = []
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with ExitStack() as files:
            for name in PARTS:
                file = files.enter_context(os.fdopen(os.open(name, os.O_RDONLY, dir_fd=place), "rb", buffering=0))
                facts = tarfile.TarInfo(f"{folder.name}/{name}")
                facts.size, facts.mode = os.fstat(file.fileno()).st_size, 0o644
                parts.append(TarPart(facts.tobuf(tarfile.GNU_FORMAT), file, facts.size))
            files.pop_all()
    finally:
        os.close(place)
    return parts


async def _tar(parts: Sequence[TarPart]) -> AsyncGenerator[bytes]:
    try:
        yield b""  # from here on the files are closed at the end, however early the client goes away
        for part in parts:
            yield part.head
            left = part.size
            while left:
                piece = await asyncio.to_thread(part.file.read, min(left, PIECE))
                if not piece:
                    raise OSError(f'"{part.file.name}" has become shorter.')  # the connection ends, and the client sees that there is less
                left -= len(piece)
                yield piece
            yield part.padding
        yield END
    finally:
        await asyncio.to_thread(_close, parts)


def _close(parts: Sequence[TarPart]) -> None:
    for part in parts:
        part.file.close()
