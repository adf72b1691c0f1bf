"""Runs of a field model on ranks, and their states joined."""

import numpy as np

from steppe.arrays import ModelArrays
from steppe.comm import BoxReach
from steppe.engine.recorder import IntervalRecorder
from steppe.grid import Partition
from steppe.kernels.sums import totals


def advanced(world, plan, dims=None, steps=6, pieces=1, prepare=None, first=0, copy=None):
    """The box and a model after some steps, in so many pieces. prepare: what is done with it before; copy: where it begins instead."""
    plan = plan.again()
    boxes = Partition.boxes(plan.grid, world.size, plan.model.needs.halo, None, dims)
    box, model = boxes[world.rank], plan.model
    reach = BoxReach(world, box, totals, ModelArrays(world))
    if copy is None:
        model.initialise(box, plan.chosen.values, None, plan.chosen.options, reach)
    else:
        model.recall(copy, box, reach)
    if prepare:
        prepare(model)
    reader = plan.reader()
    for begin in range(first, first + steps, steps // pieces):
        model.advance(range(begin, begin + steps // pieces), reader, plan.clock, IntervalRecorder(box.n_cells))
    if reader:
        reader.close()
    return box, model


def states(world, plan, dims=None, **more):
    """The box and the state of its own cells after some steps; see `advanced`."""
    box, model = advanced(world, plan, dims, **more)
    return box, {name: values.copy() for name, values in model.state.items()}


def whole(parts, shape):
    """States of boxes, joined."""
    found = {}
    for box, state in parts:
        rows, columns = (slice(first, first + length) for first, length in zip(box.origin, box.shape, strict=True))
        for name, values in state.items():
            found.setdefault(name, np.full((*values.shape[:-2], *shape), np.nan))[..., rows, columns] = values
    return found


def assert_same(one, other):
    """Every variable, bit by bit."""
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)
