"""What recipes measured, as their papers print it."""

from collections.abc import Sequence

from steppe.measure.laws.points import MB, US
from steppe.measure.records.document import Document
from steppe.measure.records.measured import Measured
from steppe.measure.report.law_text import columns

MEMORIES, TIMES = ("fresh", "touched"), ("first", "later")


def recipe_text(document: Document) -> str:
    """The table of a recipe; nothing of a document of another kind."""
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
    return "Recipe advise (ADVISE 1995): n bytes there, none back; mean of 1,000, before them the first\n" + columns(rows, left=0)


def _time(one: Measured) -> float:
    """The mean; of first messages, which are few, the median. A report that holds no samples has the median alone."""
    return float(one.times().mean()) if one.samples and not one.variant.endswith("first") else one.statistics.median


def _us(time: float | None) -> str:
    return "-" if time is None else f"{time / US:.4g}"
