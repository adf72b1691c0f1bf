"""Writes the timeline of a run: as a picture, or as a trace for ui.perfetto.dev."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steppe.errors import Failure, RunFileError

if TYPE_CHECKING:
    from steppe.timeline import Spans


def check_timeline(path: Path) -> None:
    """Checks before the run that `write_timeline` can write there.

    Raises
    ------
    RunFileError
        The name ends in neither .json nor .png, or there is no such folder.
    """
    if path.suffix not in (".json", ".png"):
        raise RunFileError(f'"{path}" is no name of a timeline. End it in .png for a picture, in .json for a trace of ui.perfetto.dev.')
    if not path.absolute().parent.is_dir():
        raise RunFileError(
            f'"{path.absolute().parent}" is no folder, so the timeline "{path.name}" cannot be written there. Make it first.'
        )


def write_timeline(path: Path, title: str, ranks: Sequence["Spans"]) -> None:
    """Writes the spans of all ranks, in order of rank.

    Raises
    ------
    Failure
        The file cannot be written.
    """
    try:
        if path.suffix == ".png":
            from steppe.view import draw_timeline

            draw_timeline(path, title, ranks)
        else:
            from steppe.timeline import to_trace

            path.write_text(json.dumps(to_trace(ranks), separators=(",", ":")), encoding="utf-8")
    except OSError as error:
        raise Failure(f'The timeline "{path}" cannot be written ({error.strerror}). Choose another place.') from None
