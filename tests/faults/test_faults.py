"""Every write of a run fails once, truly: one clear error, a store that can be read, and the same command finishes the same run.

A small run of 20 days is repeated, and each time another of its calls to the system that change files fails. `scripts/verify` takes
every position; here they are sampled, others for each kind of failure.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.grid import read_grid
from steppe.ingest import generate
from steppe.io import Progress
from tests.faults.layer import ERRORS, Ended, Warm, warm
from tests.scenario import EXAMPLES

SAMPLES = 12  # positions of each kind of failure; `verification/faults` takes all
RUN = """\
model = "bucket.py"
time = { start = 1990-01-10, end = 1990-01-29 }
grid = { points = "points.csv" }
forcing = { store = "weather.zarr" }

[output]
path = "out"
variables = ["water"]
every = "1 day"

[[output.series]]
name = "means"
variables = ["runoff"]
every = "1 week"

[engine]
threads = 1
checkpoint = "6 days"
"""


class Case:
    """The run: how it ends when nothing fails, and what it leaves when something does."""

    def __init__(self, folder: Path, process: Warm) -> None:
        self.folder, self.out, self._process = folder, folder / "out", process
        self.whole = self.run()
        assert self.whole.code == 0, self.whole.said
        self.expected = self.digest()
        with steppe.open(self.out) as found:
            self.water = found["water"].to_numpy()

    def run(self, at: int = 0, error: int = 0) -> Ended:
        """The command, with a failure at the `at`-th call."""
        return self._process.run(["run", str(self.folder / "run.toml"), "--quiet"], self.out, at, error)

    def digest(self) -> dict[str, str]:
        """File -> hash of what a finished run leaves: the output and the newest checkpoint's arrays."""
        files = [*(self.out / "output.zarr").rglob("*"), max((self.out / "checkpoints").iterdir()) / "arrays.bin"]
        return {file.name + str(file.parent): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}

    def check(self, at: int, error: int) -> None:
        """Fails the `at`-th call and asserts all that is promised."""
        shutil.rmtree(self.out, ignore_errors=True)
        ended = self.run(at, error)
        told = f"call {at}: {ended}"
        if error == 0:  # a short write is no failure: the rest is written by another call
            assert ended.code == 0, told
            assert self.digest() == self.expected, told
            return
        assert ended.failed, told
        assert ended.code == 1, told
        assert ended.said.startswith(f'steppe: "{self.out}'), told
        assert "cannot be written: " in ended.said, told
        assert "defect" not in ended.said, told
        assert ended.said.count("\n") == 1, told
        assert list(self.out.rglob("output.zarr/**/*.tmp")) == [] or error < 0 or "output.zarr.tmp" in ended.said, told
        progress = Progress.read(self.out)
        if progress is not None:
            if error > 0:  # a disk that stays full takes no word of it
                assert progress.state == "failed", told
                assert f"steppe: {progress.message}\n" == ended.said, told
            with steppe.open(self.out) as found:
                days = progress.records.get("water", 0)
                assert found.sizes["time"] == days, told
                np.testing.assert_array_equal(found["water"], self.water[:days], told)
        again = self.run()
        assert (again.code, again.said) == (0, ""), (told, again)
        assert self.digest() == self.expected, told


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:  # where synchronising takes no time
        folder = Path(name)
        (folder / "points.csv").write_text("id,lat,lon\na,-20.5,145.25\nb,-25.0,147.5\nc,-27.2,151.3\n")
        generate(folder / "weather.zarr", read_grid(points=folder / "points.csv"), "1990-01-01", "1990-01-31")
        shutil.copy(EXAMPLES / "bucket.py", folder)
        (folder / "run.toml").write_text(RUN)
        with warm(folder) as process:
            yield Case(folder, process)


@pytest.mark.parametrize("kind", ERRORS)
def test_a_run_in_which_one_write_fails_says_so_and_goes_on_when_started_again(case: Case, kind: str) -> None:
    offset = 1 + list(ERRORS).index(kind) * case.whole.calls // (SAMPLES * len(ERRORS))
    for at in range(offset, case.whole.calls + 1, max(1, case.whole.calls // SAMPLES)):
        case.check(at, ERRORS[kind])
