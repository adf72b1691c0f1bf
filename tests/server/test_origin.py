"""Scripts of other sites: none may call, but of those that `--cors` names, with a token in a header and never with a cookie."""

from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from steppe.server import Access, Limits
from steppe.server.application import application
from steppe.server.doors import Origins
from tests.server.asking import TOKENS, Client, access_of_all, bearer, problem
from tests.server.listening import listening
from tests.server.toy import Toy
from tests.server.viewers import viewer

SITE = "https://maps.example.org"
STRANGER = "https://evil.example"


@pytest.fixture
def open_client(toy: Toy, access: Access) -> Client:
    """Asks a server that lets scripts of `SITE` call."""
    return Client(application({"toy": toy}, access, Limits(), origins=[SITE, "http://localhost:8888"]), toy)


@pytest.fixture
def port(toy: Toy) -> Iterator[int]:
    with listening(application({"toy": toy}, access_of_all(), Limits(), origins=[SITE])) as port:
        yield port


def allowed(answer: httpx.Response) -> str | None:
    """The origin whose scripts may read an answer; no answer speaks of cookies."""
    assert "access-control-allow-credentials" not in answer.headers
    return answer.headers.get("access-control-allow-origin")


def test_scripts_of_an_allowed_site_read_and_order_with_a_token(open_client: Client) -> None:
    read = open_client.get("", headers={"Origin": SITE})
    assert (read.status_code, allowed(read), read.headers["access-control-expose-headers"]) == (200, SITE, "*")
    ordered = open_client.post("/step", {"steps": 1}, role="steer", headers={"Origin": SITE})
    assert (ordered.status_code, allowed(ordered)) == (200, SITE)
    wrong = open_client.get("/variables/gren", headers={"Origin": SITE})
    assert (problem(wrong)["status"], allowed(wrong)) == (404, SITE)
    assert allowed(open_client.get("", role=None, headers={"Origin": SITE})) == SITE


def test_a_browser_learns_beforehand_what_a_script_of_an_allowed_site_may_send(open_client: Client) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,idempotency-key"}
    answer = open_client.ask("OPTIONS", "/runs/toy/step", role=None, key=None, headers={**asked, "Origin": SITE})
    assert (answer.status_code, allowed(answer)) == (204, SITE)
    assert "POST" in answer.headers["access-control-allow-methods"].split(", ")
    assert set(asked["Access-Control-Request-Headers"].split(",")) <= set(answer.headers["access-control-allow-headers"].split(", "))
    refused = open_client.ask("OPTIONS", "/runs/toy/step", role=None, key=None, headers={**asked, "Origin": STRANGER})
    assert (refused.status_code, allowed(refused)) == (405, None)


@pytest.mark.parametrize("origin", [STRANGER, "null", f"{SITE}.evil.example", "http://maps.example.org"])
def test_scripts_of_other_sites_read_nothing_and_order_nothing(open_client: Client, origin: str) -> None:
    before = open_client.standing()
    read = open_client.get("", headers={"Origin": origin})
    assert allowed(read) is None
    assert read.headers["vary"] == "origin"
    assert problem(open_client.post("/step", {"steps": 1}, headers={"Origin": origin}))["code"] == "foreign-origin"
    assert open_client.standing() == before


def test_no_site_may_call_unless_it_is_named(client: Client) -> None:
    read = client.get("", headers={"Origin": SITE})
    assert allowed(read) is None
    assert "vary" not in read.headers
    assert client.ask("OPTIONS", "/runs/toy", key=None, headers={"Origin": SITE, "Access-Control-Request-Method": "GET"}).status_code == 405


def test_a_cookie_never_counts_for_another_site(open_client: Client) -> None:
    given = open_client.ask("POST", "/login", role=None, key=None, json={"token": TOKENS["admin"]}).headers["set-cookie"]
    cookie = {"Cookie": given.split(";")[0]}
    assert open_client.ask("GET", "/whoami", role=None, headers=cookie).status_code == 200
    from_site = {**cookie, "Origin": SITE}
    assert open_client.ask("GET", "/whoami", role=None, headers=from_site).status_code == 401
    assert open_client.post("/step", {"steps": 1}, role=None, headers=from_site).status_code == 401
    login = open_client.ask("POST", "/login", role=None, key=None, json={"token": TOKENS["admin"]}, headers={"Origin": SITE})
    assert problem(login)["code"] == "foreign-origin"


def test_a_script_of_an_allowed_site_watches_with_a_token(port: int) -> None:
    with viewer(port, "view", origin=SITE):
        pass
    with pytest.raises(InvalidStatus), viewer(port, "view", origin=STRANGER):
        pass
    answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/runs/toy", headers={**bearer("view"), "Origin": SITE})
    assert allowed(answer) == SITE


@pytest.mark.parametrize("name", ["*", "maps.example.org", f"{SITE}/", f"{SITE}/maps", "https://*.example.org", "null", "ftp://a"])
def test_what_is_no_origin_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"must be an origin such as https://maps\.example\.org"):
        Origins([name])
