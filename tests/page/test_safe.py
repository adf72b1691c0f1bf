"""What must never happen: a request to anybody else, markup from a name, a token that stays in an address."""

import gzip
import re
from contextlib import chdir
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
import xarray
from playwright.sync_api import BrowserContext, expect

import steppe
from tests.page.house import House, Opened, wait_for
from tests.server.asking import TOKENS

NASTY = "<img src=x onerror=alert(1)>"


def test_no_request_leaves_the_origin(opened: Opened) -> None:
    opened.press(".", "v", "Escape", "c", "Escape", "r", "Escape", "g")
    for tab in ("steer", "scenarios", "log", "look"):
        opened.page.click(f"#tab-{tab}")
    opened.rest()
    own = urlsplit(opened.house.address).netloc
    foreign = [address for address in opened.asked if urlsplit(address).scheme not in ("blob", "data") and urlsplit(address).netloc != own]
    assert foreign == []
    assert any("land" in address for address in opened.asked)  # the coastline comes from the server, too


def test_the_scripts_of_the_page_take_less_than_110_kB() -> None:
    page = files("steppe.server") / "page"
    assets = page / "assets"
    scripts = [each for each in assets.iterdir() if each.name.endswith(".js")]
    first = set(re.findall(r'src="assets/([^"]+)"', (page / "index.html").read_text()))
    assert first <= {each.name for each in scripts}
    assert sum(len(gzip.compress(each.read_bytes(), 9)) for each in scripts) < 110_000


def test_the_token_is_exchanged_and_erased(opened: Opened) -> None:
    page = opened.page
    assert "token" not in page.url
    assert TOKENS["steer"] not in page.content()
    assert page.evaluate("() => document.cookie") == ""  # no script can read it
    assert page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}])").find(TOKENS["steer"]) < 0
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert not any("token=" in address for address in opened.asked if "#" not in address)
    opened.press("y")
    link = page.locator("#share-link").input_value()
    assert link.startswith(opened.house.address)
    assert "token" not in link
    page.go_back()
    assert "token" not in page.url


def test_a_link_shows_the_same_to_somebody_else(opened: Opened, context: BrowserContext) -> None:
    opened.house.order("/step", {"steps": 5})
    opened.page.mouse.click(*opened.pixel(7, 3))
    opened.variable("runoff")
    opened.page.locator("#map").focus()
    opened.press("y")
    link = opened.page.locator("#share-link").input_value()
    second = Opened(context.new_page(), opened.house)
    second.page.goto(link)
    second.wait("performance.getEntriesByName('first-map').length > 0")
    expect(second.page.locator("#variable")).to_have_value("Runoff")
    expect(second.page.locator("#series")).to_contain_text("21.75° S, 143.75° E")
    assert second.complaints == []


def test_what_a_link_names_and_the_run_does_not_have_is_told_and_the_map_is_there(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 5})
    page, shown = opened.page, "steppe.store.now.shown[0]?.live"
    for date in ("1900-01-01", "1990-02-31", "step:9999"):
        opened.open(fragment=f"&date={date}")
        expect(page.locator("#notices")).to_contain_text(f"The date of the link, {date}, is not one of this run")
        opened.wait(shown)
    opened.open(fragment="&date=1990-03-01&maps=5&beside=nothing&arrows=nothing")
    expect(page.get_by_role("group", name="The date in view")).to_contain_text("1 Mar 1990, still to come")
    opened.wait(shown)
    expect(page.locator(".title")).to_have_count(1)
    page.evaluate("() => steppe.store.change({preview: 0})")
    opened.wait("location.hash.includes('date=step%3A0')")  # the first day is that of step 1


