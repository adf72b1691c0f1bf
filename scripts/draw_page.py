"""Photographs the page of a run, with a scenario of more animals beside it, both played, and two cells pinned. See `scripts/picture`.

Beside the picture that is named, `-dark` shows two variables in a smaller window, `-phone` one map on a phone, `-levels` a tracer on a
level with the winds, of examples/tracers.toml.
"""

import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

import steppe
from steppe.client import Run

UNTIL, FORK = "1990-04-20", "1990-01-31"
SPEED = 5.0  # [1/s] slow enough for every step to be a point of the figure
POINTER = (480, 480)  # of the window
LOOK = "variable=green_leaf&palette=bamako_r&scenario=main,more-stock&pins=20S143E,26.4S148.2E"
WINDOWS = {
    "": (1440, 900, "maps=3&theme=light"),
    "-dark": (1024, 768, "maps=5&beside=soil_water_1&theme=dark"),
    "-phone": (390, 844, "maps=1&theme=light"),
}
LEVEL = {"-levels": (1280, 800, "maps=1&theme=light")}
LOOK_OF_LEVEL = "variable=ozone[3]&palette=lajolla_r&arrows=wind&pins=52.25N13.25E,48.25N3.25E"


def main(picture: str, *served: str) -> None:
    """picture: the file to write; served: what `steppe serve` is told of the run of Queensland."""
    with at_work(*served) as (link, run):
        run.step(until=FORK)
        more = run.branch("more-stock", set={"stocking_rate": 0.5})
        photograph(f"{link}&{LOOK}", picture, WINDOWS, (run, more), UNTIL)
    with at_work("examples/tracers.toml", "--set", "output.path=../runs/picture/tracers") as (link, run):
        run.step(until="2001-03-05T06:00")
        photograph(f"{link}&{LOOK_OF_LEVEL}", picture, LEVEL, (run,), "2001-03-05T20:00")


@contextmanager
def at_work(*served: str) -> Iterator[tuple[str, Run]]:
    """A server; the link to its page, and its run."""
    with tempfile.NamedTemporaryFile("w") as tokens:  # its owner's alone
        token = secrets.token_urlsafe()
        tokens.write(f"steer {token}\n")
        tokens.flush()
        command = [sys.executable, "-m", "steppe", "serve", *served, "--bind", "127.0.0.1:0", "--token-file", tokens.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            try:
                yield f"{address}#token={token}", steppe.connect(address, token=token)
            finally:
                process.terminate()


def photograph(link: str, picture: str, windows: Mapping[str, tuple[int, int, str]], runs: tuple[Run, ...], until: str) -> None:
    """The page at that link in each window, which has seen the scenarios go."""
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or sys.exit("There is no chromium on the PATH.")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--enable-unsafe-swiftshader"])
        pages = {}
        for name, (width, height, maps) in windows.items():
            page = pages[name] = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"{link}&{maps}")
            page.wait_for_selector("#chart canvas")
        page.wait_for_timeout(3000)
        steps = [run.step(until=until, speed=SPEED, wait=False) for run in runs]
        while not all(step.is_over for step in steps):
            page.wait_for_timeout(200)
        next(iter(pages.values())).mouse.move(*POINTER)
        page.wait_for_timeout(10_000)  # notices go
        for name, page in pages.items():
            page.screenshot(path=Path(picture).with_stem(Path(picture).stem + name))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
