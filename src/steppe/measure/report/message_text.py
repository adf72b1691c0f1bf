"""Measured messages as texts for a terminal."""

from collections.abc import Mapping, Sequence

import msgspec

from steppe.measure.laws.operation import OperationFit
from steppe.measure.laws.points import MB, US
from steppe.measure.records.clock_record import ClockDrift, ClockOffset, TimingClock
from steppe.measure.records.document import Document
from steppe.measure.records.measured import Measured, grouped
from steppe.measure.report.facts import first_lines, shown_weaknesses
from steppe.measure.report.law_text import laws_of, lines_of, weaknesses_text
from steppe.measure.report.sentences import comparisons
from steppe.measure.report.tables import aligned, series_columns, table
from steppe.measure.timing.rank_places import RankPlace, places_text

MEMORIES, TIMES = ("fresh", "touched"), ("first", "later")
SHOWN = 6  # ranks whose clocks are shown


def measured_text(document: Document) -> str:
    """Machine, clock and warnings, then a table for each operation; an interval in () was not narrow enough in time."""
    machine, clock = document.machine, document.clock
    mpi = machine["mpi"]
    said = first_lines(document)
    version = mpi["version"].split(":")[-1].strip()
    said += f"{machine['cpu']}, {machine['cores']} cores; {mpi['name']} {version}, threads {mpi['thread_level']}{_progress(mpi)}\n"
    said += (
        f"clock: step {clock['resolution'] * 1e9:.0f} ns, a reading {clock['cost'] * 1e9:.0f} ns (taken off); the loop itself "
        f"{clock['loop'] * 1e9:.1f} ns; this machine was taken away from rank 0 for {clock['away']:.2%} of the time{_pace(clock)}\n"
    )
    said += clocks_text(clock.get("offsets", []), clock.get("drift", []))
    said += places_text(msgspec.convert(machine.get("places", []), list[RankPlace]))
    for (operation, kind, p), series in grouped(document.series, lambda one: (one.operation, one.kind, one.p)).items():
        said += f"\n{operation}{f', {kind}' if kind else ''}, {p} rank{'s' if p > 1 else ''}\n" + table(
            series, series_columns("MB/s"), left=0
        )
        said += "".join(f"{one.bytes} bytes: {text}\n" for one in series for text in one.warnings)
    compared = comparisons(document.series)
    said += f"\n{recipe_text(document)}" if document.recipe else ""
    return said + ("\n" + "".join(f"{text}\n" for text in compared) if compared else "")


def messages_text(document: Document, fits: Sequence[OperationFit]) -> str:
    """The whole text of a measurement of messages: tables, lines, laws, weaknesses."""
    told = [one for one in fits if any(piece.t0 is not None or not piece.lines.has_rate for piece in one.pieces)]
    laws = "".join(f"\n{laws_of(one)}" for one in told)
    return f"{measured_text(document)}\n{lines_of(fits) if fits else ''}{laws}{weaknesses_text(shown_weaknesses(document))}"


def clocks_text(offsets: Sequence[ClockOffset], drifts: Sequence[ClockDrift]) -> str:
    """A line for each rank's clock, at most for the `SHOWN` with the largest offsets."""
    speed = {one.rank: one for one in drifts}
    shown = sorted(offsets, key=lambda one: -abs(one.offset))[:SHOWN]
    said = ""
    for one in sorted(shown, key=lambda one: one.rank):
        said += f"clock of rank {one.rank} beside rank 0's: {one.offset * 1e6:+.2f} us +- {one.bound * 1e6:.2g}"
        if (moves := speed.get(one.rank)) is not None:
            said += f"; it gains {moves.drift * 1e6:+.3g} us a second +- {moves.bound * 1e6:.2g}"
        said += "\n"
    left = len(offsets) - len(shown)
    return said + (f"clocks of {left} more ranks are nearer to rank 0's\n" if left else "")


def _pace(clock: TimingClock) -> str:
    """Empty for older files."""
    return f"; it gains {clock['pace'] * 1e6:+.3g} us in a second of the host's own" if "pace" in clock else ""


def _progress(mpi: Mapping[str, str]) -> str:
    """Empty for older files."""
    return f", asynchronous progress {mpi['asynchronous_progress']}" if "asynchronous_progress" in mpi else ""


def recipe_text(document: Document) -> str:
    """The table of a recipe; empty for other documents."""
    if document.recipe == "minho":
        return "Recipe minho (Santos et al. 1997): the time is the least of 5 runs, column min.\n"
    return _advise(document.series) if document.recipe == "advise" else ""


def _advise(series: Sequence[Measured]) -> str:
    """Bytes; the first message and the mean of the later ones; packing; the rate; how many times as long the first takes."""
    mean = {(one.variant.removeprefix("advise, "), one.bytes): _time(one) for one in series}
    rows = [
        ["bytes", "first us", "average us", "first / later", "touched: first us", "average us", "MB/s", "pack us", "converted us"],
    ]
    for n in sorted({size for _, size in mean}):
        times = {(memory, when): mean.get((f"{memory}, {when}", n)) for memory in MEMORIES for when in TIMES}
        fresh, touched = (tuple(times[memory, when] for when in TIMES) for memory in MEMORIES)
        ratio = fresh[0] / fresh[1] if fresh[0] is not None and fresh[1] else None
        packed = [mean.get((name, n)) for name in ("bytes", "numbers, external32")]
        rows.append(
            [
                str(n),
                *map(_us, fresh),
                "-" if ratio is None else f"{ratio:.3g}",
                *map(_us, touched),
                f"{n / touched[1] / MB:.4g}" if n and touched[1] else "-",
                *map(_us, packed),
            ]
        )
    return "Recipe advise (ADVISE 1995): n bytes there, none back; mean of 1,000, before them the first\n" + aligned(rows, left=0)


def _time(one: Measured) -> float:
    """The mean; for first messages, which are few, and for documents without samples the median."""
    return float(one.times().mean()) if one.samples and not one.variant.endswith("first") else one.statistics.median


def _us(time: float | None) -> str:
    return "-" if time is None else f"{time / US:.4g}"
