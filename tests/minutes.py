"""A small run of diffusion in steps of ten minutes: 30 hours, maps each hour, a series each half hour.

At the start a drop falls, at 03:00 the rate changes.
"""

from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
STEPS = 180
RUN_FILE = f"""\
model = "{ROOT / "examples" / "diffusion.py"}"

[time]
start = 2001-03-05
end = 2001-03-06T06:00:00
step = "10 minutes"

[grid]
rectangle = {{ north = -19.75, west = 139.75, rows = 6, columns = 7, cell = 0.5 }}

[[event]]
date = 2001-03-05
set = {{ concentration = 8.0 }}
region = {{ cell = [142.0, -21.0] }}

[[event]]
date = 2001-03-05T03:00:00
set = {{ rate = 0.2 }}

[output]
path = "out"
variables = ["concentration"]
every = "1 hour"
reduce = "last"

[[output.series]]
name = "halves"
variables = ["concentration"]
every = "30 minutes"

[engine]
checkpoint = "2 hours"
threads = 1
"""


def made(folder: Path) -> Path:
    """Writes the run file; gives it."""
    (folder / "run.toml").write_text(RUN_FILE)
    return folder / "run.toml"


def start() -> np.ndarray:
    """The field after the event at the beginning: a drop in one cell."""
    field = np.zeros((6, 7))
    field[2, 4] = 8.0
    return field


def reference(steps: int = STEPS) -> np.ndarray:
    """The field after each step, (steps + 1, rows, columns), by the loop of the example in plain NumPy."""
    fields = [start()]
    for step in range(steps):
        rate = 0.1 if step < 18 else 0.2  # the event is at 03:00
        c = np.pad(fields[-1], 1, mode="edge")
        near = (c[:-2, 1:-1] + c[2:, 1:-1]) + (c[1:-1, :-2] + c[1:-1, 2:])
        fields.append(c[1:-1, 1:-1] + rate * (near - 4.0 * c[1:-1, 1:-1]))
    return np.stack(fields)
