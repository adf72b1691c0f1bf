"""Scripts of a checkout that need no run to be tested."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

SHOW = Path(__file__).parents[1] / "scripts" / "show"


def test_the_demonstration_takes_another_port_where_its_own_is_taken_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(SHOW, tmp_path / "scripts")
    (tmp_path / "scripts" / "demo-data").write_text("steppe=echo alike= inputs=\n")  # what would be served is told
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    os.symlink(sys.executable, tmp_path / ".venv" / "bin" / "python")
    with socket.socket() as here:
        here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # somebody else has it
            here.bind(("127.0.0.1", 8090))
            here.listen()
        said, told = subprocess.run([tmp_path / "scripts" / "show"], capture_output=True, text=True, check=True).stdout.splitlines()
    port = int(said.removeprefix("Port 8090 is taken; this takes ").rstrip("."))
    assert port != 8090
    assert told.endswith(f" --bind 127.0.0.1:{port}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", port))
