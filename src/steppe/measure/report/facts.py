"""What a document tells of its machine and its clock beside the figures: names, texts with their units, and whether others were there."""

from collections.abc import Mapping
from typing import Any

from steppe.measure.records.document import Document

UNITS = {
    **dict.fromkeys(("cache", "memory", "array"), "bytes"),
    **dict.fromkeys(("resolution", "cost", "loop"), "s"),
    "gaps_per_second": "1/s",
    "pace": "s/s",
    **dict.fromkeys(("away", "others"), "of the time"),
}
OTHERS = 0.05  # share of the time in which others had the cores, from which on a run tells of them


def warnings_of(document: Document) -> list[str]:
    """Those of a document, and that others had the machine, if they had; older files may not know."""
    share = max(document.clock.get("others", 0.0), document.clock.get("away", 0.0))
    if share <= OTHERS:
        return document.warnings
    return [
        *document.warnings,
        f"Others had this machine for {share:.0%} of the time: times are too long, medians above all. Measure while it is quiet.",
    ]


def facts_of(told: Mapping[str, Any], of: str = "") -> dict[str, str]:
    """Each fact under its own name, those of a part under that of the part and theirs."""
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
