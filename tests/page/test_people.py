"""Several people at one run: each hears of the others, and none is thrown out by a restart of the server."""

from playwright.sync_api import expect

from tests.page.house import Opened, wait_for


def test_what_others_order_is_told_by_the_name_of_their_token(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/scenarios", {"name": "heavy"})
    house.order("/set", {"scenario": "heavy", "variable": "capacity", "value": 80.0, "when": "now"})
    expect(page.locator(".notice", has_text="admin set")).to_contain_text("in heavy")
    expect(page.locator("#steers")).to_contain_text("admin steers")
    opened.press(".")
    wait_for(lambda: house.main()["step"] == 1)
    expect(page.locator("#steers")).to_contain_text("You steer (steer)")
    page.wait_for_timeout(1500)
    expect(page.locator(".notice", has_text="one step")).to_have_count(0)  # its own orders are no news


def test_open_pages_and_shared_addresses_live_through_a_restart_of_the_server(opened: Opened) -> None:
    house, page = opened.house, opened.page
    opened.expected += ["ERR_CONNECTION_REFUSED", "WebSocket", "503"]
    page.reload()  # from now on it has the cookie alone
    opened.wait("performance.getEntriesByName('first-map').length > 0")
    shared = page.url
    house.stop()
    expect(opened.chip).to_contain_text("Connection lost")
    assert (house.folder / "out" / "server.sessions").stat().st_mode & 0o777 == 0o600
    house.start()
    expect(opened.chip).to_contain_text("Paused")
    assert not (house.folder / "out" / "server.sessions").exists()
    opened.press(".")
    wait_for(lambda: house.main()["step"] == 1)
    expect(page.locator("#steers")).to_contain_text("You steer (steer)")
    page.goto("about:blank")
    page.goto(shared)
    opened.wait("performance.getEntriesByName('first-map').length > 0")
    expect(page.locator("#steers")).to_contain_text("You steer (steer)")
