"""The times of checkpoints, by `checkpoint` of the run file: "auto", "none", or an interval."""

import time
from datetime import timedelta

from steppe.clock import DAY, length, length_text
from steppe.errors import RunFileError

BETWEEN = 10.0  # [s] between checkpoints of "auto", and at least 50 times the time of the last one
BACK = 1.0  # [s] of steps from the newest checkpoint to the last piece of a run; above which another one is made before that piece


class Cadence:
    """The times of the checkpoints of one session.

    Parameters
    ----------
    setting
        Of the run file.
    step
        Length of a step.

    Raises
    ------
    RunFileError
        The interval is no whole number of steps.
    """

    def __init__(self, setting: str, step: timedelta = DAY) -> None:
        self._auto, self._never = setting == "auto", setting == "none"
        self.steps, rest = (0, None) if self._auto or self._never else divmod(length(setting), step)
        if rest:
            raise RunFileError(f'checkpoint = "{setting}" is no whole number of steps of {length_text(step)}.')
        self.made()

    def made(self) -> None:
        """A checkpoint is made now."""
        self._last = time.monotonic()

    def border(self, step: int, end: int) -> int:
        """The next step after `step` at which a checkpoint may be due, at most `end`."""
        return min(end, (step // self.steps + 1) * self.steps) if self.steps else end

    def due(self, step: int, seconds: float) -> bool:
        """True if a checkpoint is due after so many steps. seconds: of the last one."""
        if self.steps:
            return step % self.steps == 0
        return self._auto and time.monotonic() - self._last > max(BETWEEN, 50 * seconds)

    def far(self, seconds: float) -> bool:
        """True if the steps since the newest checkpoint would take too long to compute again. seconds: of these steps."""
        return seconds > BACK and not self._never
