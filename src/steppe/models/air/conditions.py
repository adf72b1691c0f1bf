"""The conditions of a run of one cell: where it is, its air, what begins in it, and rates from outside.

They come from the mechanism's own `box`, then from a table of conditions, then from single settings; later ones count. Those of the air are
taken before those of species, which may be written in parts of it. Names are those of MUSICA's examples: ENV.temperature, CONC.O3,
PHOTO.jno2, USER.x, EMIS.x, LOSS.x, SURF.x; without prefix they are of ENV or of a species.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import acos, isfinite, pi, radians, sin
from math import cos as cosine
from pathlib import Path

from steppe.errors import ModelError, nearest, some
from steppe.models.air.conditions_table import PREFIXES, Row, read_rows
from steppe.models.air.mechanism import MOLECULES, NUMBER, RADIUS, Mechanism
from steppe.models.air.rates import Rates

BOLTZMANN = 1.380649e-23  # [J K-1] SI
LEAST_COSINE = 0.0107  # of the sun's zenith angle, below which there is no photolysis; the edge of the day of the EMEP problem
O2_OF_AIR = 0.2095  # molecules of oxygen in one of air, where a mechanism does not say
HOUR, DAY = 3600.0, 86_400.0  # [s]
PARTS = {"ppm": 1e-6, "ppb": 1e-9, "ppt": 1e-12, "nmol mol-1": 1e-9}  # of the air
MUCH = 0.1  # of the air; more of a species is most probably a slip
LEAST_BARE = 2000.0  # [Pa] of a pressure without a unit; a smaller number is most probably in hPa
MOST_OF_AIR = ("N2", "O2")
UNWRITTEN = ("", "1")  # units that are not shown
WITH_UNIT = re.compile(r"([+-]?[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?|[+-]?\.[0-9]+)\s*([A-Za-z#].*)")  # a number and its unit in one


# In the units of `LIMITS`.
USUAL = {"temperature": 298.15, "pressure": 101_325.0, "latitude": 0.0, "declination": 0.0, "mixing_height": 1200.0, "start": 0.0}
# Of the place and its air: declination is that of the sun, through the mixing height emission and deposition act, start is since midnight.
LIMITS = {
    "temperature": (150.0, 400.0, "K"), "pressure": (100.0, 200_000.0, "Pa"), "latitude": (-90.0, 90.0, "degree"),
    "declination": (-24.0, 24.0, "degree"), "day_begin": (0.0, 24.0, "h"), "day_end": (0.0, 24.0, "h"),
    "mixing_height": (1.0, 20_000.0, "m"), "start": (0.0, 24.0, "h"), "M": (0.0, 1e22, "molecule cm-3"),
    "O2": (0.0, 1e22, "molecule cm-3"), "H2O": (0.0, 1e20, "molecule cm-3"),
}  # fmt: skip
OF_SPECIES = 0.0, 1e25, "molecule cm-3"  # limits of what begins
OF_SURFACE = {RADIUS: (0.0, 1.0, "m"), NUMBER: (0.0, 1e30, "# m-3")}
FACTORS = {  # to the unit of a name: of concentrations and of what else is written with a unit
    ("molecule cm-3", "mol m-3"): MOLECULES, ("molecule cm-3", "mol/m3"): MOLECULES, ("molecule cm-3", "molec cm-3"): 1.0,
    ("molecule cm-3", "molecules cm-3"): 1.0, ("molecule cm-3", "molecules/cm3"): 1.0,
    ("Pa", "hPa"): 100.0, ("Pa", "mbar"): 100.0, ("Pa", "atm"): 101_325.0, ("m", "cm"): 0.01, ("m", "km"): 1000.0, ("h", "s"): 1.0 / HOUR,
    ("s-1", "1/s"): 1.0, ("s-1", "min-1"): 1.0 / 60.0, ("mol m-3 s-1", "molecule cm-3 s-1"): 1.0 / MOLECULES,
    ("# m-3", "m-3"): 1.0, ("# m-3", "# cm-3"): 1e6,
}  # fmt: skip


@dataclass
class Conditions:
    """What is known of the cell.

    air: of the place and its air, by name. initial: species -> [molecule cm-3]. given: name -> number, of rates from outside. factors:
    label of a process -> its factor. remarks: what is most probably a slip.
    """

    mechanism: Mechanism
    air: dict[str, float] = field(default_factory=dict)
    initial: dict[str, float] = field(default_factory=dict)
    given: dict[str, float] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, mechanism: Mechanism, table: Path | None = None, settings: Iterable[str] = (), parts: bool = False) -> "Conditions":
        """The conditions of a mechanism.

        settings: texts such as "temperature = 290", "O3 = 40 ppb" or "rate_factor_r36 = 0.5". parts: amounts will be shown in parts of
        the air, so it counts even if no rate depends on it.

        Raises
        ------
        ModelError
            A name is unknown to the mechanism, or has no effect; a value is no number or outside its limits; or a rate from outside is
            not given.
        """
        box, constants = mechanism.box, mechanism.constants
        found = cls(mechanism, {name: box[name] for name in LIMITS if name in box}, dict(box.get("initial", {})))
        if "start" in box:
            found.air["start"] /= HOUR
        found.air.update({name: constants[name] for name in ("M", "O2") if name in constants})
        if "mixing_height_cm" in constants:
            found.air["mixing_height"] = 0.01 * constants["mixing_height_cm"]
        for name, value in found.air.items():
            _refuse_outside(f"Mechanism {mechanism.name}", name, value, *LIMITS[name])
        for name, value in found.initial.items():
            _refuse_outside(f"Mechanism {mechanism.name}, initial", name, value, *OF_SPECIES)
        units = {unit for pair in FACTORS for unit in pair} | {unit for *_, unit in LIMITS.values()} | {*PARTS, "degC"}
        names = *mechanism.species, *LIMITS, *_factors_of(mechanism)
        rows = [] if table is None else read_rows(table, names, units)
        rows += [_setting(text) for text in settings]
        for row in sorted(rows, key=lambda row: found._rank(row.name)):
            found._take(row)
            found._refuse_bare(row)
        rates, given = Rates(mechanism), {found._short(row.name): row for row in rows}
        of_parts = parts or any(row.unit in PARTS for row in rows)
        found._refuse_unused(given, {*rates.used, *(("M",) if of_parts else ())})
        found._check_day(given)
        found._remark(rows, given)
        if parts and not found.here["M"]:
            raise ModelError(f"Mechanism {mechanism.name} has no air, M = 0, so there are no amounts in parts of it. Choose other --units.")
        rates.refuse_lacking(found.given, "Give them with --conditions FILE.csv or --set NAME=VALUE.")
        return found

    @property
    def here(self) -> dict[str, float]:
        """The place and its air, with what is missing filled in; day_begin, day_end and H2O only where they are given."""
        air = {**USUAL, **self.air}
        dense = air.setdefault("M", 1e-6 * air["pressure"] / (BOLTZMANN * air["temperature"]))
        return {"O2": O2_OF_AIR * dense, **air}

    def daylight(self) -> tuple[float, float]:
        """The first and last second of a day with light; none if both are equal, always if they are a day apart."""
        if "day_begin" in self.air:
            return HOUR * self.air["day_begin"], HOUR * self.air["day_end"]
        s, c = self.sun()
        if c == 0.0 or abs(LEAST_COSINE - s) >= c:
            return (0.0, DAY) if s > LEAST_COSINE else (0.0, 0.0)
        half = acos((LEAST_COSINE - s) / c) / pi * 0.5 * DAY
        return 0.5 * DAY - half, 0.5 * DAY + half

    def sun(self) -> tuple[float, float]:
        """s and c of cos(theta) = s + c cos(hour angle)."""
        latitude, declination = (radians(self.here[name]) for name in ("latitude", "declination"))
        return sin(latitude) * sin(declination), cosine(latitude) * cosine(declination)

    def _short(self, name: str) -> str:
        """The condition of the air that an entry is of; "" if it is none."""
        kind, _, rest = name.partition(".")
        short = rest if kind in ("ENV", "CONC") else name
        return short if short in LIMITS and (kind == "ENV" or short not in self.mechanism.species) else ""

    def _rank(self, name: str) -> int:
        """In which order an entry is taken: the air, its parts, and all else, which may be written in ppb of the air."""
        return {"": 2, "O2": 1, "H2O": 1}.get(self._short(name), 0)

    def _refuse_bare(self, row: Row) -> None:
        """Raises `ModelError` where a number without a unit is most probably in another one."""
        short = self._short(row.name)
        amount = row.name in self.mechanism.species or (short and LIMITS[short][2] == "molecule cm-3" and not row.name.startswith("CONC."))
        if not row.unit and amount and not row.where.startswith("--set"):
            species = row.name.removeprefix("ENV.")
            either = f"CONC.{species}, which is in mol m-3, or {species} [molecule cm-3]"
            raise ModelError(f"{row.where}: {row.name} has no unit. Write {either}.")
        if not row.unit and short == "pressure" and self.air[short] < LEAST_BARE:
            value = f"{self.air[short]:g}"
            how = f"{row.name}={value} hPa" if row.where.startswith("--set") else f"{row.name} [hPa],{value}"
            raise ModelError(f"{row.where}: {row.name} = {value} is in Pa without a unit, and most probably in hPa. Write {how}, or Pa.")

    def _refuse_unused(self, given: Mapping[str, Row], needed: set[str]) -> None:
        """Raises `ModelError` where a condition of the air is given that counts for nothing. needed: those on which something depends."""
        own = self.mechanism.constants.get("M")
        if "O2" in needed:
            needed.add("M")
        if "M" in needed and (own is None or "M" in given):
            needed.add("pressure")
        if unused := [name for name in ("pressure", "M", "O2", "H2O", "mixing_height") if name in given and name not in needed]:
            why = f"no rate of mechanism {self.mechanism.name} depends on {unused[0]}, so it has no effect. Remove it."
            if unused[0] == "pressure" and "M" in needed:
                why = f"mechanism {self.mechanism.name} has its own M, {own:g} molecule cm-3, so pressure has no effect. Set M instead."
            raise ModelError(f"{given[unused[0]].where}: {why}")

    def _check_day(self, given: Mapping[str, Row]) -> None:
        """Raises `ModelError` where one end of the day is given without the other, or after it."""
        where = next((row.where for name, row in given.items() if name in ("day_begin", "day_end")), "")
        begin, end = self.air.get("day_begin"), self.air.get("day_end")
        if (begin is None) != (end is None):
            there, lacks = ("day_begin", "day_end") if end is None else ("day_end", "day_begin")
            raise ModelError(f"{where}: {there} has no effect without {lacks}. Give both, in h.")
        if begin is not None and end is not None and begin > end:
            raise ModelError(f"{where}: day_begin = {begin:g} h is after day_end = {end:g} h. Give the earlier hour as day_begin.")

    def _remark(self, rows: Iterable[Row], given: Mapping[str, Row]) -> None:
        """Notes a place that does not change the mechanism's day, and species of which there is so much that the unit is a slip."""
        box = self.mechanism.box
        if "day_begin" in box and given.keys() & {"latitude", "declination"} and not given.keys() & {"day_begin", "day_end"}:
            light = f"light from hour {box['day_begin']:g} to {box['day_end']:g} at any place"
            self.remarks.append(f"Mechanism {self.mechanism.name} has {light}. Set day_begin and day_end, too.")
        air = self.here["M"]
        last = {row.name.removeprefix("CONC."): row for row in rows}
        for species, row in last.items():
            amount = self.initial.get(species, 0.0)
            if species not in self.mechanism.species or species in MOST_OF_AIR or amount <= MUCH * air:
                continue
            unit = "" if row.unit else f" {row.name} without a unit is in {'mol m-3' if row.name != species else 'molecule cm-3'}."
            self.remarks.append(f"{species} begins at {amount_text(amount, air)}.{unit}")

    def remarks_at_end(self, start: Mapping[str, float], end: Mapping[str, float]) -> list[str]:
        """Names species that grew to so much that the mechanism most probably makes matter. start, end: species -> [molecule cm-3]."""
        air = self.here["M"]
        much = [name for name in end if air and name not in MOST_OF_AIR and end[name] > max(MUCH * air, start[name])]
        if not much:
            return []
        worst = max(much, key=lambda name: end[name])
        ending = f"{worst} ends at {amount_text(end[worst], air)}. Look for a reaction that makes more than it takes."
        return [f"{some(much, 5)} grew to more than a tenth of the air; {ending}"]

    def _take(self, row: Row) -> None:
        where, name, mechanism = row.where, row.name, self.mechanism
        kind, _, rest = name.partition(".")
        most = 2 if kind == "SURF" else 1
        if len(row.values) > most:
            raise ModelError(f"{where}: {name} has {len(row.values)} values, and {most} is expected. Write a point in a number, as 2.5e-6.")
        if short := self._short(name):
            self.air[short] = self._number(row, *LIMITS[short], "mol m-3" if kind == "CONC" else "")
        elif kind == "CONC" or (kind not in PREFIXES and name in mechanism.species):
            species, usual = (rest, "mol m-3") if kind == "CONC" else (name, "")
            if species not in mechanism.species:
                raise ModelError(f"{where}: mechanism {mechanism.name} has no {species}.{nearest(species, mechanism.species)}")
            self.initial[species] = self._number(row, *OF_SPECIES, usual)
        elif kind == "ENV":
            raise ModelError(f"{where}: {name} is unknown. Known are {', '.join(LIMITS)}.{nearest(rest, tuple(LIMITS))}")
        elif name.startswith("rate_factor_"):
            labels, label = [process.label for process in mechanism.processes], name.removeprefix("rate_factor_")
            if label not in labels:
                more = self._by_name(label) or nearest(label, labels)
                raise ModelError(f"{where}: mechanism {mechanism.name} has no reaction {label}.{more}")
            self.factors[label] = self._number(row, 0.0, 1e6, "1")
        else:
            self._take_rate(row)

    def _by_name(self, name: str) -> str:
        """Which reactions have a name or an id in the file, instead of a label."""
        labels = [each.label for each in self.mechanism.processes if name in (each.rate.name, each.rate.name.partition(".")[2])]
        so = f"{some(labels, 5)} have this name" if len(labels) > 1 else f"Reaction {name} is {labels[0]}" if labels else ""
        return so and f" {so}: write rate_factor_{labels[0]}."

    def _take_rate(self, row: Row) -> None:
        """A rate from outside, or the two numbers of a surface."""
        where, name, unit = row.where, row.name, row.unit
        outside = [process for process in self.mechanism.processes if process.rate.form in ("given", "surface")]
        known = sorted({process.rate.name for process in outside})
        surface, _, part = name.rpartition(".")
        if part in OF_SURFACE and surface in known:
            self.given[name] = self._number(row, *OF_SURFACE[part])
            return
        if name not in known:
            names = _factors_of(self.mechanism) if name.startswith("rate_") else (*known, *LIMITS, *self.mechanism.species)
            raise ModelError(f"{where}: mechanism {self.mechanism.name} has no {name}.{nearest(name, names)}")
        first_order = all(len(each.reactants) + len(each.rate.third) == 1 for each in outside if each.rate.name == name)
        wanted = "mol m-3 s-1" if name.startswith("EMIS.") else "s-1" if first_order or name.startswith(("PHOTO.", "LOSS.")) else ""
        of_surface = name.startswith("SURF.")
        if unit and (of_surface or not wanted):
            its = "its two numbers are in m and # m-3" if of_surface else "the number is in that of the mechanism"
            raise ModelError(f'{where}: {name} has the unit "{unit}". Write no unit: {its}.')
        if not of_surface:
            self.given[name] = self._number(row, 0.0, 1e30, wanted)
            return
        if len(row.values) < 2:
            raise ModelError(f"{where}: {name} needs two numbers, its {RADIUS} [m] and its {NUMBER} [# m-3].")
        for part, value in zip(OF_SURFACE, row.values, strict=True):
            self._take_rate(Row(where, f"{name}.{part}", "", [value]))

    def _number(self, row: Row, low: float, high: float, wanted: str, usual: str = "") -> float:
        """The value of an entry, in the wanted unit. usual: its unit if it has none, where that is another one."""
        (where, name, unit, values), unit = row, row.unit or usual
        try:
            value = float(values[0])
        except (ValueError, IndexError):
            written = values[0] if values else ""
            raise ModelError(f"{where}: {name} is {written!r}. {_advice(where, name, written, unit or wanted)}") from None
        of_air = wanted == "molecule cm-3" and name.rpartition(".")[2] != "M"
        if unit in ("degC", "Celsius", "C") and wanted == "K":
            value += 273.15
        elif unit in PARTS and of_air:
            value = value * PARTS[unit] * self.here["M"]
        elif (wanted, unit) in FACTORS:
            value *= FACTORS[wanted, unit]
        elif unit not in ("", wanted):
            units = [wanted, *(other for to, other in FACTORS if to == wanted), *(PARTS if of_air else ()), *["degC"] * (wanted == "K")]
            raise ModelError(f'{where}: {name} has the unit "{unit}". Write {", ".join(units)}.')
        _refuse_outside(where, name, value, low, high, wanted)
        return value


