"""What may be wrong with a run of air, its mechanism and its meteorology: each function makes the run, with one mistake."""

from pathlib import Path
from typing import Any

from tests.air import air_run

BURSTS = """\
species: ["O3", "NO"]
reactions:
- {n: 1, eq: "NO + NO -> 4 NO", rate: {type: loss, k: 1.0e+300}}
box: {initial: {"NO": 1.0e+9}}
"""


def air(folder: Path, parameters: str = "", change: Any = None, mechanism: str = "", **how: Any) -> None:
    """Nothing is wrong. mechanism: the text of mechanism.yaml, which the run then takes."""
    if mechanism:
        (folder / "mechanism.yaml").write_text(mechanism)
        parameters += '\nmechanism = "mechanism.yaml"'
    air_run(folder, parameters, cells=8, levels=4, change=change, **how)


def air_with_an_unknown_species(folder: Path) -> None:
    """A typo in a reaction of the mechanism of a run."""
    air(folder, mechanism=BURSTS.replace("4 NO", "4 NOX"))


def air_with_an_unknown_boundary(folder: Path) -> None:
    """A typo in the name of a species that comes in."""
    air(folder, "boundary_O33 = 40.0")


def air_with_an_unknown_factor(folder: Path) -> None:
    """A reaction that is not there."""
    air(folder, "rate_factor_r999 = 0.5")


def air_that_records_a_level(folder: Path) -> None:
    """An output takes whole variables."""
    air(folder)
    text = (folder / "run.toml").read_text()
    (folder / "run.toml").write_text(text.replace('variables = ["O3"]', 'variables = ["O3[0]"]'))


def air_that_begins_with_another_species(folder: Path) -> None:
    """The initial state is one of another mechanism."""
    air(folder, more="initial = { FORMALDEHYDE = 1.0 }")


def air_in_degrees_celsius(folder: Path) -> None:
    """Kelvins are declared, and are none."""
    air(folder, change=lambda fields: fields.assign(T=(fields["T"] - 273.15).assign_attrs(fields["T"].attrs)))


def air_without_mixing(folder: Path) -> None:
    """A mixing height of 0."""

    def change(fields: Any) -> Any:
        fields["mixing_height"][3, 2, 1] = 0.0
        return fields

    air(folder, change=change)


def air_without_heights(folder: Path) -> None:
    """Levels of pressure."""

    def change(fields: Any) -> Any:
        return fields.assign_coords(level=("level", [1000.0, 900.0, 800.0, 700.0], {"units": "hPa"}))

    air(folder, change=change)


def air_whose_levels_overlap(folder: Path) -> None:
    """Heights that cannot be the middles of levels from the ground up."""
    air(folder, change=lambda fields: fields.assign_coords(level=("level", [50.0, 80.0, 250.0, 350.0], {"units": "m"})))


def air_at_the_pole(folder: Path) -> None:
    """Columns that end in one point."""
    air(folder, change=lambda fields: fields.assign_coords(lat=("lat", fields["lat"].values + 45.0, fields["lat"].attrs)))


def air_with_too_long_a_step(folder: Path) -> None:
    """A storm passes many cells in a step."""

    def change(fields: Any) -> Any:
        fields["u"][:, 2] = 149.0
        return fields

    air(folder, change=change, step="8 hours", every="8 hours")


def air_that_bursts(folder: Path) -> None:
    """A rate that is too large for any number."""
    air(folder, mechanism=BURSTS)
