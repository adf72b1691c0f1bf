"""The folders of the branches that a server steers: their run ids, and which are of others."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from steppe.control import Leg
from steppe.control.orders import folder_of
from steppe.io import RunFolder, forked_at, run_id


def id_of(run: RunFolder, identity: Mapping[str, str], path: Sequence[Leg]) -> str:
    """The run id of the branch at the end of a path, settled or not. run: the folder of the first branch."""
    *before, leg = path
    if not before:
        return run.id
    parent = {
        "run": os.path.relpath(folder_of(run.path, before[-1].branch), folder_of(run.path, leg.branch)),
        "id": id_of(run, identity, before),
        "step": before[-1].step,
    }
    return run_id({**identity, "parent": parent, "name": str(leg.branch)})


def is_foreign(run: Path, path: Sequence[Leg]) -> bool:
    """True if the folder of the branch at the end of a path holds another branch: one that a script made, and called by that number.

    Former versions of Steppe named branches so. A branch of a server leaves its parent at the step where its path does.
    """
    if len(path) < 2:
        return False
    step = forked_at(folder_of(run, path[-1].branch))
    return step is not None and step != path[-2].step
