"""The run file and the inputs of sites with folders of their own, compared before the first step.

    site a   run file, model, weather, maps ──┐
    site b   its own copies ──────────────────┴─ rank 0: the first difference, in one sentence

All settings must be equal, but for paths and threads. All files must have the same bytes; the ranks of a site share the work of reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import xxhash

from steppe.engine.differences import flat
from steppe.engine.run_file import RunFile
from steppe.errors import Failure, Mistake

OWN_SETTINGS = ("output.path", "engine.threads", "engine.dtype", "time.step")  # of each site; the model may give the last two
LEFT_OUT = ("pack", "lock")  # parts of folders: a copy of values for fast reading, and the lock of a run folder
SHORT = 1 << 16  # bytes of files of which the text is compared
BLOCK = 1 << 22  # bytes that are read at once


@dataclass
class SiteInputs:
    """The inputs of one site.

    settings: dotted key of the run file -> value. paths: key -> path as the site has it, of those keys that name a file or a folder.
    files: key -> path in the folder, "" for a file -> size, digest, and the text of a short one.
    """

    settings: dict[str, object] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    files: dict[str, dict[str, tuple[int, str, str | None]]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: RunFile, part: int = 0, parts: int = 1) -> "SiteInputs":
        """Of a run file as this rank sees it; of the files every `parts`-th from number `part` on.

        Raises
        ------
        Failure
            A file cannot be read.
        """
        found = cls()
        for key, given in flat(run.model_dump(exclude_none=True)).items():
            value = given if isinstance(given, str | int | float) else str(given)
            if key in OWN_SETTINGS:
                continue
            if not (isinstance(value, str) and value.startswith("/")):
                found.settings[key] = value
            else:
                found.paths[key] = value
                found.files[key] = {name: _described(Path(value) / name) for name in _names(Path(value))[part::parts]}
        return found

    @classmethod
    def of_parts(cls, parts: Sequence["SiteInputs"]) -> "SiteInputs":
        """Of the parts of all ranks of a site."""
        files = {key: {name: file for part in parts for name, file in part.files[key].items()} for key in parts[0].paths}
        return cls(parts[0].settings, parts[0].paths, files)


def check_same(first: str, ours: SiteInputs, other: str, theirs: SiteInputs, may_lack: str = "") -> None:
    """Checks that two sites, named `first` and `other`, compute the same run.

    may_lack: the key of an input that the other site need not have.

    Raises
    ------
    Mistake
        A setting or a file differs; the message has the values.
    """
    sites = f'sites "{first}" and "{other}"'
    for key in dict.fromkeys((*ours.settings, *theirs.settings, *ours.paths, *theirs.paths)):
        one, two = (each.settings.get(key, each.paths.get(key)) for each in (ours, theirs))
        if (key in ours.paths) != (key in theirs.paths) or (key not in ours.paths and one != two):
            raise Mistake(f'The run files of {sites} differ: {key} is {_said(one)} at "{first}" and {_said(two)} at "{other}".')
    for key, path in ours.paths.items():
        if not theirs.files[key]:
            if theirs.paths[key] != theirs.paths.get(may_lack) and ours.files[key]:
                raise Mistake(f'Site "{other}" has no "{theirs.paths[key]}" ({key}), which site "{first}" has. Copy it there.')
            continue
        for name in sorted({*ours.files[key], *theirs.files[key]}):
            if ours.files[key].get(name, ())[:2] != theirs.files[key].get(name, ())[:2]:
                what = _difference(first, ours.files[key].get(name), other, theirs.files[key].get(name))
                raise Mistake(f'"{Path(path) / name}" ({key}) of {sites} differs: {what}. Copy it from one site to the other.')


def _difference(first: str, one: tuple[int, str, str | None] | None, other: str, two: tuple[int, str, str | None] | None) -> str:
    if one is None or two is None:
        return f'site "{first if one is None else other}" lacks it'
    if one[2] is not None and two[2] is not None:
        lines = zip_longest(one[2].splitlines(), two[2].splitlines())
        number, (here, there) = next(((at, pair) for at, pair in enumerate(lines, 1) if pair[0] != pair[1]), (0, ("", "")))
        if number:
            return f'line {number} is {_said(here)} at "{first}" and {_said(there)} at "{other}"'
    if one[0] != two[0]:
        return f'it has {one[0]:,} bytes at "{first}" and {two[0]:,} at "{other}"'
    return f"both have {one[0]:,} bytes, of other content"


def _said(value: object) -> str:
    return "not given" if value is None else f'"{value}"' if isinstance(value, str) else str(value)


def _names(path: Path) -> list[str]:
    """The files at a path, sorted: "" for a file; those in a folder; none if nothing is there."""
    if path.is_file():
        return [""]
    inside = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
    return sorted(str(file) for file in inside if file.parts[0] not in LEFT_OUT)


def _described(path: Path) -> tuple[int, str, str | None]:
    digest, size, head = xxhash.xxh3_128(), 0, b""
    try:
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                head = head or block
                size += len(block)
                digest.update(block)
    except OSError as error:
        raise Failure(f'"{path}" cannot be read: {error.strerror}.') from None
    try:
        text = head.decode() if size <= SHORT else None
    except UnicodeDecodeError:
        text = None
    return size, digest.hexdigest(), text
