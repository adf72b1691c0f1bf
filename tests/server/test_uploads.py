"""What requests leave in the run folder: looking leaves nothing, orders what they name, uploads what their room holds for an hour."""

import hashlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest

from steppe.engine.uploads import read_values
from steppe.grid import Raster
from steppe.server import Access, Limits
from steppe.server.application import application
from steppe.service import uploads
from tests.server.asking import Client, problem
from tests.server.toy import Toy
from tests.small_disk import mount_small_disk

QUERIES = ("/data/green?cells=3,7", "/data/green?polygon=138,-20,143,-20,143,-10,138,-10&packed=1", "/series/green?at=139,-11&at=144,-11")
LIMITS = Limits(requests=1e9, requests_burst=1e9)
HOUR = LIMITS.unused_seconds


def files(folder: Path) -> list[str]:
    """All below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def sent(client: Client, values: np.ndarray) -> httpx.Response:
    content = values.tobytes()
    path = f"/runs/toy/uploads/{hashlib.sha256(content).hexdigest()}"
    return client.ask("PUT", path, content=content, headers={"Content-Type": "application/octet-stream"})


def grown_old(path: Path) -> Path:
    """As if nobody had asked for a file for more than an hour."""
    then = time.time() - HOUR - 1
    os.utime(path, (then, then))
    return path


@pytest.mark.parametrize("read_only", [False, True])
def test_what_only_looks_stores_no_file(toy: Toy, access: Access, read_only: bool) -> None:
    client = Client(application({"toy": toy}, access, LIMITS, read_only=read_only), toy)
    before = files(toy.folder)
    for query in QUERIES:
        assert client.get(query, role="view").status_code == 200
    change = {"variable": "green", "value": 5.0, "region": {"cells": [3, 7]}}
    assert client.post("/preview", change, key=None).status_code == (403 if read_only else 200)
    assert files(toy.folder) == before


@pytest.fixture
def full_disk(tmp_path: Path, raster: Raster) -> Iterator[Toy]:
    disk = tmp_path / "disk"
    unmount = mount_small_disk(disk, "400k")
    toy = Toy(disk / "run", raster)
    (disk / "rest").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize))
    yield toy
    toy.close()
    unmount()


def test_on_a_full_disk_places_are_read_and_orders_are_refused(full_disk: Toy, access: Access) -> None:
    client = Client(application({"toy": full_disk}, access, LIMITS), full_disk)
    for query in QUERIES:
        assert client.get(query, role="view").status_code == 200
    answer = client.post("/set", {"variable": "green", "value": 5.0, "region": {"cells": [3, 7]}})
    assert (answer.status_code, problem(answer)["code"]) == (507, "disk-full")
    assert files(full_disk.folder / "uploads") == ["unused"]


def test_what_an_order_names_stays_and_the_rest_is_removed_after_an_hour(client: Client, toy: Toy) -> None:
    used, idle = np.arange(40, dtype="<f4"), np.ones(40, "<f4")
    names = [sent(client, values).json()["sha256"] for values in (used, idle)]
    refused = {"variable": "green", "value": 5.0, "region": {"cells": [3, 7]}}
    assert client.post("/set", refused, headers={"If-Match": '"b1.999"'}).status_code == 412
    assert client.post("/set", {"variable": "green", "upload": names[0]}).status_code == 200
    unused = toy.folder / "uploads" / "unused"
    assert len(files(unused)) == 2
    assert uploads.sweep(toy.folder, LIMITS) == 0
    for path in unused.iterdir():
        grown_old(path)
    assert uploads.sweep(toy.folder, LIMITS) == 2 * uploads.LEAST
    assert files(toy.folder / "uploads") == sorted(["unused", names[0]])
    assert problem(client.post("/set", {"variable": "green", "upload": names[1]}))["code"] == "unknown-upload"


@pytest.mark.parametrize(
    ("value", "units", "position", "says"),
    [
        (np.nan, {}, 7, "Value 7 of the array"),
        (np.nan, {"units": "t ha-1"}, 7, "Value 7 of the array"),
        (-3.0, {}, "$.value", '"green" is -3 kg ha-1; it must be'),
        (-3.0, {"units": "t ha-1"}, "$.value", '"green" is -3000 kg ha-1; it must be'),
    ],
)
def test_the_wrong_value_of_an_array_is_named_in_any_unit(
    client: Client, value: float, units: dict[str, str], position: object, says: str
) -> None:
    values = np.ones(40, "<f4")
    values[7] = value
    told = problem(client.post("/set", {"variable": "green", "upload": sent(client, values).json()["sha256"], **units}))
    assert (told["code"], told["position"]) == ("out-of-range", position)
    assert says in told["detail"]


def test_an_array_whose_server_died_with_the_order_in_the_journal_is_kept(client: Client, toy: Toy) -> None:
    name = sent(client, np.arange(40, dtype="<f4")).json()["sha256"]
    client.post("/events", {"variable": "green", "upload": name, "when": {"step": 9}})
    kept = toy.folder / "uploads" / name
    grown_old(kept.rename(toy.folder / "uploads" / "unused" / name))
    assert read_values(toy.folder, name, 40).tolist() == list(range(40)), "an engine finds it meanwhile"
    assert uploads.sweep(toy.folder, LIMITS) == 0
    assert kept.exists()


def test_what_an_order_looked_at_a_moment_ago_is_not_swept(client: Client, toy: Toy) -> None:
    name = sent(client, np.arange(40, dtype="<f4")).json()["sha256"]
    grown_old(toy.folder / "uploads" / "unused" / name)
    assert uploads.find(toy.folder, name) is not None
    assert uploads.sweep(toy.folder, LIMITS) == 0


def test_uploads_that_orders_use_at_once_are_in_nobodys_way(toy: Toy) -> None:
    def use(worker: int) -> None:
        for number in range(300):
            content = b"%d of %d" % (number, worker)
            name = uploads.keep(toy.folder, content, LIMITS)
            uploads.settle(toy.folder, [name])
            assert uploads.read(toy.folder, name) == content

    with ThreadPoolExecutor(3) as workers:
        for done in [*(workers.submit(use, worker) for worker in range(2)), workers.submit(sweep_often, toy.folder)]:
            done.result()


def sweep_often(folder: Path) -> None:
    for _ in range(1000):
        uploads.sweep(folder, LIMITS)


def test_an_upload_that_an_order_moves_is_read(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    name, found = uploads.keep(toy.folder, b"abcd", LIMITS), uploads.find

    def moved(folder: Path, name: str) -> Path | None:
        path = found(folder, name)
        uploads.settle(folder, [name])
        return path

    monkeypatch.setattr(uploads, "find", moved)
    assert uploads.read(toy.folder, name) == b"abcd"


def test_uploads_that_no_order_uses_have_a_limit_and_old_ones_make_room(toy: Toy, access: Access) -> None:
    client = Client(application({"toy": toy}, access, replace(LIMITS, unused=2 * uploads.LEAST)), toy)
    arrays = [np.full(40, value, "<f4") for value in range(4)]
    first = sent(client, arrays[0]).json()["sha256"]
    assert sent(client, arrays[1]).status_code == 201
    answer = sent(client, arrays[2])
    assert (answer.status_code, problem(answer)["code"], problem(answer)["allowed"]) == (507, "uploads-full", 2 * uploads.LEAST)
    change = {"variable": "green", "value": 5.0, "region": {"cells": [3, 7]}}
    assert problem(client.post("/set", change))["code"] == "uploads-full"
    assert client.post("/set", {"variable": "green", "upload": first}).status_code == 200
    assert sent(client, arrays[2]).status_code == 201
    assert sent(client, arrays[3]).status_code == 507
    for path in (toy.folder / "uploads" / "unused").iterdir():
        grown_old(path)
    assert sent(client, arrays[3]).status_code == 201
