"""Levels of a served run: one is set by its number, by its value, or by the name of its map."""

from collections.abc import Iterator

import numpy as np
import pytest

from steppe.client import Run
from steppe.errors import Mistake, RequestError
from tests.client.served import Served
from tests.engine.test_own_maps import MODEL, RUN, store


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("column")
    (folder / "column.py").write_text(MODEL)
    (folder / "run.toml").write_text(RUN)
    store().to_zarr(folder / "own.zarr", consolidated=False)
    server = Served(folder / "run.toml")
    with server.connect() as run:
        run.step(1)
        yield run
    server.stop()


def test_one_level_is_set_and_the_others_stay(run: Run) -> None:
    before = run["gas"].values
    run.set("gas", 3.0, level="850 hPa")
    run.set("gas", run["gas[0]"].isel(lat=slice(None, None, -1)), level=2)
    after = run["gas"].values
    np.testing.assert_array_equal(after[0], before[0])
    assert (after[1] == 3.0).all()
    np.testing.assert_array_equal(after[2], before[0])
    run.set("share", 0.0, level=0)
    run.add_event("share", 1.0, at="2001-03-05T04:00", level=0)
    assert (run["share[0]"].values == 0.0).all()
    run.step(until="2001-03-05T06:00")
    assert (run["share[0]"].values == 1.0).all()


def test_a_level_that_is_not_there_is_refused_here(run: Run) -> None:
    with pytest.raises(RequestError, match='There is no level "700 hPa"'):
        run.set("gas", 1.0, level="700 hPa")
    with pytest.raises(RequestError, match=r'"fed" has no levels\. Name it without "level"\.'):
        run.set("fed", 1.0, level=1)
    with pytest.raises(Mistake, match=r'The array for "gas" has levels\. Set one after the other'):
        run.set("gas", run["gas"])
