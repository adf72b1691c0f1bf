"""Rates of files and processors as texts for a terminal."""

from collections.abc import Callable, Sequence

from steppe.measure.records.document import Document, Roof
from steppe.measure.records.measured import Measured, grouped
from steppe.measure.report.facts import first_lines
from steppe.measure.report.tables import aligned, ranks_text, rate_of, series_columns, table
from steppe.measure.timing.rounds import OF_RANKS

MS = 1e-3


def head_text(document: Document) -> str:
    """Warnings, the machine and its clock."""
    machine, clock = document.machine, document.clock
    said = first_lines(document)
    said += f"{machine['cpu']}, {len(machine['allowed'])} of {machine['cores']} cores, {machine['memory'] / 2**30:.1f} GiB\n"
    place = machine.get("filesystem")
    if place:
        cold = "could not be made cold" if _only_warm(document) else "cold for this kernel"
        said += f"{place['directory']} on {place.get('device', '?')} ({place.get('kind', 'unknown')}); {cold}\n"
    return said + (
        f"clock: step {clock['resolution'] * 1e9:.0f} ns, a reading {clock['cost'] * 1e9:.0f} ns (taken off); this machine was taken away "
        f"for {clock['away']:.2%} of the time\n"
    )


def _only_warm(document: Document) -> bool:
    """True if there are reads and none of them is cold; the warnings give the reason."""
    reads = [f"{one.operation}, {one.variant}" for one in document.series if "read" in one.operation]
    return bool(reads) and not any("cold" in name for name in reads)


def rates_text(document: Document) -> str:
    """A table for each operation; an interval in () was not narrow enough in time."""
    said = head_text(document)
    for (group, operation), series in grouped(document.series, lambda one: (one.group, one.operation)).items():
        said += f"\n{group}: {operation}\n{by_ranks(series) if group == OF_RANKS else _table(series, _only_warm(document))}"
        notes = dict.fromkeys(f"{_whose(one, text)}: {text}" for one in series for text in one.warnings)
        said += "".join(f"{text}\n" for text in notes)
    return said + "".join(f"\n{roof_text(roof)}" for roof in document.roofs)


def _whose(one: Measured, text: str) -> str:
    """The series of a warning. One that is suspect is so at all sizes; its warning appears once."""
    if text.startswith("Suspect"):
        return one.variant
    ranks = f", {ranks_text(one.p)}" if one.group == OF_RANKS else ""
    return f"{one.variant}{ranks}, {one.bytes} bytes" if one.group in (OF_RANKS, "files", "codecs") else one.variant


def roof_text(roof: Roof) -> str:
    """A model's rate beside the rates that memory and arithmetic allow."""
    shares = {"memory": roof.rate / roof.memory, "arithmetic": roof.rate / roof.arithmetic}
    nearer = max(shares, key=lambda name: shares[name])
    return (
        f"{roof.rate / 1e6:.4g} M cells/s: {shares['memory']:.1%} of the {roof.memory / 1e6:.4g} that memory allows "
        f"({roof.bytes:g} bytes a cell), {shares['arithmetic']:.1%} of the {roof.arithmetic / 1e6:.4g} that arithmetic allows "
        f"({roof.flops:g} operations). The nearer roof is {nearer}.\n"
    )


def by_ranks(series: Sequence[Measured]) -> str:
    """Milliseconds: a line for each number of ranks, a column for each method; () around an interval that was not narrow enough."""
    found = {(one.p, one.variant): one for one in series}
    methods = dict.fromkeys(one.variant for one in series)
    rows = [[f"{series[0].bytes} bytes, ms", *(text for method in methods for text in (method, "+- 95 %"))]]
    for p in sorted({one.p for one in series}):
        rows.append([ranks_text(p), *(text for method in methods for text in _milliseconds(found.get((p, method))))])
    return aligned(rows)


def _milliseconds(one: Measured | None) -> tuple[str, str]:
    if one is None:
        return "", ""
    width = f"{one.statistics.half_width / MS:.2g}" if one.statistics.n > 1 else "-"
    return f"{one.statistics.median / MS:.4g}", width if one.converged or one.statistics.n == 1 else f"({width})"


def _table(series: Sequence[Measured], only_warm: bool) -> str:
    columns: dict[str, Callable[[Measured], str]] = {
        "": lambda one: one.variant + " (could not be made cold)" * (only_warm and one.variant.endswith("warm")),
        **series_columns(rate_of(series[0])[1]),
    }
    if series[0].group == "codecs":
        columns["size"] = lambda one: f"{one.work / one.bytes:.1%}"
    return table(series, columns)
