"""How an engine finds its server and how each knows the other: a file with an address and a secret, which itself never travels.

`door.json` in the run folder may be read by its owner alone and is replaced at each start of a server. Both ends prove that they have read
it: HMAC-SHA256 of the other's nonce.
"""

import hmac
import json
import os
import secrets
import socket
import tempfile
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

FILE = "door.json"
LONGEST = 100  # bytes of the path of a Unix socket; the system takes 107


@dataclass(frozen=True)
class Door:
    """Where a server listens for the engine of a run, what only the two know, and the id of the journal."""

    address: str
    secret: str
    journal: str

    @classmethod
    def make(cls, folder: Path, journal: str) -> "Door":
        """Writes the door of a run for the server that begins, and takes away the socket of the one before."""
        path = folder / "engine.sock"
        if len(os.fsencode(path.absolute())) > LONGEST:
            home = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
            path = Path(tempfile.mkdtemp(prefix="steppe-", dir=home)) / "engine.sock"
        path.unlink(missing_ok=True)
        door = cls(str(path.absolute()), secrets.token_urlsafe(32), journal)
        aside = folder / f"{FILE}.tmp"
        aside.unlink(missing_ok=True)
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(door), file)
        aside.replace(folder / FILE)
        return door

    @classmethod
    def read(cls, folder: Path) -> "Door":
        """The door that the newest server has written; raises OSError or ValueError when there is none that can be read."""
        found = json.loads((folder / FILE).read_text())
        return cls(found["address"], found["secret"], found["journal"])

    def prove(self, *words: object) -> str:
        """What only somebody can say who knows the secret."""
        return hmac.new(self.secret.encode(), " ".join(map(str, words)).encode(), sha256).hexdigest()

    def is_proof(self, proof: str, *words: object) -> bool:
        """Whether it is what `prove` says."""
        return hmac.compare_digest(proof.encode(), self.prove(*words).encode())


def nonce() -> str:
    """A number that nobody has used before."""
    return secrets.token_hex(16)


def uid_of(connection: socket.socket) -> int | None:
    """Whose process is at the other end of a Unix socket; None where the system does not say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], "little")
