import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.engine.recorder import Recorder

CELLS = 3
METHODS = {"mean": np.mean, "sum": np.sum, "min": np.min, "max": np.max, "last": lambda values, axis: values[-1]}


def into(found: dict[int, np.ndarray]):
    """Keeps records by number."""
    return lambda first, values: found.update({first + i: row.copy() for i, row in enumerate(values)})


def feed(recorder: Recorder, values: np.ndarray, cuts: list[int]) -> None:
    """What a model does: fills the slots of each piece, step by step."""
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum, "last": lambda old, new: new}
    for start, stop in itertools.pairwise(cuts):
        for record in recorder.records(range(start, stop)):
            for j, slot in enumerate(record.slots):
                record.values[slot] = combine[record.operation](record.values[slot], values[start + j])
        recorder.finish(range(start, stop))


@given(st.data())
def test_reductions_do_not_depend_on_how_the_steps_are_cut(data):
    steps = data.draw(st.integers(1, 40))
    values = np.random.default_rng(steps).normal(size=(steps, CELLS))
    inner = st.lists(st.integers(1, max(steps - 1, 1)), unique=True, max_size=6)
    edges = np.array(sorted({0, steps, *(e for e in data.draw(inner) if e < steps)}))
    cuts = sorted({0, steps, *(c for c in data.draw(inner) if c < steps)})
    for method, expected in METHODS.items():
        found = {}
        recorder = Recorder(CELLS)
        recorder.want("x", method, edges, into(found))
        feed(recorder, values, cuts)
        assert sorted(found) == list(range(len(edges) - 1))
        for record, (a, b) in enumerate(itertools.pairwise(edges)):
            np.testing.assert_allclose(found[record], expected(values[a:b], axis=0), rtol=1e-13)


def wishes(found: dict[str, dict[int, np.ndarray]], edges: np.ndarray) -> Recorder:
    """A recorder of every method, into found[method]."""
    recorder = Recorder(CELLS)
    for method in METHODS:
        recorder.want("x", method, edges, into(found.setdefault(method, {})))
    return recorder


@pytest.mark.parametrize("cut", range(1, 62))
def test_an_unfinished_interval_goes_on_from_a_checkpoint_of_any_day_to_the_bit(cut):
    months = np.array([0, 31, 59, 62])
    values = np.random.default_rng(1).normal(size=(62, CELLS))
    whole, parts = {}, {}
    feed(wishes(whole, months), values, [0, 62])
    first, second = wishes(parts, months), wishes(parts, months)
    feed(first, values, [0, cut])
    second.restore(first.state())
    feed(second, values, [cut, 62])
    for method in METHODS:
        assert sorted(parts[method]) == [0, 1, 2]
        for record in range(3):
            assert whole[method][record].tobytes() == parts[method][record].tobytes(), (method, record)


def test_equal_wishes_are_computed_once():
    recorder = Recorder(CELLS)
    found = []
    for _ in range(2):
        recorder.want("x", "sum", np.array([0, 2]), lambda record, values: found.append(values.tolist()))
    assert len(recorder.records(range(2))) == 1
    feed(recorder, np.ones((2, CELLS)), [0, 2])
    assert found == [[[2.0] * CELLS]] * 2


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_carried_over_a_border(method):
    recorder = Recorder(CELLS)
    recorder.want("x", method, np.array([0, 2, 4]), lambda record, values: None)
    feed(recorder, np.ones((4, CELLS)), [0, 2])
    assert recorder.state() == {}
