"""Unloads branches that were left and discards answers about them, once no question and no viewer needs them."""

from __future__ import annotations

from steppe.control.server.channels import Channels
from steppe.control.server.dispatch import Dispatch
from steppe.control.server.engine_process import Scheduler, Timer
from steppe.control.server.live_series import AllSeries
from steppe.control.server.questions import Questions

STAYS = 5.0  # [s] for which a branch that was left stays loaded after its last question, at least


class BranchCloser:
    """The clean-up of left branches of one run.

    Parameters
    ----------
    scheduler
        Calls the rounds.
    dispatch
        The branches that were left, and those in the engine's memory.
    questions, channels, series
        Open questions, and viewers.
    """

    def __init__(self, scheduler: Scheduler, dispatch: Dispatch, questions: Questions, channels: Channels, series: AllSeries) -> None:
        self._scheduler, self._dispatch, self._questions, self._channels, self._series = scheduler, dispatch, questions, channels, series
        self._asked: set[int] = set()  # since the last round
        self._timer: Timer | None = None

    def asked(self, branch: int) -> None:
        """Notes a question about a branch; a branch that was left will be unloaded later."""
        if self._dispatch.is_left(branch):
            self._asked.add(branch)
            self.begin()

    def begin(self) -> None:
        """Schedules a round: a branch was left, or a left one is loaded."""
        if self._timer is None:
            self._timer = self._scheduler.later(STAYS, self._round)

    def close(self) -> None:
        """Cancels the rounds."""
        if self._timer is not None:
            self._timer.cancel()

    def _round(self) -> None:
        self._timer = None
        needed = self._questions.branches | self._channels.branches | self._series.branches | self._asked
        self._asked = set()
        left = {branch for branch in {*self._dispatch.courses, *self._questions.answered} if self._dispatch.is_left(branch)}
        for branch in left - needed:
            self._dispatch.unload(branch)
            self._questions.discard(branch)
        if left & needed:
            self.begin()
