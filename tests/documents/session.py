"""A process that takes blocks line by line: a shell, or Python."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

LIMIT = 240.0  # [s] for one block
END = 20.0  # [s] for what a session leaves to end
ANSWER = "ANSWER"  # the variable with the number of the file to which a session writes a byte for each block that is done
SHELL = ["bash", "--noprofile", "--norc"]
STRICT = "set -euo pipefail; trap 'echo \"failed: $BASH_COMMAND\"' ERR"
PYTHON = """
import json, os, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    page, number, text = json.loads(line)
    exec(compile("\\n" * (number - 1) + text, page, "exec"), names)
    sys.stdout.flush()
    os.write(int(os.environ["ANSWER"]), b".")
"""


class Session:
    """A process in `folder`; what it prints is added to the file `log`."""

    def __init__(self, command: list[str], folder: Path, log: Path, environment: dict[str, str]) -> None:
        self._answers, answer = os.pipe()
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                env=environment | {ANSWER: str(answer)},
                pass_fds=[answer],
                start_new_session=True,
            )
        os.close(answer)

    def _do(self, line: str) -> bool:
        """Gives a line to the process. Returns whether the process answers; a process that fails is gone, one that hangs is ended."""
        assert self._process.stdin
        if self._process.poll() is not None:
            return False
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and self._process.poll() is None:
            if select.select([self._answers], [], [], 0.05)[0]:
                break
        if select.select([self._answers], [], [], 0)[0]:
            return os.read(self._answers, 1) == b"."
        self._process.kill()
        self._process.wait()
        return False

    def end(self) -> None:
        """Ends the process and what it left: as SIGTERM does, later by force."""
        assert self._process.stdin
        self._process.stdin.close()
        end = time.monotonic() + END
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
            while time.monotonic() < end:
                self._process.poll()
                os.killpg(self._process.pid, 0)  # raises when all have ended
                time.sleep(0.05)
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._answers)


class Shell(Session):
    """A terminal: variables and jobs in the background live from block to block. The first failing command ends it."""

    def __init__(self, folder: Path, log: Path, environment: dict[str, str]) -> None:
        super().__init__(SHELL, folder, log, environment)
        assert self._do(f"{STRICT}; printf . >&${ANSWER}")

    def type(self, text: Path) -> bool:
        """Runs the commands in a file. Returns whether all succeed."""
        return self._do(f"source '{text}' </dev/null; printf . >&${ANSWER}")

    def end(self) -> None:
        """Also ends the jobs in the background, as SIGTERM does."""
        self._do(f"kill $(jobs -p) 2>/dev/null || true; wait || true; printf . >&${ANSWER}")
        super().end()


class Python(Session):
    """A Python session: names live from block to block. A warning is an error."""

    def __init__(self, folder: Path, log: Path, environment: dict[str, str]) -> None:
        super().__init__([sys.executable, "-W", "error", "-c", PYTHON], folder, log, environment)

    def type(self, page: Path, line: int, text: str) -> bool:
        """Runs a block that begins in a line of a page. Returns whether it succeeds."""
        return self._do(json.dumps([str(page), line, text]))
