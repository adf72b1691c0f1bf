"""Maps of several frequencies in one run: each as if it were alone."""

from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.engine import Simulation
from steppe.errors import Exit, FolderError
from tests.cli.conftest import call
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest

__all__ = ["call"]

MORE = """\
[[output.maps]]
name = "daily"
variables = ["water"]
every = "1 day"

[[output.maps]]
name = "wettest"
variables = ["water", "runoff"]
every = "10 days"
reduce = "max"
precision = "12 bits"

[engine]
"""


@pytest.fixture
def run_file(wide_scenario: Path) -> Path:
    wide_scenario.write_text(wide_scenario.read_text().replace("[engine]\n", MORE))
    return wide_scenario


def shards(group: Path) -> dict[str, bytes]:
    found = {str(file.relative_to(group)): file.read_bytes() for file in group.glob("*/c/*/*")}
    assert found
    return found


def test_each_group_of_maps_is_what_a_run_with_it_alone_writes(run_file, tmp_path):
    store = steppe.run(run_file) / "output.zarr"
    alone = """every = "10 days"\nreduce = "max"\nprecision = "12 bits" """
    for name, variables, keys in (("daily", '["water"]', 'every = "1 day"'), ("wettest", '["water", "runoff"]', alone)):
        text = run_file.read_text().partition("[[output.series]]")[0]
        one = run_file.with_name(f"{name}.toml")
        one.write_text(text.replace('["water", "runoff"]', variables).replace('every = "1 month"', keys))
        written = {key: held for key, held in shards(steppe.run(one, tmp_path / name) / "output.zarr").items() if "/" in key}
        here = shards(store / "maps" / name)
        of_variables = {key for key in here if key.split("/")[0] in ("water", "runoff")}
        assert {key: here[key] for key in of_variables} == {key: written[key] for key in of_variables}


def test_they_open_by_name_and_agree_with_each_other(run_file):
    path = steppe.run(run_file)
    with steppe.open(path) as monthly, steppe.open(path, "daily") as daily, steppe.open(path, "wettest") as wettest:
        assert (monthly.sizes["time"], daily.sizes["time"], wettest.sizes["time"]) == (15, 420, 42)
        assert wettest["water"].attrs["cell_methods"] == "time: maximum"
        assert wettest["water"].attrs["quantization_nsb"] == 12
        np.testing.assert_allclose(daily["water"].sel(time="1990-03").mean("time"), monthly["water"].sel(time="1990-03")[0], rtol=1e-6)
        np.testing.assert_allclose(daily["water"][10:20].max("time"), wettest["water"][1], rtol=1.3e-4)
        assert steppe.unpack(daily["water"][:1], daily).dims == ("time", "lat", "lon")
    with pytest.raises(FolderError, match=r'no series "dialy" at .*, and no maps of this name. Did you mean "daily"'):
        steppe.open(path, "dialy")


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_and_a_stop_change_no_byte(run_file, tmp_path, ranks):
    def stopped(simulation: Simulation) -> None:
        simulation.step(137)
        simulation.checkpoint()

    expected = digest(steppe.run(run_file, tmp_path / "alone"))
    on_ranks(ranks, run_file, stopped)
    on_ranks(1, run_file, lambda simulation: simulation.run())
    assert digest(run_file.parent / "out") == expected


def test_commands_take_their_name(run_file, call, monkeypatch):
    monkeypatch.chdir(run_file.parent)
    assert call("run", "run.toml", "--quiet")[0] == Exit.DONE
    shown = call("info", "out")[1]
    assert "daily: water, 420 records" in shown
    assert "wettest: runoff, water, 42 records" in shown
    assert call("export", "out", "--csv", "a.csv", "--maps", "daily", "--at", "-22,144")[0] == Exit.DONE
    assert len(Path("a.csv").read_text().splitlines()) == 1 + 420
    assert call("export", "out", "--netcdf", "a.nc", "--maps", "wettest", "--date", "1990-03-15")[0] == Exit.DONE
    assert call("plot", "out", "--maps", "daily", "--output", "a.png")[0] == Exit.DONE
    assert call("export", "out", "--csv", "b.csv", "--maps", "daily", "--series", "means")[0] == Exit.MISTAKE
