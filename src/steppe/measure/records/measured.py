"""Series of times with their figures, and clocks, as they are measured and as a file keeps them."""

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal, TypedDict, TypeVar

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from steppe.array_types import Floats
from steppe.measure.records.sample import Mode, Statistics, count_outliers, figures, modes, of_passes, student

Start = Literal["barrier", "window"]
Key = TypeVar("Key")


class SeriesName(Struct, frozen=True, forbid_unknown_fields=True):
    """The subject of a series: an operation of `bytes` on `p` ranks. Two measurements are compared series by series, by this name."""

    group: str
    operation: str
    variant: str = ""
    placement: Annotated[str, Meta(description="how far the two ranks of a message are apart; empty for a collective operation")] = ""
    start: Annotated[Start, Meta(description="how ranks begin a collective operation: after a barrier, or at a time of the clock")] = (
        "barrier"
    )
    p: int = 1
    bytes: int = 0

    @property
    def kind(self) -> str:
        """Variant, placement and start in words: they distinguish series of one operation."""
        return ", ".join(text for text in (self.variant, self.placement, "begun by the clock" if self.start == "window" else "") if text)


class Measured(SeriesName, kw_only=True, frozen=True):
    """One series of times. `samples`: base64 of little-endian float32 [s], one a block."""

    block: Annotated[int, Meta(description="operations in a block; a sample is the time of one of them")]
    samples: str
    passes: Annotated[list[int], Meta(description="blocks of each pass over all series, in their order; empty: there was one")] = []
    work: Annotated[float, Meta(description="amount of work of an operation beside its bytes, in `unit`; 0: none is counted")] = 0.0
    unit: str = ""
    statistics: Statistics
    converged: bool
    modes: list[Mode] = []
    outliers: int = 0
    warnings: list[str] = []

    def __post_init__(self) -> None:
        """Raises `ValueError` when `samples` cannot be decoded."""
        try:
            decode(self.samples)
        except ValueError as error:
            raise ValueError(f"samples must be base64 of float32: {error}") from None

    @property
    def name(self) -> SeriesName:
        """The name alone, by which the series of two measurements are matched."""
        return SeriesName(self.group, self.operation, self.variant, self.placement, self.start, self.p, self.bytes)

    def times(self) -> Floats:
        """The samples (blocks,) [s]."""
        return decode(self.samples)


def grouped(series: Iterable[Measured], key: Callable[[Measured], Key]) -> dict[Key, list[Measured]]:
    """The series by their keys, both in their first order."""
    found: dict[Key, list[Measured]] = {}
    for one in series:
        found.setdefault(key(one), []).append(one)
    return found


def encode(times: Floats) -> str:
    """Samples [s] as text of a file."""
    return base64.b64encode(np.asarray(times, "<f4").tobytes()).decode()


def decode(text: str) -> Floats:
    """Samples (blocks,) [s] as float64. Raises `ValueError` when the text holds no float32."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)


def series_of(
    name: SeriesName, times: Floats, block: int, converged: bool, passes: Sequence[int] = (), work: float = 0.0, unit: str = ""
) -> Measured:
    """The series of block times (blocks,) [s], with its figures; a second mode is reported as a warning.

    passes: blocks of each pass; the interval of the median is no narrower than their medians allow.
    """
    found, between, two = figures(times), of_passes(times, passes), modes(times)
    if between is not None:
        found = replace(found, half_width=max(found.median * student(between[1]) * between[0], found.half_width))
    return Measured(
        **asdict(name),
        block=block,
        samples=encode(times),
        passes=list(passes),
        work=work,
        unit=unit,
        statistics=found,
        converged=converged,
        modes=two,
        outliers=count_outliers(times),
        warnings=[
            f"In {mode.share:.0%} of the blocks the time is {mode.median * 1e6:.3g} us instead of {two[0].median * 1e6:.3g} us."
            for mode in two[1:]
        ],
    )


class ClockOffset(Struct, kw_only=True, forbid_unknown_fields=True):
    """How far the clock of a rank is before rank 0's [s], `at` [s] after the first burst; at most `bound` wrong if it is linear.

    `bursts`: when, offset and bound of the best reading of each [s].
    """

    rank: int
    at: float
    offset: float
    bound: float
    linear: bool
    bursts: list[tuple[float, float, float]]


class ClockDrift(Struct, kw_only=True, forbid_unknown_fields=True):
    """What the clock of a rank gains on rank 0's, in seconds a second; at most `bound` wrong if it is linear."""

    rank: int
    drift: float
    bound: float


class TimingClock(TypedDict, total=False):
    """The clock that timed, and the machine meanwhile. Older files lack some of these, newer ones have more.

    resolution, cost, loop [s]: the least step, a reading, the loop itself. away, others: shares of the time in which rank 0 was not running
    and in which others had the cores. pace [s/s]: gain on the host's own clock. offsets, drift: clocks of other ranks beside rank 0's.
    """

    resolution: float
    cost: float
    gaps_per_second: float
    away: float
    loop: float
    pace: float
    others: float
    offsets: list[ClockOffset]
    drift: list[ClockDrift]
