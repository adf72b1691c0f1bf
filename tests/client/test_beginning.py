"""The state at step 0 has the date before that of step 1, in every form."""

from datetime import datetime
from typing import Any

import httpx
import netCDF4
import numpy as np

from steppe.client import Run
from tests.client.served import TOKENS, Served

DATES = ["1990-01-09", "1990-01-10", "1990-01-11"]


def ask(served: Served, path: str) -> Any:
    return httpx.get(f"{served.address}/api/v1/runs/out/{path}", headers={"Authorization": f"Bearer {TOKENS['view']}"})


def test_no_two_steps_have_the_same_date(run: Run, shared_server: Served) -> None:
    first = run["water"]
    assert next(run.watch("water")).time == first.time == np.datetime64(DATES[0])
    assert run.scenarios["main"].date == DATES[1], "it stands at the beginning of the run"
    run.step(2)
    assert [str(run.get("water", step=step).time.values)[:10] for step in range(3)] == DATES
    assert run.scenarios["main"].date == DATES[2]
    path = "data/water?time=step:0/2&cells=0"
    assert ask(shared_server, f"{path}&format=json").json()["dates"] == DATES
    assert [row[:10] for row in ask(shared_server, f"{path}&format=csv").text.splitlines()[1:]] == DATES
    axes = ask(shared_server, f"{path}&format=coverage-json").json()["domain"]["axes"]
    assert axes["t"]["values"] == [f"{date}T00:00:00Z" for date in DATES]
    with netCDF4.Dataset("x", memory=ask(shared_server, f"{path}&format=netcdf").content) as data:
        assert list(netCDF4.num2date(data["time"][:], data["time"].units, only_use_cftime_datetimes=False)) == [
            datetime.fromisoformat(date) for date in DATES
        ]
    assert ask(shared_server, "series/water?box=143,-24,146,-19&time=step:0/2").json()["dates"] == DATES
