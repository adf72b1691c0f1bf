"""The contents of a run folder or a store, as plain words and numbers."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steppe.clock import Clock, instant_text, length, parse_instant
from steppe.engine.differences import flat
from steppe.errors import DamagedError
from steppe.io import Ensemble, ForcingStore, Progress, Spent, changes_of, in_use, names_of, open_results, read_identity, results_folder
from steppe.jobs.report import size_of, spent_of

if TYPE_CHECKING:
    import xarray

GIVEN = ("grid", "forcing", "parameters", "land_type", "initial", "event")  # sections of the run file about the run, not its results


def overview(path: Path) -> dict[str, object]:
    """The contents of a run folder or a store, as plain words and numbers.

    Raises
    ------
    FolderError
        There is neither.
    DamagedError
        It cannot be read.
    """
    path = results_folder(path)
    dataset = open_results(path)
    progress = Progress.read(path)
    attributes = {key: value for key, value in dataset.attrs.items() if isinstance(value, str | int | float)}
    found: dict[str, object] = {"path": str(path)}
    ensemble = Ensemble.read(path)
    found |= _of_run(path, progress, attributes) if progress else {"attributes": attributes}
    if ensemble:
        del found["progress"]
        found["ensemble"] = of_ensemble(ensemble)
    found["dimensions"] = dict(dataset.sizes)
    if dataset.sizes.get("time", 0):
        if "time_bnds" in dataset:
            bounds = dataset["time_bnds"].values
            found["time"] = " until before ".join(_moment(dataset["time"], bound) for bound in (bounds[0, 0], bounds[-1, 1]))
        else:  # of fields, which hold at instants
            found["time"] = " to ".join(str(instant)[:16].replace(" ", "T") for instant in dataset["time"].values[[0, -1]])
    found["variables"] = {str(name): _described(array) for name, array in dataset.data_vars.items()}
    for kind in ("maps", "series"):
        if names := names_of(path, kind):
            found[kind] = {name: _group(path, name) for name in names}
    if progress:
        folders = [path, *(member.folder for member in ensemble.members)] if ensemble else [path]
        every = ensemble.progress().values() if ensemble else [progress]
        spent, steps = sum((each.spent for each in every), Spent()), sum(each.step for each in every)
        found["spent"] = spent_of(spent, dataset.sizes.get("cell", 0), steps, "step" if "steps" in found else "day")
        found["bytes"] = sum(size_of(folder / "output.zarr") for folder in folders)
    elif ForcingStore.is_at(path):
        store = ForcingStore.open(path)
        found["source"] = [
            f"{source['name']}, {source['size']:,} bytes, xxh3 {source['xxh3']}" for source in store.attributes.get("source", [])
        ]
    return found


def of_ensemble(ensemble: Ensemble) -> dict[str, object]:
    """Whether all scenarios are finished, how many there are, and the columns of their table with ranges."""
    unfinished = ensemble.unfinished()
    found: dict[str, object] = {
        "state": "unfinished" if unfinished else "complete",
        "scenarios": len(ensemble.members),
        "finished": len(ensemble.members) - len(unfinished),
    }
    found |= {"unfinished": unfinished} if unfinished else {}
    return found | {"table": {about["coordinate"]: _range(ensemble, name) for name, about in ensemble.columns.items()}}


def _range(ensemble: Ensemble, column: str) -> str:
    values, about = ensemble.values(column), ensemble.columns[column]
    given = values[np.isfinite(values)]
    unit = "" if about["units"] == "1" else f" {about['units']}"
    some = "" if len(given) == len(values) else f", set by {len(given):,} of {len(values):,} scenarios"
    return f"{given.min():g} to {given.max():g}{unit}, {about['long_name']}{some}"


def _of_run(path: Path, progress: Progress, attributes: Mapping[str, Any]) -> dict[str, object]:
    """The identity of the run, the values of its run file, and its end."""
    try:
        identity = read_identity(path)
    except FileNotFoundError:
        raise DamagedError(f'"{path}" has results but no identity.json, which says of which run. Restore that file.') from None
    clock, end = _clock(identity)
    killed = progress.state == "running" and not in_use(path)  # it could not write that it stopped
    found: dict[str, Any] = {
        "title": attributes["title"],
        "model": identity["model"].rpartition(" ")[0],
        "made by": attributes["source"].partition(",")[0],
        f"{clock.unit}s": f"{clock.begin(0)} to {end}, {clock.calendar} calendar",
        **({"step": identity["step"]} if "step" in identity else {}),
        "weather": attributes["weather"],
        "options": attributes.get("options", identity["options"]),
        "dtype": identity["dtype"],
        "given": _given(path),
        "id": attributes["steppe_run"],
        "progress": {"state": "stopped" if killed else progress.state, "steps": progress.step, "steps of the run": clock.done(end)},
    }
    found["progress"] |= {f"next {clock.unit}": progress.date} if progress.step < clock.done(end) else {}
    found["progress"] |= {"failure": progress.message} if progress.message else {}
    if changed := _changed(path):
        found["changed by scripts"] = changed
    return found


def _changed(path: Path) -> list[str]:
    """How often scripts changed each variable, in the results that the run holds."""
    orders = Counter(row["name"] for row in changes_of(path))
    return [f"{name}, {count:,} times (log.jsonl)" for name, count in orders.items()]


def _clock(identity: Mapping[str, str]) -> tuple[Clock, str]:
    """The clock of a run, and the name of its last step."""
    start, _, end, calendar = identity["time"].split()
    return Clock(parse_instant(start, calendar), length(identity.get("step", "1 day")), calendar), end


def _moment(axis: "xarray.DataArray", bound: object) -> str:
    """A bound as its day, or as an instant on an axis of shorter steps."""
    if axis.attrs.get("long_name") != "end":
        return str(bound)[:10]
    return instant_text(parse_instant(str(bound)[:26], axis.encoding.get("calendar", "standard")))


def _given(path: Path) -> dict[str, object]:
    try:
        run = tomllib.loads((path / "run.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    given = flat({key: run[key] for key in GIVEN if key in run})
    return {
        key: value if isinstance(value, bool | int | float) else str(value) for key, value in given.items() if value not in ([], "auto")
    }


def _group(path: Path, name: str) -> str:
    with open_results(path, name) as dataset:
        return f"{', '.join(sorted(map(str, dataset.data_vars)))}, {dataset.sizes['time']:,} records"


def _described(array: "xarray.DataArray") -> str:
    words = [str(array.attrs.get(key, "")) for key in ("units", "long_name", "cell_methods", "regridding")]
    days = [f"days from {array.attrs['days_from']}"] if "days_from" in array.attrs else []
    return ", ".join([*filter(None, words), *days, f"({', '.join(map(str, array.dims))})"])
