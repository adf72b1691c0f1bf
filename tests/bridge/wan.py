"""A wide area network for tests: a proxy of its own process (wan.c) with a delay, a rate, and accidents."""

import contextlib
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("wan.c")


@functools.cache
def built() -> Path:
    """The compiled proxy; skips the test where there is no C compiler."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    program = Path(tempfile.mkdtemp(prefix="steppe-wan-")) / "wan"
    subprocess.run([compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True)
    return program


class Wan:
    """A link to `target_port`: D seconds one way; R bytes/s of each direction, over all connections (`rate`) or each (`rate_each`).

    It costs 10 us or so more than D. With a rate it is a link and no endless buffer: it reads from a sender only as fast as it passes on.
    """

    def __init__(self, target_port: int, delay: float = 0.005, rate: float | None = None, rate_each: float | None = None, port: int = 0):
        arguments = [port, target_port, round(delay * 1e9), rate or rate_each or 0, int(rate_each is not None)]
        self._process = subprocess.Popen(
            [built(), *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.port = int(self._answer() or 0)
        assert self.port, "the proxy could not listen"

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def _tell(self, command: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(command + "\n")
        assert self._answer() == command

    def cut(self) -> None:
        """Closes all connections, and new ones as soon as they come."""
        self._tell("cut")

    def stall(self) -> None:
        """No bytes pass; connections stay, and bytes wait."""
        self._tell("stall")

    def drop(self) -> None:
        """Bytes vanish; connections stay: both ends are half open."""
        self._tell("drop")

    def go(self) -> None:
        """Everything passes again."""
        self._tell("go")

    def close(self) -> None:
        """Ends the proxy and with it all connections."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            if end:
                with contextlib.suppress(BrokenPipeError):
                    end.close()


@contextlib.contextmanager
def start_wan(
    target_port: int, delay: float = 0.005, rate: float | None = None, rate_each: float | None = None, port: int = 0
) -> Iterator[Wan]:
    """A `Wan` until the end of the block."""
    wan = Wan(target_port, delay, rate, rate_each, port)
    try:
        yield wan
    finally:
        wan.close()
