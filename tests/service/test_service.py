"""The service without any door: a real run with its engine is steered and asked by calls of Python."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest

from steppe.api import ROLES, Change, NewScenario, RegionRequest, Set, Skip, Step, Trigger
from steppe.api.query import MapQuery, SeriesQuery
from steppe.control.rendezvous import put_run_file
from steppe.control.server.engine_process import STARTING
from steppe.control.server.journal import Journal
from steppe.control.server.launcher import EngineLauncher
from steppe.control.server.listener import EngineListener, LoopScheduler
from steppe.control.server.supervisor import Supervisor
from steppe.engine.run_file import read_run_file
from steppe.service import Orders, Principal, Refused, Service, WorkLimits, maps, requests, rules
from steppe.service.series import series

ANNA, VERA = Principal(name="anna", role="steer"), Principal(name="vera", role="view")
BOX = (143.5, -22.0, 145.0, -21.0)
CROSSED = [(143.0, -20.0), (144.0, -21.0), (144.0, -20.0), (143.0, -21.0)]


@asynccontextmanager
async def service_of(run_file: Path) -> AsyncIterator[Service]:
    """A service of one run, whose engine is a process; nothing listens for clients."""
    run = read_run_file(run_file)
    folder = Path(run.output.path).absolute()
    put_run_file(folder, run.as_toml())
    journal = Journal(folder / "journal.sqlite")
    supervisor = Supervisor("out", folder, journal, LoopScheduler(), EngineLauncher(folder, ""), STARTING, 10)
    listener = EngineListener(folder, supervisor, "", True)
    await listener.open()
    supervisor.process.start()
    try:
        while supervisor.facts is None:
            await asyncio.sleep(0.02)
        yield Service({"out": supervisor}, WorkLimits())
    finally:
        supervisor.close(keep=False)
        while supervisor.process.has_process:
            await asyncio.sleep(0.02)
        await listener.close()
        supervisor.reader.close()
        journal.close()


def orders(service: Service, key: str, who: Principal = ANNA) -> Orders:
    return Orders(service, "out", who, key, wait=60.0)


async def values(service: Service, query: MapQuery, name: str = "water") -> np.ndarray:
    head, body, _ = await maps.ask(service, maps.meant(service, "out", name, query))
    return np.frombuffer(body, head["dtype"]).reshape(head["shape"])


async def given(service: Service, request: Step | Set | MapQuery) -> object:
    if isinstance(request, MapQuery):
        return await values(service, request)
    return await (orders(service, "k").step(request) if isinstance(request, Step) else orders(service, "k").set(request))


def code_of(refused: pytest.ExceptionInfo[Refused]) -> str:
    return refused.value.code


def test_a_run_is_stepped_changed_and_looked_at_without_a_door(scenario: Path) -> None:
    async def told() -> None:
        async with service_of(scenario) as service:
            first = await orders(service, "k1").step(Step(steps=3))
            assert first.is_over
            assert not first.again
            assert (await orders(service, "k1").step(Step(steps=3))).again, "the same key orders once"
            before = await values(service, MapQuery(packed=True))
            change = requests.fitted({"variable": "water", "value": 7.0, "region": {"box": list(BOX)}}, Set)
            assert (await orders(service, "k2").preview(change))["after"] == 7.0
            assert (await orders(service, "k3").set(change)).operation["state"] == "done"
            there = service.known("out").grid.select({"box": list(BOX)})
            after = await values(service, MapQuery(packed=True))
            assert (after[there] == 7.0).all()
            others = np.setdiff1d(np.arange(len(after)), there)
            assert after[others].tobytes() == before[others].tobytes()
            whole = await values(service, MapQuery())
            assert whole.shape == tuple(service.known("out").grid.shape.values())
            assert np.isnan(whole).any(), "a map has places without a cell"
            past = await values(service, MapQuery(packed=True, time="step:2"))
            assert past.tobytes() != after.tobytes()
            meant = maps.meant(service, "out", "water", MapQuery(box=BOX, format="csv"))
            table = await maps.content(service, meant, await maps.ask(service, meant), "x")
            assert bytes(table.head).startswith(b"time,longitude,latitude,water [mm]\n")
            place = (float(service.known("out").grid.cell_lon[0]), float(service.known("out").grid.cell_lat[0]))
            line = msgspec.json.decode((await series(service, "out", "water", SeriesQuery(at=(place,), time="step:1/3"))).head)
            assert line["steps"] == [1, 2, 3]
            assert line["values"][0][1] == pytest.approx(float(past[0]), rel=1e-6)
            branch = NewScenario(name="wet", set=[Change(variable="water", value=50.0, region=RegionRequest(box=BOX))])
            assert (await orders(service, "k4").branch(branch)).operation["state"] == "done"
            assert (await rules.add_trigger(orders(service, "k5"), Trigger(expression="mean(water) < 0"))).operation["state"] == "done"
            assert [each["expression"] for each in rules.triggers(service.run("out"))] == ["mean(water) < 0"]

    asyncio.run(told())


def test_what_cannot_be_is_refused_by_a_code_and_changes_nothing(scenario: Path) -> None:
    async def told() -> None:
        async with service_of(scenario) as service:
            last = service.run("out").journal.last
            asked: dict[str, Step | Set | MapQuery] = {
                "out-of-range": Step(steps=10**6),
                "date-outside-forcing": Step(until="1850-01-01"),
                "unknown-variable": Set(variable="snow", value=1.0),
                "derived-variable": Set(variable="runoff", value=1.0),
                "unit-wrong": Set(variable="water", value=1.0, units="kg"),
                "region-invalid": Set(variable="water", value=1.0, region=RegionRequest(box=(0.0, 0.0, 1.0, 1.0))),
                "polygon-invalid": Set(
                    variable="water", value=1.0, region=RegionRequest(polygon=[(143, -20), (144, -21), (144, -20), (143, -21)])
                ),
                "unknown-scenario": MapQuery(scenario="dry"),
                "not-computed": MapQuery(time="step:5"),
                "cell-outside": MapQuery(cells=(10**6,)),
            }
            found = {}
            for code, request in asked.items():
                with pytest.raises(Refused) as refused:
                    await given(service, request)
                found[code] = refused.value.code
            assert found == {code: code for code in asked}
            with pytest.raises(Refused) as refused:
                await values(service, MapQuery(box=BOX, cells=(1, 2)))
            assert code_of(refused) == "region-invalid"
            with pytest.raises(Refused) as refused:
                requests.fitted({"steps": 1, "end": True}, Step)
            assert code_of(refused) == "bad-field"
            with pytest.raises(Refused) as refused:
                await orders(service, "k").skip(Skip(seq=1))
            assert code_of(refused) == "role-too-low"
            assert service.run("out").journal.last == last

    asyncio.run(told())


def test_a_principal_orders_no_more_than_its_role_and_run_allow() -> None:
    service = Service({}, WorkLimits())
    for who, code in ((VERA, "role-too-low"), (Principal(name="otto", role=ROLES[-1], run="other"), "unknown-run")):
        with pytest.raises(Refused) as refused:
            orders(service, "k", who)
        assert code_of(refused) == code
    with pytest.raises(Refused) as refused:
        Orders(Service({}, WorkLimits(), read_only=True), "out", ANNA, "k")
    assert code_of(refused) == "read-only"


def test_the_service_has_no_words_of_http() -> None:
    import steppe.service

    words = re.compile(r"asgi|http(?!s?://)|cookie|\bstatus\b|\betag|content-type|b\"[a-z]+-[a-z-]+\"", re.IGNORECASE)
    found = {
        f"{path.name}: {line.strip()}"
        for path in Path(steppe.service.__file__).parent.glob("*.py")
        for line in path.read_text().splitlines()
        if words.search(line)
    }
    assert found == set()
