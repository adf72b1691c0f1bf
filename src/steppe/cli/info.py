"""`steppe info`: what a run folder or a store holds."""

import json as json_format
import sys
from pathlib import Path
from typing import Any


def info(path: Path, /, *, json: bool = False) -> None:
    """Show what a run folder, an output store or a forcing store holds.

    Examples:

        steppe info runs/queensland
        steppe info runs/weather.zarr --json

    Parameters
    ----------
    path
        The folder or store.
    json
        The same as JSON on standard output.
    """
    from steppe.engine import overview

    found = overview(path)
    if json:
        sys.stdout.write(json_format.dumps(found, indent=2) + "\n")
        return
    for key, value in found.items():
        _show(key, value)


def _show(key: str, value: Any, indent: str = "") -> None:
    if isinstance(value, dict):
        sys.stdout.write(f"{indent}{key}\n")
        for name, item in value.items():
            _show(name, item, indent + "  ")
    elif isinstance(value, list):
        sys.stdout.write("".join(f"{indent}{key}: {item}\n" for item in value))
    else:
        sys.stdout.write(f"{indent}{key}: {value}\n")
