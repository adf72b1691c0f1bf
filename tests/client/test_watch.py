"""Maps as a run makes them, on a real server with a real engine."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, closing
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np
import pytest
import xarray

import steppe
from steppe.api import VariableInfo
from steppe.api.frame import empty_frame
from steppe.client import AsyncRun, NoAccessError, RefusedError, Run, UnknownError, UnreachableError
from steppe.client.live_stream import LiveStream
from steppe.given import by_cell
from tests.client.served import TOKENS, Served, kill_engine, until

BOX = (143.4, -23.1, 144.1, -21.9)


def is_right(seen: xarray.DataArray, exact: xarray.DataArray) -> None:
    """A map that came in 16 bits is the exact one, in the same place."""
    assert seen.dims == exact.dims
    for name in (*seen.dims, "time"):
        np.testing.assert_array_equal(seen[name], exact[name])
        assert seen[name].attrs == exact[name].attrs
    assert seen.attrs.pop("precision") < 0.01
    assert seen.attrs == exact.attrs
    np.testing.assert_array_equal(seen.isnull(), exact.isnull())
    np.testing.assert_allclose(seen, exact, atol=0.01)


def newest(maps: Iterator[xarray.DataArray], step: int) -> xarray.DataArray:
    """The map of a step; one may come before it that was made while nobody asked."""
    seen = next(maps)
    return seen if seen.attrs["step"] == step else next(maps)


def test_the_newest_map_comes_at_once_and_the_next_when_there_is_one(run: Run) -> None:
    run.step(3)
    with closing(run.watch("water")) as maps:
        is_right(next(maps), run["water"])
        for step in (5, 7, 9):
            run.step(2)
            is_right(newest(maps, step), run["water"])
        run.set("water", 12.0)
        changed = next(maps)
        assert float(changed.max()) == pytest.approx(12.0, abs=0.01)
        assert changed.attrs["step"] == 9
        run.rewind(3)
        assert newest(maps, 3).attrs["step"] == 3


def test_a_part_lies_where_it_lies_and_pixels_are_means(run: Run) -> None:
    run.step(3)
    with closing(run.watch("water", box=BOX)) as maps:
        seen, exact = next(maps), run.get("water", box=BOX)
        np.testing.assert_array_equal(seen.lat, exact.lat)
        np.testing.assert_array_equal(seen.lon, exact.lon)
        inside = exact.notnull().values
        np.testing.assert_allclose(seen.values[inside], exact.values[inside], atol=0.01)
    with closing(run.watch("water", width=5)) as maps:
        seen, exact = next(maps), run.get("water", width=5)
        np.testing.assert_allclose(seen, exact, atol=0.01)
        np.testing.assert_allclose(seen.lat, exact.lat, atol=1e-9)
        np.testing.assert_allclose(seen.lon, exact.lon, atol=1e-9)


def test_who_takes_long_for_a_map_is_one_behind_at_most(run: Run) -> None:
    with closing(run.watch("water", rate=60)) as maps:
        for step in range(2):
            assert next(maps).attrs["step"] == step
            run.step(1)
        assert next(maps).attrs["step"] == 2
        for end in (22, 42):
            for _ in range(20):
                run.step(1)
            assert newest(maps, end).attrs["step"] == end


def test_ctrl_c_while_messages_wait_ends_a_loop_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket with full buffers reads no more, and so never hears that the server closes it too."""

    def slow(stream: LiveStream, message: str | bytes) -> None:
        if isinstance(message, bytes):  # as the first map, for which xarray is imported
            time.sleep(1.5)
            raise KeyboardInterrupt
        hear(stream, message)

    hear = LiveStream.hear
    monkeypatch.setattr(LiveStream, "hear", slow)
    run.step(60, speed=30, wait=False)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(run.watch("water"))
    assert time.monotonic() - begun < 5.0
    run.pause()


def test_another_scenario_is_seen_from_where_it_is_asked(run: Run) -> None:
    run.step(2)
    wet = run.branch("wet", set={"water": 90.0})
    wet.step(1)
    with closing(wet.watch("water")) as here, closing(run.watch("water", scenario="wet")) as there:
        for maps in (here, there):
            assert next(maps).attrs == run.get("water", scenario="wet").attrs | {"precision": pytest.approx(0, abs=0.01)}


