"""Levels of a served run: one is set by its number, by its value, or by the name of its map."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.client import RefusedError, Run
from steppe.errors import Mistake, ModelError, RequestError
from tests.client.served import Served
from tests.engine.test_own_maps import MODEL, RUN, store
from tests.models.transport.test_winds_of_a_store import run_file
from tests.models.transport.winds import write_winds


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("column")
    (folder / "column.py").write_text(MODEL)
    (folder / "run.toml").write_text(RUN)
    store().to_zarr(folder / "own.zarr", consolidated=False)
    server = Served(folder / "run.toml")
    yield server
    server.stop()


@pytest.fixture
def run(served: Served) -> Iterator[Run]:
    with served.connect() as run:
        run.restart()
        run.step(1)
        yield run


def test_a_data_set_has_the_coefficients_of_hybrid_levels(tmp_path: Path) -> None:
    write_winds(tmp_path / "winds.zarr")
    with xarray.open_zarr(tmp_path / "winds.zarr", consolidated=False) as winds:
        ends = 1e5 * winds["hyai"].values, winds["hybi"].values
    server = Served(run_file(tmp_path))
    try:
        with server.connect() as run:
            run.step(1)
            found = run.dataset().load()
    finally:
        server.stop()
    np.testing.assert_allclose((found["hyai"], found["hybi"]), ends, rtol=1e-15)
    for name, end in zip(("hyam", "hybm"), ends, strict=True):
        assert found[name].dims == ("level",)
        np.testing.assert_allclose(found[name], 0.5 * (end[1:] + end[:-1]), rtol=1e-13)
    assert {"hyai", "hybi", "hyam", "hybm"} < set(found.coords)


def meanwhile(run: Run, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object], times: int = 1) -> None:
    """Has another client do something behind the first answer of the next maps that are asked for."""
    line, left = run._behind._remote.line, [change] * times
    ask = line.ask

    async def asked(method: str, path: str, *more: object, **others: object) -> object:
        reply = await ask(method, path, *more, **others)
        if "/data/" in path and left:
            left.pop()()
        return reply

    monkeypatch.setattr(line, "ask", asked)


def test_one_level_is_set_and_the_others_stay(run: Run) -> None:
    before = run["gas"].values
    run.set("gas", 3.0, level="850 hPa")
    run.set("gas", run["gas[0]"].isel(lat=slice(None, None, -1)).drop_vars("level"), level=2)
    after = run["gas"].values
    np.testing.assert_array_equal(after[0], before[0])
    assert (after[1] == 3.0).all()
    np.testing.assert_array_equal(after[2], before[0])
    run.set("share", 0.0, level=0)
    run.add_event("share", 1.0, at="2001-03-05T04:00", level=0)
    assert (run["share[0]"].values == 0.0).all()
    run.step(until="2001-03-05T06:00")
    assert (run["share[0]"].values == 1.0).all()


def test_one_level_has_its_coordinate_in_all_that_is_seen_of_it(run: Run) -> None:
    whole, watched, series = run["gas"], next(iter(run.watch("gas", level=1))), run.series("gas", [(131.2, -11.2)], level=1)
    for one in (run["gas[1]"], run.get("gas", level=1, date=("2001-03-05T01:00", "2001-03-05T01:00")), series, watched):
        assert (float(one["level"]), one["level"].dims, one["level"].attrs) == (850.0, (), whole["level"].attrs)
    run.set("gas", 2.0 * run["gas[1]"])  # so it is set where it is from
    np.testing.assert_array_equal(run["gas"], whole * [[[1.0]], [[2.0]], [[1.0]]])
    with pytest.raises(ModelError, match=r'is of level 850, and "gas\[0\]" is set\. To set it there, drop the coordinate'):
        run.set("gas", run["gas[1]"], level=0)


def test_a_level_that_is_not_there_is_refused_here(run: Run) -> None:
    with pytest.raises(RequestError, match='There is no level "700 hPa"'):
        run.set("gas", 1.0, level="700 hPa")
    with pytest.raises(RequestError, match=r'"fed" has no levels\. Name it without "level"\.'):
        run.set("fed", 1.0, level=1)
    with pytest.raises(Mistake, match=r'The array for "gas" has levels\. Set one after the other'):
        run.set("gas", run["gas"])


@pytest.mark.parametrize(("times", "step"), [(1, 2), (100, 9)])
def test_all_levels_are_of_one_step_while_the_run_computes(
    run: Run, served: Served, monkeypatch: pytest.MonkeyPatch, times: int, step: int
) -> None:
    other = served.connect("steer")
    meanwhile(run, monkeypatch, lambda: other.step(1), times)
    gas = run["gas"]
    assert gas.attrs["step"] == step
    np.testing.assert_array_equal(gas, other.get("gas", step=step))


def test_all_levels_are_as_an_order_left_them_or_all_as_they_were(run: Run, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    other, values = served.connect("steer"), iter((3.0, 4.0))
    meanwhile(run, monkeypatch, lambda: other.set("gas", next(values)), times=2)
    assert (run["gas"].values == 4.0).all()

    def changed_and_left() -> None:
        other.set("gas", 5.0)
        other.step(1)

    meanwhile(run, monkeypatch, changed_and_left)
    np.testing.assert_array_equal(run["gas"], other["gas"])


def test_all_levels_are_of_one_past_after_a_rewind(run: Run, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    run.step(3)
    other = served.connect("steer")

    def back() -> None:
        other.rewind(2)
        other.set("gas", 5.0)

    meanwhile(run, monkeypatch, back)
    gas = run["gas"]
    assert gas.attrs["step"] == 2
    assert (gas.values == 5.0).all()


def test_levels_that_change_each_time_are_refused(run: Run, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    other, numbers = served.connect("steer"), iter(range(100))
    meanwhile(run, monkeypatch, lambda: other.set("gas", float(next(numbers))), times=100)
    with pytest.raises(RefusedError, match=r'"gas\[0\]" and the other levels changed 8 times while they were read\. Get one level'):
        run["gas"]


def test_one_level_is_watched_under_its_own_name(run: Run) -> None:
    for name, level in (("gas", "500 hPa"), ("gas", 2), ("gas[2]", None)):
        with closing(run.watch(name, level=level)) as maps:
            seen = next(maps)
        assert seen.name == "gas[2]"
        assert seen.attrs["long_name"] == "Gas, 500 hPa"
    with pytest.raises(RequestError, match='There is no level "700 hPa"'):
        run.watch("gas", level="700 hPa")
