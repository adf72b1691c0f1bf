"""The request that began a run, with its sender and key: the same request, sent again, begins no second run, also after a restart.

It lies in the run folder before the run does, and with it the answer, once that was given.
"""

import json
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from steppe.api import NewRun, canonical
from steppe.control import Refused
from steppe.control.rendezvous import RUN_FILE
from steppe.files import make_folder, write_whole

FILE = "server.begun"


class Begun:
    """A request to begin a run.

    Parameters
    ----------
    runs
        The folder of all runs.
    name
        Of the run.
    who, key
        The sender and its key.
    request
        All that is asked for, in one form.
    """

    def __init__(self, runs: Path, name: str, who: str, key: str, request: bytes) -> None:
        self.folder = runs / name
        self._runs = runs
        self._said = {"who": who, "key": key, "request": sha256(request).hexdigest()}

    @classmethod
    def of(cls, runs: Path, who: str, key: str, request: NewRun) -> "Begun":
        """That of a request as it came."""
        return cls(runs, request.name, who, key, canonical(request))

    def answer(self) -> bytes | None:
        """The answer to this request before; b"" when the run was begun and no answer was stored.

        Raises
        ------
        Refused
            The key was used for another request: key-reused.
        """
        for path in self._runs.glob(f"*/{FILE}"):
            found = _read(path)
            if (found.get("who"), found.get("key")) != (self._said["who"], self._said["key"]):
                continue
            if found.get("request") != self._said["request"]:
                text = f'The key "{self._said["key"]}" was used to begin the run "{path.parent.name}", or for other content.'
                raise Refused("key-reused", text, value=self._said["key"])
            return str(found.get("answer", "")).encode() if (path.parent / RUN_FILE).exists() else None
        return None

    def is_taken(self) -> bool:
        """Whether there is a run of this name; what a server left that ended before it could open the run is removed."""
        if (self.folder / FILE).exists() and not (self.folder / RUN_FILE).exists():
            shutil.rmtree(self.folder)
        return self.folder.exists()

    def note(self, answer: bytes = b"") -> None:
        """Keeps the request, and what was answered to it."""
        make_folder(self.folder, 0o700)
        write_whole(self.folder / FILE, json.dumps(self._said | {"answer": answer.decode()}).encode(), mode=0o600)


def _read(path: Path) -> dict[str, object]:
    with suppress(OSError, ValueError):
        found: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
        return found
    return {}
