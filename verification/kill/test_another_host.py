"""An engine on another host, which may fall off the network: it is found by the address in the door, and missed within seconds."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.another_host import AnotherHost, another_host
from tests.scenario import copied, make_scenario

from verification.kill.checker import check_states, rest
from verification.kill.served import Client, Served

Measured = Callable[[str, str, float, str], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run file."""
    return make_scenario(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def other() -> Iterator[AnotherHost]:
    with another_host("steppe-far") as made:
        yield made


@pytest.fixture(params=[(), ("--plain-engine-link",)], ids=["sealed", "plain"])
def serve(made: Path, tmp_path: Path, other: AnotherHost, request: pytest.FixtureRequest) -> Iterator[tuple[Served, Client]]:
    """A server here of a run whose engine is there."""
    served = Served(copied(made, tmp_path / "run"), "--launcher", other.launcher, "--engine-bind", other.address, *request.param)
    client = Client(served, "admin")
    client.until(lambda info: info["steps"] is not None, "the first engine")
    yield served, client
    served.abandon()
    other.plug("up")


def test_an_engine_on_another_host_is_lost_and_found(serve: Any, other: AnotherHost, tmp_path: Path, measured: Measured) -> None:
    served, client = serve
    door = json.loads((served.folder / "door.json").read_text())
    assert door["address"].startswith(other.address)
    assert not (served.folder / "engine.sock").exists()
    engine = client.info()["engine"]
    assert os.readlink(f"/proc/{engine['pid']}/ns/net") != os.readlink("/proc/self/ns/net")
    client.order("/step", {"steps": 100}, "step-1")
    client.order("/set", {"variable": "water", "operation": "scale", "value": 0.5}, "set-1")
    rest(client, served.folder)
    assert len(client.ask("GET", "/data/water?format=raw&packed=1").content) > 500

    begin = time.perf_counter()
    other.plug("down")
    client.until(lambda info: info["silent"], "silence", 0.01)
    measured("engine's host off the network", "seconds until clients are told that it is silent", time.perf_counter() - begin, "< 1")
    client.until(lambda info: not info["engine"], "its loss", 0.01)
    measured("engine's host off the network", "seconds until it is given up", time.perf_counter() - begin, "< 6")
    client.order("/step", {"steps": 100}, "step-2")
    other.plug("up")
    rest(client, served.folder)
    assert client.info()["scenarios"][0]["step"] == 200

    pid = client.info()["engine"]["pid"]
    served.kill()
    client.order("/step", {"steps": 100}, "step-3")
    rest(client, served.folder)
    assert client.info()["engine"]["pid"] == pid, "the engine outlived the server"
    check_states(client, served.folder, tmp_path / "again")
