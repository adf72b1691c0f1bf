"""The variables and options of an air run, which follow from its mechanism and from the emissions that it is given."""

from collections.abc import Iterable, Iterator

from steppe.errors import ModelError, nearest
from steppe.models.air.conditions import BOLTZMANN, USUAL
from steppe.models.air.mechanism import NUMBERS, OF_GROUND, Mechanism, Process
from steppe.models.declare import Choice
from steppe.variable import Role, Variable

YX, LYX = ("y", "x"), ("level", "y", "x")
RATIO, SPEED, FLUX = "nmol mol-1", "cm-3 s-1", "mol m-2 s-1"
EMISSION = "emission_"  # and a species
MOST_EMITTED = 1.0  # [mol m-2 s-1]
FACTOR = 1.0, 0.0, 1e6  # a factor at first, and its limits
FIRST_STEP = 10.0  # [s] of the chemistry of a cell
Numbers = tuple[float, float, float]  # the initial value of a parameter, and its limits
TERMS = {  # of the ledger of a species: what happens to its mass
    "inflow": "comes in over the sides and the top",
    "outflow": "goes out over the sides and the top",
    "emitted": "is emitted",
    "deposited": "is deposited",
    "chemistry": "the chemistry makes",
    "clipped": "is added where a concentration came out negative",
}
WEATHER, STATE, FOUND = ("float32", Role.FORCING), ("float64", Role.STATE), ("float64", Role.DIAGNOSTIC)
METEOROLOGY = (
    Variable("T", LYX, "K", *WEATHER, "temperature", "air_temperature", low=150.0, high=350.0),
    Variable("u", LYX, "m s-1", *WEATHER, "wind to the east", "eastward_wind", low=-150.0, high=150.0),
    Variable("v", LYX, "m s-1", *WEATHER, "wind to the north", "northward_wind", low=-150.0, high=150.0),
    Variable("w", LYX, "m s-1", *WEATHER, "wind upward, compared only: see w_residual", "upward_air_velocity", low=-50.0, high=50.0),
    Variable("ps", YX, "Pa", *WEATHER, "surface pressure", "surface_air_pressure", low=40_000.0, high=110_000.0),
    Variable("mixing_height", YX, "m", *WEATHER, "height of the mixed layer", "atmosphere_boundary_layer_thickness", low=1.0, high=1e4),
    Variable("cloud", YX, "1", *WEATHER, "part of the sky with cloud", "cloud_area_fraction", low=0.0, high=1.0),
    Variable("friction_velocity", YX, "m s-1", *WEATHER, "friction velocity", low=0.0, high=10.0),
    Variable("surface_temperature", YX, "K", *WEATHER, "of soil or sea", "surface_temperature", low=150.0, high=370.0),
)
CHOICES = {
    "even_chemistry": Choice(
        "Ranks that compute the chemistry of a column, where a host has several",
        {"on": "any of them, from one queue: dear columns are shared out evenly", "off": "the rank whose column it is"},
    ),
}


def initial_ratio(mechanism: Mechanism, species: str) -> float:
    """The mixing ratio [nmol mol-1] with which a species begins: that of the mechanism's box."""
    of_box = 1e-6 * USUAL["pressure"] / (BOLTZMANN * float(mechanism.box.get("temperature", USUAL["temperature"])))
    air = mechanism.constants.get("M", of_box)
    return 1e9 * float(mechanism.box.get("initial", {}).get(species, 0.0)) / air


def variables_of(mechanism: Mechanism) -> Iterator[Variable]:
    """The variables of a run with a mechanism."""
    for name in mechanism.species:
        yield Variable(name, LYX, RATIO, *STATE, f"{name} in the air", low=0.0, initial=initial_ratio(mechanism, name))
    text = "air in the level at the end of the last step; 0 before the first"
    of_weather = "ps", "T", "surface_temperature"
    yield Variable("air", LYX, "kg m-2", *STATE, text, initial=0.0, low=0.0, settable_by=of_weather)
    text = "next step of the chemistry of the cell"
    yield Variable("chemistry_step", LYX, "s", *STATE, text, initial=FIRST_STEP, low=1e-9, high=86_400.0)
    yield from METEOROLOGY
    yield Variable("sun", YX, "1", *FOUND, "cosine of the zenith angle of the sun at the end of the step")
    yield Variable("solar_time", YX, "h", *FOUND, "hour of the day by the sun in the middle of the step")
    yield Variable("w_residual", LYX, "m s-1", *FOUND, "wind upward as given less that of continuity, which moves the tracers")
    yield from asked_of(mechanism)
    yield from _parameters(mechanism)