def test_what_cannot_be_watched_is_said_before_anything_is_waited_for(run: Run, shared_server: Served) -> None:
    with pytest.raises(UnknownError, match=r'"wafer".*Did you mean "water"'):
        run.watch("wafer")
    with pytest.raises(UnknownError, match="scenario"):
        next(run.watch("water", scenario="no"))
    with pytest.raises(RefusedError):
        next(run.watch("water", box=(10.0, 10.0, 11.0, 11.0)))
    stranger = shared_server.connect("view")
    stranger._behind._remote.line.headers = {"authorization": "Bearer " + "x" * 20}
    maps = stranger._behind._remote  # known already: only the socket asks
    assert maps.name == "out"
    with pytest.raises(NoAccessError):
        next(stranger.watch("water"))


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_scenario_that_is_renamed_or_removed_is_not_waited_for(run: Run, shared_server: Served, method: str) -> None:
    gone = run.branch("gone")
    with closing(gone.watch("water")) as maps:
        next(maps)
        run.rewind(0)  # of another scenario
        url = f"{shared_server.address}/api/v1/runs/out/scenarios/gone{'/rename' * (method == 'POST')}"
        headers = {"Authorization": f"Bearer {TOKENS['admin']}", "Idempotency-Key": f"{method}-gone", "Prefer": "wait=5"}
        assert httpx.request(method, url, headers=headers, json={"name": "found"} if method == "POST" else None).status_code == 200
        with pytest.raises(UnknownError, match=r'There is no scenario "gone" any more: it was renamed or removed\.'):
            next(maps)
    found = [each for each in run.scenarios if each in ("gone", "found")]
    for name in found:
        httpx.delete(url.partition("/gone")[0] + f"/{name}", headers=headers | {"Idempotency-Key": f"{method}-tidy"})


def test_the_reason_why_a_socket_is_refused_is_told(run: Run, shared_server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steppe.client.live_stream.CLOSING", 0.5)
    with ExitStack() as opened:
        for _ in range(8):
            next(opened.enter_context(closing(run.watch("water"))))
        begin = time.monotonic()
        with pytest.raises(RefusedError, match=r"This token has 8 sockets already\. Close one, or start the server with --many"):
            next(run.watch("water"))
        assert time.monotonic() - begin < 5


def test_programs_with_an_event_loop_see_the_same(run: Run, shared_server: Served) -> None:
    async def look() -> list[xarray.DataArray]:
        async with await steppe.connect_async(shared_server.address, TOKENS["steer"]) as other:
            found = []
            async with aclosing(other.watch("water")) as maps:
                async for seen in maps:
                    found.append(seen)
                    if len(found) == 3:
                        break
                    await other.step(1)
            return found

    seen = asyncio.run(look())
    assert [each.attrs["step"] for each in seen] == [0, 1, 2]
    is_right(seen[-1], run["water"])


def test_a_map_of_points_has_the_numbers_of_its_cells_and_can_be_set() -> None:
    water = VariableInfo(name="water", dims=["cell"], units="mm", dtype="float32", role="state", long_name="water", settable=True)
    stream = LiveStream({}, water, {}, {})
    grid = {"kind": "points", "lat": [-25.0, -26.0, -27.0], "lon": [150.0, 151.0, 152.0]}
    stream.hear(json.dumps({"type": "hello", "clock": {"step": None}, "grid": grid}))
    stream.hear(json.dumps({"type": "watching", "streams": [{"scenario": "main"}]}))
    content, levels = empty_frame(16, 1, 4, (0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1))
    levels[:3] = 1, 2, 3
    seen = stream.hear(content.tobytes())
    assert seen is not None
    assert by_cell(seen[::-1], np.arange(3), "water").values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("ignore:asynchronous generator .*send_context:ResourceWarning")  # of websockets, as the loop ends
@pytest.mark.parametrize("kept", [False, True])
def test_a_loop_that_ends_behind_a_break_ends_in_silence(run: Run, shared_server: Served, kept: bool) -> None:
    run.step(1)
    problems: list[str] = []
    held: list[object] = []

    async def look() -> xarray.DataArray:
        asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(f"{problem}"))
        other = await steppe.connect_async(shared_server.address, TOKENS["view"])
        await other["water"]  # so that no request is needed below
        await other.close()  # ends the connections of requests; maps come by a socket of their own
        maps = other.watch("water")
        held.extend([maps] * kept)
        async for seen in maps:
            return seen
        raise AssertionError("No map came.")

    assert asyncio.run(look()).attrs["step"] == 1
    assert problems == []


