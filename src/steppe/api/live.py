"""The messages of a viewer on the live socket: one object a message, one member a message."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from steppe.api.requests import Latitude, Level, Longitude, VariableName

MOST = 4  # streams of a socket
LINES = 16  # that a socket follows
CORNERS = "Corners in turn, longitude before latitude."

Box = Annotated[tuple[Longitude, Latitude, Longitude, Latitude], Meta(description="West, south, east, north.")]
StreamNumber = Annotated[int, Meta(ge=1, le=MOST)]


class Stream(Struct, kw_only=True, forbid_unknown_fields=True):
    """A variable that is to be shown; `docs/live.md` has the meaning of the members."""

    stream: StreamNumber
    variable: VariableName
    level: Level | None = None
    scenario: Annotated[str, Meta(max_length=80)] = "main"
    width: Annotated[int, Meta(ge=1, le=16384)] | None = None
    stride: Annotated[int, Meta(ge=1, le=16384)] = 1
    box: Box | None = None
    bits: Literal[8, 16] = 8
    range: Literal["auto"] | tuple[float, float] = "auto"
    rate: Annotated[float, Meta(ge=0.1, le=60.0)] = 30.0


class CursorAt(Struct, kw_only=True, forbid_unknown_fields=True):
    """The cell whose value is to be told; None: no longer."""

    stream: StreamNumber
    cell: Annotated[int, Meta(ge=0, lt=1 << 40)] | None


class Line(Struct, kw_only=True, forbid_unknown_fields=True):
    """A cell or a region whose values are to be told after every step. cell: row-major in the grid."""

    line: Annotated[int, Meta(ge=1, le=LINES)]
    variable: VariableName
    level: Level | None = None
    scenario: Annotated[str, Meta(max_length=80)] = "main"
    cell: Annotated[int, Meta(ge=0, lt=1 << 40)] | None = None
    box: Box | None = None
    polygon: Annotated[list[tuple[Longitude, Latitude]], Meta(min_length=3, max_length=1000, description=CORNERS)] | None = None

    @property
    def region(self) -> dict[str, object] | None:
        """The region as `steppe.grid` has it; None of a cell."""
        return {"box": list(self.box)} if self.box else {"polygon": self.polygon} if self.polygon else None


class Said(Struct, kw_only=True, forbid_unknown_fields=True):
    """A message: exactly one of watch, follow, ack with its stream, cursor, ping and token."""

    watch: Annotated[list[Stream], Meta(max_length=MOST)] | None = None
    follow: Annotated[list[Line], Meta(max_length=LINES)] | None = None
    ack: Annotated[int, Meta(ge=0, lt=1 << 32)] | None = None
    stream: StreamNumber | None = None
    cursor: CursorAt | None = None
    ping: int | float | None = None
    token: Annotated[str, Meta(max_length=256)] | None = None

    @property
    def faults(self) -> str:
        """Its fault as a whole; "" if there is none."""
        given = [name for name in ("watch", "follow", "ack", "cursor", "ping", "token") if getattr(self, name) is not None]
        if len(given) != 1:
            return f"Exactly one of watch, follow, ack, cursor, ping and token is to be given, not {' and '.join(given) or 'none'}."
        if self.stream is not None and self.ack is None:
            return 'A "stream" beside it belongs to "ack" alone.'
        if any(sum(place is not None for place in (each.cell, each.box, each.polygon)) != 1 for each in self.follow or ()):
            return 'Each line that is followed has exactly one of "cell", "box" and "polygon".'
        return ""
