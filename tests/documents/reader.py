"""A person who follows a page: an empty folder, a terminal and a Python session."""

import json
import os
import re
import socket
import sys
import time
from pathlib import Path
from typing import Any, Self

from tests.documents.blocks import Block
from tests.documents.session import Python, Shell

PORT = re.compile(r"\b809\d\b")  # at which the pages serve
SERVES = re.compile(r"^steppe serve\b(?!.* --(?:bind|uds) )(?=.*&$)", re.MULTILINE)  # at the port that it takes by itself, 8090
LISTENS = re.compile(r"^steppe serve .*--bind \S+:(\d+)\b.*&$", re.MULTILINE)
END = 5000  # characters of what was printed that a failure shows
START = 60.0  # [s] in which a server must listen
STEPPE = """\
#!{python}
import sys
if sys.argv[1:3] == ["measure", "messages"]:
    from steppe.measure.messages import session
    session.plan = lambda *a, plan=session.plan, **k: [task for task in plan(*a, **k) if task.variant in ("", "ping-pong")]
from steppe.cli import main
main()
"""


class Reader:
    """Follows blocks in `folder`. Leaving the context ends the servers that the page started.

    Its `steppe` measures messages of two variants only: all of them take minutes, and tests/measure measures them.
    """

    def __init__(self, folder: Path, notes: Path) -> None:
        self._folder, self._notes, self._log = folder, notes, notes / "printed"
        self._printed = ""
        self._ports: dict[str, str] = {}

    def __enter__(self) -> Self:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STEPPE_TOKEN")}
        programs = [str(self._steppe().parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        environment |= {"PATH": os.pathsep.join(programs), "MPLBACKEND": "agg", "BROWSER": "true"}
        self._shell = Shell(self._folder, self._log, environment)
        self._python = Python(self._folder, self._log, environment)
        return self

    def __exit__(self, *_: object) -> None:
        self._python.end()
        self._shell.end()

    def _steppe(self) -> Path:
        program = self._notes / "bin" / "steppe"
        program.parent.mkdir()
        program.write_text(STEPPE.format(python=sys.executable))
        program.chmod(0o755)
        return program

    def follow(self, block: Block) -> None:
        """Saves, types or compares a block.

        Raises
        ------
        AssertionError
            A command of the block fails, or the block is not what the block before printed.
        """
        text = SERVES.sub(r"\g<0> --bind 127.0.0.1:8090", block.text)
        text = PORT.sub(lambda found: str(self._ports.setdefault(found[0], free_port())), text)
        if block.file:
            (self._folder / block.file).write_text(text)
        elif block.kind == "text":
            assert _as_printed(text).search(self._printed), f"{block} shows\n{text}\nprinted was\n{self._printed[-END:]}"
        elif block.kind == "json":
            printed = json.loads(max(self._printed.splitlines(), key=len))
            assert not (wrong := _unlike(json.loads(text), printed)), f"{block}: {wrong}"
        else:
            self._type(block, text)

    def _type(self, block: Block, text: str) -> None:
        begin = self._log.stat().st_size if self._log.exists() else 0
        if block.kind == "python":
            done = self._python.type(block.page, block.line, text)
        else:
            typed = self._notes / f"{block.line}.sh"
            typed.write_text(text)
            done = self._shell.type(typed) and all(listens(int(port)) for port in LISTENS.findall(text))
        with self._log.open("rb") as log:
            log.seek(begin)
            self._printed = log.read().decode()
        assert done, f"{block} fails:\n{text}\nprinted was\n{self._printed[-END:]}"


def free_port() -> int:
    """Readers have their machine to themselves; tests share one, so each port of a page stands for a free one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def listens(port: int) -> bool:
    """Whether a server listens at a port soon, as a reader sees by the address that it prints."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        with socket.socket() as call:
            if call.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False


def _as_printed(text: str) -> re.Pattern[str]:
    """What matches a sample of output: white space does not count, and `...` stands for anything."""
    parts = (r"\s*".join(re.escape(word) for word in part.split()) for part in text.split("..."))
    return re.compile(r"\s*.*?\s*".join(parts), re.DOTALL)


def _unlike(sample: Any, printed: Any, where: str = "it") -> str:
    """What of the form of a JSON sample is not printed so: members and kinds of values, not the values; "..." stands for anything."""
    if isinstance(sample, dict) and isinstance(printed, dict):
        if "..." in sample:
            return ""
        if missing := sample.keys() ^ printed.keys():
            return f"{where}: {sorted(missing)} is in one only"
        return next((wrong for name, each in sample.items() if (wrong := _unlike(each, printed[name], f"{where}.{name}"))), "")
    if isinstance(sample, list) and isinstance(printed, list):
        return next((wrong for one, other in zip(sample, printed, strict=False) if (wrong := _unlike(one, other, f"{where}[]"))), "")
    alike = isinstance(printed, type(sample)) or {type(sample), type(printed)} == {int, float}
    return "" if alike or printed is None or sample == "..." else f"{where} is {printed!r}, in the sample {sample!r}"
