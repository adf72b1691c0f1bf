"""Diffusion that takes its time, so that there is something to die in."""

import time
from typing import Any

from examples.diffusion import Diffusion


class Slow(Diffusion):
    """A twentieth of a second a step."""

    def advance(self, steps: range, *others: Any) -> None:
        """As diffusion does it, with a pause before each step."""
        for step in steps:
            time.sleep(0.05)
            super().advance(range(step, step + 1), *others)


MODEL = Slow
