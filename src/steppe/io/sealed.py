"""Small JSON files of which every byte is checked.

The last key, "sha256", is the hash of the rest. The bytes must be those that writing the content again would give, so blanks are
checked, too.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steppe.errors import DamagedError
from steppe.io.shard import write_durable

SEAL = "sha256"


def write_sealed(path: Path, content: Mapping[str, object]) -> None:
    """Writes or replaces the file, durably.

    Raises
    ------
    NoSpaceError
        The disk is full; the old file is untouched.
    """
    write_durable(path, _text(content))


def read_sealed(path: Path, advice: str) -> dict[str, Any]:
    """Returns the content. advice: a sentence for the message about a damaged file.

    Raises
    ------
    FileNotFoundError
        There is no file.
    DamagedError
        A byte was changed.
    """
    try:
        data = path.read_bytes()
        content: dict[str, Any] = json.loads(data)
        content.pop(SEAL)
        if data != _text(content):
            raise ValueError("its hash is wrong")
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(str(path)) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = "it has no hash" if isinstance(error, KeyError) else error
        raise DamagedError(f'"{path}" is damaged ({reason}). {advice}') from None
    return content


def _text(content: Mapping[str, object]) -> bytes:
    seal = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps({**content, SEAL: seal}, indent=1, allow_nan=False).encode()
