"""Closes branches that were left and forgets answers about them, once no question and no viewer needs them."""

from __future__ import annotations

from steppe.control.channels import Channels
from steppe.control.dispatch import Dispatch
from steppe.control.followed import AllFollowed
from steppe.control.life import Clock, Timer
from steppe.control.questions import Questions

STAYS = 5.0  # [s] after its last look that a branch which was left stays open, at least


class Leaving:
    """Of one run.

    Parameters
    ----------
    clock
        Calls later.
    dispatch
        Which branches were left, and which of them the engine has open.
    questions, channels, followed
        Questions that wait, and viewers.
    """

    def __init__(self, clock: Clock, dispatch: Dispatch, questions: Questions, channels: Channels, followed: AllFollowed) -> None:
        self._clock, self._dispatch, self._questions, self._channels, self._followed = clock, dispatch, questions, channels, followed
        self._asked: set[int] = set()  # since the last round
        self._timer: Timer | None = None

    def asked(self, branch: int) -> None:
        """A branch is looked at; if it was left, it will be given up."""
        if self._dispatch.is_left(branch):
            self._asked.add(branch)
            self.begin()

    def begin(self) -> None:
        """Some branch was left, or one that was left is open."""
        if self._timer is None:
            self._timer = self._clock.later(STAYS, self._round)

    def close(self) -> None:
        """Ends it."""
        if self._timer is not None:
            self._timer.cancel()

    def _round(self) -> None:
        self._timer = None
        needed = self._questions.branches | self._channels.branches | self._followed.branches | self._asked
        self._asked = set()
        left = {branch for branch in {*self._dispatch.courses, *self._questions.answered} if self._dispatch.is_left(branch)}
        for branch in left - needed:
            self._dispatch.drop(branch)
            self._questions.forget(branch)
        if left & needed:
            self.begin()
