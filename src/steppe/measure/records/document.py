"""Measurements and fits, as a file: JSON of schema "steppe.measure/1", whole or absent.

`docs/measure.schema.json` is the published schema. All times are in seconds, sizes in bytes, rates in bytes a second.
A reader refuses a newer version; older ones will be converted here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import numpy as np
from msgspec import Meta, Struct

from steppe.array_types import Array, Floats
from steppe.errors import Mistake
from steppe.files import write_whole, writing
from steppe.measure.laws.formula import read_json
from steppe.measure.laws.law import Law
from steppe.measure.laws.operation import OperationFit, Protocol, fit
from steppe.measure.laws.points import SamplePoints
from steppe.measure.laws.size_lines import SizeLine
from steppe.measure.laws.weakness import WeakPoint
from steppe.measure.records.measured import Measured, TimingClock

VERSION = 1
SCHEMA = "steppe.measure"


class PieceRecord(Struct, kw_only=True, forbid_unknown_fields=True):
    """The lines of a range of sizes, and the laws of their coefficients."""

    low: float
    high: float
    lines: list[SizeLine]
    t0: Law | None
    r_inf: Law | None
    reasons: list[str]


class FitRecord(Struct, kw_only=True, forbid_unknown_fields=True):
    """One fit with its points: a reader that fits them again gets the same."""

    name: dict[str, str]
    protocol: Protocol
    points: SamplePoints
    pieces: list[PieceRecord]
    remarks: list[str]


class Roof(Struct, kw_only=True, forbid_unknown_fields=True):
    """A model's cells a second beside those that memory and arithmetic allow, by the bytes and operations of a cell."""

    rate: float
    bytes: float
    flops: float
    memory: float
    arithmetic: float


class Document(Struct, kw_only=True, forbid_unknown_fields=True):
    """A file of measurements, of fits, or of both."""

    schema: Literal["steppe.measure/1"] = "steppe.measure/1"
    made: str
    complete: Annotated[bool, Meta(description="false: stopped before the end; the file has what was measured until then")] = True
    recipe: Annotated[str, Meta(description="the paper whose method this is, if any")] = ""
    machine: dict[str, Any] = {}
    clock: TimingClock = {}
    warnings: list[str] = []
    series: list[Measured] = []
    fits: list[FitRecord] = []
    weaknesses: list[WeakPoint] = []
    roofs: list[Roof] = []


def made_now() -> str:
    """The time at which a document is made, as it keeps it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def record_fit(found: OperationFit) -> FitRecord:
    """A fit as a file keeps it."""
    pieces = [
        PieceRecord(
            low=piece.lines.low,
            high=piece.lines.high,
            lines=piece.lines.lines(found.points.ranks),
            t0=piece.t0 and piece.t0.kept(),
            r_inf=piece.rate and piece.rate.kept(),
            reasons=piece.reasons,
        )
        for piece in found.pieces
    ]
    return FitRecord(name=found.name, protocol=found.protocol, points=found.points, pieces=pieces, remarks=found.remarks)


def fit_again(record: FitRecord) -> OperationFit:
    """The fit of a file with all that a prediction needs, made again from its points."""
    # the times of a round trip are halved before they are kept
    return fit(record.points, record.name, "oneway" if record.protocol == "pingpong" else record.protocol)


def fits_of_file(path: Path) -> list[OperationFit]:
    """The fits of a file, made again from their points.

    Raises
    ------
    Mistake
        As of `read_document`; or the file holds no fits.
    """
    records = read_document(path).fits
    if not records:
        raise Mistake(
            f'"{path}" holds no fits and no times of messages. `steppe measure messages --json {path}` measures some, '
            f"`steppe measure fit TABLE.csv --json {path}` makes them of a table."
        )
    return [fit_again(record) for record in records]


def plain_values(document: Document) -> dict[str, Any]:
    """A document as dictionaries, lists, numbers and texts: the values of its JSON."""
    return dict(msgspec.json.decode(document_json(document)))


def document_json(document: Document) -> bytes:
    """A document as JSON without white space."""
    return msgspec.json.encode(document, enc_hook=_plain)


def document_of(held: object) -> Document:
    """The document of values of JSON. Raises `msgspec.ValidationError` where they are none."""
    document = msgspec.convert(held, Document, dec_hook=_array)
    newer = held.get("clock", {}) if isinstance(held, dict) else {}  # has members that only a newer Steppe knows
    document.clock = _clock([newer, document.clock])
    return document


def _clock(parts: Iterable[Mapping[str, object]]) -> TimingClock:
    """All members of the parts, later ones over earlier ones, in the order of their declaration."""
    held = {name: value for part in parts for name, value in part.items()}
    known = [name for name in TimingClock.__annotations__ if name in held]
    return cast(TimingClock, {name: held[name] for name in dict.fromkeys([*known, *held])})


def _plain(value: Array | np.generic) -> object:
    """Numbers of NumPy as those of Python."""
    return value.tolist()


def _array(_kind: type, values: Sequence[float]) -> Floats:
    """A column of points."""
    return np.array(values, float)


def document_schema() -> dict[str, object]:
    """The JSON schema of a document."""
    column = {"type": "array", "items": {"type": "number"}}
    return msgspec.json.schema(Document, schema_hook=lambda _kind: column)


def write_document(document: Document, path: Path) -> None:
    """Writes a document, whole or not at all.

    Raises what `writing` raises.
    """
    with writing(path):
        write_whole(path, msgspec.json.format(document_json(document), indent=1) + b"\n")


def joined(documents: Sequence[Document]) -> Document:
    """Several measurements of one machine as one document."""
    others = max(one.clock.get("others", 0.0) for one in documents)
    return Document(
        made=documents[0].made,
        complete=all(one.complete for one in documents),
        machine={name: value for one in reversed(documents) for name, value in one.machine.items()},
        clock=_clock([*(one.clock for one in reversed(documents)), {"others": others}]),
        warnings=list(dict.fromkeys(text for one in documents for text in one.warnings)),
        series=[series for one in documents for series in one.series],
        fits=[found for one in documents for found in one.fits],
        weaknesses=[found for one in documents for found in one.weaknesses],
        roofs=[roof for one in documents for roof in one.roofs],
    )


def read_document(path: Path) -> Document:
    """A document of this version or an older one.

    Raises
    ------
    Mistake
        The file cannot be read, or is no such document, or of a newer version.
    """
    held = read_json(path)
    name, _, version = str(held.get("schema", "") if isinstance(held, dict) else "").partition("/")
    if name != SCHEMA or not version.isdecimal():
        raise Mistake(f'"{path}" is no file of measurements or fits: its "schema" is not {SCHEMA}/{VERSION}. `steppe measure` writes them.')
    if int(version) > VERSION:
        raise Mistake(f'"{path}" is of version {version}, this Steppe reads {VERSION} and older ones. Use a newer Steppe.')
    try:
        return document_of(held)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$.")
        where = re.sub(r"\[(\d+)\]", r".\1", place.rstrip("`"))
        raise Mistake(f'"{path}" is damaged or changed{f" at {where}" if where else ""}: {text}.') from None
