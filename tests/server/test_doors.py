import asyncio
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from steppe.api import ROLES
from steppe.server import Access, Limits, Server, Token
from steppe.server.application import application
from steppe.server.doors.rate import RequestRates
from steppe.server.routes import TABLE
from steppe.server.routes.table import Route
from tests.server.asking import TOKENS, Client, bearer, problem
from tests.server.toy import Toy

NAMES = {
    "run": "toy",
    "variable": "green",
    "scenario": "main",
    "group": "main~1",
    "model": "pasture",
    "sha256": "0" * 64,
    "operation": "1",
    "event": "1",
    "trigger": "1",
    "image": "1-2-3",
    "checkpoint": "0000000001",
    "asset": "main.js",
    "code": "method",
    "array": "green",
    "part": "zarr.json",
}


def address_of(route: Route) -> str:
    return re.sub(r"{(\w+)}", lambda found: NAMES[found[1]], route.path)


@pytest.mark.parametrize("who", [None, "wrong", *ROLES])
@pytest.mark.parametrize("route", TABLE.routes, ids=lambda route: route.name)
def test_every_route_asks_for_its_role(client: Client, route: Route, who: str | None) -> None:
    if route.reply == "text/event-stream" and who in ROLES:
        pytest.skip("It ends with what it tells of, if ever; test_sockets has it.")
    before = client.standing()
    headers = {"Authorization": "Bearer wrong"} if who == "wrong" else bearer(who) if who else {}
    if route.request is not None:
        headers["Content-Type"] = "application/octet-stream" if route.request == "bytes" else "application/json"
    answer = client.ask(route.method, address_of(route), role=None, headers=headers, content=b"{" if route.request else b"")
    enough = route.role == "-" or (who in ROLES and ROLES.index(who) >= ROLES.index(route.role))
    if enough:
        assert answer.status_code not in (401, 403), answer.text
        return
    found = problem(answer)
    assert found["code"] == ("role-too-low" if who in ROLES else "not-authenticated")
    if found["code"] == "not-authenticated":
        assert answer.headers["www-authenticate"] == "Bearer"
    assert client.standing() == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:8090"}, 200),
        ({"Host": "LOCALHOST:1"}, 200),
        ({"Host": "[::1]:8090"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost@evil.example"}, 421),
        ({"Host": ""}, 421),
    ],
)
def test_the_server_answers_to_its_own_names_only(client: Client, headers: dict[str, str], status: int) -> None:
    assert client.get("", headers=headers).status_code == status


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:1", "http://127.0.0.1:8090.evil.example", "127.0.0.1:8090"]
)
def test_an_order_from_another_site_is_refused(client: Client, origin: str) -> None:
    before = client.standing()
    assert problem(client.post("/step", {"steps": 1}, headers={"Origin": origin}))["code"] == "foreign-origin"
    assert client.standing() == before


def cookie_of(client: Client, role: str) -> dict[str, str]:
    answer = client.ask("POST", "/login", role=None, key=None, json={"token": TOKENS[role]})
    assert answer.status_code == 204
    given = answer.headers["set-cookie"]
    assert "HttpOnly" in given
    assert "SameSite=Strict" in given
    assert TOKENS[role] not in given
    return {"Cookie": given.split(";")[0]}


def test_who_logs_in_gets_a_cookie_that_only_the_own_page_can_steer_with(client: Client) -> None:
    cookie = cookie_of(client, "steer")
    assert client.ask("GET", "/whoami", role=None, headers=cookie).json()["role"] == "steer"
    assert problem(client.post("/step", {"steps": 1}, role=None, headers=cookie))["code"] == "foreign-origin"
    own = {**cookie, "Origin": "http://127.0.0.1:8090"}
    assert client.post("/step", {"steps": 1}, role=None, headers=own).status_code == 200
    assert client.ask("POST", "/logout", role=None, key=None, headers=own).status_code == 204
    assert client.ask("GET", "/whoami", role=None, headers=cookie).status_code == 401


