"""A server without a run: the page says so, and people begin one in it."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.server.asking import TOKENS

from verification.page.test_accessible import violations


@pytest.fixture
def address(scenario: Path, tmp_path: Path) -> Iterator[str]:
    """Where a server without runs listens, which may read the data of the scenario."""
    (tmp_path / "tokens").write_text("".join(f"{role} {text}\n" for role, text in TOKENS.items()))
    (tmp_path / "tokens").chmod(0o600)
    folders = ["--runs", str(tmp_path / "runs"), "--data", str(scenario.parent)]
    command = [sys.executable, "-m", "steppe", "serve", *folders, "--bind", "127.0.0.1:0", "--token-file", str(tmp_path / "tokens")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_a_run_is_begun_in_the_page(context: BrowserContext, address: str, scenario: Path) -> None:
    data = scenario.parent
    page = context.new_page()
    page.goto(f"{address}#token={TOKENS['steer']}")
    expect(page.locator("#chip")).to_contain_text("No run yet")
    window = page.get_by_role("dialog", name="Runs")
    expect(window).to_contain_text("This server has no run yet")
    assert violations(page) == []
    window.get_by_label("Name").fill("dry")
    window.get_by_label("Run file").fill("no TOML")
    window.get_by_role("button", name="Begin the run").click()
    expect(window.get_by_role("alert")).to_contain_text("TOML")
    text = re.sub(r"model = .*", 'model = "pasture"', scenario.read_text())
    text = re.sub(r'"(mask|weather)\.zarr"', rf'"{data}/\1.zarr"', text)
    text = re.sub(r"\[parameters\]\ncapacity.*\n", "[parameters]\n", text).replace("water", "soil_water_1")
    window.get_by_label("Run file").fill(text)
    window.get_by_role("button", name="Begin the run").click()
    expect(page.locator("#run-name")).to_have_text("dry", timeout=60_000)
    expect(page.locator("#titles")).to_contain_text("main", timeout=60_000)
