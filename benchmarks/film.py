"""A film of ten years of Queensland from its monthly records: what reading, drawing and encoding take of it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.queensland import STEPPE, new_output, run_file
from benchmarks.rounds import QUICK_ROUNDS, alternate, output
from steppe.engine.film import reel_of
from steppe.view import Encoder, Scene, Size

YEARS, NAME = 10, "growth"
AT_MOST = 30.0  # [s] on two idle cores


def figures(quick: bool) -> list[Figure]:
    """Seconds of a film of 120 frames of 1280 x 720 by the command, and of its three parts in this process."""
    years = 1 if quick else YEARS
    folder = new_output()
    run = folder / "run"
    output([STEPPE, "run", str(run_file(years)), "--output", str(run)])
    samples = alternate({"whole": lambda: _whole(run, folder)}, 1 if quick else QUICK_ROUNDS)
    whole = sorted(samples["whole"])[len(samples["whole"]) // 2]
    parts = _parts(run, folder)
    return [
        Figure(f"film of {years} years of Queensland, {12 * years} frames of 1280 x 720", whole, "s", at_most=AT_MOST, samples=samples),
        *(Figure(f"  {name}", seconds, "s") for name, seconds in parts.items()),
    ]


def _whole(run: Path, folder: Path) -> float:
    begin = time.perf_counter()
    output([STEPPE, "plot", str(run), "--movie", str(folder / "film.mp4"), "--variable", NAME])
    return time.perf_counter() - begin


def _parts(run: Path, folder: Path) -> dict[str, float]:
    """Seconds of each part. The encoder has threads of its own: what it does beside the drawing is not in its time."""
    spent = {"reading, twice": 0.0, "drawing": 0.0, "encoding": 0.0}

    def timed(part: str, work: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        done = work()
        spent[part] += time.perf_counter() - begin
        return done

    reel = timed("reading, twice", lambda: reel_of(run, NAME))
    scene = timed("drawing", lambda: Scene("Queensland", reel.drawn, reel.notes, Size()))
    encoder = timed("encoding", lambda: Encoder(folder / "parts.mp4", Size(), 10))
    frames = reel.frames()
    while (found := timed("reading, twice", lambda: next(frames, None))) is not None:
        frame = timed("drawing", lambda found=found: scene.frame(*found))
        timed("encoding", lambda frame=frame: encoder.add(frame))
    timed("encoding", lambda: encoder.__exit__(None, None, None))
    return spent
