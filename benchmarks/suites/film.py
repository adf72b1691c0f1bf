"""A film of ten years of Queensland from its monthly records: what reading, drawing and encoding take of it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.queensland import STEPPE, new_output, run_file
from benchmarks.rounds import QUICK_ROUNDS, alternate, output
from steppe.jobs.film import FilmChoices, reel_of
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
        *(Figure(f"  {name}", seconds, "s of processor time") for name, seconds in parts.items()),
    ]


def _whole(run: Path, folder: Path) -> float:
    begin = time.perf_counter()
    output([STEPPE, "plot", str(run), "--movie", str(folder / "film.mp4"), "--variable", NAME])
    return time.perf_counter() - begin


def _parts(run: Path, folder: Path) -> dict[str, float]:
    """Processor time of each part: another load of the machine does not count. The encoder's is that of all its threads."""
    spent = {"reading, twice": 0.0, "drawing": 0.0}

    def timed(part: str, work: Callable[[], Any]) -> Any:
        begin = time.thread_time()
        done = work()
        spent[part] += time.thread_time() - begin
        return done

    begin = time.process_time()
    reel = timed("reading, twice", lambda: reel_of(run, FilmChoices(NAME)))
    scene = timed("drawing", lambda: Scene("Queensland", reel.drawn, reel.notes, Size()))
    frames = reel.frames()
    with Encoder(folder / "parts.mp4", Size(), 10) as encoder:
        while (found := timed("reading, twice", lambda: next(frames, None))) is not None:
            encoder.add(timed("drawing", lambda found=found: scene.frame(*found)))
    return {**spent, "encoding": time.process_time() - begin - sum(spent.values())}
