"""What is measured and fitted, as a file: JSON of schema "steppe.measure/1", whole or absent.

`docs/measure.schema.json` is the published schema. All times are in seconds, sizes in bytes, rates in bytes a second.
A reader refuses a newer version; older ones will be converted here.
"""

import base64
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from steppe.errors import Mistake
from steppe.files import write_whole, writing
from steppe.measure.laws.family import Floats
from steppe.measure.laws.law import Law
from steppe.measure.laws.operation import OperationFit, Protocol, fit
from steppe.measure.laws.points import SamplePoints
from steppe.measure.laws.weakness import WeakPoint
from steppe.measure.records.clock_record import Clock

VERSION = 1
SCHEMA = "steppe.measure"
BAND = 25  # numbers of ranks at which the band of a law is kept
Start = Literal["barrier", "window"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Statistics(_Part):
    """Of the samples of a series [s]; `half_width`: of the 95 % interval of the median."""

    n: int
    minimum: float
    p10: float
    median: float
    p90: float
    p99: float
    maximum: float
    half_width: float


class Mode(_Part):
    """One of two times that the samples gather around: its share and its median [s]."""

    share: float
    median: float


class Measured(_Part):
    """One series of times of an operation of `bytes` on `p` ranks. `samples`: base64 of little-endian float32 [s], one a block."""

    group: str
    operation: str
    variant: str = ""
    placement: Annotated[str, Field(description="how far the two ranks of a message sit apart; of collective operations nothing")] = ""
    start: Annotated[Start, Field(description="how ranks begin a collective operation: after a barrier, or at a time of the clock")] = (
        "barrier"
    )
    p: int
    bytes: int
    block: Annotated[int, Field(description="operations in a block; a sample is the time of one of them")]
    samples: str
    passes: Annotated[list[int], Field(description="blocks of each pass over all series, in their order; empty: there was one")] = []
    work: Annotated[float, Field(description="what an operation does beside moving its bytes, in `unit`; 0: nothing that is counted")] = 0.0
    unit: str = ""
    statistics: Statistics
    converged: bool
    modes: list[Mode] = []
    outliers: int = 0
    warnings: list[str] = []

    @property
    def kind(self) -> str:
        """What tells it from others of its operation, in words."""
        return ", ".join(text for text in (self.variant, self.placement, "begun by the clock" if self.start == "window" else "") if text)

    @field_validator("samples")
    @classmethod
    def _are_samples(cls, text: str) -> str:
        decode(text)
        return text

    def times(self) -> Floats:
        """The samples (blocks,) [s]."""
        return decode(self.samples)


class LawRecord(_Part):
    """A law in p: its family, as text and as numbers, with 95 % intervals; what the choice rests on; why to doubt it."""

    family: str
    formula: str
    coefficients: list[float]
    exponent: float | None
    intervals: list[tuple[float, float]]
    criterion: dict[str, float]
    left_out: dict[str, float]
    shares: dict[str, float]
    leading_term: str
    local_exponent: float | None
    change: float | None
    doubts: list[str]
    band: Annotated[list[tuple[float, float, float]], Field(description="p, and 95 % of the laws of points drawn anew, there")] = []


class LineRecord(_Part):
    """t(n) = t0 + n / r_inf on p ranks, with standard errors; r_inf null where the sizes do not tell it."""

    p: float
    t0: float
    t0_error: float
    r_inf: float | None
    r_inf_error: float | None
    worst_residual: float


class PieceRecord(_Part):
    """The lines of a range of sizes, and the laws of their coefficients."""

    low: float
    high: float
    lines: list[LineRecord]
    t0: LawRecord | None
    r_inf: LawRecord | None
    reasons: list[str]


class PointsRecord(_Part):
    """The medians that were fitted, with their standard errors: a reader that fits them again gets the same."""

    bytes: list[float]
    p: list[float]
    t: list[float]
    sigma: list[float]
    repeats: list[float]
    known: bool

    @model_validator(mode="after")
    def _are_points(self) -> "PointsRecord":
        columns = (self.bytes, self.p, self.t, self.sigma, self.repeats)
        if not self.t or {len(column) for column in columns} != {len(self.t)}:
            raise ValueError("there must be as many bytes, p, t, sigma and repeats, and one at least")
        if not np.isfinite(columns).all() or min(self.bytes) < 0.0 or min(self.p) < 1.0 or min(self.sigma) <= 0.0:
            raise ValueError("bytes must be 0 or more, p 1 or more, sigma above 0, and all of them numbers")
        return self


class FitRecord(_Part):
    """One fit."""

    name: dict[str, str]
    protocol: Protocol
    points: PointsRecord
    pieces: list[PieceRecord]
    remarks: list[str]


class Weakness(_Part):
    """How many times too slow something is, 95 % of that, and the sentence."""

    ratio: float
    low: float
    high: float
    sentence: str


class Roof(_Part):
    """A model's cells a second beside those that memory and arithmetic allow, by what a cell takes of both."""

    rate: float
    bytes: float
    flops: float
    memory: float
    arithmetic: float


class Document(_Part):
    """A file of measurements, of fits, or of both."""

    schema_: Annotated[Literal["steppe.measure/1"], Field(alias="schema")] = "steppe.measure/1"
    made: str
    complete: Annotated[bool, Field(description="false: stopped in mid-run; what was measured is here")] = True
    recipe: Annotated[str, Field(description="the paper whose method this is, if any")] = ""
    machine: dict[str, Any] = {}
    clock: Clock = Clock()
    warnings: list[str] = []
    series: list[Measured] = []
    fits: list[FitRecord] = []
    weaknesses: list[Weakness] = []
    roofs: list[Roof] = []


def encode(times: Floats) -> str:
    """Samples [s] as they are kept."""
    return base64.b64encode(np.asarray(times, "<f4").tobytes()).decode()


def decode(text: str) -> Floats:
    """Samples (blocks,) [s] as float64."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)


def record_fit(found: OperationFit) -> FitRecord:
    """A fit as it is kept."""
    points = found.points
    held = PointsRecord(
        bytes=points.n.tolist(),
        p=points.p.tolist(),
        t=points.t.tolist(),
        sigma=points.sigma.tolist(),
        repeats=points.repeats.tolist(),
        known=points.known,
    )
    pieces = []
    for piece in found.pieces:
        lines, rates = piece.lines, piece.lines.has_rate
        pieces.append(
            PieceRecord(
                low=lines.low,
                high=lines.high,
                lines=[
                    LineRecord(
                        p=float(p),
                        t0=float(lines.t0[i]),
                        t0_error=float(lines.t0_error[i]),
                        r_inf=float(lines.rate[i]) if rates else None,
                        r_inf_error=float(lines.rate_error[i]) if rates else None,
                        worst_residual=float(lines.worst[i]),
                    )
                    for i, p in enumerate(points.ranks)
                ],
                t0=_law(piece.t0),
                r_inf=_law(piece.rate),
                reasons=piece.reasons,
            )
        )
    return FitRecord(name=found.name, protocol=found.protocol, points=held, pieces=pieces, remarks=found.remarks)


def _law(law: Law | None) -> LawRecord | None:
    if law is None:
        return None
    return LawRecord(
        family=law.curve.family.name,
        formula=law.curve.formula(),
        coefficients=list(law.curve.coefficients),
        exponent=law.curve.exponent if law.curve.family.has_exponent else None,
        intervals=law.intervals,
        criterion=law.criterion,
        left_out=law.left_out,
        shares=law.shares,
        leading_term=law.leading,
        local_exponent=law.local_exponent if np.isfinite(law.local_exponent) else None,
        change=law.change,
        doubts=law.doubts,
        band=_band(law),
    )


def _band(law: Law) -> list[tuple[float, float, float]]:
    p = np.linspace(law.described[0], law.described[-1], BAND)
    low, high = np.quantile([curve(p) for curve in law.drawn], (0.025, 0.975), axis=0)
    return [(float(at), float(below), float(above)) for at, below, above in zip(p, low, high, strict=True)]


def record_weaknesses(findings: Sequence[WeakPoint]) -> list[Weakness]:
    """Findings as they are kept."""
    return [Weakness(ratio=one.ratio, low=one.low, high=one.high, sentence=one.sentence) for one in findings]


def fit_again(record: FitRecord) -> OperationFit:
    """The fit that was kept, with all that a prediction needs: made again from its points."""
    held = record.points
    n, p, t, sigma, repeats = np.array([held.bytes, held.p, held.t, held.sigma, held.repeats], float)
    points = SamplePoints(n, p, t, sigma, repeats, held.known)
    return fit(points, record.name, "oneway" if record.protocol == "pingpong" else record.protocol)  # their halves are kept


def write_document(document: Document, path: Path) -> None:
    """Writes a document, whole or not at all.

    Raises what `writing` raises.
    """
    with writing(path):
        write_whole(path, (document.model_dump_json(by_alias=True, indent=1) + "\n").encode())


def check_target(path: Path | None) -> None:
    """Raises `Mistake` when a file that shall be written later cannot be: its folder is none, or takes no files."""
    if path is None:
        return
    if path.is_dir():
        raise Mistake(f'"{path}" is a folder, expected the name of a file that can be written.')
    if not path.parent.is_dir():
        raise Mistake(f'"{path}" cannot be written: there is no folder "{path.parent}". Make it, or give another place.')
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise Mistake(f'"{path}" cannot be written: {error.strerror}. Give another place.') from None


def joined(documents: Sequence[Document]) -> Document:
    """Several measurements of one machine as one document."""
    machine = {name: value for one in reversed(documents) for name, value in one.machine.items()}
    clock = Clock()
    for one in reversed(documents):
        clock.update(one.clock)
    return Document(
        made=documents[0].made,
        complete=all(one.complete for one in documents),
        machine=machine,
        clock=Clock(**{**clock, "others": max(one.clock.get("others", 0.0) for one in documents)}),
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
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Mistake(f'"{path}" cannot be read as JSON: {getattr(error, "strerror", None) or error}.') from None
    name, _, version = str(held.get("schema", "") if isinstance(held, dict) else "").partition("/")
    if name != SCHEMA or not version.isdecimal():
        raise Mistake(f'"{path}" is no file of measurements or fits: its "schema" is not {SCHEMA}/{VERSION}. `steppe measure` writes them.')
    if int(version) > VERSION:
        raise Mistake(f'"{path}" is of version {version}, this Steppe reads {VERSION} and older ones. Use a newer Steppe.')
    try:
        return Document.model_validate(held)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Mistake(f'"{path}" is damaged or changed at {place}: {first["msg"]}.') from None
