"""A script of another site in a real browser: it reads and orders where `--cors` names its site, and nowhere else."""

import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page

from tests.page.house import House, wait_for
from tests.server.asking import TOKENS

READ = "async ([address, token]) => (await fetch(address, {headers: {Authorization: `Bearer ${token}`}})).json().catch(error => `${error}`)"
STEP = """async ([address, token, key]) => {
    const headers = {Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Idempotency-Key": key, Prefer: "wait=5"};
    const reply = await fetch(`${address}/step`, {method: "POST", headers, body: '{"steps": 1}'});
    return [reply.status, reply.headers.get("etag")];
}"""
LOGIN = """async ([address, token]) => {
    await fetch(address.replace("/runs/out", "/login"), {method: "POST", credentials: "include", body: JSON.stringify({token})});
    return (await fetch(address, {credentials: "include"})).status;
}"""


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    """The origin of another site."""
    with HTTPServer(("127.0.0.1", 0), _Empty) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def outcome(page: Page, script: str, *words: str) -> object:
    """What a script gives; "refused" where the browser does not let it."""
    return page.evaluate(f"(words) => ({script})(words).catch(() => 'refused')", list(words))


def test_a_script_of_a_named_site_reads_and_orders_and_no_other(page: Page, site: str, made_scenario: Path, tmp_path: Path) -> None:
    shutil.copytree(made_scenario.parent, tmp_path / "scenario")
    with House(tmp_path / "scenario" / made_scenario.name, "--cors", site) as house:
        run, token = f"{house.address}api/v1/runs/out", TOKENS["steer"]
        page.goto(site)
        wait_for(lambda: outcome(page, READ, run, token)["state"] == "ready")
        status, version = outcome(page, STEP, run, token, "a")
        assert (status, bool(version)) == (200, True)  # the script may read headers, too
        assert outcome(page, LOGIN, run, token) == "refused"
        page.goto(site.replace("127.0.0.1", "localhost"))  # another origin
        assert outcome(page, READ, run, token) == "refused"
        assert outcome(page, STEP, run, token, "b") == "refused"
        assert house.get("").json()["scenarios"][0]["step"] == 1