def test_a_run_is_opened_by_the_lines_that_are_shared_and_no_path_of_the_machine_is_told(
    context: BrowserContext, run: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Opened(context.new_page(), run)
    run.order("/step", {"steps": 40})
    run.order("/scenarios", {"name": "wet", "from": {"step": 30}})
    run.order("/step", {"scenario": "wet", "steps": 10})
    run.order("/checkpoints", {})
    run.order("/checkpoints", {"scenario": "wet"})
    folder = run.folder
    for scenario in ("main", "wet"):
        opened.open(role="view", fragment=f"&scenario={scenario}")
        opened.press("y")
        field = opened.page.locator("#share-store")
        assert str(folder) not in opened.page.content()
        monkeypatch.setenv("STEPPE_TOKEN", TOKENS["view"])
        names: dict[str, Any] = {"steppe": steppe}
        exec(opened.page.locator("#share-remote").input_value(), names)
        assert np.isfinite(names["whole"]["water"].isel(time=29)).any()
        assert np.isnan(names["whole"]["water"].isel(time=40)).all()
        names["run"].close()
        opened.page.get_by_role("button", name="Copy").nth(2).click()
        wait_for(lambda field=field: opened.page.evaluate("() => navigator.clipboard.readText()") == field.input_value())
        for line in field.input_value().splitlines():
            names = {"steppe": steppe, "xarray": xarray}
            with chdir(folder):
                exec(line, names)
                found = names["results"]["water"].isel(time=0).values  # the month that is over
            assert np.isfinite(found).all()
        opened.press("Escape")
    assert opened.complaints == []


def test_who_is_not_signed_in_is_asked_for_the_token(context: BrowserContext, run: House) -> None:
    opened = Opened(context.new_page(), run)
    opened.expected.append("401")
    opened.page.goto(f"{run.address}#token=wrong")
    expect(opened.chip).to_contain_text("Not signed in")
    assert "wrong" not in opened.page.url
    form = opened.page.get_by_role("form", name="Sign in")
    expect(form).to_contain_text("Not signed in: The token is not known, or is over.")
    form.get_by_label("Token").fill("wrong, too")
    opened.press("Enter")
    expect(form.get_by_role("alert")).to_contain_text("not known")
    form.get_by_label("Token").fill(f"{run.address}#token={TOKENS['view']}")
    opened.press("Enter")
    expect(opened.chip).to_contain_text("Paused")
    expect(form).to_be_hidden()
    assert opened.complaints == []


def test_a_name_with_markup_is_shown_as_text(opened: Opened) -> None:
    opened.house.order("/triggers", {"expression": "mean(water) > 0", "action": "message", "text": NASTY})
    opened.press(".")
    expect(opened.page.locator("#notices")).to_contain_text(NASTY)
    opened.page.click("#tab-steer")
    expect(opened.page.locator("#rules")).to_contain_text(NASTY)
    assert opened.page.locator("img").count() == 0


@pytest.mark.parametrize("role", ["view", "steer", "admin"])
def test_a_socket_with_the_cookie_opens_only_from_the_own_page(context: BrowserContext, run: House, role: str) -> None:
    opened = Opened(context.new_page(), run)
    opened.open(role)
    (cookie,) = context.cookies()
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "steppe.live.1",
        "Cookie": f"{cookie['name']}={cookie['value']}",
    }
    address = f"{run.address}api/v1/runs/out/live"
    for origin in (
        "http://evil.example",
        "null",
        run.address.replace("http:", "https:").rstrip("/").replace("127.0.0.1", "127.0.0.2"),
        None,
    ):
        headers = upgrade if origin is None else {**upgrade, "Origin": origin}
        with httpx.stream("GET", address, headers=headers, timeout=10) as answer:
            assert answer.status_code == 403, origin


def test_another_site_cannot_use_the_cookie(opened: Opened, context: BrowserContext) -> None:
    """A page of another origin of this machine, which a browser counts as the same site, sends the cookie along and is refused."""

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>evil</title>")

        def log_message(self, *_: object) -> None:
            pass

    since = len(opened.house.log())
    server = HTTPServer(("127.0.0.1", 0), Evil)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        evil = context.new_page()
        evil.goto(f"http://127.0.0.1:{server.server_port}/")
        target = f"{opened.house.address}api/v1/runs/out"
        for init in (
            """{method: "POST", mode: "no-cors", credentials: "include", headers: {"Content-Type": "text/plain"}, body: '{"steps": 1}'}""",
            """{method: "POST", mode: "cors", credentials: "include", headers: {"Content-Type": "application/json", "Idempotency-Key": "e"},
                body: '{"steps": 1}'}""",
        ):
            evil.evaluate(f"() => fetch('{target}/step', {init}).catch(() => null)")
        opens = f"""() => new Promise(done => {{
            const socket = new WebSocket("{target.replace("http", "ws", 1)}/live", "steppe.live.1");
            socket.onopen = () => done(true);
            socket.onerror = socket.onclose = () => done(false);
        }})"""
        assert evil.evaluate(opens) is False
        evil.evaluate(
            "(address) => document.body.append(Object.assign(document.createElement('iframe'), {src: address}))", opened.house.address
        )
        wait_for(lambda: len(evil.frames) == 2)
        evil.wait_for_timeout(500)
        assert evil.frames[1].evaluate("() => document.querySelector('#map') === null")
    finally:
        server.shutdown()
        server.server_close()
    assert len(opened.house.log()) == since
    assert opened.house.main()["step"] == 0
