"""The widget in JupyterLab itself: its server, a kernel, a browser."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.page.house import PATIENCE, House, wait_for
from tests.server.asking import TOKENS

LABELS = """canvas => {
    const [height, top] = [canvas.height, Math.round(0.78 * canvas.height)]; // below the bar of colours
    const pixels = canvas.getContext("2d").getImageData(0, top, canvas.width, height - top).data;
    return [...pixels].filter((_, k) => k % 4 === 1 && pixels[k + 2] > 200); // their green, where something is drawn
}"""
SECRET = "of-this-test"


@pytest.fixture
def lab(tmp_path: Path, run: House) -> Iterator[str]:
    """The address of a notebook whose only cell shows the run."""
    source = f'import steppe\nrun = steppe.connect("{run.address}", token="{TOKENS["steer"]}")\nrun.widget("water")'
    cell = {"cell_type": "code", "id": "only", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "map.ipynb").write_text(json.dumps(notebook))
    places = {name: str(tmp_path / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    words = ["--no-browser", "--allow-root", f"--IdentityProvider.token={SECRET}", f"--ServerApp.root_dir={tmp_path}"]
    with (tmp_path / "lab.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "jupyterlab", "--port=0", *words], stderr=log, env=os.environ | places)
        try:
            runtime = tmp_path / "jupyter_runtime_dir"
            wait_for(lambda: [*runtime.glob("jpserver-*.json")])
            (about,) = runtime.glob("jpserver-*.json")
            yield f"{json.loads(about.read_text())['url']}lab/tree/map.ipynb?token={SECRET}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def test_a_run_is_seen_and_steered_in_jupyterlab(page: Page, lab: str, run: House) -> None:
    run.order("/set", {"variable": "water", "value": 12.5})
    run.order("/step", {"steps": 1})
    page.goto(lab)
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
    page.locator(".jp-Notebook .cm-content").click()
    page.keyboard.press("Shift+Enter")

    widget = page.locator(".widget")
    date = widget.locator("output.date")
    expect(date).to_contain_text("10 Jan 1990")
    box = widget.locator(".map").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + 2)  # the cell in the middle
    expect(widget.get_by_text("row 7, column 5")).to_be_visible()
    expect(widget.locator("dd", has_text="mm")).to_have_text(f"{run.value('water', 7, 5):.8g} mm")  # when it has come, whole
    drawn = Image.open(io.BytesIO(widget.locator(".map").screenshot())).convert("RGB")
    assert len(drawn.getcolors(1 << 20) or ()) > 30, "cells have colours of their own"

    widget.get_by_role("button", name="+1 day").click()
    expect(date).to_contain_text("11 Jan 1990")
    wait_for(lambda: run.main()["step"] == 2)
    run.order("/step", {"steps": 3})
    expect(date).to_contain_text("14 Jan 1990")

    legend = widget.locator("canvas.legend").first
    assert max(legend.evaluate(LABELS)) < 120
    page.locator(".lm-MenuBar-item", has_text="Settings").click()
    page.locator(".lm-Menu-item", has_text=re.compile("^Theme")).hover()
    page.locator(".lm-Menu-item", has_text=re.compile("^JupyterLab Dark$")).click()
    expect(widget).to_have_attribute("data-theme", "dark")
    wait_for(lambda: max(legend.evaluate(LABELS)) > 150)
