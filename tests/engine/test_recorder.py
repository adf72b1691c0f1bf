import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.engine.recorder import IntervalRecorder
from steppe.models import Records

CELLS = 3
METHODS = {"mean": np.mean, "sum": np.sum, "min": np.min, "max": np.max, "last": lambda values, axis: values[-1]}


def into(found: dict[int, np.ndarray]):
    """Keeps records by number."""
    return lambda first, values: found.update({first + i: row.copy() for i, row in enumerate(values)})


def fill(records: list[Records], values: np.ndarray) -> None:
    """What a model does in a piece: fills its slots, step by step."""
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum, "last": lambda old, new: new}
    for record in records:
        for slot, row in zip(record.slots, values, strict=True):
            record.values[slot] = combine[record.operation](record.values[slot], row)


def feed(recorder: IntervalRecorder, values: np.ndarray, cuts: list[int]) -> None:
    """The same in all pieces."""
    for start, stop in itertools.pairwise(cuts):
        fill(recorder.records(range(start, stop)), values[start:stop])
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
        recorder = IntervalRecorder(CELLS)
        recorder.want("x", method, edges, into(found))
        feed(recorder, values, cuts)
        assert sorted(found) == list(range(len(edges) - 1))
        for record, (a, b) in enumerate(itertools.pairwise(edges)):
            np.testing.assert_allclose(found[record], expected(values[a:b], axis=0), rtol=1e-13)


def wishes(found: dict[str, dict[int, np.ndarray]], edges: np.ndarray, like: IntervalRecorder | None = None) -> IntervalRecorder:
    """A recorder of every method, into found[method]."""
    recorder = IntervalRecorder(CELLS, like)
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
    recorder = IntervalRecorder(CELLS)
    found = []
    for _ in range(2):
        recorder.want("x", "sum", np.array([0, 2]), lambda record, values: found.append(values.tolist()))
    assert len(recorder.records(range(2))) == 1
    feed(recorder, np.ones((2, CELLS)), [0, 2])
    assert found == [[[2.0] * CELLS]] * 2


@pytest.mark.parametrize(("edges", "dtype"), [([0, 1, 2], "float32"), ([0, 1, 3], "float64")])
def test_values_of_single_steps_have_the_dtype_of_their_variable_and_take_no_more_room(edges, dtype):
    found, recorder, wide = {}, IntervalRecorder(CELLS), IntervalRecorder(CELLS)
    recorder.want("x", "mean", np.array(edges), into(found), (2,), "float32")
    wide.want("x", "mean", np.array(edges), into({}), (2,), "float64")
    (record,) = recorder.records(range(1))
    assert record.values.dtype == dtype
    assert recorder.nbytes * 8 == wide.nbytes * np.dtype(dtype).itemsize
    record.values[:] = np.float32(0.1)
    recorder.finish(range(1))
    assert found[0].dtype == dtype
    assert (found[0] == np.float32(0.1)).all()


def test_the_record_of_a_step_is_filled_in_where_it_goes_unless_something_else_takes_it():
    room, found = np.zeros((1, CELLS)), []

    def recorder(edges: list[int], others: int = 0, dtype: str = "float64") -> IntervalRecorder:
        made = IntervalRecorder(CELLS)
        for _ in range(1 + others):
            made.want("x", "mean", np.array(edges), lambda record, values: found.append(values), (), dtype, lambda record: room)
        return made

    (record,) = (direct := recorder([0, 1, 2])).records(range(1))
    assert record.values is room
    direct.finish(range(1))
    assert np.shares_memory(found.pop(), room)
    muted = recorder([0, 1, 2])
    muted.mute()
    elsewhere = [recorder([0, 2]), recorder([0, 1, 3]), recorder([0, 1, 2], others=1), recorder([0, 1, 2], dtype="float32"), muted]
    for each in elsewhere:
        assert not np.shares_memory(each.records(range(1))[0].values, room)
    (record,) = direct.records(range(2))
    assert not np.shares_memory(record.values, room)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_carried_over_a_border(method):
    recorder = IntervalRecorder(CELLS)
    recorder.want("x", method, np.array([0, 2, 4]), lambda record, values: None)
    feed(recorder, np.ones((4, CELLS)), [0, 2])
    assert recorder.state() == {}


@pytest.mark.parametrize("together", [False, True])
def test_branches_that_use_the_same_buffers_record_what_each_would_alone(together):
    months, cuts = np.array([0, 31, 59, 62]), [0, 3, 7, 40, 41, 62]
    fields = np.random.default_rng(2).normal(size=(3, 62, CELLS))
    alone: list[dict] = [{}, {}, {}]
    for values, found in zip(fields, alone, strict=True):
        feed(wishes(found, months), values, cuts)
    shared: list[dict] = [{}, {}, {}]
    root = wishes({}, months)
    recorders = [wishes(found, months, root) for found in shared]
    for start, stop in itertools.pairwise(cuts):
        if not together:
            for recorder, values in zip(recorders, fields, strict=True):
                feed(recorder, values, [start, stop])
            continue
        for records, values in zip([recorder.records(range(start, stop)) for recorder in recorders], fields, strict=True):
            fill(records, values[start:stop])
        for recorder in recorders:
            recorder.finish(range(start, stop))
    for one, other in zip(alone, shared, strict=True):
        for method in METHODS:
            assert {n: row.tobytes() for n, row in one[method].items()} == {n: row.tobytes() for n, row in other[method].items()}
