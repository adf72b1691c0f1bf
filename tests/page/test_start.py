"""How the page begins: what it asks for while its script is on its way."""

from playwright.sync_api import Page, Route, expect

from tests.page.house import House, Opened, wait_for
from tests.server.asking import TOKENS


def test_the_socket_is_open_before_the_script_of_the_page_has_come(page: Page, run: House) -> None:
    run.order("/step", {"steps": 3})
    opened = Opened(page, run)
    sockets: list[str] = []
    held: list[Route] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda _: sockets.append(socket.url)))
    page.route("**/main-*.js", lambda route: held.append(route))
    page.goto(f"{run.address}#token={TOKENS['steer']}", wait_until="commit")
    wait_for(lambda: page.wait_for_timeout(20) or sockets)  # what the server says first
    assert held
    held[0].continue_()
    opened.wait("performance.getEntriesByName('first-map').length > 0")
    expect(opened.chip).to_contain_text("Paused")
    assert len(set(sockets)) == 1
    assert sum(url.endswith(("/runs", "/login", "/whoami")) for url in opened.asked) == 3
    assert "token" not in page.url
    assert opened.complaints == []


def test_without_that_script_the_page_begins_by_itself(page: Page, run: House) -> None:
    run.order("/step", {"steps": 3})
    opened = Opened(page, run)
    page.route("**/start-*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    opened.open()
    assert opened.complaints == []


def test_a_wrong_token_is_answered_by_the_page_itself(page: Page, run: House) -> None:
    opened = Opened(page, run)
    opened.expected.append("401")
    page.goto(f"{run.address}#token={'x' * 43}")
    expect(page.locator(".signin")).to_be_visible()
    assert "token" not in page.url
