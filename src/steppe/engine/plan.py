"""The meaning of a run file, read and checked before a step is computed or a file is written."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import numpy as np

from steppe.array_types import Array
from steppe.clock import DAY, Clock, is_day, length, length_text, parse_instant
from steppe.costs import measured_cost
from steppe.engine.cadence import Cadence
from steppe.engine.events import Action, calendar
from steppe.engine.fitting import check_fits
from steppe.engine.initial import departures, initial_state
from steppe.engine.options import options_text, with_picks
from steppe.engine.parameters import LAND_TYPE, Chosen, ParameterTable, choose
from steppe.engine.place import open_grid, place_name
from steppe.engine.run_file import MapsSection, OutputSection, RunFile, SeriesSection, read_run_file
from steppe.engine.weather import open_weather, weather_cautions
from steppe.errors import ForcingError, RunFileError, nearest
from steppe.grid import Decomposition, Grid, Region, decompose, writers_of
from steppe.html_summary import html_summary
from steppe.io import FieldReader, FieldStore, ForcingReader, ForcingStore, read_costs, read_map
from steppe.models import Model, Surroundings, find_model, make_model, needed_weather, remarks_of
from steppe.variable import Role, Variable, Variables


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(repr=False)
class Plan:
    """A run, ready to start: nothing is computed or written.

    Raises a `Mistake` for a wrong run file, store or parameter when it is made.
    """

    run: RunFile
    grid: Grid
    forcing: ForcingStore | FieldStore | None
    clock: Clock
    steps: int
    threads: int  # of this process
    cores: int
    model: Model
    chosen: Chosen
    initial: Mapping[str, float | Array]
    actions: list[Action]
    made_of: Mapping[str, object]  # the entries of [parameters] that the model has used
    cautions: Sequence[str] = ()  # what the model warns of before the run

    def __repr__(self) -> str:
        return f"<Plan of {self.model.name} {self.model.version}, {', '.join(f'{name}: {text}' for name, text in self._facts().items())}>"

    def _repr_html_(self) -> str:
        active = self.grid.active if self.grid.active.ndim == 2 else None
        variables = self.model.variables
        values = [(n, "differs" if np.ndim(v) else f"{v:g}", variables[n].units) for n, v in self.chosen.values.items()]
        options = [(name, word, self.chosen.reasons[name]) for name, word in self.chosen.options.items()]
        tables: dict[str, Sequence[Sequence[str]]] = {"parameters": values, "options": options}
        return html_summary(f"Plan of {self.model.name} {self.model.version}", self._facts(), active=active, tables=tables)

    def _facts(self) -> dict[str, str]:
        run = self.run
        return {
            f"{self.clock.unit}s": f"{run.time.start} to {run.time.end}, {self.steps:,}",
            "cells": f"{self.grid.n_cells:,}",
            "weather": str(self.forcing.path) if self.forcing else "none",
            "maps": "; ".join(f"{', '.join(maps.variables)}, {maps.reduce} of {maps.every}" for maps in self.maps) or "none",
            "series": ", ".join(series.name for series in run.output.series) or "none",
            "run folder": str(run.output.path),
        }

    @classmethod
    def of(cls, run: RunFile | Path | str, changes: Mapping[str, str] | None = None, cores: int | None = None) -> "Plan":
        """Reads all that a run file names. cores: how many this process should use; default: all that it may."""
        run = run if isinstance(run, RunFile) else read_run_file(run, changes)
        module = find_model(run.model)
        grid = open_grid(run)
        forcing = open_weather(run, grid)
        cores = cores or usable_cores()
        threads = run.engine.threads or cores
        table = ParameterTable(run.parameters)
        model = make_model(module, run.engine.dtype or "float32", threads, table, surroundings(grid, forcing, threads))
        run = _with_step(run, model)
        clock, steps = clock_of(run, forcing.calendar if forcing else "standard")
        parameters = {name: v for name, v in model.variables.items() if v.role is Role.PARAMETER}
        chosen = choose(
            module,
            model.choices,
            parameters,
            table,
            run.land_type,
            lambda store, name, variable: read_map(Path(store), name, variable, model.spaces, grid),
        )
        if forcing:
            chosen = with_picks(chosen, module, model.choices, set(forcing.variables))
        check_step(run, model)
        Cadence(run.engine.checkpoint, run.time.length)
        actions = calendar(run.event, clock, steps, grid, Variables(model.variables, model.spaces))
        made_of = {name: value for name, value in run.parameters.items() if name not in table}
        plan = cls(run, grid, forcing, clock, steps, threads, cores, model, chosen, {}, actions, made_of)
        plan.initial = initial_state(run.initial, model.variables, model.spaces, grid)
        begun = {**plan.initial, **{name: value for action in actions for name, value in action.values.items()}}
        plan.cautions = [*departures(run.initial.get("state"), clock, chosen.values, _digest(made_of)), *remarks_of(module, model, begun)]
        plan.check_forcing(module)
        plan.cautions += weather_cautions(forcing, plan.of_weather, run.forcing.cadence if run.forcing else {}, clock.step)
        check_fits(plan)
        plan.run = run.model_copy(update={"engine": run.engine.model_copy(update={"dtype": plan.dtype})})
        plan.check_outputs()
        return plan

    def again(self) -> "Plan":
        """The same run with a model of its own, which shares what is compiled."""
        model = self.model.again(dict(self.run.parameters))
        model.place(surroundings(self.grid, self.forcing, self.threads))
        return replace(self, model=model)

    def check_forcing(self, module: ModuleType) -> None:
        """Raises `RunFileError` when the model needs weather and there is none, `ForcingError` when the store lacks some."""
        needed = needed_weather(module, self.model, self.chosen.options)
        for name in needed:
            if isinstance(self.forcing, ForcingStore) and self.variables.leading(name):
                raise RunFileError(
                    f'[forcing] store: "{name}" of model "{self.model.name}" has levels, and packed weather none. Give fields in its place.'
                )
        if needed and self.forcing is None:
            raise RunFileError(f'Model "{self.model.name}" needs weather ({", ".join(needed)}). Give a [forcing] table.')
        if isinstance(self.forcing, FieldStore) and not self.model.needs.neighbours:
            raise RunFileError(
                f'[forcing] fields: model "{self.model.name}" computes cells, which read packed weather. Make a store of the maps with '
                "`steppe ingest zarr`, and write store."
            )
        for name in needed:
            if self.forcing and name not in self.forcing.names:
                held, alike = ", ".join(self.forcing.names) or "none", self._of_the_same_kind(name)
                advice = f' If "{alike}" is it, rename it: dataset.rename({alike}="{name}").' if alike else ""
                raise ForcingError(
                    f'"{self.forcing.path}" has no variable "{name}", which model "{self.model.name}" needs; it holds {held}.{advice}'
                )

    def _of_the_same_kind(self, name: str) -> str:
        """A variable of fields that has the CF name of a variable of the model; "" for none."""
        kind = self.variables[name].standard_name
        for other, values in self.forcing.dataset.data_vars.items() if isinstance(self.forcing, FieldStore) else ():
            if kind and kind == values.attrs.get("standard_name"):
                return str(other)
        return ""

    def reader(self) -> ForcingReader | FieldReader | None:
        """The weather of all cells, read ahead; None for a model without.

        Raises
        ------
        ForcingError
            Store and run do not fit: units, calendar, cells, levels, days.
        """
        if self.forcing is None:
            return None
        wanted = self.of_weather
        if isinstance(self.forcing, FieldStore):
            at, spaces = self.model.needs.forcing_at, self.model.spaces
            return FieldReader(self.forcing, wanted, self.clock, range(self.steps), self.grid, at, spaces)
        cadence = self.run.forcing.cadence if self.run.forcing else {}
        return ForcingReader(
            self.forcing,
            range(self.grid.n_cells),
            tuple(wanted),
            self.clock,
            cadence,
            variables=wanted,
            grid=self.grid,
            steps=range(self.steps),
            decode_ahead=self.threads < self.cores,
        )

    @cached_property
    def inputs(self) -> dict[str, tuple[Variable, float | Array]]:
        """Name -> declaration and values of maps of the run file whose names the model does not have."""
        if self.chosen.land_type is None or "land_type" in self.model.variables:
            return {}
        return {"land_type": (replace(LAND_TYPE, classes=self.chosen.classes), self.chosen.land_type)}

    @cached_property
    def variables(self) -> Variables:
        """All variables of the run, by name: those of the model, then the inputs."""
        inputs = {name: variable for name, (variable, _) in self.inputs.items()}
        return Variables({**self.model.variables, **inputs}, self.model.spaces)

    @cached_property
    def of_weather(self) -> dict[str, Variable]:
        """Forcing that the weather holds for every step: no event sets it."""
        held = self.forcing.names if self.forcing else ()
        return {name: variable for name, variable in self.model.variables.items() if variable.role is Role.FORCING and name in held}

    @property
    def cost(self) -> float | None:
        """Seconds of a cell and step: as the model declares, else as earlier sessions of this run measured; None if neither is known."""
        return self.model.needs.cost or measured_cost(read_costs(Path(self.run.output.path)), self.grid.n_cells)

    @property
    def maps(self) -> list[OutputSection | MapsSection]:
        """The maps that are recorded: by the plain keys, if they name a variable, and by every [[output.maps]]."""
        output = self.run.output
        return [*([output] if output.variables else []), *output.maps]

    def check_outputs(self) -> None:
        """Raises `RunFileError` for an output variable or a region that does not exist."""
        output = self.run.output
        for section in (*self.maps, *output.series):
            for name in section.variables:
                self.recordable(name, section.where)
        named: list[MapsSection | SeriesSection] = [*output.maps, *output.series]
        names: dict[str, str] = {}
        for entry in named:
            kind = entry.where.split()[0]
            if entry.name in names:
                both = f"Two {kind}" if names[entry.name] == kind else f"A {names[entry.name]} and a {kind}"
                raise RunFileError(f'{both} have the name "{entry.name}". Give each its own.')
            names[entry.name] = kind
        for series in output.series:
            for region in regions_of(series).values():
                self.grid.select(region)

    def recordable(self, name: str, where: str) -> Variable:
        """The variable of this name; raises `RunFileError` if it cannot be recorded."""
        variables = self.model.variables
        if name not in variables or not variables[name].recordable:
            known = [each for each, variable in variables.items() if variable.recordable]
            whole, _, level = name.partition("[")
            more = f' Write "{whole}", which is recorded with all its levels.' if level and whole in known else nearest(name, known)
            raise RunFileError(f'{where}: there is no variable "{name}" to record.{more}')
        return variables[name]

    def step_after(self, day: str) -> int:
        """The step after a day of the run.

        Raises
        ------
        RunFileError
            The day is outside the run.
        """
        step = self.clock.done(day)
        if not 0 < step <= self.steps:
            first, last = self.clock.begin(0), self.clock.name(self.steps - 1)
            raise RunFileError(f"{day} is outside the run, {first} to {last}.")
        return step

    def decomposed(self, ranks: int = 1, bounds: Sequence[int] | None = None, able: Sequence[int] = ()) -> Decomposition:
        """The cut of the grid for some ranks. bounds: rank r computes the packed cells from bounds[r] to bounds[r + 1].

        able: the ranks that can write; default: all.

        Raises
        ------
        GridError
            The model needs neighbours and the grid has none, or cannot be cut for so many ranks.
        """
        strategy, _, number = self.run.engine.writers.partition(":")
        per_writer = ranks if strategy == "gather" else int(number or 1)
        return decompose(self.grid, self.model.needs, ranks, bounds, writers_of(ranks, per_writer, able))

    @property
    def provenance(self) -> dict[str, str]:
        """Attributes of the output store: its model, weather and identity."""
        weather = dict(self.forcing.attributes) if self.forcing else {}
        if isinstance(self.forcing, FieldStore):
            weather = {"weather": f"fields of {self.forcing.path.name}", "summary": weather.get("title", "")}
        generated = " (generated weather)" if weather.get("weather") == "generated" else ""
        return {
            "title": f"{self.model.name.capitalize()} over {place_name(self.run)}{generated}",
            "source": f"Steppe {version('steppe')}, model {self.model.name} {self.model.version}",
            "weather": str(weather.get("weather", "none")),
            "weather_summary": str(weather.get("summary", "")),
            **({"options": options} if (options := options_text(self.chosen)) else {}),
            "steppe_identity": json.dumps(self.identity, sort_keys=True),  # text: NetCDF knows no tables
        }

    @property
    def dtype(self) -> str:
        """The precision of the state, as the model declares it."""
        return next(v.dtype for v in self.model.variables.values() if v.role is Role.STATE)

    @cached_property
    def identity(self) -> dict[str, str]:
        """The identity of the run, in words with digests: runs with equal identities have equal results."""
        run = self.run
        return {
            "model": f"{self.model.name} {self.model.version} {self.model.digest[:16]}",
            "grid": self.grid.digest[:16],
            "forcing": self.forcing.digest[:16] if self.forcing else "none",
            "time": f"{self.clock.begin(0)} to {self.clock.name(self.steps - 1)} {self.clock.calendar}",
            **({} if run.time.length == DAY else {"step": length_text(run.time.length)}),
            "parameters": _digest(_hashable(self.chosen.values)),
            "options": " ".join(f"{name}={word}" for name, word in sorted(self.chosen.options.items())) or "none",
            "cadence": _digest(run.forcing.cadence if run.forcing else {}),
            **({"made_of": _digest(self.made_of)} if self.made_of else {}),
            "initial": _digest(_hashable(self.initial)),
            "events": _digest([section.model_dump(mode="json", exclude_none=True) for section in run.event]),
            "output": _digest(_said_of(run.output)),
            "dtype": self.dtype,
            "on_bad_cell": run.engine.on_bad_cell,
        }


def surroundings(grid: Grid, forcing: ForcingStore | FieldStore | None, threads: int) -> Surroundings:
    """The surroundings of a model: grid, names and threads."""
    columns = forcing.columns if isinstance(forcing, FieldStore) else {}
    return Surroundings(grid, tuple(forcing.variables) if forcing else (), columns, threads)


def clock_of(run: RunFile, calendar: str) -> tuple[Clock, int]:
    """The clock of a run, and its number of steps. A date as the end of the run is the end of that day.

    Raises
    ------
    RunFileError
        The run has no step, or not a whole number of them; steps of days begin within a day.
    """
    time, start = run.time, parse_instant(run.time.start, calendar)
    clock = Clock(start, time.length, calendar)
    if clock.of_days and start.replace(hour=0, minute=0, second=0, microsecond=0) != start:
        raise RunFileError(
            f"time.start {time.start} lies within a day, but a step is {length_text(time.length)}. "
            'Write a date, or a shorter step, such as step = "1 hour".'
        )
    end = parse_instant(time.end, calendar) + (DAY if is_day(time.end) else timedelta(0))
    steps, rest = divmod(end - start, time.length)
    if rest:
        raise RunFileError(f"time.end {time.end} lies between two steps of {length_text(time.length)} from {time.start}.")
    if steps < 1:
        raise RunFileError(f"time.end {time.end} is before the end of the first step from time.start {time.start}.")
    return clock, steps


def _with_step(run: RunFile, model: Model) -> RunFile:
    """The run with the step that its model takes; raises `RunFileError` when the run file says another."""
    own = model.needs.step
    if own is None or (run.time.step is None and length(own) == DAY):
        return run
    if run.time.step is not None and length(run.time.step) != length(own):
        raise RunFileError(f'time.step = "{run.time.step}": model "{model.name}" takes steps of {own}. Remove the step.')
    return run.model_copy(update={"time": run.time.model_copy(update={"step": own})})


def check_step(run: RunFile, model: Model) -> None:
    """Raises `RunFileError` if a model of daily weather shall make other steps."""
    packed = run.forcing is not None and run.forcing.fields is None
    if packed and run.time.length != DAY:
        raise RunFileError(
            f'time.step = "{run.time.step}": model "{model.name}" reads daily weather, so its step is one day. Remove the step.'
        )


def regions_of(series: SeriesSection) -> dict[str, str | dict[str, object]]:
    """Label -> region of a series."""
    return {label_of(region): region for region in listed(series)}


def listed(series: SeriesSection) -> list[str | dict[str, object]]:
    """The regions of a series as the run file has them."""
    return series.region if isinstance(series.region, list) else [series.region]


def label_of(region: str | dict[str, object]) -> str:
    """The name of a region in the results: the same text for each spelling of it."""
    return region if isinstance(region, str) else str(Region.of(region))


def _hashable(values: Mapping[str, float | Array]) -> dict[str, str | float]:
    """Numbers as they are, arrays as their digest."""
    return {
        name: hashlib.sha256(value.tobytes()).hexdigest() if isinstance(value, np.ndarray) else float(value)
        for name, value in values.items()
    }


def _said_of(output: OutputSection) -> dict[str, object]:
    """The keys that decide the results. A key of a series that came later counts where it is set: runs from before go on."""
    said = output.model_dump(mode="json", exclude={"path"})
    for series in said["series"]:
        if series["over"] == "mean":
            del series["over"]
    return said


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
