"""A whole checkpoint by one process at once; a run makes its own in the steps that this calls."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steppe.grid import Ownership
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.checkpoints.draft import Draft


def write_checkpoint(
    folder: Path, step: int, arrays: Mapping[str, np.ndarray], manifest: Mapping[str, Any], identity: Mapping[str, str]
) -> Path:
    """Its folder. arrays: without dimensions, or (..., cells)."""
    draft = Draft()
    draft.copy(arrays, Ownership.alone(max((values.shape[-1] for values in arrays.values() if values.ndim), default=0)))
    aside = Checkpoint.begin(folder, step)
    try:
        path = Checkpoint.seal(aside, draft.contents, draft.write(aside), manifest, identity)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    Checkpoint.prune(path)
    return path
