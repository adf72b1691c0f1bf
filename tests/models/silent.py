"""A recorder that wants nothing."""

from typing import Any


class Silent:
    """Records nothing."""

    most_steps = 1000

    def records(self, steps: range) -> list[Any]:
        return []

    def finish(self, steps: range) -> None:
        pass
