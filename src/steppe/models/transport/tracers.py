"""The tracers of a run, out of its run file.

    tracers = { hills = "hills", radon = { half_life = "3.8 days", source = "1.0e-20 s-1", levels = [17] }, age = "age of air" }

A form alone is a tracer that is only carried. Half-lives and sources become parameters, which are set and branched like any.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from steppe.errors import GridError, ModelError, nearest
from steppe.grid import Region
from steppe.levels import HYBRID
from steppe.models.transport.forms import FORMS
from steppe.models.transport.winds import DAY

AGE = "age of air"
KEYS = ("initial", "half_life", "source", "levels", "box", "units")
RESERVED = (  # beside those of `HYBRID`
    *("u", "v", "omega", "ps", "period", "angle", "iterations", "level", "interface", "lat", "lon", "time", "cell", "ps_before"),
)
BEGINNINGS = ("path_", "half_life_", "source_", "column_")  # of names that the model makes


class Tracer(NamedTuple):
    """half_life [d] and source [`source_units`, or a table of a map]: None where the run file gives none.

    box: of the source.
    levels: those of its source, by number; () for all. age: 0 at the ground, and everywhere else a day older after a day.
    bare: the run file gives neither a form nor a source.
    """

    name: str
    form: str
    half_life: float | None = None
    source: Any = None
    levels: tuple[int, ...] = ()
    box: Region | None = None
    units: str = "1"
    age: bool = False
    bare: bool = False

    @property
    def source_units(self) -> str:
        """The unit of its source: its own a second."""
        return product(self.units, "s-1")


def tracers_of(asked: object) -> tuple[Tracer, ...]:
    """The tracers of [parameters] tracers = { name = form, ... }, or a list of names.

    Raises
    ------
    ModelError
        A name is no name or is there twice, a form is unknown, or a number or a unit is wrong.
    """
    if isinstance(asked, list | tuple):
        twice = sorted({str(name) for name in asked if asked.count(name) > 1})
        if twice:
            raise ModelError(f'[parameters] tracers: "{twice[0]}" is there twice. Give each tracer a name of its own.')
        if other := [name for name in asked if not isinstance(name, str)]:
            raise ModelError(f'[parameters] tracers has {other[0]!r}, which is no name. Write names, such as ["smoke"].')
        asked = {name: {} for name in asked}
    if not isinstance(asked, Mapping) or not asked:
        raise ModelError(f'[parameters] tracers = {asked!r} is no table. Write tracers = {{ smoke = "hills" }}.')
    return tuple(_tracer(name, asked[name]) for name in sorted(asked, key=str))  # in one order on all ranks, however the table came


def _tracer(name: object, said: object) -> Tracer:
    where = f"[parameters] tracers.{name}"
    if not isinstance(name, str) or not name.isidentifier() or name in (*RESERVED, *HYBRID) or name.startswith(BEGINNINGS):
        taken = "is a name of the model's own" if isinstance(name, str) and name.isidentifier() else "is no name"
        raise ModelError(f'{where}: "{name}" {taken}. Choose another, of letters, digits and _.')
    if said == AGE:
        return Tracer(name, "zero", units="d", age=True)
    table = {"initial": said} if isinstance(said, str) else said
    if not isinstance(table, Mapping):
        raise ModelError(f'{where} = {said!r} must be the name of a form, "{AGE}", or a table with {", ".join(KEYS)}.')
    for key in table:
        if key not in KEYS:
            raise ModelError(f'{where}: "{key}" is not known.{nearest(key, KEYS)}')
    form = table.get("initial", "zero")
    if form == AGE:
        raise ModelError(f'{where}: the age of air has no half-life, source or unit of its own. Write {name} = "{AGE}" alone.')
    if not isinstance(form, str) or form not in FORMS:
        other = f" A map or a number goes under [initial]: {name} = 0.5." if not isinstance(form, str) else ""
        raise ModelError(f"{where}: there is no form {form!r}.{nearest(str(form), FORMS)}{other}")
    levels, box = table.get("levels", ()), table.get("box")
    levels = levels if isinstance(levels, list | tuple) else (levels,)
    if not all(isinstance(level, int) and not isinstance(level, bool) and level >= 0 for level in levels):
        raise ModelError(f"{where}.levels = {levels!r} must be numbers of levels, from 0.")
    if box is not None:
        if not isinstance(box, list | tuple) or len(box) != 4:
            raise ModelError(f"{where}.box = {box!r} must be four numbers, west, south, east, north [degrees].")
        try:
            box = Region.of({"box": box})
        except GridError as error:
            raise ModelError(f"{where}.box: {error}") from None
    half_life = _number(f"{where}.half_life", table["half_life"], "s") / DAY if "half_life" in table else None
    source = table.get("source")
    units = str(table.get("units", "1"))
    if source is not None and not isinstance(source, Mapping):
        source = _number(f"{where}.source", source, product(units, "s-1"))
    if box is not None and isinstance(source, Mapping):
        raise ModelError(f"{where}: a source that is a map says itself where it is. Remove box, or give the source as a number.")
    if source is None and (levels or box):
        raise ModelError(f"{where}: levels and box are those of a source. Give one, or remove them.")
    return Tracer(name, form, half_life, source, tuple(dict.fromkeys(levels)), box, units, bare="initial" not in table and source is None)


def product(units: str, other: str) -> str:
    """The unit of a product of two quantities."""
    return f"{units} {other}".removeprefix("1 ")


def _number(where: str, text: object, unit: str) -> float:
    """A number with its unit, in another unit."""
    from cf_units import Unit

    number, _, given = str(text).strip().partition(" ")
    try:
        return float(Unit(given or "no unit").convert(float(number), Unit(unit)))
    except ValueError:
        raise ModelError(f'{where} = "{text}" is no number with a unit that becomes {unit}. Write "1.5 {unit}", say.') from None
