"""The whole measurement of messages: places of ranks, all series, warnings, fits; a `Document` on rank 0."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from steppe.comm.launch import find_library
from steppe.comm.raw import Raw, progress_settings
from steppe.errors import Mistake
from steppe.measure.laws.operation import OperationFit, fit
from steppe.measure.laws.points import FLOOR, SamplePoints
from steppe.measure.laws.weakness import WeakPoint, find_weaknesses
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.offsets import record_clocks
from steppe.measure.messages.plan import ACKNOWLEDGED, FIRST, LATER, Task, is_fitted, largest_of, plan
from steppe.measure.messages.price import beside as beside_series
from steppe.measure.messages.price import check_beside, settings_of
from steppe.measure.messages.recipes import Job, Recipe, fit_recipe, jobs, largest
from steppe.measure.messages.rivals import find_slower
from steppe.measure.records.document import Document, made_now, read_document, record_fit
from steppe.measure.records.measured import Measured, Start, TimingClock, grouped
from steppe.measure.timing.machine import describe_library, describe_machine
from steppe.measure.timing.rank_places import OTHER_SITE, RankPlace, crowded, pairs, places_of
from steppe.measure.timing.rounds import ROUNDS, Tell, measure_rounds

PRECISION = 0.02
BETWEEN = 10.0  # [s] from one comparison of clocks to the next
BUDGET, QUICK_BUDGET = 0.6, 0.2  # [s] of a series


@dataclass(frozen=True)
class MessageOptions:
    """Options of a measurement of messages.

    quick: few sizes; oversubscribe: allows more ranks than cores; beside: a document of another thread level or of asynchronous progress,
    which rank 0 reads to report the costs; start: of collective operations; passes: over all series, `ROUNDS` when None.
    """

    quick: bool = False
    oversubscribe: bool = False
    beside: Path | None = None
    start: Start = "barrier"
    recipe: Recipe | None = None
    passes: int | None = None


def measure_messages(raw: Raw, options: MessageOptions, tell: Tell, stop: Callable[[], bool]) -> tuple[Document, list[OperationFit]]:
    """Measures the series of `plan`, or those of a recipe; every rank calls it.

    tell: shows the progress; stop: called between series, rank 0 decides.

    Raises
    ------
    Mistake
        There is one rank, or a host has fewer cores than ranks without `oversubscribe`, or `beside` cannot be compared. On every rank.
    """
    if raw.size < 2:
        raise Mistake("Messages need at least 2 ranks; start with mpiexec -n 2 steppe measure messages.")
    quick, recipe, start = options.quick, options.recipe, options.start
    places = places_of(raw)
    machine = _machine(raw, places)
    path, mpi = options.beside, machine["mpi"]
    other = raw.on_first(lambda: _beside(path, mpi)) if path is not None else None
    warnings = crowded(places, options.oversubscribe, find_library().name)
    if recipe is None and pairs(places)[0][0] == OTHER_SITE:
        warnings.append("One-sided operations are not served between sites: they are not measured, since ranks 0 and 1 are at two.")
    most = largest_of(plan(raw.size, quick, huge=False)) if recipe is None else largest(recipe, raw.size)
    session = Messages(raw, PRECISION, (QUICK_BUDGET if quick else BUDGET) / ROUNDS, most, start)
    todo: list[Job] = (
        [partial(_measured, session, task) for task in plan(raw.size, quick, session.has_huge, pairs(places))]
        if recipe is None
        else jobs(recipe, session, raw.size, pairs(places)[0][0])
    )
    compared = raw.now()

    def is_over() -> bool:
        nonlocal compared
        if raw.told(float(stop())):
            return True
        if raw.told(float(start == "window" or raw.now() > compared + BETWEEN)):
            session.clocks.burst()
            compared = raw.now()
        return False

    series, complete = measure_rounds(todo, PRECISION, tell, is_over, (options.passes or ROUNDS) if recipe is None else 1)
    session.clocks.burst()
    warnings += session.warnings()
    session.close()
    fits = fit_series(series) if recipe is None else fit_recipe(recipe, series)
    document = Document(
        made=made_now(),
        complete=complete,
        recipe=recipe or "",
        machine=machine,
        clock=_clock(session),
        warnings=warnings,
        series=series + (beside_series(series, mpi, other) if other else []),
        fits=[record_fit(one) for one in fits],
        weaknesses=weaknesses_of(fits, series),
    )
    return document, fits


def _beside(path: Path, mpi: dict[str, str]) -> Document:
    found = read_document(path)
    check_beside(found, settings_of(mpi), mpi["version"])
    return found


def _measured(session: Messages, task: Task) -> list[Measured]:
    found = session.measure(task)
    return [] if found is None else [found]


def _clock(session: Messages) -> TimingClock:
    ticks, (offsets, drift) = session.ticks, record_clocks(session.clocks.lines())
    own = TimingClock(resolution=ticks.resolution, cost=ticks.cost, gaps_per_second=ticks.gaps, away=session.away(), loop=session.overhead)
    return {**own, "pace": session.pace.apart(), "offsets": offsets, "drift": drift}


def fit_series(series: Sequence[Measured]) -> list[OperationFit]:
    """The fits of all operations with two sizes or three numbers of ranks."""
    groups = grouped((one for one in series if is_fitted(one.variant)), lambda one: (one.operation, one.variant, one.placement))
    several = len({placement for _, _, placement in groups if placement}) > 1
    found = []
    for (operation, variant, placement), group in groups.items():
        ordered = sorted(group, key=lambda one: (one.p, one.bytes))
        rows = [(one.bytes, one.p, one.statistics.median, one.statistics.half_width / 1.96, one.statistics.n) for one in ordered]
        n, p, t, error, repeats = np.array(rows, float).T
        points = SamplePoints(n, p, t, np.maximum(error, FLOOR * t), repeats, known=True)
        if points.sizes.size > 1 or points.ranks.size > 2:
            name = {"operation": operation, "variant": variant, "placement": placement if several else ""}
            name = {column: text for column, text in name.items() if text}
            found.append(fit(points, name, "ack" if variant == ACKNOWLEDGED or variant.startswith((FIRST, LATER)) else "oneway"))
    return found


def weaknesses_of(fits: Sequence[OperationFit], series: Sequence[Measured]) -> list[WeakPoint]:
    """The weaknesses that laws in p and single sizes show, the greatest ratio first."""
    found = find_slower(series)
    for kind in dict.fromkeys(one.environment for one in fits):  # blocking operations and others are compared size by size
        found += find_weaknesses([one for one in fits if one.environment == kind])
    return sorted(found, key=lambda one: one.ratio, reverse=True)


def _machine(raw: Raw, places: Sequence[RankPlace]) -> dict[str, Any]:
    mpi = {**describe_library(raw), "asynchronous_progress": " ".join(progress_settings()) or "not asked for"}
    return {**describe_machine(), "mpi": mpi, "ranks": [place.binding for place in places], "places": [asdict(place) for place in places]}
