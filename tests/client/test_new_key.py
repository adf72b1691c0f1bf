"""What a new key of a query costs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import xarray

import steppe
from tests.client.conftest import SLOW
from tests.client.served import TOKENS, Served

KEY = '    ceiling: Annotated[float, _key("Greater values become it.", low=-1e11, high=1e11)] | None = None\n'
CUT = "        values = values if self.ceiling is None else np.minimum(values, self.ceiling)\n"
CHANGES = {  # file -> what stands before a text
    "api/query.py": {"    width: Annotated": KEY},
    "engine/query_cut.py": {
        "    lat: list[float] | None = None\n": "    ceiling: float | None = None\n",
        "        return values if self.cells is None": CUT,
        "    return _cut(cast": "    from dataclasses import replace as changed\n\n"
        "    return changed(_cut(cast(Any, grid), replace(query, ceiling=None)), ceiling=query.ceiling)\n",
    },
}
ASK = """
import sys, steppe
from steppe.server.contract import contract
with steppe.connect(sys.argv[1], sys.argv[2]) as run:
    run.set("concentration", 1.0)
    print(float(run.get("concentration").max()), float(run.get("concentration", ceiling=0.25).max()))
    print(float(run.get("concentration", width=2, reduce="max", ceiling=0.25).max()))
print([key["name"] for key in contract()["paths"]["/api/v1/runs/{run}/data/{variable}"]["get"]["parameters"]].count("ceiling"))
"""


def test_a_new_key_of_a_query_is_a_change_of_three_files_at_most(tmp_path: Path, monkeypatch) -> None:
    assert len(CHANGES) <= 3
    shutil.copytree(Path(steppe.__file__).parent, tmp_path / "source" / "steppe")
    for name, changes in CHANGES.items():
        file = tmp_path / "source" / "steppe" / name
        text = file.read_text()
        for behind, more in changes.items():
            assert text.count(behind) == 1, behind
            text = text.replace(behind, more + behind)
        file.write_text(text)
    lat, lon = -20.0 - 0.5 * np.arange(4), 140.0 + 0.5 * np.arange(5)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"land_mask": (("lat", "lon"), np.ones((4, 5), "int8"))}, axes).to_zarr(tmp_path / "box.zarr", consolidated=False)
    (tmp_path / "run.toml").write_text(SLOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "source"))
    server = Served(tmp_path / "run.toml")
    try:
        command = [sys.executable, "-c", ASK, server.address, TOKENS["admin"]]
        told = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    finally:
        server.stop()
    assert told.returncode == 0, told.stderr
    (whole, cut), (pixels,), (keys,) = (map(float, line.split()) for line in told.stdout.splitlines())
    assert whole == 1.0
    assert cut == pixels == 0.25
    assert keys == 1
