"""A served run whose disk fills up: it says so, takes no orders, and goes on by itself when there is room, to the same bits."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import steppe
from tests.server.asking import documented
from tests.server.test_ends import ready, state_of
from tests.server.test_serve import RUN, ordered, served, values
from tests.small_disk import mount_small_disk, resize

DAYS = 400


@pytest.fixture
def disk(scenario: Path) -> Iterator[Path]:
    """The run folder, a disk of its own."""
    folder = scenario.parent / "out"
    undo: Callable[[], None] = mount_small_disk(folder, "8m")
    yield folder
    undo()


def fill(folder: Path, left: int) -> Path:
    """Leaves some bytes of a disk free."""
    free = shutil.disk_usage(folder).free
    (folder / "fill").write_bytes(bytes(max(0, free - left)))
    return folder / "fill"


@pytest.mark.parametrize("left", [0, 40_000])
def test_a_run_goes_on_by_itself_when_a_full_disk_has_room_again(scenario: Path, disk: Path, left: int) -> None:
    apart = steppe.Simulation(steppe.read_run_file(scenario, {"output.path": str(scenario.parent / "apart")}))
    apart.step(DAYS)
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 30})
        seen = values(client, "")
        filled = fill(disk, left)
        answer = client.post(f"{RUN}/step", json={"steps": DAYS - 30}, headers={"Idempotency-Key": "b", "Prefer": "wait=0"})
        assert answer.status_code in (202, 507)
        info = state_of(client, "paused")
        assert info["problem"]["code"] == "disk-full"
        assert "continues by itself when the disk has room" in info["problem"]["text"]
        assert "start the same command" not in info["problem"]["text"]
        assert ready(client) == 503
        for path, content in (("/step", {"steps": 1}), ("/set", {"variable": "water", "value": 9.0}), ("/pause", {}), ("/restart", {})):
            refused = client.post(RUN + path, json=content, headers={"Idempotency-Key": f"full{path[1:]}"})
            documented("POST", str(refused.request.url), refused)
            assert (refused.status_code, refused.json()["code"]) == (507, "disk-full"), refused.text
        begin = time.monotonic()
        look = client.get(f"{RUN}/data/water")
        assert look.status_code in (200, 503), look.text
        assert time.monotonic() - begin < 10
        if look.status_code == 200 and info["scenarios"][0]["step"] == 30:
            assert np.array_equal(values(client, ""), seen, equal_nan=True)
        filled.unlink()
        resize(disk, "12m")
        while client.get(RUN).json()["state"] == "paused":
            time.sleep(0.1)
        key = "b" if answer.status_code == 202 else "c"  # an order that was refused stays refused under its key
        ordered(client, "/step", key, {"steps": DAYS - 30})
        assert client.get(RUN).json()["scenarios"][0]["step"] == DAYS
        assert client.get(RUN).json()["deaths"] == 0
        assert ready(client) == 200
        assert values(client, "").tobytes() == np.asarray(apart["water"]).tobytes()


def test_a_scenario_whose_results_have_no_room_waits_for_it_and_can_be_looked_at(scenario: Path, disk: Path) -> None:
    with served(scenario, "--set", 'output.every="1 day"') as client:
        ordered(client, "/step", "a", {"steps": 300})
        expected = values(client, "")
        ordered(client, "/scenarios/main/rewind", "b", {"step": 100})
        ordered(client, "/step", "c", {"steps": 1})
        filled = fill(disk, 80_000)
        assert client.post(f"{RUN}/step", json={"steps": 199}, headers={"Idempotency-Key": "d", "Prefer": "wait=0"}).status_code == 202
        problem = state_of(client, "paused")["problem"]
        assert f'"{disk / "branches" / "2"}' in problem["text"]
        assert client.get(f"{RUN}/data/water").status_code in (200, 503)
        filled.unlink()
        while client.get(RUN).json()["state"] == "paused":
            time.sleep(0.1)
        ordered(client, "/step", "d", {"steps": 199})
        assert values(client, "").tobytes() == expected.tobytes()
        assert client.get(RUN).json()["deaths"] == 0
