"""`steppe.example`: a run that needs no file."""

import subprocess
import sys
from pathlib import Path

import pytest

import steppe
from steppe.errors import FolderError, ModelError
from steppe.jobs.examples import EXAMPLES

SCRIPT = """
import steppe
sim = steppe.example()
sim.step()
print(sim.folder.path)
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the caller with the example at its sixtieth step."""
    folder = tmp_path_factory.mktemp("examples") / "pasture"
    with steppe.example("pasture", folder) as sim:
        sim.step(60)
    return folder


def test_an_example_is_run_looked_at_and_branched_without_a_file(kept: Path) -> None:
    with steppe.example("pasture", kept) as sim, sim.branch("more-stock") as more:
        assert (sim.grid.n_cells, sim.date) == (943, "1990-03-02")
        more.set("stocking_rate", 0.5)
        for scenario in (sim, more):
            scenario.step(60)
        eaten = sim["total_standing_dry_matter"] - more["total_standing_dry_matter"]
        assert eaten.dims == ("lat", "lon")
        assert float(eaten.mean()) > 10.0  # kg ha-1: animals eat
        assert float(sim["growth"].max()) > 0.0


def test_the_folder_of_an_example_has_all_that_the_commands_need(kept: Path) -> None:
    assert sorted(path.name for path in kept.iterdir()) == ["run", "run.toml", "weather.zarr"]
    assert (kept / "run.toml").read_text() == EXAMPLES["pasture"]
    assert steppe.open(kept / "run").attrs["weather"] == "generated"


def test_the_folder_of_an_example_without_a_name_is_gone_when_python_ends(tmp_path: Path) -> None:
    said = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], cwd=tmp_path, check=True, capture_output=True, text=True)
    run = Path(said.stdout.strip())
    assert run.parts[-2:] == ("pasture", "run")
    assert not run.parent.parent.exists()
    assert not any(tmp_path.iterdir())


def test_an_unknown_example_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ModelError, match=r'There is no example "pastures"\. Did you mean "pasture"\?'):
        steppe.example("pastures")


def test_a_folder_with_something_else_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FolderError, match=r"holds no example\. Choose an empty or a new folder"):
        steppe.example("pasture", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