def test_a_cookie_never_travels_without_tls_where_the_browser_came_by_https(client: Client) -> None:
    for host, scheme, secure in (("localhost", "https", True), ("localhost:8443", "https", True), ("localhost:8090", "http", False)):
        headers = {"Host": host, "Origin": f"{scheme}://{host}"}  # of a proxy that ends TLS, and speaks HTTP with the server
        answer = client.ask("POST", "/login", role=None, key=None, json={"token": TOKENS["view"]}, headers=headers)
        assert ("; Secure" in answer.headers["set-cookie"]) == secure, host


def test_a_proxy_that_drops_the_port_of_host_is_named(client: Client) -> None:
    headers = {"Host": "localhost", "Origin": "https://localhost:8443"}
    found = problem(client.ask("POST", "/login", role=None, key=None, json={"token": TOKENS["view"]}, headers=headers))
    assert (found["code"], "header Host whole, with the port" in found["detail"]) == ("foreign-origin", True)


def test_a_cookie_that_another_port_or_a_neighbour_put_there_is_none(client: Client) -> None:
    cookie = cookie_of(client, "admin")["Cookie"]
    name, _, value = cookie.partition("=")
    for tossed in (f"steppe_1={value}", f"{cookie}; {cookie}", f"{name}={value[:-1]}", f"{name}={TOKENS['admin']}"):
        assert client.ask("GET", "/whoami", role=None, headers={"Cookie": tossed}).status_code == 401, tossed


def test_a_token_in_an_address_is_refused_and_revoked(client: Client) -> None:
    assert problem(client.ask("GET", f"/whoami?token={TOKENS['view']}", role=None))["code"] == "token-in-address"
    assert client.ask("GET", "/whoami", role="view").status_code == 401
    assert client.ask("GET", "/whoami", role="steer").status_code == 200


def test_a_token_ends() -> None:
    now = [100.0]
    access = Access([Token.of("guest", "view", "x", expires=200.0)], lambda: now[0])
    cookie = access.open_session("x")
    assert access.by_token("x") is not None
    assert access.by_session(cookie or "") is not None
    now[0] = 200.0
    assert access.by_token("x") is None
    assert access.by_session(cookie or "") is None
    assert access.open_session("x") is None


def test_sessions_live_through_a_restart_but_not_those_of_a_token_that_was_revoked(tmp_path: Path) -> None:
    one, two = Token.of("guest", "view", "x"), Token.of("kim", "steer", "y")
    before = Access([one, two])
    guest, kim = before.open_session("x") or "", before.open_session("y") or ""
    before.keep_sessions(tmp_path)
    kept = (tmp_path / "server.sessions").read_text()
    assert guest not in kept
    after = Access([one])
    after.take_sessions(tmp_path)
    assert (after.by_session(guest) or two).name == "guest"
    assert after.by_session(kim) is None
    assert not (tmp_path / "server.sessions").exists()
    (tmp_path / "server.sessions").write_text("nonsense")
    Access([one]).take_sessions(tmp_path)  # the next server starts all the same


def test_who_fails_to_log_in_waits_longer_and_longer() -> None:
    now = [0.0]
    access = Access([], elapsed=lambda: now[0])
    waits = []
    for _ in range(8):
        waits.append(access.wait_to_login("here", 5))
        access.login_failed("here")
    assert waits == [0, 0, 0, 0, 0, 1, 2, 3]
    assert access.wait_to_login("there", 5) == 0
    now[0] = 61.0
    assert access.wait_to_login("here", 5) == 0


