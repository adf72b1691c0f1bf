"""The files of a run folder by which a server and an engine meet: the run to be read, and an address with a secret.

Only its owner can read `door.json`; each start of a server replaces it. Both ends prove that they have read it, by the HMAC-SHA256 of the
other's nonce; the secret itself never travels. On one machine they meet at a Unix socket, else at an address of the server (`sockets`).
"""

import hmac
import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from steppe.files import make_folder, write_whole

FILE, RUN_FILE = "door.json", "engine.toml"  # in the run folder
LONGEST = 100  # bytes of the path of a Unix socket; the system takes 107


@dataclass(frozen=True)
class Rendezvous:
    """The address at which a server listens for the engine of a run, the secret of the two, and the id of the journal.

    address: the absolute path of a Unix socket, or host:port; fingerprint: of the server's certificate, "" without TLS.
    """

    address: str
    secret: str
    journal: str
    fingerprint: str = ""

    @classmethod
    def make(cls, folder: Path, journal: str, address: str = "", fingerprint: str = "") -> "Rendezvous":
        """Writes the file of a new server. address "": a Unix socket; the socket of an earlier server is removed."""
        made = cls(address or _free_path(folder), secrets.token_urlsafe(32), journal, fingerprint)
        write_whole(folder / FILE, json.dumps(asdict(made)).encode(), mode=0o600)
        return made

    @classmethod
    def read(cls, folder: Path) -> "Rendezvous":
        """The rendezvous of the newest server.

        Raises
        ------
        OSError, ValueError
            There is no such file, or it cannot be read.
        """
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return cls(found["address"], found["secret"], found["journal"], found.get("fingerprint", ""))

    def prove(self, *words: object) -> str:
        """A proof that the caller knows the secret: the HMAC of some words."""
        return hmac.new(self.secret.encode(), " ".join(map(str, words)).encode(), sha256).hexdigest()

    def is_proof(self, proof: str, *words: object) -> bool:
        """True if `proof` is the one of `prove`."""
        return hmac.compare_digest(proof.encode(), self.prove(*words).encode())


def put_run_file(folder: Path, text: str) -> None:
    """Makes a run folder with the run file that its engines read."""
    make_folder(folder, 0o700)
    write_whole(folder / RUN_FILE, text.encode())


def nonce() -> str:
    """A random number that is used once, in hex."""
    return secrets.token_hex(16)


def _free_path(folder: Path) -> str:
    path = folder / "engine.sock"
    if len(os.fsencode(path.absolute())) > LONGEST:
        home = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
        path = Path(tempfile.mkdtemp(prefix="steppe-", dir=home)) / "engine.sock"
    path.unlink(missing_ok=True)
    return str(path.absolute())
