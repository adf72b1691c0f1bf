"""How an engine finds its server and how each knows the other: a file with an address and a secret, which itself never travels.

`door.json` in the run folder may be read by its owner alone and is replaced at each start of a server. Both ends prove that they have read
it: HMAC-SHA256 of the other's nonce. On one machine they meet at a Unix socket, else at an address of the server (`ways`, `seal`).
"""

import hmac
import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from steppe.files import write_whole

FILE = "door.json"
LONGEST = 100  # bytes of the path of a Unix socket; the system takes 107


@dataclass(frozen=True)
class Door:
    """Where a server listens for the engine of a run, what only the two know, and the id of the journal.

    address: the absolute path of a Unix socket, or host:port; fingerprint: of the server's certificate, "" where the link is not sealed.
    """

    address: str
    secret: str
    journal: str
    fingerprint: str = ""

    @classmethod
    def make(cls, folder: Path, journal: str, address: str = "", fingerprint: str = "") -> "Door":
        """Writes the door of a run for the server that begins. address "": a Unix socket; one of a server before is taken away."""
        door = cls(address or _free_path(folder), secrets.token_urlsafe(32), journal, fingerprint)
        write_whole(folder / FILE, json.dumps(asdict(door)).encode(), mode=0o600)
        return door

    @classmethod
    def read(cls, folder: Path) -> "Door":
        """The door that the newest server has written; raises OSError or ValueError when there is none that can be read."""
        found = json.loads((folder / FILE).read_text())
        return cls(found["address"], found["secret"], found["journal"], found.get("fingerprint", ""))

    def prove(self, *words: object) -> str:
        """What only somebody can say who knows the secret."""
        return hmac.new(self.secret.encode(), " ".join(map(str, words)).encode(), sha256).hexdigest()

    def is_proof(self, proof: str, *words: object) -> bool:
        """Whether it is what `prove` says."""
        return hmac.compare_digest(proof.encode(), self.prove(*words).encode())


def nonce() -> str:
    """A number that nobody has used before."""
    return secrets.token_hex(16)


def _free_path(folder: Path) -> str:
    path = folder / "engine.sock"
    if len(os.fsencode(path.absolute())) > LONGEST:
        home = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
        path = Path(tempfile.mkdtemp(prefix="steppe-", dir=home)) / "engine.sock"
    path.unlink(missing_ok=True)
    return str(path.absolute())