def _refuse_outside(where: str, name: str, value: float, low: float, high: float, unit: str) -> None:
    """Raises `ModelError` for a number that is outside its limits."""
    if not isfinite(value) or not low <= value <= high:
        shown = f" {unit}" if unit not in UNWRITTEN else ""
        raise ModelError(f"{where}: {name} = {value:g}{shown} is outside its limits, {low:g} to {high:g}{shown}.")


def amount_text(amount: float, air: float) -> str:
    """An amount [molecule cm-3] beside that of the air."""
    share = amount / air if air else 0.0
    part = f"{100.0 * share:.0f} % of" if share < 10.0 else f"{share:.2g} times"
    return f"{amount:.2g} molecule cm-3, {part} the air" if air else f"{amount:.2g} molecule cm-3, and there is no air"


def _setting(text: str) -> Row:
    """The entry of a text such as "O3 = 40 ppb"."""
    name, sign, value = text.partition("=")
    if not sign:
        raise ModelError(f'--set "{text}" is no setting. Write NAME=VALUE, such as --set temperature=290.')
    number, _, unit = value.strip().partition(" ")
    return Row(f'--set "{text}"', name.strip(), unit.strip(), [number])


def _advice(where: str, name: str, written: str, wanted: str) -> str:
    """How to write a value that is no number."""
    if re.fullmatch(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?", written):
        return f"Write a point in a number: {written.replace(',', '.')}."
    if (match := WITH_UNIT.fullmatch(written)) and wanted != "1":
        if where.startswith("--set"):
            return f"Write a space before the unit: {match[1]} {match[2]}."
        return f"Write the unit behind the name: {name} [{match[2]}]."
    return "Write a number." if wanted in UNWRITTEN else f"Write a number [{wanted}]."


def _factors_of(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of the factors of its reactions."""
    return tuple(f"rate_factor_{each.label}" for each in mechanism.processes)


def molecules_to(unit: str, air: Mapping[str, float]) -> float:
    """What concentrations [molecule cm-3] are multiplied by to be in "mol m-3" or "ppb"."""
    return {"molecule cm-3": 1.0, "mol m-3": 1.0 / MOLECULES, "ppb": 1e9 / (air["M"] or 1.0)}[unit]
