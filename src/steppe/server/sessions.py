"""Sessions that live through a restart: a server that ends keeps them, the next one takes them and removes the file.

FOLDER/server.sessions      SHA-256 of a cookie, SHA-256 of its token and end of each; its owner alone can read it
"""

import json
import logging
import os
from pathlib import Path

from steppe.errors import SteppeError
from steppe.files import write_whole
from steppe.server.access import Access

FILE = "server.sessions"
LOG = logging.getLogger("steppe.server")


def keep(access: Access, folder: Path) -> None:
    """Writes the sessions that are open, for the next server of a folder. A failure is logged; the users then log in again."""
    try:
        if rows := access.sessions():
            write_whole(folder / FILE, json.dumps(rows).encode(), mode=0o600)
    except (OSError, SteppeError) as error:
        LOG.warning('"%s" cannot be written: %s. Users log in again.', folder / FILE, error)


def take(access: Access, folder: Path) -> None:
    """Opens the sessions that the server before has written. A file of another user opens none."""
    try:
        with open(folder / FILE, "rb") as file:
            own, content = os.fstat(file.fileno()).st_uid == os.geteuid(), file.read()
        (folder / FILE).unlink()  # a session that ends later must not come back with the next server
        if own:
            access.resume(json.loads(content))
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError) as error:
        LOG.warning('"%s" cannot be taken: %s. Users log in again.', folder / FILE, error)
