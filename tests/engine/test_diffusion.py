from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import cftime
import numpy as np
import pytest
from examples.diffusion import Diffusion

from steppe.clock import Clock
from steppe.comm import BoxReach, Serial
from steppe.errors import ModelError
from steppe.grid import Edge, Partition, Raster
from steppe.kernels.sums import totals
from steppe.models import Model, Records

CLOCK = Clock(cftime.datetime(2000, 1, 1), timedelta(hours=1))


class Nothing:
    """No forcing, nothing recorded."""

    names = ()
    in_turns = False
    most_steps = 1

    def pieces(self, steps: range) -> list[range]:
        return [steps]

    def turn_to(self, piece: range) -> None:
        pass

    def stream(self, cells: range) -> "Nothing":
        raise AssertionError("diffusion has no forcing")

    def records(self, steps: range) -> list[Records]:
        return []

    def finish(self, steps: range) -> None:
        pass


class Two(Nothing):
    """Keeps the sum of the steps in slot 0 and the last step in slot 1 of pairs of steps."""

    def __init__(self, cells: int) -> None:
        self.sums, self.lasts = np.zeros((1, cells)), np.full((1, cells), np.nan)
        self.finished: list[range] = []

    def records(self, steps: range) -> list[Records]:
        slots = np.zeros(len(steps), dtype=np.int32)
        return [Records("concentration", "sum", slots, self.sums), Records("concentration", "last", slots, self.lasts)]

    def finish(self, steps: range) -> None:
        self.finished.append(steps)


def started(field: np.ndarray, rate: float = 0.1, edges: Mapping[str, Edge] | None = None) -> Diffusion:
    grid = Raster(0.0, -0.1, 0.0, 0.1, np.ones(field.shape, dtype=bool))
    model = Diffusion()
    (box,) = Partition.boxes(grid, 1, model.needs.halo or {}, edges)
    as_protocol: Model = model
    as_protocol.initialise(box, {"rate": rate}, {"concentration": field}, {}, BoxReach(Serial(), box, totals))
    return model


def run(model: Diffusion, steps: range, recorder: Any = None) -> np.ndarray:
    model.advance(steps, Nothing(), CLOCK, recorder or Nothing())
    return model.export("concentration")


def modes(ny: int, nx: int, edge: Edge) -> np.ndarray:
    """A sine mode of a periodic box, or a cosine mode of one with walls, between 0 and 1."""
    y, x = (np.arange(n) + 0.5 for n in (ny, nx))
    turns = 2.0 if edge == "periodic" else 1.0
    wave = np.sin if edge == "periodic" else np.cos
    return 0.5 + 0.5 * np.outer(wave(turns * np.pi * y / ny), wave(turns * np.pi * x / nx))


@pytest.mark.parametrize("edge", ["periodic", "wall"])
def test_a_mode_decays_as_the_scheme_says(edge: Edge) -> None:
    ny, nx, rate, steps = 12, 70, 0.2, 60
    field = modes(ny, nx, edge)
    found = run(started(field, rate, {"y": edge, "x": edge}), range(steps))
    half = np.pi if edge == "periodic" else np.pi / 2.0
    factor = 1.0 - 4.0 * rate * (np.sin(half / ny) ** 2 + np.sin(half / nx) ** 2)
    np.testing.assert_allclose(found, 0.5 + (field - 0.5) * factor**steps, rtol=1e-10)  # same scheme


def test_the_decay_approaches_that_of_the_equation_with_second_order() -> None:
    """Twice the cells, four times the steps: the error of exp(-8 pi^2 D t) falls to a quarter."""
    errors = []
    for n in (16, 32, 64):
        steps, rate = n * n // 16, 0.1
        field = modes(n, n, "periodic")
        found = run(started(field, rate, {"y": "periodic", "x": "periodic"}), range(steps))
        exact = 0.5 + (field - 0.5) * np.exp(-8.0 * np.pi**2 * rate * steps / n**2)
        errors.append(np.sqrt(np.mean((found - exact) ** 2)))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert abs(rates[-1] - 2.0) < 0.05  # order