@pytest.mark.parametrize("steps", [1, 20])
def test_a_loop_that_ends_with_an_order_ends_though_its_last_map_came_before(run: Run, steps: int) -> None:
    ordered = run.step(steps, wait=False)
    for seen in run.watch("water"):
        if seen.attrs["step"] == steps and ordered._behind.is_over:  # which does not ask: the order seems to end behind the last map
            break
    assert ordered.is_over


def test_a_loop_ends_when_its_order_is_cut_short(slow_server: Served) -> None:
    run = slow_server.connect()
    ordered = run.step(40, wait=False)
    for seen in run.watch("concentration"):
        if seen.attrs["step"] >= 3 and not ordered.is_over:
            slow_server.connect().pause()
            continue  # no step follows
        if ordered.is_over:
            break
    assert ordered.state == "cancelled"


def test_an_operation_of_an_event_loop_is_as_of_the_newest_map(run: Run, shared_server: Served) -> None:
    async def look(run: AsyncRun, steps: int) -> bool:
        ordered = await run.step(steps, wait=False)
        async with aclosing(run.watch("water")) as maps:
            async for _ in maps:
                if ordered.is_over:
                    return True
        return False

    async def both() -> list[bool]:
        async with await steppe.connect_async(shared_server.address, TOKENS["steer"]) as other:
            first = [await look(other, 1), await look(other, 20)]
            wet = await other.branch("damp", set={"water": 90.0})
            return first + await asyncio.gather(look(other, 5), look(wet, 7))

    assert asyncio.run(asyncio.wait_for(both(), 60)) == [True] * 4


def test_deaths_are_waited_out(slow_server: Served) -> None:
    run, other = slow_server.connect(), slow_server.connect()
    other.set("concentration", 90.0)
    found: list[xarray.DataArray] = []

    def look() -> None:
        with closing(run.watch("concentration")) as maps:
            for seen in maps:
                found.append(seen)
                if seen.attrs["step"] >= 40:
                    return

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    other.step(40, wait=False)
    until(lambda: any(each.attrs["step"] >= 5 for each in found))
    kill_engine(other)
    slow_server.kill()
    slow_server.start()
    looking.join(120)
    assert not looking.is_alive()
    steps = [each.attrs["step"] for each in found]
    assert steps[-1] == 40
    assert all(before <= after for before, after in pairwise(steps))
    np.testing.assert_allclose(found[-1], run["concentration"], atol=0.01)


def test_a_server_that_stays_away_is_said(server: Served) -> None:
    server.connect().step(1)
    run = server.connect(patience=1.0)
    maps = run.watch("water")
    next(maps)
    server.stop()
    begin = time.monotonic()
    with pytest.raises(UnreachableError, match=r"showed nothing for 1 s.*Is steppe serve running"):
        next(maps)
    assert time.monotonic() - begin < 15


def test_a_run_whose_folder_has_signs_of_addresses_is_watched_and_opened_as_a_data_set(scenario: Path) -> None:
    name = "a %20#?b"
    text = scenario.read_text()
    assert 'path = "out"' in text
    scenario.write_text(text.replace('path = "out"', f'path = "{name}"'))
    server = Served(scenario)
    try:
        run = server.connect()
        run.step(2)
        assert run.name == name
        is_right(next(iter(run.watch("water"))), run["water"])
        np.testing.assert_array_equal(run.dataset()["water"][1], run["water"])
    finally:
        server.stop()
