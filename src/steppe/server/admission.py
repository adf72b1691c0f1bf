"""What only a process that may load models can answer: whether a run can be computed, and what models there are."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from steppe.api import NewRun
from steppe.control import Refused

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
