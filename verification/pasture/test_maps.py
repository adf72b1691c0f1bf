"""A map of the paper's size: active cells have the same bits however they are shared out, and a run goes on as if it had never stopped."""

from itertools import pairwise

import numpy as np
import pytest

from steppe.clock import Clock
from steppe.models import CellModel, pasture
from verification.pasture.cases import case
from verification.pasture.compiled import EVERYTHING, Cells, Log, Station, model_of, words

ROWS, COLUMNS, DAYS = 186, 156, 20
CASE = case("dalby_mitchell_cn")
CLOCK = Clock.daily(CASE.first)


def active_cells():
    """A mask with a coast: the left of a wavy line, 29,016 cells in all."""
    y, x = np.mgrid[:ROWS, :COLUMNS]
    return x < 90 + 40 * np.sin(y / 20.0)


def starts(n):
    """Another sward in every cell."""
    random = np.random.default_rng(1)
    return {"green_leaf": random.uniform(0, 2000, n), "dead_stem": random.uniform(0, 3000, n), "litter": random.uniform(0, 3000, n)}


@pytest.mark.parametrize("shares", [1, 2, 3, 7])
def test_active_cells_of_a_masked_map_have_the_same_bits_for_any_number_of_shares(shares, measured):
    mask = active_cells()
    n = int(mask.sum())
    start = starts(n)
    inputs = CASE.weather()
    whole = model_of(CASE, "float32", n, 2, **start)
    whole.advance(range(DAYS), Station(inputs, n), CLOCK, Log((), DAYS, n))
    cuts = [n * k // shares for k in range(shares + 1)]
    parts = []
    for low, high in pairwise(cuts):
        model = model_of(CASE, "float32", high - low, **{name: values[low:high] for name, values in start.items()})
        model.advance(range(DAYS), Station(inputs, high - low), CLOCK, Log((), DAYS, high - low))
        parts.append(model.state)
    joined = {name: np.concatenate([state[name] for state in parts]) for name in pasture.State._fields}
    differing = np.any([values.view(np.uint32) != whole.state[name].view(np.uint32) for name, values in joined.items()], axis=0)
    measured("mask", f"active of {mask.size} cells, {shares} shares: cells that differ", differing.sum(), "0 (same bits)")
    assert not differing.any()
    grid = np.full(mask.shape, np.nan, np.float32)
    grid[mask] = joined["green_leaf"]
    assert np.isnan(grid[~mask]).all()
    assert np.isfinite(grid[mask]).all()


@pytest.mark.parametrize("stop", [1, 150, 364])
def test_a_run_that_stops_saves_and_goes_on_has_the_same_bits(stop, measured):
    records = CASE.weather()
    days = 400
    whole = Log(EVERYTHING, days, 1)
    model_of(CASE, "float32").advance(range(days), Station(records, 1), CLOCK, whole)
    resumed = Log(EVERYTHING, days, 1)
    first = model_of(CASE, "float32")
    first.advance(range(stop), Station(records, 1), CLOCK, resumed)
    saved = {name: values.copy() for name, values in first.state.items()}
    second = CellModel(pasture, "float32")
    second.initialise(Cells(1), CASE.parameters._asdict(), saved, words(CASE.options))
    second.advance(range(stop, days), Station(records, 1), CLOCK, resumed)
    differing = [name for name in EVERYTHING if whole.values[name].tobytes() != resumed.values[name].tobytes()]
    measured("restart", f"stopped after {stop} of {days} days: variables that differ", len(differing), "0 (same bits)")
    assert not differing
