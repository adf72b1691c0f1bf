"""The face of the client for programs that wait: every public method of `AsyncRun` and `AsyncOperation`, run to its end.

The types are in `sync.pyi`, which `scripts/waiting.py` makes of those two classes.
"""

import inspect
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

from steppe.client.http_client import now
from steppe.client.live_stream import LiveStream, in_turn, watch
from steppe.client.operation import AsyncOperation
from steppe.client.run import AsyncRun
from steppe.client.widget import widget_of
from steppe.errors import SteppeError

if TYPE_CHECKING:
    import xarray


class _Face:
    """Runs what another class does, to its end. of: that class; without: the names of what has no use here."""

    def __init__(self, behind: Any) -> None:
        self._behind = behind

    def __init_subclass__(cls, of: type, without: tuple[str, ...] = ()) -> None:
        for name in dir(of):
            if not name.startswith("_") and name not in (*vars(cls), *without):
                setattr(cls, name, _waiting(inspect.getattr_static(of, name)))
        cls.__doc__ = cls.__doc__ or of.__doc__

    def _seen(self, value: Any) -> Any:
        """A value that was given, as it is seen here."""
        if value is self._behind:
            return self
        if isinstance(value, list):
            return [self._seen(each) for each in value]
        kind = FACES.get(type(value))
        return kind(value) if kind else value


def _waiting(member: Any) -> Any:
    if isinstance(member, property):
        return property(_waiting(member.fget), doc=member.__doc__)

    @wraps(member)
    def call(self: _Face, *arguments: Any, **named: Any) -> Any:
        value = member(self._behind, *arguments, **named)
        return self._seen(now(value) if inspect.iscoroutine(value) else value)

    return call


def _fresh(name: str) -> Any:
    def look(self: _Face) -> Any:
        return getattr(now(self._behind.refresh()), name)

    return property(look, doc=getattr(AsyncOperation, name).__doc__)


class Operation(_Face, of=AsyncOperation, without=("part", "refresh")):
    """An order that is in the journal: it will be carried out once, whatever dies. Its properties are as they are now."""

    @property
    def scenario(self) -> str:
        """Of which scenario."""
        return str(self._behind.scenario)

    state, is_over, result, problem = map(_fresh, ("state", "is_over", "result", "problem"))

    def __repr__(self) -> str:
        return repr(self._behind).replace("AsyncOperation", "Operation")

    def _repr_html_(self) -> str:
        return self._behind._repr_html_()


class Run(_Face, of=AsyncRun):
    """A run on a server, seen from one of its scenarios. Every order happens once, whatever dies between it and its answer.

    Orders wait until they are carried out, with a bar in terminals and notebooks; `wait=False` gives the operation at once. They are made
    on what this client saw last of the scenario: when another client has steered in the meantime, StaleError says so, and `info()` looks.
    """

    def __getitem__(self, name: str) -> "xarray.DataArray":
        return self.get(name)

    @wraps(AsyncRun.watch)
    def watch(self, name: str, *, level: int | str | None = None, **wish: Any) -> Any:
        """Maps as the run makes them."""
        whole = dict.fromkeys(("box", "stride", "width", "rate", "scenario")) | wish
        inspect.signature(AsyncRun.watch).bind(self, name, **wish)  # raises TypeError
        remote = self._behind._remote
        stream = now(self._behind._stream(now(remote.one_level(name, level)), whole))

        async def made() -> LiveStream:
            return stream

        return in_turn(watch(remote.line, self.name, made, remote.orders_over, asynchronous=False))

    def widget(self, variable: str = "") -> Any:
        """The run on a map in a notebook, as it goes: to look, play, go back and follow cells. It needs `pip install ".[notebook]"`.

        variable: what is shown at first; a diagnostic or a state of the model.

        Raises
        ------
        Mistake
            anywidget is not installed.
        UnknownError
            There is no variable of this name.
        """
        if variable and variable not in self.variables:
            now(self._behind._remote.variable(variable))
        return widget_of(self._behind._remote.line, self.name, self.scenario_name, variable)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.variables)

    def _look(self) -> AsyncRun:
        with suppress(SteppeError):  # what was seen last will do
            now(self._behind._remote.info(look=False, patience=0.0))
        return self._behind

    def __repr__(self) -> str:
        return repr(self._look()).replace("AsyncRun", "Run", 1)

    def _repr_html_(self) -> str:
        return self._look()._repr_html_()


FACES = {AsyncOperation: Operation, AsyncRun: Run}
