"""The variables and options of an air run, which follow from its mechanism and from the emissions that it is given."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from steppe.errors import ModelError, nearest
from steppe.models.air.conditions import BOLTZMANN, BoxPlace
from steppe.models.air.mechanism import NUMBERS, OF_GROUND, Mechanism, Process
from steppe.models.declare import Choice
from steppe.variable import Role, Variable

YX, LYX = ("y", "x"), ("level", "y", "x")
RATIO, SPEED, FLUX = "nmol mol-1", "cm-3 s-1", "mol m-2 s-1"
EMISSION = "emission_"  # and a species
MOST_EMITTED = 1.0  # [mol m-2 s-1]
FIRST_STEP = 10.0  # [s] of the chemistry of a cell
TERMS = {  # of the ledger of a species: what happens to its mass
    "inflow": "comes in over the sides and the top",
    "outflow": "goes out over the sides and the top",
    "emitted": "is emitted",
    "deposited": "is deposited",
    "chemistry": "the chemistry makes",
    "clipped": "is added where a concentration came out negative",
}
METEOROLOGY = (
    Variable("T", LYX, "K", "float32", Role.FORCING, "temperature", "air_temperature", low=150.0, high=350.0),
    Variable("u", LYX, "m s-1", "float32", Role.FORCING, "wind to the east", "eastward_wind", low=-150.0, high=150.0),
    Variable("v", LYX, "m s-1", "float32", Role.FORCING, "wind to the north", "northward_wind", low=-150.0, high=150.0),
    Variable(
        *("w", LYX, "m s-1", "float32", Role.FORCING, "wind upward, compared only: see w_residual", "upward_air_velocity"),
        low=-50.0, high=50.0,
    ),
    Variable("ps", YX, "Pa", "float32", Role.FORCING, "surface pressure", "surface_air_pressure", low=40_000.0, high=110_000.0),
    Variable(
        *("mixing_height", YX, "m", "float32", Role.FORCING, "height of the mixed layer", "atmosphere_boundary_layer_thickness"),
        low=1.0, high=10_000.0,
    ),
    Variable("cloud", YX, "1", "float32", Role.FORCING, "part of the sky with cloud", "cloud_area_fraction", low=0.0, high=1.0),
    Variable("friction_velocity", YX, "m s-1", "float32", Role.FORCING, "friction velocity", low=0.0, high=10.0),
    Variable("surface_temperature", YX, "K", "float32", Role.FORCING, "of soil or sea", "surface_temperature", low=150.0, high=370.0),
)  # fmt: skip
CHOICES = {
    "even_chemistry": Choice(
        "Who computes the chemistry of a column, where a host has several ranks",
        {"on": "any of them, from one queue: dear columns are shared out evenly", "off": "the rank whose column it is"},
    ),
}


def initial_ratio(mechanism: Mechanism, species: str) -> float:
    """The mixing ratio [nmol mol-1] with which a species begins: that of the mechanism's box."""
    usual = BoxPlace()
    of_box = 1e-6 * usual.pressure / (BOLTZMANN * float(mechanism.box.get("temperature", usual.temperature)))
    air = mechanism.constants.get("M", of_box)
    return 1e9 * float(mechanism.box.get("initial", {}).get(species, 0.0)) / air


def variables_of(mechanism: Mechanism) -> Iterator[Variable]:
    """The variables of a run with a mechanism."""
    for name in mechanism.species:
        start = initial_ratio(mechanism, name)
        yield Variable(name, LYX, RATIO, "float64", Role.STATE, f"{name} in the air", low=0.0, initial=start)
    text = "air in the level at the end of the last step; 0 before the first"
    of_weather = "ps", "T", "surface_temperature"
    yield Variable("air", LYX, "kg m-2", "float64", Role.STATE, text, initial=0.0, low=0.0, settable_by=of_weather)
    text = "next step of the chemistry of the cell"
    yield Variable("chemistry_step", LYX, "s", "float64", Role.STATE, text, initial=FIRST_STEP, low=1e-9, high=86_400.0)
    yield from METEOROLOGY
    yield Variable("sun", YX, "1", "float64", Role.DIAGNOSTIC, "cosine of the zenith angle of the sun at the end of the step")
    yield Variable("solar_time", YX, "h", "float64", Role.DIAGNOSTIC, "hour of the day by the sun in the middle of the step")
    text = "wind upward as given less that of continuity, which moves the tracers"
    yield Variable("w_residual", LYX, "m s-1", "float64", Role.DIAGNOSTIC, text)
    yield from asked_of(mechanism)
    yield from _parameters(mechanism)


