"""Transport with the winds of a store: masses, what goes without vertical motion, and storms."""

import numpy as np
import pytest

from steppe.engine import Plan, Simulation
from tests.models.transport.winds import write_winds

RUN = """\
model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-02, step = "{step}" }}
grid = {{ gaussian = 16 }}
forcing = {{ fields = "winds.zarr" }}
parameters = {{ wind = "forcing", scheme = "{scheme}", tracers = {{ hills = "hills", slotted = "slotted", even = "one" }} }}
output = {{ path = "out", variables = ["column_hills"], every = "1 day", reduce = "last" }}
"""


def run_file(folder, scheme="best", step="6 hours"):
    (folder / "run.toml").write_text(RUN.format(scheme=scheme, step=step))
    return folder / "run.toml"


@pytest.mark.parametrize("scheme", ["best", "ccm"])
def test_the_mass_of_a_tracer_is_that_of_air_of_the_surface_pressure_before(scheme, tmp_path):
    write_winds(tmp_path / "winds.zarr")
    with Simulation(run_file(tmp_path, scheme, "1 hour")) as run:
        area, found = run.grid.cell_area, []
        for _ in range(2):
            run.step()
            assert run.get("ps_before").min() > 90_000.0
            found.append([float((run.get(f"column_{name}") * area).sum()) for name in ("hills", "slotted")])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-13)
