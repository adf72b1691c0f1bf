"""Runs that begin and end, and the models that there are: what only a process that may load models can answer."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from steppe.api import NewRun
from steppe.control import Refused
from steppe.errors import SteppeError
from steppe.service.begun import Begun
from steppe.service.principal import Principal, check_role
from steppe.service.service import Service

SECONDS = 120.0  # that the process may take


async def answer_of(module: str, question: bytes = b"") -> bytes:
    """The standard output of a module of Steppe that runs as a process; threads start it and wait for it.

    Raises
    ------
    Refused
        too-costly: it takes too long, and was killed.
    """
    pipe = subprocess.PIPE
    process = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-m", module], stdin=pipe, stdout=pipe)
    try:
        return await asyncio.to_thread(_answered, process, question)
    except subprocess.TimeoutExpired:
        raise Refused("too-costly", f"Reading models and data takes more than {SECONDS:g} s.") from None
    finally:
        process.kill()  # when this task was cancelled, the thread waits for it


def _answered(process: subprocess.Popen[bytes], question: bytes) -> bytes:
    with process:
        try:
            return process.communicate(question, SECONDS)[0]
        finally:
            process.kill()


async def prepare(request: NewRun, folder: Path, allowed: Sequence[Path]) -> None:
    """Has a process read the run, its data and its model, and make its folder; where it cannot, there is none.

    Raises
    ------
    Refused
        bad-field, path-foreign or bad-run: as `steppe.jobs.admit` says; too-costly: looking takes too long.
    """
    question = {"request": request, "folder": str(folder), "allowed": [str(each) for each in allowed]}
    made = False
    try:
        said = await answer_of("steppe.jobs.admit", await asyncio.to_thread(msgspec.json.encode, question))
        if not said:
            raise Refused("defect", "The process that reads new runs has died. The log of the server tells more.")
        if fault := msgspec.json.decode(said):
            raise Refused(fault["code"], fault["detail"], **fault["facts"])
        made = True
    finally:
        if not made:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def models(service: Service) -> Mapping[str, dict[str, object]]:
    """The descriptions of the installed models, by name."""
    if service.catalogue is None:
        service.catalogue = json.loads(await answer_of("steppe.jobs.catalogue"))
    return service.catalogue


def check_may_begin(who: Principal) -> None:
    """Raises Refused, role-too-low, for a caller that sees one run alone."""
    if who.run:
        raise Refused("role-too-low", f'The token was made for the run "{who.run}" alone.', value=who.run)


async def begin(service: Service, who: Principal, key: str, request: NewRun) -> tuple[bytes, bool]:
    """Begins a run of a run file. Returns how it stands, as JSON, and True if the same request had begun it before.

    Raises
    ------
    Refused
        The caller may not; this server makes no runs, or no more; the name is taken, or the key was used for another request; the run
        cannot be computed.
    """
    check_role(who, "steer", service.read_only)
    check_may_begin(who)
    service.check_open("runs")
    opener = service.opener
    if opener is None or opener.folder is None:
        raise Refused("runs-closed", "This server makes no new runs. Start it with --runs DIR.")
    if request.launcher not in opener.launchers:
        names = [name for name in opener.launchers if name]
        raise Refused("unknown-launcher", f'There is no launcher "{request.launcher}".', value=request.launcher, allowed=names)
    if request.name.lower().startswith("server."):
        text = f'The name "{request.name}" begins with "server.", as the names of the server\'s own files do. Give another name.'
        raise Refused("bad-field", text, value=request.name, position="$.name")
    folder = opener.folder / request.name
    async with service.opening:
        begun = await asyncio.to_thread(Begun.of, opener.folder, who.name, key, request)
        answer = await asyncio.to_thread(begun.answer)
        if answer is not None:
            return answer or msgspec.json.encode(service.info(request.name)), True
        if request.name in service.runs:
            raise Refused("name-taken", f'There is a run "{request.name}" already.', value=request.name)
        if await asyncio.to_thread(begun.is_taken):
            text = f'A run "{request.name}" is not served but its folder is there: it was ended, or could not be opened. Give another name.'
            raise Refused("name-taken", text, value=request.name)
        if len(service.runs) >= service.limits.runs:
            raise Refused("too-many-runs", f"This server has {len(service.runs)} runs. End one.", allowed=service.limits.runs)
        try:
            await asyncio.to_thread(begun.note)
            await prepare(request, folder, [opener.folder, *service.readable])
            service.check_open("runs")
            service.runs[request.name] = await opener.begin(folder, request.launcher)
            await service.begun(request.name)
        except (SteppeError, OSError, Refused, asyncio.CancelledError):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
        answer = msgspec.json.encode(service.info(request.name))
        with suppress(OSError):  # the disk may be full; then it is answered as it is
            await asyncio.to_thread(begun.note, answer)
    return answer, False


def end(service: Service, who: Principal, name: str) -> None:
    """Ends a run: its engine makes its state durable; what was written stays. Raises Refused."""
    check_role(who, "admin", service.read_only)
    run = service.run(name)
    del service.runs[name]
    if service.opener is None:
        run.close(True)
    else:
        service.opener.archive(name)
