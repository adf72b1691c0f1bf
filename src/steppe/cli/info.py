"""`steppe info`: the content of a run folder or a store, or the MPI library."""

import json as json_format
import sys
from collections.abc import Mapping
from pathlib import Path

from steppe.errors import Mistake


def info(path: Path | None = None, /, *, json: bool = False, mpi: bool = False) -> None:
    """Show the content of a run folder, an output store or a forcing store.

    Examples:

        steppe info runs/queensland
        steppe info runs/weather.zarr --json
        steppe info --mpi

    Parameters
    ----------
    path
        The folder or store.
    json
        The same as JSON on standard output.
    mpi
        The MPI library that ranks would use, and the mpiexec that belongs to it.
    """
    found = _found(path, mpi)
    if json:
        sys.stdout.write(json_format.dumps(found, indent=2) + "\n")
        return
    for key, value in found.items():
        _show(key, value)


def _found(path: Path | None, mpi: bool) -> Mapping[str, object]:
    if mpi == (path is not None):
        raise Mistake("Give a folder or a store, or --mpi; one of them.")
    if path is None:
        from steppe.comm import describe_mpi

        return describe_mpi()
    from steppe.jobs.info import overview

    return overview(path)


def _show(key: str, value: object, indent: str = "") -> None:
    if isinstance(value, dict):
        sys.stdout.write(f"{indent}{key}\n")
        for name, item in value.items():
            _show(name, item, indent + "  ")
    elif isinstance(value, list):
        sys.stdout.write("".join(f"{indent}{key}: {item}\n" for item in value))
    else:
        from steppe.engine.check import in_bytes

        sys.stdout.write(f"{indent}{key}: {in_bytes(value) if key == 'bytes' and isinstance(value, int) else value}\n")
