"""The contract held to the server by schemathesis: requests that fit it, that miss it narrowly, and chains of them."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.asking import TOKENS
from tests.server.toy import VARIABLES

from steppe.server.contract import contract
from verification.server.conftest import Served

THERE = {"run": ["toy"], "variable": list(VARIABLES), "scenario": ["main"]}  # names that exist, so that more than the first check is met


def narrowed() -> dict[str, Any]:
    """The contract, with the names of this run where it says what a name looks like."""
    document = contract()
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] in THERE and parameter["in"] in ("path", "query"):
                    parameter["schema"] = {"type": "string", "enum": THERE[parameter["name"]]}
    for schema in document["components"]["schemas"].values():
        for name in THERE.keys() & schema.get("properties", {}).keys():
            if "pattern" in schema["properties"][name]:
                schema["properties"][name] = {"type": "string", "enum": THERE[name]}
    return document


@pytest.mark.parametrize("role", ["view", "admin"])
def test_no_request_breaks_the_server_or_its_contract(
    served: Served, role: str, tmp_path: Path, measured: Callable[..., None], pytestconfig: pytest.Config
) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(narrowed()))
    long = pytestconfig.getoption("--long")
    command = [
        *(str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(Path(__file__).parent / "schemathesis.toml"), "run"),
        *(str(tmp_path / "openapi.json"), "--url", f"http://127.0.0.1:{served.port}", "-H", f"Authorization: Bearer {TOKENS[role]}"),
        *("--checks", "all", "--no-color", "--continue-on-failure", "--seed", "1", "--max-examples", "100" if long else "10"),
        *("--request-timeout", "10", "--max-failures", "20"),
        *(() if long else ("--phases", "examples,fuzzing,stateful")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=3600 if long else 300)
    cases = re.search(r"([\d,]+) generated", done.stdout)
    assert cases is not None, done.stdout + done.stderr
    measured("schemathesis", f"requests as {role} of which none fails", float(cases[1].replace(",", "")), "all checks")
    assert done.returncode == 0, done.stdout[-20000:]
