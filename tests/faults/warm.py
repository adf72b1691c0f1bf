"""A process under the fault layer that has imported all that a run needs, and forks one child a run.

It reads a line of JSON, runs, and answers with a line. `at` 0: nothing fails.

    {"arguments": ["run", "run.toml"], "folder": "/x/out", "at": 12, "error": 28}
    {"code": 1, "said": "steppe: ...", "failed": "fsync /x/out/progress.json.tmp", "calls": 311}
"""

import ctypes
import json
import os
import sys
import tempfile
from importlib import import_module

from steppe.cli import run_command


def child(task: dict, answer: int) -> None:
    layer = ctypes.CDLL(None)
    layer.fault_last.restype = ctypes.c_char_p
    layer.fault_count.restype = ctypes.c_long
    layer.fault_arm(task["folder"].encode(), ctypes.c_long(task["at"]), ctypes.c_int(task["error"]))
    code = run_command(task["arguments"])
    found = {"code": int(code), "failed": layer.fault_last().decode(), "calls": layer.fault_count()}
    layer.fault_arm(b"", ctypes.c_long(0), ctypes.c_int(0))
    os.write(answer, json.dumps(found).encode())


def run(task: dict) -> dict:
    """One run in a child of this process."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as said:
        child_id = os.fork()
        if child_id == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            try:
                child(task, writing)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            found = json.loads(pipe.read() or b'{"code": -1, "failed": "", "calls": 0}')
        os.waitpid(child_id, 0)
        said.seek(0)
        return {**found, "said": said.read().decode()}


def main() -> None:
    """Answers until the input ends."""
    for name in ("steppe.cli.app", "steppe.cli.run", "steppe.cli.progress", "steppe.engine", "zarr", "llvmlite.binding"):
        import_module(name)  # starts no threads: this process must be able to fork
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
