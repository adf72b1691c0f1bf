"""Series of files and kernels as a terminal shows them: rates."""

from collections.abc import Sequence

from steppe.measure.document import Document, Measured, Roof
from steppe.measure.text import MB, columns, times_of


def head_text(document: Document) -> str:
    """Warnings, the machine and its clock."""
    machine, clock = document.machine, document.clock
    said = "".join(f"WARNING: {text}\n" for text in document.warnings)
    said += "" if document.complete else "Stopped before the end: what was measured until then.\n"
    said += f"{machine['cpu']}, {len(machine['allowed'])} of {machine['cores']} cores, {machine['memory'] / 2**30:.1f} GiB\n"
    place = machine.get("filesystem")
    if place:
        said += f"{place['directory']} on {place.get('device', '?')} ({place.get('kind', 'unknown')}); cold for this kernel\n"
    return said + (
        f"clock: step {clock['resolution'] * 1e9:.0f} ns, a reading {clock['cost'] * 1e9:.0f} ns (taken off); this machine was taken away "
        f"for {clock['away']:.2%} of the time\n"
    )


def rates_text(document: Document) -> str:
    """A table for each operation; an interval in () was not narrow enough in time."""
    said = head_text(document)
    groups: dict[tuple[str, str], list[Measured]] = {}
    for one in document.series:
        groups.setdefault((one.group, one.operation), []).append(one)
    for (group, operation), series in groups.items():
        said += f"\n{group}: {operation}\n{_table(series)}"
        notes = dict.fromkeys(f"{one.variant}: {text}" for one in series for text in one.warnings if text.startswith("Suspect"))
        said += "".join(f"{text}\n" for text in notes)
    return said + "".join(f"\n{roof_text(roof)}" for roof in document.roofs)


def roof_text(roof: Roof) -> str:
    """A model beside the nearer roof and the other."""
    shares = {"memory": roof.rate / roof.memory, "arithmetic": roof.rate / roof.arithmetic}
    nearer = max(shares, key=lambda name: shares[name])
    return (
        f"{roof.rate / 1e6:.4g} M cells/s: {shares['memory']:.1%} of the {roof.memory / 1e6:.4g} that memory allows "
        f"({roof.bytes:g} bytes a cell), {shares['arithmetic']:.1%} of the {roof.arithmetic / 1e6:.4g} that arithmetic allows "
        f"({roof.flops:g} operations). The nearer roof is {nearer}.\n"
    )


def rate_of(one: Measured) -> tuple[float, str]:
    """How much a second and of what: the counted work where it is an amount of its own, else bytes."""
    if one.work and one.group != "codecs":
        return one.work / one.statistics.median / 1e9, f"G{one.unit}/s"
    return one.bytes / one.statistics.median / MB, "MB/s"


def _table(series: Sequence[Measured]) -> str:
    coded = series[0].group == "codecs"
    unit = rate_of(series[0])[1]
    rows = [["", "bytes", "min us", "median us", "+-", "p99 us", unit, "blocks", "far off", *(["size"] if coded else [])]]
    for one in series:
        found = one.statistics
        rows.append(
            [
                one.variant,
                str(one.bytes),
                *times_of(one),
                f"{rate_of(one)[0]:.4g}",
                str(found.n),
                str(one.outliers),
                *([f"{one.work / one.bytes:.1%}"] if coded else []),
            ]
        )
    return columns(rows)
