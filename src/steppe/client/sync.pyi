"""The types of `sync.py`; `python scripts/waiting.py` writes this file from the asynchronous client."""

from collections.abc import Generator, Mapping
from typing import Any, Self

import xarray
from numpy.typing import ArrayLike

from steppe.api import (
    CheckpointInfo,
    EventInfo,
    Info,
    ScenarioInfo,
    TriggerInfo,
    VariableInfo,
)
from steppe.api.documents import JournalRow
from steppe.client import words
from steppe.client.operation import AsyncOperation
from steppe.client.picture import Picture
from steppe.client.run import AsyncRun

class Operation:
    def __init__(self, behind: AsyncOperation) -> None: ...
    @property
    def scenario(self) -> str: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def result(self) -> Any: ...
    @property
    def problem(self) -> Any: ...
    @property
    def progress(self) -> float | None: ...
    def wait(self, progress: bool | None = None) -> Operation: ...
    def cancel(self) -> Operation: ...

class Run:
    def __init__(self, behind: AsyncRun) -> None: ...
    def __getitem__(self, name: str) -> xarray.DataArray: ...
    def watch(
        self,
        name: str,
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        stride: int | None = None,
        width: int | None = None,
        rate: float | None = None,
        scenario: str | None = None,
    ) -> Generator[xarray.DataArray]: ...
    def widget(self, variable: str = "") -> Any: ...
    def __enter__(self) -> Run: ...
    def __exit__(self, *error: object) -> None: ...
    def _ipython_key_completions_(self) -> list[str]: ...
    def _look(self) -> AsyncRun: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def scenario_name(self) -> str: ...
    def info(self) -> Info: ...
    @property
    def variables(self) -> Mapping[str, VariableInfo]: ...
    @property
    def scenarios(self) -> Mapping[str, ScenarioInfo]: ...
    @property
    def checkpoints(self) -> list[CheckpointInfo]: ...
    @property
    def events(self) -> list[EventInfo]: ...
    @property
    def triggers(self) -> list[TriggerInfo]: ...
    @property
    def operations(self) -> list[Operation]: ...
    def log(self, after: int = 0) -> list[JournalRow]: ...
    def get(
        self,
        name: str,
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        stride: int = 1,
        width: int | None = None,
        step: int | None = None,
        date: words.Day | tuple[words.Day, words.Day] | slice | None = None,
        scenario: str | None = None,
        **more: Any,
    ) -> xarray.DataArray: ...
    def image(
        self,
        name: str,
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        width: int | None = None,
        low: float | None = None,
        high: float | None = None,
        style: str | None = None,
        scenario: str | None = None,
    ) -> Picture: ...
    def series(
        self,
        name: str,
        at: words.Corners = (),
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        date: words.Day | tuple[words.Day, words.Day] | slice | None = None,
        points: int | None = None,
        scenario: str | None = None,
    ) -> xarray.DataArray: ...
    def dataset(self) -> xarray.Dataset: ...
    def scenario(self, name: str) -> Self: ...
    def close(self) -> None: ...
    def step(
        self,
        steps: int | None = None,
        *,
        until: words.Day | None = None,
        end: bool = False,
        speed: float | None = None,
        wait: bool = True,
        progress: bool | None = None,
    ) -> Operation: ...
    def play(self, speed: float | None = None) -> Operation: ...
    def pause(self, *, wait: bool = True) -> Operation: ...
    def set(
        self,
        name: str,
        value: ArrayLike,
        *,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        units: str | None = None,
        level: int | str | None = None,
        operation: str = "set",
        when: words.Moment = "after",
        wait: bool | None = None,
    ) -> Operation: ...
    def add_event(
        self,
        name: str,
        value: ArrayLike,
        *,
        at: words.Moment | None = None,
        yearly: str | None = None,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        units: str | None = None,
        level: int | str | None = None,
        operation: str = "set",
        wait: bool = True,
    ) -> Operation: ...
    def remove_event(self, number: int, *, wait: bool = True) -> Operation: ...
    def add_trigger(
        self, expression: str, action: str = "message", *, text: str = "", variable: str | None = None, wait: bool = True
    ) -> Operation: ...
    def remove_trigger(self, number: int, *, wait: bool = True) -> Operation: ...
    def checkpoint(self, *, pin: bool = False, wait: bool = True) -> Operation: ...
    def branch(self, name: str, *, at: words.Moment | None = None, set: Mapping[str, object] | None = None, wait: bool = True) -> Self: ...
    def rewind(self, to: words.Moment, *, wait: bool = True) -> Operation: ...
    def restart(self, *, wait: bool = True) -> Operation: ...
    def terminate(self) -> None: ...
