"""The cost of a setting of the MPI library: a few series of a run with another setting, beside those of this run.

A process can choose its thread level once, so each level needs a run.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from steppe.errors import Mistake
from steppe.measure.laws.points import US
from steppe.measure.messages.plan import COMPUTES, PING_PONG
from steppe.measure.records.document import Document
from steppe.measure.records.measured import Measured

SMALL = 8  # [bytes] of a message whose time is that of the call
BESIDE = "beside: "  # in a variant, before the settings of the other run


def check_beside(other: Document, settings: dict[str, str], library: str) -> None:
    """Raises `Mistake` if `other` cannot show the cost of a setting. settings, library: of this run."""
    mpi = other.machine.get("mpi")
    if mpi is None:
        raise Mistake("--beside: the file holds no messages. `steppe measure messages --threads multiple --json FILE` writes some.")
    if mpi["version"] != library:
        raise Mistake(f'--beside: the file is of "{mpi["version"]}", this run of "{library}". `steppe measure compare` shows both.')
    if settings_of(mpi) == settings:
        same = ", ".join(f"{name} {value}" for name, value in settings.items())
        raise Mistake(f"--beside: the file has the settings of this run ({same}). Measure it with --threads multiple, for instance.")


def settings_of(mpi: dict[str, str]) -> dict[str, str]:
    """The settings that may cost time, of a description of the library; older files have the thread level alone."""
    return {"threads": mpi["thread_level"], "asynchronous progress": mpi.get("asynchronous_progress", "not asked for")}


def beside(series: Sequence[Measured], mpi: dict[str, str], other: Document) -> list[Measured]:
    """Series of the other run that show the cost and that this run has, too; their variants name the other settings."""
    here, there = settings_of(mpi), settings_of(other.machine["mpi"])
    words = ", ".join(f"{name} {value}" for name, value in there.items() if here[name] != value)
    known = {one.name for one in series}
    progress = here["asynchronous progress"] != there["asynchronous progress"]
    found = [one for one in other.series if _tells(one, progress) and one.name in known]
    return [replace(one, variant=f"{one.variant}{', ' if one.variant else ''}{BESIDE}{words}") for one in found]


def _tells(one: Measured, progress: bool) -> bool:
    small = one.bytes == SMALL and (one.variant == PING_PONG or (one.operation == "allreduce" and not one.variant))
    return small or (one.operation == "barrier" and not one.variant) or (progress and one.variant.endswith(COMPUTES))


def price_words(series: Sequence[Measured]) -> list[str]:
    """Times of the other run over those of this one, with 95 % intervals."""
    found = {one.name: one.statistics for one in series}
    said = []
    for one in series:
        variant, _, words = one.variant.partition(BESIDE)
        variant = variant.removesuffix(", ")
        here = found.get(replace(one.name, variant=variant))
        if not words or here is None:
            continue
        there, (ratio, width) = one.statistics.median, one.statistics.beside(here)
        what = f"{one.operation}{f', {variant}' if variant else ''}{f', {one.bytes} bytes' if one.bytes else ''} on {one.p} ranks"
        said.append(f"With {words}: {what} {there / US:.4g} us instead of {here.median / US:.4g}, {ratio:.3g} +- {width:.2g} times.")
    return said
