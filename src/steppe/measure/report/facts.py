"""The machine and the clock of a document as names and texts with units, and its warnings."""

from collections.abc import Mapping

from steppe.measure.laws.weakness import WeakPoint
from steppe.measure.records.document import Document

UNITS = {
    **dict.fromkeys(("cache", "memory", "array"), "bytes"),
    **dict.fromkeys(("resolution", "cost", "loop"), "s"),
    "gaps_per_second": "1/s",
    "pace": "s/s",
    **dict.fromkeys(("away", "others"), "of the time"),
}
STOPPED = "Stopped before the end: what was measured until then."
OTHERS = 0.05  # share of the time in which others had the cores; above it a report warns


def share_of_others(document: Document) -> float:
    """The share of the time in which others had the cores; older files do not have it."""
    return max(document.clock.get("others", 0.0), document.clock.get("away", 0.0))


def shown_weaknesses(document: Document) -> list[WeakPoint]:
    """The weaknesses of a document; none if others had the machine, since they make some operations longer than others by chance."""
    return [] if share_of_others(document) > OTHERS else document.weaknesses


def warnings_of(document: Document) -> list[str]:
    """The warnings of a document, and one if others had the machine."""
    share = share_of_others(document)
    if share <= OTHERS:
        return document.warnings
    return [
        *document.warnings,
        f"Others had this machine for {share:.0%} of the time: times are too long, medians above all. Measure while it is quiet."
        + " Weaknesses are not listed." * bool(document.weaknesses),
    ]


def first_lines(document: Document) -> str:
    """Warnings, and whether the measurement was stopped, as lines for a terminal."""
    said = "".join(f"WARNING: {text}\n" for text in warnings_of(document))
    return said + ("" if document.complete else f"{STOPPED}\n")


def facts_of(told: Mapping[str, object], of: str = "") -> dict[str, str]:
    """The text of each fact by its name; facts of a part have the name of the part before theirs."""
    found: dict[str, str] = {}
    for name, fact in told.items():
        if isinstance(fact, Mapping):
            found |= facts_of(fact, f"{of}{name} ")
        else:
            unit = UNITS.get(name, "") if isinstance(fact, int | float) else ""
            found[f"{of}{name}"] = f"{_text(fact)} {unit}".strip()
    return found


def _text(fact: object) -> str:
    if isinstance(fact, list):
        return " ".join(map(_text, fact))
    if isinstance(fact, dict):
        return ", ".join(f"{name} {_text(one)}" for name, one in fact.items())
    return f"{fact:.4g}" if isinstance(fact, float) else str(fact)
