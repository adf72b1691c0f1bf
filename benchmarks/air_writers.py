"""The table of the paper on the air-quality benchmark: what input and three ways of output add to the computing, 34.6 MB out of each step.

air-64io: 64 x 64 x 32 cells, all 66 species in float32 of each step of 10 minutes, meteorology of 2.18 MB read for each. Computing alone is
the same run with meteorology that never changes, and without output.
"""

import json
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.air_grid import EXAMPLE, SPECIES
from benchmarks.figures import Figure
from benchmarks.rounds import alternate, digest_of, measured, output

LONG = 72  # steps, half a day: what waits at the end of a run, when there is nothing left to hide behind, counts little
RUN = """model = "air"
time = {{ start = 2001-06-21T09:00:00, end = {end}, step = "10 minutes" }}
forcing = {{ fields = "{store}.zarr" }}
output = {{ path = "out", variables = {variables}, every = "{every}", reduce = "last", precision = "float32" }}
"""
WAYS = {"gather": ("gather", "false"), "private": ("private", "false"), "private, async": ("private", "true")}
PAPER = {"gather": "three times the computing", "private": "four times", "private, async": "as long as the computing"}  # on 64 processors


def figures(folder: Path, quick: bool) -> Iterator[Figure]:
    """All of them. The least, the mean and the greatest of all rounds, as the paper has them."""
    steps, rounds = (3, 1) if quick else (12, 3)
    _write(folder, steps)
    digests: dict[str, str] = {}
    for ranks in (1, 2):
        runs = {
            "computing": measured(_run, folder, ranks, steps, "still", ()),
            "input": measured(_run, folder, ranks, steps, "changing", ()),
        }
        for name, (writers, behind) in WAYS.items():
            runs[name] = measured(_run, folder, ranks, steps, "still", SPECIES, writers, behind, digests)
        samples = alternate(runs, rounds)
        computing = float(np.median(samples["computing"])) / steps
        yield Figure(f"air-64io, {ranks} ranks: computing of a step", computing, "s", samples=samples)
        for name in ("input", *WAYS):
            over = (np.array(samples[name]) - np.array(samples["computing"])) / steps
            note = f"least {over.min():.3g}, greatest {over.max():.3g}; {100.0 * over.mean() / computing:.0f} % of the computing"
            yield Figure(f"... {name}: wall time less computing", float(over.mean()), "s", note=note)
    long = 6 if quick else LONG
    _write(folder, long)
    waits = [_said(folder, 1, long, "still", SPECIES, "private", behind)["stall_out_seconds"] for behind in ("false", "true")]
    note = f"{long} steps, one rank, a core being spare: steps waited {waits[0]:.2f} s and {waits[1]:.2f} s"
    yield Figure("air-64io: waiting for output that async hides", 100.0 * (1.0 - waits[1] / waits[0]), "%", at_least=95.0, note=note)
    note = "; ".join(f"{name}: {told}" for name, told in PAPER.items())
    yield Figure("ways of output that wrote other bytes", len(set(digests.values())) - 1, at_most=0, note=f"64 processors of a T3E: {note}")


def _write(folder: Path, steps: int) -> None:
    """Both stores of meteorology."""
    fields = runpy.run_path(str(EXAMPLE))["meteorology"](64, 12.0, 10.0).isel(time=slice(54, 54 + steps + 1))
    chunks = {name: {"chunks": (1, *values.shape[1:])} for name, values in fields.items()}
    fields.to_zarr(folder / "changing.zarr", mode="w", consolidated=False, encoding=chunks)
    fields.isel(time=0, drop=True).to_zarr(folder / "still.zarr", mode="w", consolidated=False)


def _run(*arguments: Any) -> float:
    """Seconds of the steps of a run; see `_said`."""
    return float(_said(*arguments)["seconds"])


def _said(
    folder: Path, ranks: int, steps: int, store: str, variables: tuple[str, ...], writers: str = "private", behind: str = "true",
    digests: dict[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What a run says of itself. digests: gets that of what it wrote."""
    every = "10 minutes" if variables else f"{10 * steps} minutes"
    end = f"2001-06-21T{9 + steps // 6:02d}:{10 * (steps % 6):02d}:00"
    path, out = folder / "run.toml", folder / "written"
    path.write_text(RUN.format(end=end, store=store, variables=json.dumps(list(variables or ("O3",))), every=every))
    changes = {"engine.writers": json.dumps(writers), "engine.write_behind": behind, "engine.threads": "1"}
    more = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    said = output([sys.executable, "-m", "steppe", "run", str(path), "--json", "--ranks", str(ranks), "--output", str(out), *more])
    if digests is not None:
        digests[f"{writers}, {behind}, {ranks}"] = digest_of(out / "output.zarr")
    shutil.rmtree(out)
    found: dict[str, Any] = json.loads(said)
    return found
