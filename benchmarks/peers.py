"""Programs of others, in environments of their own beside ours."""

import sys
from pathlib import Path

from benchmarks.rounds import output

ROOT = Path(__file__).parents[1]


def peer_python(lock: str = "peers") -> str:
    """The Python of `.venv-<lock>`, which has what `requirements/<lock>.txt` says; made when it is not there or of another lock.

    Raises
    ------
    MissingPeer
        It cannot be made.
    """
    environment, wanted = ROOT / f".venv-{lock}", ROOT / "requirements" / f"{lock}.txt"
    python, made_of = environment / "bin" / "python", environment / "lock.txt"
    if not made_of.exists() or made_of.read_bytes() != wanted.read_bytes():
        output([sys.executable, "-m", "venv", "--clear", str(environment)])
        output([str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(wanted)])
        made_of.write_bytes(wanted.read_bytes())
    return str(python)
