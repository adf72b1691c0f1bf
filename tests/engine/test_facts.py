"""What an engine says of the variables of a run, and the inputs of a run that can be looked at like them."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import bucket

from steppe.engine import Plan, Session
from steppe.engine.facts import facts_of
from steppe.grid import read_grid
from steppe.ingest.land import TYPE
from steppe.io.forcing.writer import About, ForcingWriter, Written
from steppe.models import CellModel
from tests.engine.sessions import OWN, on_session, seen, to
from tests.engine.test_branches import FIELD
from tests.scenario import EXAMPLES, write_mask

LAND = """
[[land_type]]
id = 1
name = "Clay"
capacity = 150.0

[[land_type]]
id = 3
capacity = 60.0
"""


@pytest.fixture
def with_land(scenario: Path) -> Path:
    """The scenario with two land types in stripes."""
    grid = read_grid(file=scenario.parent / "mask.zarr")
    with ForcingWriter(scenario.parent / "land.zarr", grid, [Written(TYPE, None, "float32")], About("land", "", "")) as writer:
        writer.write_static("land_type", np.where(np.arange(grid.n_cells) % 2, 3.0, 1.0))
    text = scenario.read_text().replace("capacity = 120.0", 'land_type = { store = "land.zarr", variable = "land_type" }')
    scenario.write_text(text + LAND)
    return scenario


def variables_of(run_file: Path) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in facts_of(Plan.of(run_file, cores=1))["variables"]}


def test_facts_say_what_the_map_of_each_variable_shows(with_land: Path) -> None:
    found = variables_of(with_land)
    assert (found["water"]["map"], found["leak"]["map"]) == ("field", "field")
    assert (found["rain"]["logarithmic"], found["water"]["logarithmic"]) == (True, False)
    land = found["land_type"]
    assert (land["map"], land["classes"], land["settable"]) == ("classes", {"1": "Clay", "3": "type 3"}, False)
    assert facts_of(Plan.of(with_land, cores=1))["given"] == ["capacity", "land_type"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_land_types_can_be_looked_at_at_any_step(with_land: Path, ranks: int) -> None:
    def work(session: Session) -> Any:
        session.load(1, OWN)
        to(session, 4)
        now, past = seen(session, "land_type"), seen(session, "land_type", step=2)
        assert now.tobytes() == past.tobytes()
        return now.tolist()

    found = on_session(with_land, work, ranks)
    assert found == [3.0 if cell % 2 else 1.0 for cell in range(len(found))]
    assert len(found) == Plan.of(with_land, cores=1).grid.n_cells


def test_facts_name_the_vector_of_a_component_and_where_it_points(tmp_path: Path) -> None:
    write_mask(tmp_path / "mask.zarr", np.ones((5, 7), bool))
    shutil.copy(EXAMPLES / "shallow_water.py", tmp_path)
    (tmp_path / "run.toml").write_text(FIELD)
    found = variables_of(tmp_path / "run.toml")
    assert {name: (each["vector"], each["toward"]) for name, each in found.items() if each["vector"]} == {
        "flow_x": ("flow", "east"),
        "flow_y": ("flow", "south"),
    }


def test_how_a_variable_looks_on_a_map_is_no_part_of_a_models_digest() -> None:
    plain, shown = CellModel(bucket), CellModel(bucket)
    declaration = shown._declaration
    declaration.variables = {
        name: replace(variable, classes={1: "wet"}, logarithmic=True, heading="Soil", vector=("flow", "east"))
        for name, variable in declaration.variables.items()
    }
    assert declaration.digest() == plain.digest
    declaration.variables = {name: replace(variable, units="furlong") for name, variable in declaration.variables.items()}
    assert declaration.digest() != plain.digest


def test_the_events_of_the_run_file_are_told_with_their_step_and_their_cells(scenario: Path) -> None:
    box = "{ box = [144.0, -22.0, 145.0, -20.0] }"
    scenario.write_text(
        scenario.read_text()
        + f"\n[[event]]\ndate = 1990-02-01\nset = {{ water = 3.0 }}\nregion = {box}\n"
        + "\n[[event]]\ndate = 1990-01-20\nset = { capacity = 90.0 }\n"
    )
    assert facts_of(Plan.of(scenario, cores=1))["planned"] == [
        {"step": 10, "set": {"capacity": 90.0}, "cells": None},
        {"step": 22, "set": {"water": 3.0}, "cells": 42},
    ]
