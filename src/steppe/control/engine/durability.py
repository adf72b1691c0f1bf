"""When an engine makes the state of its branches durable: now and then while it steps, once it rests, and at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steppe.control.engine.session_protocol import SessionProtocol
from steppe.control.wire import Buffer, CheckpointReport, Message, News
from steppe.errors import NoSpaceError, SteppeError
from steppe.failpoint import reach

INTERVAL = 10.0  # [s] between durable states of a run that steps, at least
SHARE = 50  # times as long as the last saving took, at least
REST = 0.5  # [s] of rest after which changes become durable
RETRY = 10.0  # [s] after an error of the disk


class Durability:
    """The saving of an engine's branches.

    Parameters
    ----------
    session
        The branches.
    send
        Sends a message, if a server is connected.
    clock
        Monotonic seconds.
    no_room
        Called with a branch that could not be saved because the disk is full.
    """

    def __init__(
        self,
        session: SessionProtocol,
        send: Callable[[Message, Buffer], None],
        clock: Callable[[], float],
        no_room: Callable[[int, NoSpaceError], None],
    ) -> None:
        self._session, self._send, self._clock, self._no_room = session, send, clock, no_room
        self._resting_since: float | None = None
        self._saved_at, self._saving_took = clock(), 0.0

    @property
    def due(self) -> bool:
        """True if a run that steps must be saved now."""
        return self._clock() - self._saved_at > max(INTERVAL, SHARE * self._saving_took)

    def begins(self, rest: bool) -> bool:
        """Notes whether the engine rests; True when it begins to."""
        begins = rest and self._resting_since is None
        if begins or not rest:
            self._resting_since = self._clock() if rest else None
        return begins

    def save_at_rest(self, branches: Iterable[int]) -> bool:
        """Saves one branch with changes, if the engine has rested for `REST` seconds; returns whether there was one."""
        if self._resting_since is None or self._clock() - self._resting_since < REST:
            return False
        changed = next((branch for branch in branches if self._session.dirty(branch)), None)
        if changed is not None:
            self._save(changed)
        return changed is not None

    def save(self, branches: Iterable[int]) -> None:
        """Saves all branches with changes."""
        begin = self._clock()
        for branch in branches:
            if self._session.dirty(branch):
                self._save(branch)
        self._saved_at = self._clock()
        self._saving_took = self._saved_at - begin

    def _save(self, branch: int) -> None:
        try:
            self._send(CheckpointReport(branch, self._session.save(branch)), b"")
            assert reach("checkpoint.told")
        except NoSpaceError as error:
            self._no_room(branch, error)
        except SteppeError as error:
            self._send(News(branch, "warning", str(error)), b"")
            self._resting_since = self._clock() + RETRY
