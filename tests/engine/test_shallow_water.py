"""Shallow water: right, and the same to the bit however its plane is cut."""

from collections.abc import Mapping

import numpy as np
import pytest
from examples.shallow_water import ShallowWater

from steppe.comm import BoxReach, World, run_threads
from steppe.grid import Edges, Partition, Raster
from steppe.kernels.sums import total
from steppe.models import field_model
from tests.engine.test_diffusion import CLOCK, Nothing

Fields = Mapping[str, np.ndarray]
NAMES = ("h", "flow_x", "flow_y")
EDGES: dict[str, Edges] = {
    "walls": {},
    "periodic": {"y": "periodic", "x": "periodic"},
    "channel": {"x": "periodic"},
    "poles": {"y": "pole", "x": "periodic"},
    "one pole": {"y": ("pole", "wall"), "x": "periodic"},
}


def computed(
    state: Fields, steps: int, edges: Edges, ranks: int, dims: tuple[int, int] | None = None, seconds: float = 0.5
) -> tuple[Fields, float]:
    """The fields of all cells after some steps, put together from the ranks by their packed cells, and the water in all."""
    grid = Raster(0.0, -0.01, 0.0, 0.01, np.ones(state["h"].shape, dtype=bool))
    chosen = None if dims is None else dict(zip("yx", dims, strict=True))
    boxes = Partition.boxes(grid, ranks, ShallowWater.needs.halo or {}, edges, chosen)

    def rank(world: World) -> tuple[Fields, float]:
        box, model = boxes[world.rank], ShallowWater()
        reach = BoxReach(world, box, total)
        part = {name: box.unpack(values.ravel()[grid.order[box.cells]]) for name, values in state.items()}
        model.initialise(box, {"gravity": 1.0, "spacing": 1.0, "seconds": seconds}, part, {}, reach)
        model.advance(range(steps), Nothing(), CLOCK, Nothing())
        assert model.status().count == 0
        return {name: box.pack(model.export(name)) for name in NAMES}, reach.total(model.state["h"])

    found = run_threads(len(boxes), rank)
    packed = {name: np.empty(grid.n_cells) for name in NAMES}
    for box, (parts, _) in zip(boxes, found, strict=True):
        for name, values in parts.items():
            packed[name][box.cells] = values
    assert len({water for _, water in found}) == 1
    return {name: grid.unpack(values) for name, values in packed.items()}, found[0][1]


def stirred(shape: tuple[int, int]) -> Fields:
    random = np.random.default_rng(11)
    return {"h": 1.0 + 0.3 * random.random(shape), "flow_x": 0.1 * random.random(shape), "flow_y": 0.1 * random.random(shape)}


@pytest.mark.parametrize("kind", EDGES)
def test_fields_and_totals_have_the_same_bits_for_any_ranks_and_cuts(kind: str) -> None:
    shape, edges = (25, 70), EDGES[kind]
    start = stirred(shape)
    expected, water = computed(start, 12, edges, 1)
    for ranks in (2, 3, 4, 7, 12):
        for dims in (None, (ranks, 1), (1, ranks)):
            found, same = computed(start, 12, edges, ranks, dims)
            assert all(found[name].tobytes() == expected[name].tobytes() for name in NAMES), (ranks, dims)
            assert same == water


def test_boxes_without_an_interior_have_the_same_bits() -> None:
    start = stirred((6, 8))
    expected, _ = computed(start, 12, EDGES["poles"], 1)
    found, _ = computed(start, 12, EDGES["poles"], 24, (6, 4))
    assert all(found[name].tobytes() == expected[name].tobytes() for name in NAMES)


def test_an_interior_in_bands_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    start = stirred((25, 40))
    expected, _ = computed(start, 12, EDGES["poles"], 2)
    monkeypatch.setattr(field_model, "BAND", 100)
    assert [band[0] for band in field_model.bands((slice(2, 7), slice(0, 40)))] == [slice(2, 4), slice(4, 6), slice(6, 7)]
    found, _ = computed(start, 12, EDGES["poles"], 2)
    assert all(found[name].tobytes() == expected[name].tobytes() for name in NAMES)


@pytest.mark.parametrize("kind", ["walls", "periodic", "channel", "poles"])
def test_water_is_kept_to_the_rounding_of_each_step(kind: str) -> None:
    start = stirred((20, 30))
    _, water = computed(start, 300, EDGES[kind], 2)
    assert water == pytest.approx(start["h"].sum(), rel=1e-13)


def test_a_standing_wave_between_walls_approaches_the_exact_one_with_second_order() -> None:
    """h = 1 + a cos(pi x / L) cos(pi y / L) cos(omega t), omega = sqrt(2) pi / L where waves run with speed 1; a is small.

    After an eighth and a half of a period. The rate is of order 2 within 0.05.
    """
    errors = []
    for n in (16, 32, 64):
        place = np.pi * (np.arange(n) + 0.5) / n
        wave = 1e-7 * np.outer(np.cos(place), np.cos(place))
        steps, seconds = 2 * n, 0.375 * np.sqrt(2.0)
        start = {"h": 1.0 + wave, "flow_x": np.zeros((n, n)), "flow_y": np.zeros((n, n))}
        found, _ = computed(start, steps, {}, 2, seconds=seconds)
        exact = wave * np.cos(np.sqrt(2.0) * np.pi / n * steps * seconds)
        errors.append(np.sqrt(np.mean((found["h"] - 1.0 - exact) ** 2)) / 1e-7)
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert abs(rates[-1] - 2.0) < 0.05, (errors, rates)  # order


def test_where_nothing_varies_along_rows_a_pole_is_a_wall() -> None:
    column = stirred((30, 1))
    start = {"h": column["h"].repeat(8, 1), "flow_x": np.zeros((30, 8)), "flow_y": column["flow_y"].repeat(8, 1)}
    poles, _ = computed(start, 40, EDGES["poles"], 3)
    walls, _ = computed(start, 40, EDGES["channel"], 3)
    assert np.ptp(poles["flow_y"]) > 0.1
    assert all((poles[name] == walls[name]).all() for name in NAMES)
