"""What the benchmark of transport compares computes the same; otherwise a comparison would say nothing."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.programs import transport_ranks
from benchmarks.programs.transport_ranks import main
from benchmarks.suites.transport import same
from benchmarks.transport_runs import DT, GRID, wind
from benchmarks.transport_twin import build

from steppe.models.transport.winds import RADIUS
from steppe.testing import run_threads


def test_the_twin_moves_tracers_as_the_model_does(tmp_path: Path) -> None:
    assert same(build(tmp_path), tmp_path).passed


@pytest.mark.parametrize("hosts", [["a", "a"], ["a", "b"]])
def test_arrays_halos_and_replication_give_the_same_bits(hosts: list[str]) -> None:
    found = run_threads(2, lambda world: main(world, 5.0, "jets", 1, 1), 60.0, hosts)[0]  # which compares them
    assert (found["arrays"]["bytes"] > 0) == (found["halos"]["bytes"] > 0) == (len(set(hosts)) > 1)
    assert found["halos"]["memory"] < found["whole"]["memory"]


def test_halos_that_are_too_narrow_give_other_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_ranks, "STENCIL", -4)
    with pytest.raises(AssertionError, match="Other bits with halos"):
        run_threads(2, lambda world: main(world, 5.0, "jets", 1, 1), 60.0)


@pytest.mark.parametrize("flow", ["jets", "deforming"])
def test_the_fastest_air_passes_the_given_rows_in_a_step(flow: str) -> None:
    fields = wind(30.0, flow)
    rows = np.hypot(fields["u"], fields["v"]).max() * DT / RADIUS / (np.pi / GRID.nlat)
    assert rows == pytest.approx(30.0)
