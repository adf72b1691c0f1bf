"""Steppe over several sites: the same bytes as on one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.worlds import ROOT, Site, world
from tests.scenario import copied

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
PASTURE = """
model = "pasture"

[time]
start = 1990-01-10
end = 1990-03-20

[forcing]
store = "weather.zarr"

[output]
path = "out"
variables = ["growth", "total_standing_dry_matter"]
every = "10 days"
"""
STEPPE = [sys.executable, "-m", "steppe", "run"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, gateway_program: Path) -> Path:
    folder = tmp_path_factory.mktemp("steppe")
    (folder / "run.toml").write_text(RUN_FILE)
    subprocess.run([*STEPPE, "run.toml", "--ranks", "4", "--output", "one", "--quiet"], cwd=folder, check=True)
    return folder


def results(run: Path) -> dict[str, bytes]:
    """What a run has computed, by file: the store, and the values of the newest checkpoint; of others time decides."""
    files = [*run.glob("output.zarr/**/*"), max(run.glob("checkpoints/*/arrays.bin"))]
    return {str(path.relative_to(run)): path.read_bytes() for path in files if path.is_file()}


@pytest.mark.parametrize(("ranks", "order"), [((2, 2), "blocks"), ((2, 1, 1), "turns")])
def test_a_run_over_sites_has_the_bytes_of_one_site(folder: Path, ranks: tuple[int, ...], order: str) -> None:
    name = "".join(map(str, ranks))
    sites = [Site(site, n, [*STEPPE, "run.toml", "--output", name, "--quiet"]) for site, n in zip("abc", ranks, strict=False)]
    sites[0].options += ["--map", order]
    with world(folder, sites, delay=0.001) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0] * len(ranks), ended
    assert results(folder / name) == results(folder / "one")


def test_a_run_over_sites_goes_on_at_one(folder: Path) -> None:
    sites = [Site(site, 2, [*STEPPE, "run.toml", "--output", "part", "--until", "2000-01-10"]) for site in "ab"]
    with world(folder, sites) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0, 0], ended
    assert [one.errors.count("Sites: a (ranks 0, 1), b (ranks 2, 3).\n") for one in ended] == [1, 0]
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
from steppe.measure.timing.rank_places import pairs, places_of
raw = open_raw(find_launch())
places = places_of(raw)
session = Messages(raw, 0.02, 0.05, 1 << 20)
tasks = [task for task in plan(raw.size, True, False, pairs(places)) if task.placement == "other site" and task.bytes in (8, 1024)]
series = [session.measure(task) for task in tasks if task.variant in (PING_PONG, UNDER_WAY)]
if raw.rank == 0:
    print(*(one.statistics.minimum >= DELAY for one in series if one.variant == PING_PONG), [one.name for one in fit_series(series)])
raw.close()
"""


def test_messages_between_sites_are_measured_and_fitted(folder: Path) -> None:
    sites = [Site(name, 2, [sys.executable, "-c", ACROSS]) for name in "ab"]
    with world(folder, sites, delay=DELAY) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0, 0], ended
    fits = [{"operation": "point-to-point", "variant": variant} for variant in ("ping-pong", "64 under way")]
    assert ended[0].output == f"True True {fits}\n"


@pytest.fixture(scope="module")
def pasture(made_wide_scenario: Path, tmp_path_factory: pytest.TempPathFactory, gateway_program: Path) -> Path:
    folder = copied(made_wide_scenario, tmp_path_factory.mktemp("pasture")).parent
    (folder / "run.toml").write_text(PASTURE)
    subprocess.run([*STEPPE, "run.toml", "--ranks", "4", "--output", "one", "--quiet"], cwd=folder, check=True)
    return folder


# each spread and each layout, not each pair
@pytest.mark.parametrize(
    ("spread", "ranks"), [("own", (2, 2)), ("node", (2, 1, 1)), ("readers:1", (2, 2)), ("readers:3", (2, 1, 1)), ("auto", (2, 1, 1))]
)
def test_the_pasture_has_the_bytes_of_one_site_with_every_spread_of_weather(pasture: Path, spread: str, ranks: tuple[int, ...]) -> None:
    name = f"{spread.replace(':', '-')}-{len(ranks)}"
    command = [*STEPPE, "run.toml", "--output", name, "--set", f"forcing.spread={spread}"]
    with world(pasture, [Site(site, n, command) for site, n in zip("abc", ranks, strict=False)]) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0] * len(ranks), ended
    assert results(pasture / name) == results(pasture / "one")
    assert f"Weather is read by spread {'' if spread == 'auto' else spread}" in ended[0].errors