def asked_of(mechanism: Mechanism) -> Iterator[Variable]:
    """Diagnostics that are computed when they are asked for, and the ledger."""
    for name in mechanism.species:
        for term, text in TERMS.items():
            yield Variable(f"{term}_{name}", YX, FLUX, "float64", Role.DIAGNOSTIC, f"{name} that {text}, of the column")
    for name in mechanism.species:
        yield Variable(f"production_{name}", LYX, SPEED, "float64", Role.DIAGNOSTIC, f"{name} that reactions make")
        yield Variable(f"loss_{name}", LYX, SPEED, "float64", Role.DIAGNOSTIC, f"{name} that reactions take")
    for process in in_the_air(mechanism):
        yield Variable(f"rate_{process.label}", LYX, SPEED, "float64", Role.DIAGNOSTIC, process.equation)


def _parameters(mechanism: Mechanism) -> Iterator[Variable]:
    yield _number("rtol", "1", "relative error of a step of the chemistry", 1e-2, 1e-10, 1.0, "Chemistry")
    yield _number("atol", "cm-3", "absolute error of a step of the chemistry, molecules", 1e4, 1e-10, 1e15)
    yield Variable(
        "emission_factor", YX, "1", "float64", Role.PARAMETER, "factor of all emissions", low=0.0, high=1e6, initial=1.0, heading="Land"
    )
    yield Variable("deposition_factor", YX, "1", "float64", Role.PARAMETER, "factor of all depositions", low=0.0, high=1e6, initial=1.0)
    for number, name in enumerate(mechanism.species):
        start = initial_ratio(mechanism, name)
        heading = "" if number else "Air that comes in"
        yield _number(f"boundary_{name}", RATIO, f"{name} in the air that comes in", start, 0.0, 1e9, heading)
    for number, process in enumerate(mechanism.processes):
        heading, dims = "" if number else "Reactions", YX if process.rate.form in OF_GROUND else ()
        of_process = _number(f"rate_factor_{process.label}", "1", process.equation, 1.0, 0.0, 1e6, heading, _rate_text(process))
        yield replace(of_process, dims=dims)


def emissions_of(mechanism: Mechanism, given: Iterable[str], fields: Iterable[str]) -> Iterator[Variable]:
    """The emissions of a run, beside those of its mechanism.

    given: names of the table of parameters. fields: names of the forcing; each emission of it has a factor.

    Raises
    ------
    ModelError
        An emission is of no species, or given twice.
    """
    parameters, forcing = ([name.removeprefix(EMISSION) for name in names if name.startswith(EMISSION)] for names in (given, fields))
    for species in forcing:
        if species not in mechanism.species:
            raise ModelError(
                f'The meteorology has "{EMISSION}{species}", and mechanism {mechanism.name} has no species "{species}".'
                f"{nearest(species, mechanism.species)} Rename it, or remove it."
            )
    for species in mechanism.species:
        kind, text = (f"{EMISSION}{species}", YX, FLUX), f"{species} that comes from the ground, beside what the mechanism emits"
        if species in parameters and species in forcing:
            raise ModelError(f'[parameters] "{kind[0]}": the meteorology has it, too. Give one of them.')
        if species in parameters:
            yield Variable(*kind, "float64", Role.PARAMETER, text, initial=0.0, low=0.0, high=MOST_EMITTED)
        if species in forcing:
            yield Variable(*kind, "float32", Role.FORCING, text, low=0.0, high=MOST_EMITTED)
            text = f"factor of {EMISSION}{species}"
            yield Variable(f"{EMISSION}factor_{species}", YX, "1", "float64", Role.PARAMETER, text, initial=1.0, low=0.0, high=1e6)


def in_the_air(mechanism: Mechanism) -> Sequence[Process]:
    """The processes without emission and deposition."""
    return [process for process in mechanism.processes if process.rate.form not in OF_GROUND]


def _rate_text(process: Process) -> str:
    rate = process.rate
    numbers = zip(NUMBERS[rate.form], rate.numbers, strict=False)
    said = ", ".join(f"{name} {number:g}" for name, number in numbers if NUMBERS[rate.form][name] != number)
    return " ".join([f"{rate.name}:" * bool(rate.name), rate.form, said, *(f"[{third}]" for third in rate.third)]).strip()


def _number(name: str, units: str, text: str, initial: float, low: float, high: float, heading: str = "", source: str = "") -> Variable:
    return Variable(name, (), units, "float64", Role.PARAMETER, text, initial=initial, low=low, high=high, source=source, heading=heading)