def test_too_many_requests_are_told_when_to_come_again(toy: Toy, access: Access) -> None:
    client = Client(application({"toy": toy}, access, Limits(requests=0.05, requests_burst=3.0)), toy)
    assert [client.get("").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    answer = client.get("")
    assert problem(answer)["code"] == "too-many"
    assert 10 <= int(answer.headers["retry-after"]) <= 20
    assert client.get("", role="view").status_code == 200
    assert client.get("/data/green").status_code == 200  # counted by bytes


@pytest.mark.parametrize("path", ["/whoami", "/runs/toy/data/green", "/runs/toy/log"])
def test_wrong_tokens_are_charged_to_their_address_before_they_are_refused(toy: Toy, access: Access, path: str) -> None:
    client = Client(application({"toy": toy}, access, Limits(strangers=0.05)), toy)
    wrong = [client.ask("GET", path, role=None, headers={"Authorization": f"Bearer {n:043}"}).status_code for n in range(300)]
    assert wrong == 20 * [401] + 280 * [429]
    assert client.ask("GET", "/healthz", role=None).status_code == 429
    assert client.ask("GET", "/whoami").status_code == 200


def test_two_tokens_of_one_name_have_a_rate_each(toy: Toy) -> None:
    access = Access([Token.of("anna", "view", TOKENS["view"]), Token.of("anna", "steer", TOKENS["steer"])])
    client = Client(application({"toy": toy}, access, Limits(requests=0.05, requests_burst=3.0)), toy)
    assert [client.ask("GET", "/whoami", role="view").status_code for _ in range(4)] == [200, 200, 200, 429]
    left = client.ask("GET", "/whoami", role="steer")
    assert (left.status_code, left.json()["name"], left.json()["requests_left"]) == (200, "anna", 2)


@pytest.mark.parametrize(
    ("address", "forwarded", "client"),
    [
        ("10.0.0.7", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.7", ["198.51.100.1, 203.0.113.9:4711, 10.0.0.8"], "203.0.113.9"),  # the client may have made the first one up
        ("10.0.0.7", ["198.51.100.1", "[2001:db8::9]:4711"], "2001:db8::9"),
        ("10.0.0.7", ["::ffff:203.0.113.9"], "203.0.113.9"),
        ("10.0.0.7", ["203.0.113.9, unknown"], "10.0.0.7"),
        ("10.0.0.7", ["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
        ("10.0.0.7", [], "10.0.0.7"),
        ("", ["203.0.113.9"], "203.0.113.9"),
        ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
    ],
)
def test_behind_a_believed_proxy_the_address_of_the_client_counts(
    toy: Toy, access: Access, address: str, forwarded: list[str], client: str
) -> None:
    server = application({"toy": toy}, access, Limits(logins=1, strangers_burst=3.0, strangers=0.01), proxies=["10.0.0.0/8", "unix"])

    def login(address: str, *forwarded: str) -> int:
        headers = [("X-Forwarded-For", each) for each in forwarded]
        return asked_from(server, address, "/api/v1/login", method="POST", json={"token": "wrong"}, headers=headers).status_code

    assert [login(address, *forwarded), login(address, *forwarded)] == [401, 429]
    assert login("10.0.0.99", client) == 429
    assert login("10.0.0.99", "203.0.113.77") == 401
    for _ in range(2):
        answer = asked_from(server, "10.0.0.99", "/healthz", headers={"X-Forwarded-For": client})
    assert answer.status_code == 429
    assert asked_from(server, "10.0.0.99", "/healthz", headers={"X-Forwarded-For": "203.0.113.77"}).status_code == 200


def test_a_bucket_fills_with_time_and_holds_no_more_than_its_burst() -> None:
    now = [0.0]
    rates = RequestRates(Limits(requests=2.0, requests_burst=4.0, data=100.0, data_burst=1000.0), lambda: now[0])
    assert rates.requests_left("me") == 4
    rates.spend("me", 1500)
    assert rates._left(rates._bytes, "me", 100.0, 1000.0) == -500.0
    now[0] = 6.0
    assert rates._left(rates._bytes, "me", 100.0, 1000.0) == 100.0
    now[0] = 1e6
    assert rates.requests_left("me") == 4


def test_every_answer_forbids_what_a_page_must_not_do(client: Client) -> None:
    page = client.ask("GET", "/problems/method", role=None)
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cross-origin-opener-policy"] == "same-origin"
    for answer in (page, client.get(""), client.get("/data/nothing"), client.ask("GET", "/healthz", role=None), client.ask("GET", "/x")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_no_token_and_no_query_is_ever_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "steppe")
    client.get("/data/green?time=latest&width=17")
    client.ask("GET", f"/whoami?token={TOKENS['view']}", role=None)
    client.ask("POST", "/login", role=None, key=None, json={"token": TOKENS["steer"]})
    client.get("/data/a%0d%0aINFO%20all%20is%20well")
    text = caplog.text
    assert "/api/v1/runs/toy/data/green" in text
    assert not any(token in text for token in TOKENS.values())
    assert "width" not in text
    assert "\nINFO all is well" not in text
    assert "a\\r\\nINFO all is well" in text


def behind(
    toy: Toy, access: Access, path: str, address: str = "127.0.0.1", prefix: str = "", proxies: Any = (), **more: Any
) -> httpx.Response:
    """The answer to somebody at an address, from a server behind a proxy."""
    return asked_from(application({"toy": toy}, access, prefix=prefix, proxies=proxies), address, path, **more)


def asked_from(server: Server, address: str, path: str, **more: Any) -> httpx.Response:
    """The answer of a server to somebody at an address."""
    transport = httpx.ASGITransport(server, client=(address, 1))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
            return await asking.request(more.pop("method", "GET"), path, **more)

    return asyncio.run(ask())


def test_behind_a_prefix_every_address_and_the_cookie_has_it(toy: Toy, access: Access) -> None:
    assert behind(toy, access, "/steppe/healthz", prefix="/steppe").status_code == 200
    assert behind(toy, access, "/healthz", prefix="/steppe").status_code == 404
    assert behind(toy, access, "/steppehealthz", prefix="/steppe").status_code == 404
    answer = behind(toy, access, "/steppe/api/v1/login", prefix="/steppe", method="POST", json={"token": TOKENS["view"]})
    assert "Path=/steppe;" in answer.headers["set-cookie"]
    order = {"method": "POST", "json": {"steps": 1}, "headers": {**bearer("steer"), "Idempotency-Key": "k"}}
    location = behind(toy, access, "/steppe/api/v1/runs/toy/step", prefix="/steppe", **order).headers["location"]
    assert location == "/steppe/api/v1/runs/toy/operations/1"
    assert behind(toy, access, location, prefix="/steppe", headers=bearer("view")).json()["id"] == 1


def test_servers_with_other_prefixes_behind_one_proxy_have_cookies_of_their_own(toy: Toy, access: Access) -> None:
    names = []
    for prefix in ("", "/a", "/a/b", "/a_b"):
        login = behind(toy, access, f"{prefix}/api/v1/login", prefix=prefix, method="POST", json={"token": TOKENS["view"]})
        names.append(login.headers["set-cookie"].partition("=")[0])
        both = {"Cookie": f"{names[0]}=another; {login.headers['set-cookie'].partition(';')[0]}"}
        if prefix:
            assert behind(toy, access, f"{prefix}/api/v1/whoami", prefix=prefix, headers=both).status_code == 200
    assert len({*names}) == 4


def test_a_socket_is_known_by_its_cookie_if_the_proxy_leaves_out_its_prefix(toy: Toy, access: Access) -> None:
    prefix = {"X-Forwarded-Prefix": "/user/ann/proxy/8090"}
    login = {"method": "POST", "json": {"token": TOKENS["view"]}, "headers": prefix}
    cookie = behind(toy, access, "/api/v1/login", proxies=("127.0.0.1",), **login).headers["set-cookie"].partition(";")[0]
    for given, headers, status in [(cookie, {}, 200), (cookie, prefix, 200), (f"{cookie}; {cookie}2", {}, 401), (cookie + "x", {}, 401)]:
        answer = behind(toy, access, "/api/v1/whoami", proxies=("127.0.0.1",), headers={"Cookie": given, **headers})
        assert answer.status_code == status
    other = {"Cookie": cookie, "X-Forwarded-Prefix": "/user/bob/proxy/8090"}
    assert behind(toy, access, "/api/v1/whoami", proxies=("127.0.0.1",), headers=other).status_code == 401


@pytest.mark.parametrize(
    ("address", "proxies", "path"),
    [
        ("10.0.0.7", ["10.0.0.7"], "/gate/steppe"),
        ("10.0.0.7", ["10.0.0.0/8", "::1"], "/gate/steppe"),
        ("::ffff:10.0.0.7", ["10.0.0.7"], "/gate/steppe"),
        ("", ["unix"], "/gate/steppe"),
        ("", ["10.0.0.7"], "/"),
        ("10.0.0.8", ["10.0.0.7", "unix"], "/"),
        ("somebody", ["10.0.0.7"], "/"),
        ("10.0.0.7", [], "/"),
    ],
)
def test_only_a_proxy_is_believed_what_it_took_off(toy: Toy, access: Access, address: str, proxies: list[str], path: str) -> None:
    more = {"method": "POST", "json": {"token": TOKENS["view"]}, "headers": {"X-Forwarded-Prefix": "/gate/steppe/"}}
    answer = behind(toy, access, "/api/v1/login", address, "", proxies, **more)
    assert f"Path={path};" in answer.headers["set-cookie"]


def test_a_problem_is_explained_where_the_client_finds_it(toy: Toy, access: Access) -> None:
    told = {**bearer("view"), "X-Forwarded-Prefix": "/gate"}
    for path, instance, more in (
        ("/steppe/api/v1/runs/no", "/steppe/api/v1/runs/no", {"prefix": "/steppe", "headers": bearer("view")}),
        ("/api/v1/runs/no", "/gate/api/v1/runs/no", {"address": "10.0.0.7", "proxies": ["10.0.0.7"], "headers": told}),
        ("/api/v1/runs/no", "/api/v1/runs/no", {"headers": bearer("view")}),
    ):
        found = behind(toy, access, path, **more).json()
        assert (found["type"], found["instance"]) == (instance.replace("api/v1/runs/no", "problems/unknown-run"), instance)
    outside = behind(toy, access, "/healthz", prefix="/steppe").json()["type"]
    assert outside == "/steppe/problems/unknown-path"
    assert behind(toy, access, outside, prefix="/steppe").status_code == 200


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/steppe", {"prefix": "/steppe"}),
        ("/steppe", {"address": "10.0.0.7", "proxies": ["10.0.0.7"], "headers": {"X-Forwarded-Prefix": "/steppe"}}),
    ],
)
def test_the_prefix_without_its_slash_leads_to_the_page(toy: Toy, access: Access, path: str, more: dict[str, Any]) -> None:
    for query in ("", "?a=1&b=https://evil.example/%0d%0aX:1", "?//evil.example"):
        for method in ("GET", "HEAD"):
            answer = behind(toy, access, path + query, method=method, **more)
            assert (answer.status_code, answer.headers["location"], answer.content) == (308, f"/steppe/{query}", b"")
    assert behind(toy, access, path + "x", **more).status_code == 404


@pytest.mark.parametrize("path", ["//evil.example", "//evil.example/steppe", "/steppe//evil.example", "/evil.example"])
def test_nobody_is_led_out_of_the_server(toy: Toy, access: Access, path: str) -> None:
    whole = f"http://localhost{path}"  # so that nothing of it is taken for a host
    assert "location" not in behind(toy, access, whole, prefix="/steppe").headers
    for told in ("//evil.example", path):  # from somebody who is no proxy, and from one that is
        for address in ("10.0.0.8", "10.0.0.7"):
            found = behind(toy, access, whole, address, "", ["10.0.0.7"], headers={"X-Forwarded-Prefix": told}).headers.get("location", "/")
            assert not found.startswith("//")


@pytest.mark.parametrize("told", ["steppe", "//evil.example", "/a b", "/a;Path=/", "/..", "/a/../b", "/é", "/" + "a" * 100])
def test_what_is_no_prefix_is_refused_also_from_a_proxy(toy: Toy, access: Access, told: str) -> None:
    answer = behind(toy, access, "/healthz", "10.0.0.7", "", ["10.0.0.7"], headers={"X-Forwarded-Prefix": told.encode("latin-1")})
    found = problem(answer)
    assert (found["position"], found["type"]) == ("X-Forwarded-Prefix", "/problems/bad-header")
    assert behind(toy, access, "/healthz", "10.0.0.8", "", ["10.0.0.7"], headers={"X-Forwarded-Prefix": "//x"}).status_code == 200


def test_a_prefix_that_comes_twice_is_refused(toy: Toy, access: Access) -> None:
    twice = [("X-Forwarded-Prefix", "/a"), ("X-Forwarded-Prefix", "/b")]
    assert problem(behind(toy, access, "/healthz", "10.0.0.7", "", ["10.0.0.7"], headers=twice))["code"] == "bad-header"


def test_lines_of_one_header_are_one_list(toy: Toy, access: Access) -> None:
    server = application({"toy": toy}, access)
    address, path = "127.0.0.1", "/api/v1/runs/toy/data/green"

    def got(*lines: tuple[str, str], method: str = "GET", path: str = path, **more: Any) -> httpx.Response:
        headers = [*bearer("steer").items(), *lines]
        return asked_from(server, address, path, method=method, headers=headers, **more)

    assert got(("Accept", "text/csv"), ("Accept", "*/*;q=0.1")).headers["content-type"].startswith("text/csv")
    tag = got().headers["etag"]
    assert got(("If-None-Match", tag), ("If-None-Match", '"zz"')).status_code == 304
    toy.slow = True
    for number, lines in enumerate(([("Prefer", "wait=1"), ("Prefer", "return=minimal")], [("Prefer", "wait=1; x=1")])):
        begin = time.perf_counter()
        key = ("Idempotency-Key", f"lines-{number}")
        assert got(key, *lines, method="POST", path="/api/v1/runs/toy/step", json={"steps": 1}).status_code == 202
        assert time.perf_counter() - begin > 0.9
        twice = got(key, key, *lines, method="POST", path="/api/v1/runs/toy/step", json={"steps": 1})
        assert (twice.status_code, problem(twice)["code"]) == (400, "bad-header")


def test_a_server_that_is_read_only_takes_no_orders_of_anybody(toy: Toy, access: Access) -> None:
    client = Client(application({"toy": toy}, access, read_only=True), toy)
    before = client.standing()
    for route in TABLE.routes:
        if route.role in ("steer", "admin"):
            media = "application/octet-stream" if route.request == "bytes" else "application/json"
            answer = client.ask(route.method, address_of(route), content=b"{}", headers={"Content-Type": media})
            assert problem(answer)["code"] == "read-only"
    assert client.standing() == before
    assert client.get("").status_code == 200
    assert client.get("/data/green").status_code == 200


def test_health_and_metrics(client: Client, toy: Toy) -> None:
    assert client.ask("GET", "/healthz", role=None).json() == {"status": "ok"}
    assert client.ask("GET", "/readyz", role=None).status_code == 200
    client.get("/data/green?packed=1")
    client.post("/step", {"steps": 1})
    text = client.ask("GET", "/metrics", role="view").text
    assert 'steppe_arrays_bytes{run="toy"} 1500000' in text
    assert "what=" not in text
    assert 0.0 < float(text.partition('steppe_journal_longest_transaction_seconds{run="toy"} ')[2].split()[0]) < 60.0
    assert 'steppe_requests_total{method="GET",path="/api/v1/runs/{run}/data/{variable}",status="200"} 1' in text
    assert 'steppe_step{run="toy",scenario="main"} 1' in text
    assert 'steppe_run_state{run="toy",state="ready"} 1' in text
    assert 'steppe_engine_deaths_total{run="toy"} 0' in text
    said = {kind: [line.split()[2] for line in text.splitlines() if line.startswith(f"# {kind} ")] for kind in ("HELP", "TYPE")}
    named = {re.sub("_(bucket|sum|count)$", "", re.split("[{ ]", line)[0]) for line in text.splitlines() if not line.startswith("#")}
    assert said["HELP"] == said["TYPE"]
    assert set(said["HELP"]) >= named
    client.server.drain()
    assert client.ask("GET", "/readyz", role=None).status_code == 503
    assert problem(client.post("/step", {"steps": 1}))["code"] == "draining"
    assert client.get("").status_code == 200


def test_a_defect_is_a_problem_without_its_reason(client: Client, toy: Toy) -> None:
    toy.info = lambda: {}[TOKENS["view"]]  # type: ignore[method-assign]
    found = problem(client.get(""))
    assert found["code"] == "defect"
    assert "KeyError" not in str(found)
