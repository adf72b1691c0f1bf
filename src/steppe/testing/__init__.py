"""Worlds of ranks for tests: ranks as threads of one process, a world that records its messages, and one that replays them.

`steppe` itself never imports this package; a model's own tests may.
"""

from steppe.testing.record import RecordingWorld, ReplayWorld
from steppe.testing.threads import Threads, run_threads

__all__ = ["RecordingWorld", "ReplayWorld", "Threads", "run_threads"]
