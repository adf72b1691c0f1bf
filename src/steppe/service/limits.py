"""How much work a request may make. A door adds limits of its own."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """The numbers; a service may be started with others."""

    unused: int = 256 * MIB  # [byte] of what was sent to a run and no order uses
    unused_seconds: float = 3600.0  # after which it is removed
    reply: int = 256 * MIB  # [byte]
    text_values: int = 100_000  # in JSON and CSV
    steps_at_once: int = 1_500  # of one request for a range of time, four years of days
    series_values: int = 10_000_000  # that one series is thinned from
    work_seconds: float = 2.0  # of a thread for one request
    runs: int = 20  # of a server
