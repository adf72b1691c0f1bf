"""The printer of all tables of measurements, and the columns that every table of series has."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from steppe.measure.laws.points import MB, US
from steppe.measure.records.measured import Measured

Row = TypeVar("Row")


def table(rows: Sequence[Row], columns: Mapping[str, Callable[[Row], str]], left: int = 1) -> str:
    """A line of titles, then a line for each row; `left` columns are aligned to the left, the others to the right.

    columns: titles, and functions that return the text of a row; spaces around a title distinguish it from an equal one.
    """
    return aligned([[title.strip() for title in columns], *([text(row) for text in columns.values()] for row in rows)], left)


def aligned(lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Lines of cells below each other, `left` columns aligned to the left, the others to the right."""
    width = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    padded = (
        "  ".join(text.ljust(w) if i < left else text.rjust(w) for i, (text, w) in enumerate(zip(line, width, strict=True)))
        for line in lines
    )
    return "".join(line.rstrip() + "\n" for line in padded)


def series_columns(rate: str) -> dict[str, Callable[[Measured], str]]:
    """Bytes, least time, median, half of its interval, p99, rate, blocks and outliers; an interval in () was not narrow enough in time.

    rate: the title of its column.
    """
    return {
        "bytes": lambda one: str(one.bytes),
        "min us": lambda one: f"{one.statistics.minimum / US:.4g}",
        "median us": lambda one: f"{one.statistics.median / US:.4g}",
        "+- 95 %": lambda one: f"{one.statistics.half_width / US:.2g}" if one.converged else f"({one.statistics.half_width / US:.2g})",
        "p99 us": lambda one: f"{one.statistics.p99 / US:.4g}",
        rate: lambda one: f"{rate_of(one)[0]:.4g}" if rate_of(one)[0] else "-",
        "blocks": lambda one: str(one.statistics.n),
        "far off": lambda one: str(one.outliers),
    }


def ranks_text(p: int) -> str:
    """The number of ranks in words."""
    return f"{p} rank{'s' if p > 1 else ''}"


def rate_of(one: Measured) -> tuple[float, str]:
    """How much a second, and its unit: the counted work where it is an amount of its own, else bytes."""
    if one.work and one.group != "codecs":
        return one.work / one.statistics.median / 1e9, f"G{one.unit}/s"
    return (one.bytes / one.statistics.median / MB if one.statistics.median > 0.0 else 0.0), "MB/s"