@pytest.mark.parametrize("edge", ["periodic", "wall"])
def test_mass_is_kept_to_the_rounding_of_each_step(edge: Edge) -> None:
    field = np.random.default_rng(4).random((9, 67))
    model = started(field, 0.25, {"y": edge, "x": edge})
    before = model.reach.total(model.state["concentration"])
    run(model, range(200))
    assert model.reach.total(model.state["concentration"]) == pytest.approx(before, rel=1e-13)


def test_any_split_of_the_steps_gives_the_same_bits() -> None:
    field = np.random.default_rng(5).random((5, 6))
    whole, split = started(field), started(field)
    run(whole, range(30))
    for steps in (range(1), range(1, 17), range(17, 30)):
        run(split, steps)
    assert (whole.state["concentration"] == split.state["concentration"]).all()


def test_interior_and_rims_have_the_bits_of_one_loop_over_everything() -> None:
    field = np.random.default_rng(6).random((7, 8))
    found = run(started(field, edges={"y": "periodic", "x": "periodic"}), range(10))
    for _ in range(10):
        north, south, west, east = (np.roll(field, shift, axis) for shift, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)))
        field = field + 0.1 * (((north + south) + (west + east)) - 4.0 * field)
    assert (found == field).all()


def test_a_recorder_is_given_every_step_in_the_order_of_the_grid() -> None:
    field = np.random.default_rng(7).random((2, 66))
    model = started(field)
    recorder = Two(field.size)
    run(model, range(3, 5), recorder)
    again = started(field)
    steps = [run(again, range(step, step + 1)) for step in (3, 4)]
    assert (recorder.sums[0] == model.box.pack(steps[0] + steps[1])).all()
    assert (recorder.lasts[0] == model.box.pack(steps[1])).all()
    assert recorder.finished == [range(3, 4), range(4, 5)]


def test_cells_are_exported_and_set_by_their_packed_positions() -> None:
    field = np.arange(132.0).reshape(2, 66)
    model = started(field)
    cells = np.array([0, 63, 64, 128, 131])
    assert model.export("concentration", cells).tolist() == [0.0, 63.0, 66.0, 64.0, 131.0]
    assert model.set("concentration", np.array([1.0, 2.0, 3.0, 4.0, 5.0]), cells) == ("concentration", 5, 324.0, 15.0)
    assert model.export("concentration", cells).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert model.export("concentration")[1, 0] == 3.0
    assert model.set("concentration", 1.0).after == 132.0


def test_the_state_restarts_the_model() -> None:
    model = started(np.random.default_rng(8).random((4, 5)))
    run(model, range(7))
    again = started(model.state["concentration"].copy())
    assert (run(model, range(7, 12)) == run(again, range(7, 12))).all()


def test_a_bad_cell_at_the_very_end_of_a_large_field_is_found() -> None:
    model = started(np.ones((300, 301)))
    model.now[0][model.box.own][-1, -1] = np.nan
    run(model, range(1))
    assert model.status().count == 3


def test_the_first_bad_cell_is_told_with_its_step() -> None:
    model = started(np.ones((4, 5)))
    run(model, range(2))
    assert model.status().count == 0
    model.now[0][model.box.own][1, 2] = np.inf
    run(model, range(2, 5))
    status = model.status()
    assert (status.step, status.variable, status.cell) == (2, "concentration", 2)
    assert status.count == 5


@pytest.mark.parametrize(
    ("name", "value", "index", "words"),
    [
        ("rate", 0.3, None, "must be a number from 0 to 0.25"),
        ("rate", float("nan"), None, "must be a number"),
        ("rate", 0.1, np.array([0]), "one number for the whole grid"),
        ("concentration", -1.0, None, "must be a number, 0 kg m-3 or more"),
        ("concentraton", 1.0, None, 'Did you mean "concentration"'),
    ],
)
def test_a_set_that_cannot_be_is_explained(name: str, value: float, index: np.ndarray | None, words: str) -> None:
    model = started(np.ones((2, 2)))
    with pytest.raises(ModelError, match=words):
        model.set(name, value, index)


def test_what_is_not_there_cannot_be_exported() -> None:
    with pytest.raises(ModelError, match='no variable "mass" to export'):
        started(np.ones((2, 2))).export("mass")
