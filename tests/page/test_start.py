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


def test_a_browser_without_webgl_is_told_so(page: Page, run: House) -> None:
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(f"{run.address}#token={TOKENS['view']}")
    expect(page.locator("#map-notice")).to_have_text(
        "The map needs WebGL 2, which this browser lacks or does not allow. Use a current Firefox, Chromium or Safari."
    )
    expect(page.locator("#chip")).to_have_text("The page cannot start")


def test_a_browser_that_keeps_no_cookie_is_told_so(page: Page, run: House) -> None:
    page.route("**/api/v1/login", lambda route: route.fulfill(status=204))  # as if the answer had no cookie
    page.goto(f"{run.address}#token={TOKENS['view']}")
    form = page.get_by_role("form", name="Sign in")
    expect(form).to_contain_text("Not signed in: This browser keeps no cookie of this page.")
    form.get_by_label("Token").fill(TOKENS["view"])
    form.get_by_role("button", name="Sign in").click()
    expect(form.get_by_role("alert")).to_contain_text("keeps no cookie")


def test_a_refused_way_to_the_server_is_named(page: Page, run: House) -> None:
    why = "A proxy must pass on the header Host whole, with the port."
    page.route("**/api/v1/login", lambda route: route.fulfill(status=403, json={"code": "foreign-origin", "detail": why}))
    page.goto(f"{run.address}#token={TOKENS['view']}")
    expect(page.get_by_role("form", name="Sign in")).to_contain_text(f"Not signed in: {why}")


def test_a_link_that_is_opened_in_an_open_page_is_shown(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 3})
    title = opened.page.locator(".title")
    expect(title).to_contain_text("Soil water")
    opened.wait("location.hash.includes('variable=water')")
    before = opened.page.url
    opened.page.evaluate("location.hash = location.hash.replace('variable=water', 'variable=runoff')")
    expect(title).to_contain_text("Runoff")
    opened.page.go_back()
    expect(title).to_contain_text("Soil water")
    assert opened.page.url == before
    opened.page.evaluate("location.hash = '#map'")  # the first link of the page leads to the map alone
    opened.page.wait_for_timeout(500)
    expect(title).to_contain_text("Soil water")
