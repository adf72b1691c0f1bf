"""The key that all sites share: a file that its owner alone can read."""

import os
import secrets
from pathlib import Path

from steppe_bridge.errors import Mistake

SIZE = 32  # [bytes], as hexadecimal digits in the file


def make_key(path: Path, digits: str = "") -> None:
    """Writes a key, a fresh random one if none is given, to a new file of mode 0600.

    Raises
    ------
    Mistake
        The file is there, or cannot be made.
    """
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Mistake(f'"{path}" exists, and a key is never overwritten. Give another name, or remove the file.') from None
    except OSError as error:
        raise Mistake(f'"{path}" cannot be written: {error.strerror}.') from None
    with open(file, "w", encoding="utf-8") as stream:
        stream.write((digits or secrets.token_hex(SIZE)) + "\n")


def read_key_line() -> str:
    """The key in the first line of standard input; what follows is left for the program.

    Raises
    ------
    Mistake
        The line is no key.
    """
    line = b""
    while len(line) <= 2 * SIZE and (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    if len(line) != 2 * SIZE:
        raise Mistake(f"--key - expects a key of {2 * SIZE} hexadecimal digits in the first line of standard input.")
    return line.decode("ascii", errors="replace")
