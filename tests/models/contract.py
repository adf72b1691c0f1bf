"""What every model keeps to, whatever it leaves out: checked through the orders that ranks get, on one rank and on two."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from steppe.engine import Plan, Ranks
from steppe.errors import ModelError
from steppe.models.contract import Exports, Settable
from steppe.models.defaults import leaves_out
from steppe.variable import Role
from tests.engine.sessions import with_ranks

FIRST, STEPS = 3, 7


class Seen(NamedTuple):
    """What a run of some steps gives: the digest of the state, and each variable over all cells."""

    digest: int
    values: Mapping[str, bytes]


def kept_by(run_file: Path, ranks: int = 1) -> Seen:
    """Whether the model of a run keeps to the contract, by assertions; what it computes, the same for any ranks."""
    found: Seen = with_ranks(ranks, run_file, _kept)
    return found


def _kept(plan: Plan, all_ranks: Ranks) -> Seen:
    root = all_ranks.begin(plan)
    whole, parts = _begun(plan, all_ranks, root), _begun(plan, all_ranks, root)
    all_ranks.order(whole, "step", start=0, stop=STEPS, keep_last_step=True)
    for step in range(FIRST):
        all_ranks.order(parts, "step", start=step, stop=step + 1, keep_last_step=True)
    assert all_ranks.order(parts, "remember", entry=1) > 0
    beside = _begun(plan, all_ranks, root, beside=[parts])
    all_ranks.order(parts, "step", start=FIRST, stop=STEPS, keep_last_step=True, beside=[beside])
    end = all_ranks.order(whole, "digest")
    assert all_ranks.order(parts, "digest") == end, "any split of steps gives the same bits"
    assert all_ranks.order(beside, "digest") == end, "models that go together give the same bits as one that goes alone"
    again = _begun(plan, all_ranks, root, entry=1)
    all_ranks.order(again, "step", start=FIRST, stop=STEPS, keep_last_step=True)
    assert all_ranks.order(again, "digest") == end, "a copy is recalled by another model of the same kind"
    seen = Seen(end, _exports(plan, all_ranks, whole))
    _set(plan, all_ranks, again)
    assert all_ranks.order(whole, "digest") == end, "what is done to one model is not done to another"
    for number in (whole, parts, beside, again, root):
        all_ranks.order(number, "close")
    return seen


def _begun(plan: Plan, all_ranks: Ranks, root: int, beside: Any = None, entry: int | None = None) -> int:
    number = all_ranks.begin(plan.again(), like=root)
    if beside is not None:
        all_ranks.order(number, "split", beside=beside)
    elif entry is not None:
        all_ranks.order(number, "recall", entry=entry, output="")
    else:
        all_ranks.order(number, "open", output="", checkpoint="")
    return number


def _exports(plan: Plan, all_ranks: Ranks, number: int) -> dict[str, bytes]:
    """All variables; of a model without `export` its states and parameters."""
    given = (Role.STATE, Role.PARAMETER) if leaves_out(plan.model, Exports) else tuple(Role)
    found = {}
    for name in [name for name, variable in plan.variables.items() if variable.role in given]:
        values = all_ranks.order(number, "export", name=name)
        assert values.shape[-1] == plan.grid.n_cells, name
        found[name] = values.tobytes()
    return found


def _set(plan: Plan, all_ranks: Ranks, number: int) -> None:
    """A state is set in one cell, or the model says that nothing can be set."""
    names = (n for n, v in plan.model.variables.items() if v.role is Role.STATE and not v.settable_by and v.dtype != "int32")
    name, cells = next(names), np.array([0])
    value = float(np.nextafter(all_ranks.order(number, "export", name=name).ravel()[0], np.inf))
    if leaves_out(plan.model, Settable):
        with pytest.raises(ModelError, match="has no method `set`"):
            all_ranks.order(number, "set", name=name, value=value, cells=cells)
        return
    all_ranks.order(number, "set", name=name, value=value, cells=cells)
    assert all_ranks.order(number, "export", name=name, cells=cells).ravel()[0] == np.float64(value).astype(plan.variables[name].dtype)
