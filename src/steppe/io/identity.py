"""The identity of a run: digests of model, parameters, grid and forcing. A run continues only files of the same identity."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from steppe.errors import FolderError

Identity = Mapping[str, str]  # name in words -> digest or version


class OtherRunError(FolderError):
    """The files at a path belong to another run.

    differing: names of the identity that differ; found, expected: both identities; values: the difference in words, for the message;
    default: the first name, as both identities have it. cure: what to do beside choosing another folder or --fresh.
    """

    def __init__(
        self, path: Path, differing: list[str], found: Identity, expected: Identity, values: str = "", cure: str = "Put it back as it was"
    ) -> None:
        name = differing[0]
        values = values or f'{name} is "{found.get(name)}" there and "{expected.get(name)}" in this run'
        super().__init__(
            f'"{path}" belongs to a run with other {", ".join(differing)}: {values}. {cure}, choose another folder, or start with --fresh.'
        )
        self.differing, self.found, self.expected = differing, found, expected


def run_id(identity: Mapping[str, object]) -> str:
    """A short name of a run: the same for the same identity, on any machine."""
    return hashlib.sha256(json.dumps(dict(identity), sort_keys=True).encode()).hexdigest()[:12]


def check_identity(path: Path, found: Identity, expected: Identity) -> None:
    """Checks that the run with identity `expected` wrote the files at `path`.

    Raises
    ------
    OtherRunError
        Another run wrote them; the message names all differences, and the first with both digests.
    """
    differing = [name for name in dict.fromkeys((*expected, *found)) if found.get(name) != expected.get(name)]
    if differing:
        raise OtherRunError(path, differing, found, expected)
