import json
import queue
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from steppe.api.frame import read_frame
from steppe.client import Run, UnknownError
from steppe.client.widget import PAGE, Relay
from steppe.errors import Mistake

LONG = 30.0  # [s] within which something that comes has come
needs_page = pytest.mark.skipif(not (PAGE / "widget.js").is_file(), reason="the page is not built: make")


class Browser:
    """What a browser hears of a relay."""

    def __init__(self, run: Run) -> None:
        self.heard: queue.Queue[tuple[dict[str, Any], list[bytes]]] = queue.Queue()
        self.relay = Relay(run._behind._remote.line, run.name, lambda content, buffers: self.heard.put((content, buffers)))

    def until(self, wanted: Any) -> tuple[dict[str, Any], list[bytes]]:
        """The next message for which `wanted` holds."""
        while True:
            content, buffers = self.heard.get(timeout=LONG)
            if wanted(content, buffers):
                return content, buffers

    def told(self, kind: str) -> Any:
        """The next live message of a type."""
        content, _ = self.until(lambda content, _: f'"type":"{kind}"' in content.get("live", ""))
        return json.loads(content["live"])


@pytest.fixture
def browser(run: Run) -> Iterator[Browser]:
    browser = Browser(run)
    yield browser
    browser.relay.leave()


def test_a_browser_hears_of_the_run_and_gets_the_frames_that_it_watches(run: Run, browser: Browser) -> None:
    run.step(2)
    name = next(name for name, variable in run.variables.items() if variable.role == "state")
    browser.relay.hear({"watch": [{"stream": 1, "variable": name, "bits": 16}]})
    assert browser.told("hello")["run"] == run.name
    assert browser.told("watching")["streams"][0]["variable"] == name
    _, (content,) = browser.until(lambda _, buffers: buffers)
    assert read_frame(content).step == 2
    run.step(1)
    assert read_frame(browser.until(lambda _, buffers: buffers)[1][0]).step == 3


def test_what_a_browser_asks_is_answered_with_the_status_that_the_server_gave(run: Run, browser: Browser) -> None:
    browser.relay.hear({"ask": 7, "method": "GET", "path": f"/api/v1/runs/{run.name}", "headers": {}, "body": None})
    content, (body,) = browser.until(lambda content, _: content.get("answer") == 7)
    assert (content["status"], json.loads(body)["run"]) == (200, run.name)
    order = {
        "method": "POST",
        "path": f"/api/v1/runs/{run.name}/step",
        "headers": {"content-type": "application/json", "idempotency-key": "w1"},
    }
    browser.relay.hear({"ask": 8, **order, "body": '{"steps": 0}'})
    content, (body,) = browser.until(lambda content, _: content.get("answer") == 8)
    assert (content["status"], json.loads(body)["status"]) == (422, 422)


def test_nothing_but_the_servers_interface_is_asked_for_a_browser(browser: Browser) -> None:
    for number, path in enumerate(("/metrics", "/api/v2/x", "http://elsewhere/api/v1/")):
        browser.relay.hear({"ask": number, "method": "GET", "path": path, "headers": {}, "body": None})
        content, (body,) = browser.until(lambda content, _, number=number: content.get("answer") == number)
        assert (content["status"], json.loads(body)["code"]) == (503, "unreachable")


@needs_page
def test_a_run_gives_a_widget_that_holds_no_token(run: Run) -> None:
    name = next(iter(run.variables))
    widget = run.widget(name)
    state = widget.get_state()
    assert (state["run"], state["scenario"], state["variable"]) == (run.name, "main", name)
    assert run._behind._remote.line.headers["authorization"].removeprefix("Bearer ") not in json.dumps(state, default=str)
    widget.close()


def test_a_widget_of_no_variable_is_refused(run: Run) -> None:
    with pytest.raises(UnknownError, match="gren"):
        run.widget("gren")


def test_without_anywidget_it_is_said_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(Mistake, match=r"pip install \"\.\[notebook\]\""):
        run.widget()
