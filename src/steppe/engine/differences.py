"""How the run that a folder holds differs from the run that should continue there, by the values of both run files."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from steppe.engine.plan import Plan
from steppe.io import OtherRunError, RunFolder, check_place, expect_checkpoint, expect_no_ensemble

KEYS = {
    "model": ("model", "engine.dtype"),
    "grid": ("grid", "forcing.store", "forcing.stations", "forcing.fields"),
    "forcing": ("forcing.store", "forcing.stations", "forcing.fields", "forcing.map", "forcing.units"),
    "time": ("time",),
    "step": ("time.step",),
    "parameters": ("parameters", "land_type"),
    "made_of": ("parameters",),
    "options": ("parameters", "land_type"),
    "cadence": ("forcing.cadence",),
    "initial": ("initial",),
    "events": ("event",),
    "output": ("output",),
    "dtype": ("engine.dtype",),
    "on_bad_cell": ("engine.on_bad_cell",),
}
"""Name in the identity of a run -> the keys of the run file that decide it."""
PLAIN = ("time", "step", "options")  # whose entries in the identity are words, not digests
MOST = 5  # differences that a message shows
OF_STEPPE = "Continue it with the version of Steppe that made it, begin a new run at one of its checkpoints (`[initial] state`)"


def open_folder(plan: Plan, path: Path, fresh: bool = False) -> RunFolder:
    """The run folder of a plan, held for writing.

    Raises
    ------
    FolderError
        It is in use, or holds foreign files.
    OtherRunError
        It holds another run; the message has the values that differ, there and here.
    """
    with _by_value(plan, path):
        return RunFolder(path, plan.identity, fresh)


def check_folder(plan: Plan) -> None:
    """Checks that the run folder of a plan is or can be made; it is not touched. Raises as `open_folder` does."""
    path = plan.run.output.path
    expect_no_ensemble(path)
    with _by_value(plan, path):
        check_place(path, plan.identity)
    expect_checkpoint(path)


@contextmanager
def _by_value(plan: Plan, path: Path) -> Iterator[None]:
    """Says of the run that a folder holds which values differ."""
    try:
        yield
    except OtherRunError as other:
        try:
            there = tomllib.loads((path / "run.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise other from None
        old, new = flat(there), flat(tomllib.loads(plan.run.as_toml()))
        keys = [key for key in dict.fromkeys((*new, *old)) if old.get(key) != new.get(key) and key != "output.path"]
        source_differs = "model" in other.differing and not any(key.startswith(KEYS["model"]) for key in keys)
        cure = {"cure": OF_STEPPE} if source_differs and not str(new["model"]).endswith(".py") else {}
        values = _values(old, new, keys, other)
        raise OtherRunError(path, other.differing, other.found, other.expected, values, **cure) from None


def flat(table: Mapping[str, object]) -> dict[str, object]:
    """Dotted key -> value of all that a table of TOML holds; entries of lists of tables by number, from 1."""
    return dict(_flat(table, ""))


def _flat(value: object, key: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flat(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value, 1):
            yield from _flat(item, f"{key}[{number}]")
    else:
        yield key, value


def _values(old: Mapping[str, object], new: Mapping[str, object], keys: Sequence[str], other: OtherRunError) -> str:
    """The differences in words. old, new: both run files, flat; keys: those that differ."""
    shown: dict[str, str] = {}
    for name in other.differing:
        mine = [key for key in keys if key.startswith(KEYS[name])]
        shown |= {key: f"{key} is {_text(old.get(key))} there, {_text(new.get(key))} here" for key in mine}
        if mine:
            continue
        if name in PLAIN:
            shown[name] = f'{name} is "{other.found.get(name)}" there, "{other.expected.get(name)}" here'
        else:
            shown[name] = f"the run files agree, so the {_behind(name, new)} has changed{_versions(other) if name == 'model' else ''}"
    more = [f"and {len(shown) - MOST} more"] if len(shown) > MOST else []
    return "; ".join([*list(shown.values())[:MOST], *more])


def _versions(other: OtherRunError) -> str:
    """The versions of both models, from `NAME VERSION DIGEST`, if they differ."""
    old, new = (identity.get("model", "").rpartition(" ")[0].rpartition(" ")[2] for identity in (other.found, other.expected))
    return f" (version {old} there, {new} here)" if old != new else ""


def _behind(name: str, run: Mapping[str, object]) -> str:
    if name == "model":
        read = [f' or "{value}"' for key, value in run.items() if key.startswith("parameters.") and "/" in str(value)]
        return f'source of model "{run["model"]}"{"".join(read[:1])}'
    files = [str(run[key]) for key in (*KEYS[name], "grid.file", "grid.points") if key in run]
    return f'content of "{files[0]}"' if files and name in ("grid", "forcing") else f"data or defaults of its {name}"


def _text(value: object) -> str:
    return "not given" if value is None else json.dumps(value, default=str)
