"""Steppe over sites of which only the first sees the run folder: the others have copies of run file, model and weather.

The paths of site a begin with /proc/self/cwd, which at each site is its own working folder: as on machines without a common file system.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.test_steppe import results
from tests.bridge.worlds import Ended, Site, world
from tests.scenario import copied

STEPPE = [sys.executable, "-m", "steppe", "run"]
HERE = Path("/proc/self/cwd")
UNTIL = ["--set", "time.end=1990-03-20"]
SITES = 'Sites: a (ranks 0, 1), b (ranks 2, 3). Without the run folder: "b"; other ranks write the results.'
WEATHER_READ = ' Without the weather: "b"; other ranks read it.'


@pytest.fixture(scope="module")
def one(made_wide_scenario: Path, tmp_path_factory: pytest.TempPathFactory, gateway_program: Path) -> dict[str, bytes]:
    """The results of 4 ranks at one site."""
    folder = copied(made_wide_scenario, tmp_path_factory.mktemp("one")).parent
    subprocess.run([*STEPPE, "run.toml", "--ranks", "4", *UNTIL], cwd=folder, check=True)
    return results(folder / "out")


@pytest.fixture
def folders(made_wide_scenario: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The working folders of two sites."""
    return copied(made_wide_scenario, tmp_path / "a").parent, copied(made_wide_scenario, tmp_path / "b").parent


def run(folders: tuple[Path, Path], *more: str, at_b: tuple[str, ...] = (), ranks: tuple[int, int] = (2, 2)) -> list[Ended]:
    lines = [[*STEPPE, str(HERE / "run.toml"), *UNTIL, *more], [*STEPPE, "run.toml", *UNTIL, *more, *at_b]]
    sites = [Site(name, n, line, folder=folder) for name, n, line, folder in zip("ab", ranks, lines, folders, strict=True)]
    with world(folders[0], sites) as running:
        return running.end()


def tree(folder: Path) -> dict[Path, int]:
    """All files of a folder, with the time of their last change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_site_without_the_run_folder_computes_the_same_bytes_and_writes_nothing(folders, one):
    before = tree(folders[1])
    ended = run(folders)
    assert [site.code for site in ended] == [0, 0], ended
    assert results(folders[0] / "out") == one
    assert tree(folders[1]) == before
    assert [site.errors.count(f"{SITES}\n") for site in ended] == [1, 0]


def test_a_run_goes_on_at_sites_of_which_one_lacks_the_folder(folders, one):
    subprocess.run([*STEPPE, "run.toml", *UNTIL, "--until", "1990-02-07"], cwd=folders[0], check=True)
    ended = run(folders)
    assert [site.code for site in ended] == [0, 0], ended
    assert one.items() <= results(folders[0] / "out").items()
    assert SITES in ended[0].errors


def test_ranks_of_another_site_read_the_weather_for_a_site_without(folders, one):
    shutil.rmtree(folders[1] / "weather.zarr")
    before = tree(folders[1])
    ended = run(folders, "--set", "engine.writers=aggregate:2")
    assert [site.code for site in ended] == [0, 0], ended
    assert results(folders[0] / "out") == one
    assert tree(folders[1]) == before
    assert f"{SITES}{WEATHER_READ}\n" in ended[0].errors


def change_text(path: Path) -> None:
    path.write_text("# another line\n" + path.read_text())


def change_byte(path: Path) -> None:
    chunk = next(each for each in sorted(path.rglob("c/**/*")) if each.is_file())
    content = bytearray(chunk.read_bytes())
    content[-1] ^= 1
    chunk.write_bytes(content)


MODEL = '"/proc/self/cwd/bucket.py" (model) of sites "a" and "b" differs: line 1 is '
WEATHER = ' (forcing.store) of sites "a" and "b" differs: both have '
SETTING = 'The run files of sites "a" and "b" differ: parameters.capacity is 120.0 at "a" and 130.0 at "b".'
LACKS = '"b" has no "'


@pytest.mark.parametrize(
    ("file", "change", "at_b", "sentence"),
    [
        ("bucket.py", change_text, (), MODEL),
        ("weather.zarr", change_byte, (), WEATHER),
        ("run.toml", Path.exists, ("--set", "parameters.capacity=130.0"), SETTING),
        ("mask.zarr", shutil.rmtree, (), LACKS),
        ("run.toml", Path.unlink, (), 'Site "b" does not see the run folder. Run file "run.toml" cannot be read'),
        ("weather.zarr", shutil.rmtree, ("--set", "forcing.spread=own"), 'forcing.spread is "auto" at "a" and "own" at "b".'),
    ],
)
def test_a_site_that_would_compute_another_run_is_refused_at_all_sites(folders, file, change, at_b, sentence):
    change(folders[1] / file)
    ended = run(folders, at_b=at_b, ranks=(1, 1))
    assert [site.code for site in ended] == [2, 2], ended
    assert [site.errors.count(sentence) for site in ended] == [1, 1], ended
    assert not (folders[0] / "out").exists()


def test_a_spread_that_lets_a_site_read_weather_that_it_lacks_is_refused(folders):
    shutil.rmtree(folders[1] / "weather.zarr")
    ended = run(folders, "--set", "forcing.spread=node", ranks=(1, 1))
    assert [site.code for site in ended] == [2, 2], ended
    sentence = '[forcing] spread = "node" lets ranks read that do not have the weather. Write "auto" or "readers:1"'
    assert [site.errors.count(sentence) for site in ended] == [1, 1], ended
