"""Programs of others, in an environment of their own beside ours."""

import sys
from pathlib import Path

from benchmarks.rounds import output

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-peers"
LOCK = ROOT / "requirements" / "peers.txt"


def peer_python() -> str:
    """The Python that has the peers; made when it is not there.

    Raises
    ------
    MissingPeer
        It cannot be made.
    """
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        output([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)])
        output([str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(LOCK)])
    return str(python)
