"""What docs/serve.md shows runs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from steppe.client import Run
from tests.client.served import TOKENS, Served

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_python_of_the_page_runs(server: Served) -> None:
    program = "".join(blocks("python"))
    names = {"address": server.address, "token": TOKENS["steer"]}
    exec(compile(program, "docs/serve.md", "exec"), names)
    run: Run = names["run"]  # type: ignore[assignment]
    assert (names["more"] != 0).any()  # type: ignore[attr-defined]
    assert names["part"].shape == (5, 3)  # type: ignore[attr-defined]
    assert run.info().scenarios[-1].name == "main"
    run.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="There is no curl here.")
def test_the_curl_of_the_page_runs(server: Served) -> None:
    run = server.connect()
    run.step(1)
    run.restart()  # the kernel is there: a request waits for some seconds only
    shell = next(block for block in blocks("sh") if "curl" in block)
    done = subprocess.run(
        ["sh", "-euc", f"address={server.address} token={TOKENS['steer']}\n{shell}"], capture_output=True, text=True, check=True
    )
    assert '"done":30' in done.stdout
    assert '"kind":"set"' in done.stdout
    assert "problem" not in done.stdout.replace('"problem":null', "")
