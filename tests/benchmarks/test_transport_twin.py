"""The C++ twin is held to the reference solutions, and to a plain program in three dimensions; otherwise its speed would say nothing."""

import csv
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.transport_twin import Array, TransportTwin, build

from tests.benchmarks.plain_transport import PlainTransport
from tests.shared import shared_path

NAMES = {"gauss": "hills", "cos": "bells", "slot": "slotted"}  # in the files -> in the twin
ANGLES = {"0.0000": 0.0, "0.0500": 0.05, "1.5208": math.pi / 2 - 0.05, "1.5708": math.pi / 2}
ROWS, DT, STEPS = 10, 0.6, 2
INTERFACES = np.array([0.0, 0.05, 0.13, 0.3, 0.55, 0.8, 1.0])


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> TransportTwin:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++, a compiler of C++, which only benchmarks need")
    return build(tmp_path_factory.mktemp("twin"))


def reference(name: str, **chosen: str) -> list[dict[str, str]]:
    with shared_path(f"reference/transport/{name}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row[key] == value for key, value in chosen.items())]
    assert rows
    return rows


def assert_norms(found: dict[str, float], row: dict[str, str], within: float) -> None:
    for norm in ("l1", "l2", "linf"):
        assert found[norm] == pytest.approx(float(row[norm]), rel=within), (norm, row)


def test_williamson_1_has_the_norms_of_the_reference(twin: TransportTwin) -> None:
    for row in reference("slt_ref_tc1_T42", steps="72"):
        found = twin.norms("tc1", rows=64, alpha=ANGLES[row["alpha"]], steps=72, limited=row["limited"], fix=row["fix"])
        assert_norms(found["bell"], row, 0.02)


@pytest.mark.parametrize(
    ("grid", "rows", "limited", "fix"),
    [("gauss", "64", "0", "0"), ("gauss", "64", "1", "0"), ("gauss", "64", "1", "1"), ("latlon", "120", "1", "1")],
)
def test_deforming_flow_has_the_norms_of_the_reference(twin: TransportTwin, grid: str, rows: str, limited: str, fix: str) -> None:
    found = twin.norms("lauritzen", grid=grid, rows=rows, steps=rows, limited=limited, fix=fix)
    for row in reference("slt_ref_lauritzen", grid=grid, nlat=rows, steps=rows, limited=limited, fix=fix):
        assert_norms(found[NAMES[row["field"]]], row, 0.02)


@pytest.mark.parametrize("limited", ["0", "1"])
def test_wind_from_the_grid_gives_nearly_the_same_norms(twin: TransportTwin, limited: str) -> None:
    found = twin.norms("lauritzen", rows=64, steps=64, limited=limited, wind="grid")
    for row in reference("slt_ref_lauritzen", grid="gauss", nlat="64", limited=limited, fix="0"):
        assert_norms(found[NAMES[row["field"]]], row, 0.05)


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    path = tmp_path / "levels.csv"
    lines = [f"{k},{0.25 * eta!r},{0.75 * eta!r}\n" for k, eta in enumerate(INTERFACES.tolist())]
    path.write_text("interface,a,b\n" + "".join(lines))
    return path


def rough_fields(plain: PlainTransport) -> Array:
    """A wind across both poles, with departure points cells away and beyond the first and last level, and two rough tracers."""
    random = np.random.default_rng(1)
    x, y, z = plain.arrival
    r = np.hypot(x, y)
    turn = np.array([0.3, 1.2, 0.5])[:, None, None, None]  # the axis of a rotation, in radians a unit of time
    blown = np.cross(turn, plain.arrival, axis=0)
    u, v = (blown[1] * x - blown[0] * y) / r, blown[2] / r
    rough = [0.1 * random.standard_normal(z.shape) for _ in range(3)]
    return np.array([u + rough[0], v + rough[1], 5.0 * rough[2], random.random(z.shape), 1.0 + x * y])


@pytest.mark.parametrize("fix", [False, True])
@pytest.mark.parametrize("limited", [False, True])
def test_two_steps_with_levels_are_those_of_plain_numpy(twin: TransportTwin, levels: Path, limited: bool, fix: bool) -> None:
    plain = PlainTransport(ROWS, INTERFACES)
    fields = rough_fields(plain)
    found = twin.times(fields, DT, levels, STEPS, limited=int(limited), fix=int(fix)).tracers
    masses = [plain.mass(q) for q in fields[3:]]
    expected = list(fields[3:])
    for _ in range(STEPS):
        points, height = plain.depart(fields[:3], DT)
        after = [plain.tracer_at(q, points, height, limited) for q in expected]
        expected = [plain.fixed(*pair) if fix else pair[1] for pair in zip(expected, after, masses, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_a_constant_stays_one_and_others_keep_their_range(twin: TransportTwin, levels: Path) -> None:
    fields = rough_fields(PlainTransport(ROWS, INTERFACES))
    fields[4] = 0.1
    rough, constant = twin.times(fields, 10.0 * DT, levels, 20).tracers
    assert (constant == 0.1).all()
    assert rough.min() >= fields[3].min()
    assert rough.max() <= fields[3].max()
