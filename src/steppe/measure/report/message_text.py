"""Measured messages as texts for a terminal."""

from collections.abc import Callable, Sequence

import msgspec

from steppe.measure.laws.operation import OperationFit
from steppe.measure.laws.points import MB, US
from steppe.measure.records.document import Document
from steppe.measure.records.measured import Measured, TimingClock, grouped
from steppe.measure.report.facts import first_lines, shown_weaknesses
from steppe.measure.report.law_text import laws_of, lines_of, weaknesses_text
from steppe.measure.report.sentences import comparisons
from steppe.measure.report.tables import ranks_text, series_columns, table
from steppe.measure.timing.rank_places import RankPlace, places_text

SHOWN = 6  # ranks whose clocks are shown


def measured_text(document: Document) -> str:
    """Machine, clock and warnings, then a table for each operation; an interval in () was not narrow enough in time."""
    machine, clock = document.machine, document.clock
    mpi = machine["mpi"]
    version = mpi["version"].split(":")[-1].strip()
    # older files lack the last ones
    progress = f", asynchronous progress {mpi['asynchronous_progress']}" if "asynchronous_progress" in mpi else ""
    pace = f"; it gains {clock['pace'] * 1e6:+.3g} us in a second of the host's own" if "pace" in clock else ""
    said = first_lines(document)
    said += f"{machine['cpu']}, {machine['cores']} cores; {mpi['name']} {version}, threads {mpi['thread_level']}{progress}\n"
    said += (
        f"clock: step {clock['resolution'] * 1e9:.0f} ns, a reading {clock['cost'] * 1e9:.0f} ns (taken off); the loop itself "
        f"{clock['loop'] * 1e9:.1f} ns; this machine was taken away from rank 0 for {clock['away']:.2%} of the time{pace}\n"
    )
    said += clocks_text(clock)
    said += places_text(msgspec.convert(machine.get("places", []), list[RankPlace]))
    for (operation, kind, p), series in grouped(document.series, lambda one: (one.operation, one.kind, one.p)).items():
        title = ", ".join(filter(None, (operation, kind, ranks_text(p))))
        said += f"\n{title}\n{table(series, series_columns('MB/s'), left=0)}"
        said += "".join(f"{one.bytes} bytes: {text}\n" for one in series for text in one.warnings)
    compared = comparisons(document.series)
    said += f"\n{recipe_text(document)}" if document.recipe else ""
    return said + ("\n" + "".join(f"{text}\n" for text in compared) if compared else "")


def messages_text(document: Document, fits: Sequence[OperationFit]) -> str:
    """The whole text of a measurement of messages: tables, lines, laws, weaknesses."""
    told = [one for one in fits if any(piece.t0 is not None or not piece.lines.has_rate for piece in one.pieces)]
    laws = "".join(f"\n{laws_of(one)}" for one in told)
    return f"{measured_text(document)}\n{lines_of(fits) if fits else ''}{laws}{weaknesses_text(shown_weaknesses(document))}"


def clocks_text(clock: TimingClock) -> str:
    """A line for each rank's clock, at most for the `SHOWN` with the largest offsets."""
    offsets, speed = clock.get("offsets", []), {one.rank: one for one in clock.get("drift", [])}
    shown = sorted(offsets, key=lambda one: -abs(one.offset))[:SHOWN]
    said = ""
    for one in sorted(shown, key=lambda one: one.rank):
        said += f"clock of rank {one.rank} beside rank 0's: {one.offset * 1e6:+.2f} us +- {one.bound * 1e6:.2g}"
        if (moves := speed.get(one.rank)) is not None:
            said += f"; it gains {moves.drift * 1e6:+.3g} us a second +- {moves.bound * 1e6:.2g}"
        said += "\n"
    left = len(offsets) - len(shown)
    return said + (f"clocks of {left} more ranks are nearer to rank 0's\n" if left else "")


def recipe_text(document: Document) -> str:
    """The table of a recipe; empty for other documents."""
    if document.recipe == "minho":
        return "Recipe minho (Santos et al. 1997): the time is the least of 5 runs, column min.\n"
    return _advise(document.series) if document.recipe == "advise" else ""


def _advise(series: Sequence[Measured]) -> str:
    """Bytes; the first message and the mean of the later ones; packing; the rate; how many times as long the first takes."""
    mean = {(one.variant.removeprefix("advise, "), one.bytes): _time(one) for one in series}

    def us(name: str) -> Callable[[int], str]:
        return lambda n: f"{mean[name, n] / US:.4g}" if (name, n) in mean else "-"

    def first_to_later(n: int) -> str:
        first, later = mean.get(("fresh, first", n)), mean.get(("fresh, later", n))
        return "-" if first is None or not later else f"{first / later:.3g}"

    columns: dict[str, Callable[[int], str]] = {
        "bytes": str,
        "first us": us("fresh, first"),
        "average us": us("fresh, later"),
        "first / later": first_to_later,
        "touched: first us": us("touched, first"),
        "average us ": us("touched, later"),
        "MB/s": lambda n: f"{n / later / MB:.4g}" if n and (later := mean.get(("touched, later", n))) else "-",
        "pack us": us("bytes"),
        "converted us": us("numbers, external32"),
    }
    sizes = sorted({size for _, size in mean})
    return "Recipe advise (ADVISE 1995): n bytes there, none back; mean of 1,000, before them the first\n" + table(sizes, columns, left=0)


def _time(one: Measured) -> float:
    """The mean; for first messages, which are few, and for documents without samples the median."""
    return float(one.times().mean()) if one.samples and not one.variant.endswith("first") else one.statistics.median