def asked_of(mechanism: Mechanism) -> Iterator[Variable]:
    """Diagnostics that are computed when they are asked for, and the ledger."""
    for name in mechanism.species:
        for term, text in TERMS.items():
            yield Variable(f"{term}_{name}", YX, FLUX, *FOUND, f"{name} that {text}, of the column")
    for name in mechanism.species:
        yield Variable(f"production_{name}", LYX, SPEED, *FOUND, f"{name} that reactions make")
        yield Variable(f"loss_{name}", LYX, SPEED, *FOUND, f"{name} that reactions take")
    for process in mechanism.in_the_air.processes:
        yield Variable(f"rate_{process.label}", LYX, SPEED, *FOUND, process.equation)


def _parameters(mechanism: Mechanism) -> Iterator[Variable]:
    yield _number("rtol", "1", "relative error of a step of the chemistry", (1e-2, 1e-10, 1.0), "Chemistry")
    yield _number("atol", "cm-3", "absolute error of a step of the chemistry, molecules", (1e4, 1e-10, 1e15))
    yield _number("emission_factor", "1", "factor of all emissions", FACTOR, "Land", dims=YX)
    yield _number("deposition_factor", "1", "factor of all depositions", FACTOR, dims=YX)
    for number, name in enumerate(mechanism.species):
        limits, heading = (initial_ratio(mechanism, name), 0.0, 1e9), "" if number else "Air that comes in"
        yield _number(f"boundary_{name}", RATIO, f"{name} in the air that comes in", limits, heading)
    for number, process in enumerate(mechanism.processes):
        heading, dims = "" if number else "Reactions", YX if process.rate.form in OF_GROUND else ()
        yield _number(f"rate_factor_{process.label}", "1", process.equation, FACTOR, heading, _rate_text(process), dims)


def emissions_of(mechanism: Mechanism, given: Iterable[str], fields: Iterable[str]) -> Iterator[Variable]:
    """The emissions of a run, beside those of its mechanism.

    given: names of the table of parameters. fields: names of the forcing; each emission of it has a factor.

    Raises
    ------
    ModelError
        An emission is of no species, or given twice.
    """
    parameters, forcing = ([name.removeprefix(EMISSION) for name in names if name.startswith(EMISSION)] for names in (given, fields))
    if unknown := [species for species in forcing if species not in mechanism.species]:
        raise ModelError(
            f'The meteorology has "{EMISSION}{unknown[0]}", and mechanism {mechanism.name} has no species "{unknown[0]}".'
            f"{nearest(unknown[0], mechanism.species)} Rename it, or remove it."
        )
    for species in mechanism.species:
        kind, text = (f"{EMISSION}{species}", YX, FLUX), f"{species} that comes from the ground, beside what the mechanism emits"
        if species in parameters and species in forcing:
            raise ModelError(f'[parameters] "{kind[0]}": the meteorology has it, too. Give one of them.')
        if species in parameters:
            yield Variable(*kind, "float64", Role.PARAMETER, text, initial=0.0, low=0.0, high=MOST_EMITTED)
        if species in forcing:
            yield Variable(*kind, "float32", Role.FORCING, text, low=0.0, high=MOST_EMITTED)
            yield _number(f"{EMISSION}factor_{species}", "1", f"factor of {EMISSION}{species}", FACTOR, dims=YX)


def _rate_text(process: Process) -> str:
    rate = process.rate
    numbers = zip(NUMBERS[rate.form], rate.numbers, strict=False)
    said = ", ".join(f"{name} {number:g}" for name, number in numbers if NUMBERS[rate.form][name] != number)
    return " ".join([f"{rate.name}:" * bool(rate.name), rate.form, said, *(f"[{third}]" for third in rate.third)]).strip()


def _number(
    name: str, units: str, text: str, numbers: Numbers, heading: str = "", source: str = "", dims: tuple[str, ...] = ()
) -> Variable:
    """A parameter. numbers: its initial value and its limits."""
    initial, low, high = numbers
    return Variable(name, dims, units, "float64", Role.PARAMETER, text, initial=initial, low=low, high=high, source=source, heading=heading)
