"""Steppe over several sites: the same bytes as on one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.worlds import ROOT, Site, world

RUN_FILE = f"""
model = "{ROOT / "examples" / "shallow_water.py"}"

[time]
start = 2000-01-01
end = 2000-01-20

[grid]
rectangle = {{ north = 10, west = 0, rows = 32, columns = 32, cell = 0.1 }}

[output]
variables = ["h", "flow_x"]
"""
STEPPE = [sys.executable, "-m", "steppe", "run"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, gateway_program: Path) -> Path:
    folder = tmp_path_factory.mktemp("steppe")
    (folder / "run.toml").write_text(RUN_FILE)
    subprocess.run([*STEPPE, "run.toml", "--ranks", "4", "--output", "one", "--quiet"], cwd=folder, check=True)
    return folder


def results(run: Path) -> dict[str, bytes]:
    """What a run has computed, by file: the store, and the values of the checkpoint."""
    files = [*run.glob("output.zarr/**/*"), *run.glob("checkpoints/*/arrays.bin")]
    return {str(path.relative_to(run)): path.read_bytes() for path in files if path.is_file()}


@pytest.mark.parametrize(("ranks", "order"), [((2, 2), "blocks"), ((2, 1, 1), "turns")])
def test_a_run_over_sites_has_the_bytes_of_one_site(folder: Path, ranks: tuple[int, ...], order: str) -> None:
    name = "".join(map(str, ranks))
    sites = [Site(site, n, [*STEPPE, "run.toml", "--output", name, "--quiet"]) for site, n in zip("abc", ranks, strict=False)]
    with world(folder, sites, "--map", order, delay=0.001) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0] * len(ranks), ended
    assert results(folder / name) == results(folder / "one")


def test_a_run_over_sites_goes_on_at_one(folder: Path) -> None:
    sites = [Site(site, 2, [*STEPPE, "run.toml", "--output", "part", "--until", "2000-01-10", "--quiet"]) for site in "ab"]
    with world(folder, sites) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0, 0], ended
    subprocess.run([*STEPPE, "run.toml", "--output", "part", "--quiet"], cwd=folder, check=True)
    assert results(folder / "one").items() <= results(folder / "part").items()


def test_a_mistake_in_a_run_file_is_one_sentence_and_ends_all_sites(folder: Path) -> None:
    (folder / "wrong.toml").write_text(RUN_FILE.replace('"h", "flow_x"', '"depth"'))
    sites = [Site(site, 2, [*STEPPE, "wrong.toml", "--output", "wrong", "--quiet"]) for site in "ab"]
    with world(folder, sites) as running:
        ended = running.end()
    assert [one.code for one in ended] == [2, 2], ended
    assert 'there is no variable "depth" to record' in ended[0].errors
    assert "variable" not in ended[1].errors


DELAY = 0.001  # [s]
ACROSS = f"""
DELAY = {DELAY}
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import PING_PONG, UNDER_WAY, plan
from steppe.measure.messages.session import fit_series
from steppe.measure.timing.rank_places import as_text, here, of_text, pairs
raw = open_raw(find_launch())
places = [of_text(text) for text in raw.texts(as_text(here()))]
session = Messages(raw, 0.02, 0.05, 1 << 20)
tasks = [task for task in plan(raw.size, True, False, pairs(places)) if task.placement == "other site" and task.bytes in (8, 1024)]
series = [session.measure(task) for task in tasks if task.variant in (PING_PONG, UNDER_WAY)]
if raw.rank == 0:
    print(*(one.statistics.minimum >= DELAY for one in series if one.variant == PING_PONG), [one.name for one in fit_series(series)])
raw.close()
"""


@pytest.mark.parametrize("ranks", [(1, 1), (2, 2)])
def test_messages_between_sites_are_measured_and_fitted(folder: Path, ranks: tuple[int, ...]) -> None:
    sites = [Site(name, n, [sys.executable, "-c", ACROSS]) for name, n in zip("ab", ranks, strict=True)]
    with world(folder, sites, delay=DELAY) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0, 0], ended
    fits = [{"operation": "point-to-point", "variant": variant} for variant in ("ping-pong", "64 under way")]
    assert ended[0].output == f"True True {fits}\n"
