"""Measured series as a terminal shows them."""

import math
from collections.abc import Sequence
from typing import Any

from steppe.measure.laws.operation import OperationFit
from steppe.measure.laws.points import MB
from steppe.measure.messages.offsets import clocks_text
from steppe.measure.messages.plan import BEHIND, EXCHANGE, HUGE, UNDER_WAY, WINDOW
from steppe.measure.messages.price import price_words
from steppe.measure.records.clock_record import TimingClock
from steppe.measure.records.document import Document
from steppe.measure.records.measured import Measured
from steppe.measure.report.facts import warnings_of
from steppe.measure.report.law_text import columns, laws_of, lines_of, times_of, weaknesses_text
from steppe.measure.report.recipe_tables import recipe_text
from steppe.measure.report.sentences import first_words, object_words, overlap_words, owner_words
from steppe.measure.timing.rank_places import RankPlace, places_text

SAME = 0.05  # a ratio that much nearer to 1 is not told


def measured_text(document: Document) -> str:
    """Machine, clock and warnings, then a table for each operation; an interval in () was not narrow enough in time."""
    machine, clock = document.machine, document.clock
    mpi = machine["mpi"]
    said = "".join(f"WARNING: {text}\n" for text in warnings_of(document))
    said += "" if document.complete else "Stopped before the end: what was measured until then.\n"
    version = mpi["version"].split(":")[-1].strip()
    said += f"{machine['cpu']}, {machine['cores']} cores; {mpi['name']} {version}, threads {mpi['thread_level']}{_progress(mpi)}\n"
    said += (
        f"clock: step {clock['resolution'] * 1e9:.0f} ns, a reading {clock['cost'] * 1e9:.0f} ns (taken off); the loop itself "
        f"{clock['loop'] * 1e9:.1f} ns; this machine was taken away from rank 0 for {clock['away']:.2%} of the time{_pace(clock)}\n"
    )
    said += clocks_text(clock.get("offsets", []), clock.get("drift", []))
    said += places_text([RankPlace(**{**one, "cores": tuple(one["cores"])}) for one in machine.get("places", [])])
    groups: dict[tuple[str, str, int], list[Measured]] = {}
    for one in document.series:
        groups.setdefault((one.operation, one.kind, one.p), []).append(one)
    for (operation, kind, p), series in groups.items():
        said += f"\n{operation}{f', {kind}' if kind else ''}, {p} rank{'s' if p > 1 else ''}\n" + _table(series)
        said += "".join(f"{one.bytes} bytes: {text}\n" for one in series for text in one.warnings)
    compared = comparisons(document.series)
    said += f"\n{recipe_text(document)}" if document.recipe else ""
    return said + ("\n" + "".join(f"{text}\n" for text in compared) if compared else "")


def messages_text(document: Document, fits: Sequence[OperationFit]) -> str:
    """All that a measurement of messages says: tables, lines, laws, weaknesses."""
    laws = "".join(f"\n{laws_of(one)}" for one in fits if one.pieces[0].t0 is not None)
    return f"{measured_text(document)}\n{lines_of(fits) if fits else ''}{laws}{weaknesses_text(document.weaknesses)}"


def _pace(clock: TimingClock) -> str:
    """Older files do not have it."""
    return f"; it gains {clock['pace'] * 1e6:+.3g} us in a second of the host's own" if "pace" in clock else ""


def _progress(mpi: dict[str, Any]) -> str:
    """Older files do not have it."""
    return f", asynchronous progress {mpi['asynchronous_progress']}" if "asynchronous_progress" in mpi else ""


def comparisons(series: Sequence[Measured]) -> list[str]:
    """What variants say together, with 95 % intervals: what huge pages gain, and how much of an exchange goes on behind work."""
    found = {(one.variant, one.bytes, one.placement): one.statistics for one in series if one.group == "point-to-point"}
    said = []
    for (variant, n, placement), less in found.items():
        more = found.get(({HUGE: UNDER_WAY, BEHIND: EXCHANGE}.get(variant, ""), n, placement))
        if more is None:
            continue
        ratio = less.median / more.median
        width = ratio * math.hypot(less.half_width / less.median, more.half_width / more.median)
        if variant == HUGE and abs(1.0 - ratio) > width + SAME:
            said.append(f"Huge pages: {n} bytes, {WINDOW} under way, take {ratio:.2f} +- {width:.2f} of the time on small ones.")
        elif variant == BEHIND:
            said.append(f"Overlap: work as long as an exchange of {n} bytes hides {1.0 - ratio:.0%} +- {width:.0%} of it.")
    return said + first_words(series) + overlap_words(series) + owner_words(series) + object_words(series) + price_words(series)


def _table(series: Sequence[Measured]) -> str:
    rows = [["bytes", "min us", "median us", "+-", "p99 us", "MB/s", "blocks", "far off"]]
    for one in series:
        found = one.statistics
        rows.append(
            [
                str(one.bytes),
                *times_of(one),
                f"{one.bytes / found.median / MB:.4g}" if one.bytes and found.median > 0.0 else "-",
                str(found.n),
                str(one.outliers),
            ]
        )
    return columns(rows, left=0)
