"""Mixed use of a served run: memory and descriptors of its server and engine stay as they are. Two minutes; with `--long` an hour."""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.scenario import make_scenario

from steppe.control.server.branch_closer import STAYS
from steppe.grid import read_grid
from steppe.ingest import generate
from verification.growth import growth
from verification.kill.served import Client, Served
from verification.server.soak import Sample, Soak, held, locks, warmed

Measured = Callable[[str, str, float, str], None]
SHORT = (120.0, 0.15, 1 / 2)  # [s] of use, [s] between two requests of a client, part of the time in which caches fill
LONG = (3600.0, 0.5, 1 / 6)
GROWTH = 5.0  # [%] of memory that may be added afterwards
SCENARIOS, LEFT = 12, 20  # that the server takes, and of those that were left that `info` has


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of some 1,300 cells and four years."""
    folder = tmp_path_factory.mktemp("soaked")
    made = make_scenario(folder, (37, 35))
    generate(folder / "years.zarr", read_grid(file=folder / "mask.zarr"), "1990-01-01", "1993-12-31")
    text = made.read_text().replace("start = 1990-01-10", "start = 1990-01-01").replace("end = 1991-03-05", "end = 1993-12-31")
    made.write_text(text.replace("weather.zarr", "years.zarr").replace("threads = 2", "threads = 1"))
    return made


def test_memory_and_descriptors_do_not_grow_with_use(run_file: Path, measured: Measured, request: pytest.FixtureRequest) -> None:
    seconds, pause, beginning = LONG if request.config.getoption("--long") else SHORT
    served = Served(run_file, "--scenarios", str(SCENARIOS))
    try:
        client = Client(served, "admin")
        client.until(lambda info: info["steps"] is not None, "the first engine")
        warmed(client)
        engine, before = client.info()["engine"]["pid"], held(served.process.pid)
        samples = Soak(served, 1, pause).go(seconds, seconds / 60, STAYS)
        begun = [each for each in samples if each.seconds >= beginning * seconds]
        case = f"soak of {seconds / 60:.0f} min, {samples[-1].requests:,} requests"
        for name, of in (("server", [each.server for each in begun]), ("engine", [each.engine for each in begun])):
            grown = growth([(each.seconds, every.resident) for each, every in zip(begun, of, strict=True)])
            files = _last([each.files for each in of]) - _first([each.files for each in of])
            measured(case, f"memory of the {name} at the end [MB]", of[-1].resident / 1e6, "")
            measured(case, f"memory that the {name} adds in the last {(1 - beginning) * seconds / 60:.0f} min [%]", grown, f"< {GROWTH:g}")
            measured(case, f"descriptors that the {name} adds", files, f"< {SCENARIOS}, those of open scenarios come and go")
            assert grown < GROWTH, f"{name}: {_told(samples)}"
            assert files < SCENARIOS, f"{name}: {_told(samples)}"
        info = client.info()
        assert info["engine"]["pid"] == engine, "The engine has died."
        assert len(info["scenarios"]) <= SCENARIOS + LEFT
        there = {each["branch"] for each in info["scenarios"] if "@" not in each["name"]}
        client.until(lambda info: held(served.process.pid).files <= before.files + 1, "that the server gives up descriptors", 0.5)
        until_only(there, engine)
        measured(case, "locks that the engine holds, of how many scenarios", len(locks(engine)), f"<= {len(there) + 1}")
        assert "Traceback" not in served.log()
        one_too_many(client)
    finally:
        served.abandon()


def until_only(branches: set[int], engine: int) -> None:
    """Waits until an engine holds no locks but those of the run and of some branches."""
    end = time.monotonic() + 10 * STAYS
    while others := [name for name in locks(engine) if "/branches/" in name and int(Path(name).parent.name) not in branches]:
        assert time.monotonic() < end, f"locks of scenarios that were left: {others}"
        time.sleep(0.5)


def one_too_many(client: Client) -> None:
    """Makes scenarios until one is refused, leaves one as the refusal says, and makes it."""
    for number in range(SCENARIOS + 1):
        answer = client.ask("POST", "/scenarios", {"name": f"more{number}"}, f"more-{number}")
        if answer.status_code == 409:
            break
        assert answer.status_code == 201, answer.text
    problem = answer.json()
    assert (problem["code"], problem["value"]) == ("too-many-scenarios", f"more{number}")
    assert "DELETE /api/v1/runs/out/scenarios/" in problem["detail"]
    name = next(each["name"] for each in client.info()["scenarios"] if each["name"] != "main" and "@" not in each["name"])
    assert client.ask("DELETE", f"/scenarios/{name}", key="fewer").status_code in (200, 202)
    assert client.ask("POST", "/scenarios", {"name": f"more{number}"}, "one-more").status_code == 201


def _first(values: Sequence[float]) -> float:
    return statistics.median(values[: max(1, len(values) // 5)])


def _last(values: Sequence[float]) -> float:
    return statistics.median(values[-max(1, len(values) // 5) :])


def _told(samples: Sequence[Sample]) -> str:
    rows = [(f"{each.seconds:.0f} s", *(f"{of.resident / 1e6:.0f} MB, {of.files}" for of in each[1:3])) for each in samples]
    return "\n".join(" | ".join(row) for row in rows[:: max(1, len(rows) // 20)])
