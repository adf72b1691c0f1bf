"""What a run must agree in to go on from what an earlier one left: model, parameters, grid, forcing, each with its digest."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from steppe.errors import FolderError

Identity = Mapping[str, str]  # name in words -> digest or version


class OtherRunError(FolderError):
    """What lies at a path is of another run.

    differing: names of the identity that differ; found, expected: both identities; values: what differs, in words, for the message;
    default: the first name, as both identities have it.
    """

    def __init__(self, path: Path, differing: list[str], found: Identity, expected: Identity, values: str = "") -> None:
        name = differing[0]
        values = values or f'{name} is "{found.get(name)}" there and "{expected.get(name)}" in this run'
        super().__init__(
            f'"{path}" belongs to a run with other {", ".join(differing)}: {values}. '
            "Put it back as it was, choose another folder, or start with --fresh."
        )
        self.differing, self.found, self.expected = differing, found, expected


def run_id(identity: Mapping[str, object]) -> str:
    """A short name of a run: the same for the same identity, on any machine."""
    return hashlib.sha256(json.dumps(dict(identity), sort_keys=True).encode()).hexdigest()[:12]


def check_identity(path: Path, found: Identity, expected: Identity) -> None:
    """Nothing, when what lies at `path` was written by the run that `expected` describes.

    Raises
    ------
    OtherRunError
        It was not; the message names all that differs, and the first with both digests.
    """
    differing = [name for name in dict.fromkeys((*expected, *found)) if found.get(name) != expected.get(name)]
    if differing:
        raise OtherRunError(path, differing, found, expected)
