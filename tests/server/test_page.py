"""The page as the server hands it out, without a browser: bytes, what may be kept of them, and what no address leads to."""

import gzip
from pathlib import Path

import pytest

from steppe.server.application import application
from steppe.server.page import Page, read_page
from steppe.server.routes import pages
from tests.server.asking import Client, bearer, problem
from tests.server.test_doors import behind
from tests.server.toy import Toy

INDEX = '<!doctype html><title>Steppe</title><script type=module src="assets/main-0A.js"></script>' + " " * 400
SCRIPT = "let a = 1;" * 100


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page of two files, in place of the one that was built."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "assets" / "main-0A.js").write_text(SCRIPT)
    (folder / "assets" / "tiny-0B.css").write_text("a{}")
    (tmp_path / "secret").write_text("not for you")
    found = read_page(folder)
    monkeypatch.setattr(pages, "built_page", lambda: found)
    return found


@pytest.mark.usefixtures("page")
def test_the_page_is_open_to_all_and_asked_for_anew_each_time(client: Client) -> None:
    answer = client.ask("GET", "/", role=None)
    assert (answer.status_code, answer.text) == (200, INDEX)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    again = client.ask("GET", "/", role=None, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == answer.headers["content-security-policy"]  # a browser takes it from here, too
    assert client.ask("GET", "/", role=None, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.usefixtures("page")
def test_a_part_of_the_page_is_kept_for_ever_and_travels_packed(client: Client) -> None:
    answer = client.ask("GET", "/assets/main-0A.js", role=None, headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(gzip.compress(SCRIPT.encode(), 9)) < len(SCRIPT)
    assert answer.text == SCRIPT
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["vary"] == "accept-encoding"
    for accepted in ("identity", "br", "gzip;q=0", "gzip; q=0.0"):
        plain = client.ask("GET", "/assets/main-0A.js", role=None, headers={"Accept-Encoding": accepted})
        assert "content-encoding" not in plain.headers, accepted
        assert plain.text == SCRIPT
    assert "content-encoding" not in client.ask("GET", "/assets/tiny-0B.css", role=None).headers  # packed it would be longer


@pytest.mark.usefixtures("page")
def test_the_page_runs_nothing_but_its_own_scripts_and_nobody_frames_it(client: Client) -> None:
    headers = client.ask("GET", "/", role=None).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["frame-ancestors"] == "'self'"
    assert policy["img-src"] == "'self' blob:"
    assert policy["base-uri"] == policy["form-action"] == "'none'"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    for path in ("/", "/assets/main-0A.js", "/assets/nothing.js"):
        assert client.ask("GET", path, role=None).headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        *("../secret", "..%2fsecret", "%2e%2e/%2e%2e/secret", "..%5csecret", "%2fetc%2fpasswd", "", ".", "index.html", "MAIN-0A.JS"),
        *("main-0A.js/", "main-0A.js%00.css", "main-0A.js%20", "../assets/../../secret", "....//secret", "~", "main-0A.js.gz"),
    ],
)
@pytest.mark.usefixtures("page")
def test_no_path_leads_to_anything_else(client: Client, path: str) -> None:
    assert problem(client.ask("GET", f"/assets/{path}", role=None))["code"] == "unknown-path"


@pytest.mark.usefixtures("page")
def test_the_page_is_there_whether_a_proxy_keeps_the_prefix_or_takes_it_off(toy: Toy, access: object) -> None:
    for answer in (
        behind(toy, access, "/steppe/", prefix="/steppe"),
        behind(toy, access, "/", "10.0.0.7", "", ["10.0.0.7"], headers={"X-Forwarded-Prefix": "/steppe"}),
    ):
        assert answer.text == INDEX
        assert "//" not in INDEX.partition("<script")[2]  # addresses in it begin at the page, so that any prefix fits
    assert behind(toy, access, "/steppe/assets/main-0A.js", prefix="/steppe").text == SCRIPT
    assert behind(toy, access, "/assets/main-0A.js", prefix="/steppe").status_code == 404


def test_a_page_that_was_not_built_says_so_and_the_rest_works(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "built_page", lambda: read_page(tmp_path))
    answer = client.ask("GET", "/", role=None)
    assert answer.status_code == 503
    assert "The page was not built" in answer.text
    assert "make page" in answer.text
    assert client.ask("GET", "/assets/main-0A.js", role=None).status_code == 404
    assert client.get("").status_code == 200


@pytest.mark.usefixtures("page")
def test_a_stranger_gets_all_parts_of_the_page_at_once(toy: Toy, access: object) -> None:
    client = Client(application({"toy": toy}, access), toy)
    assert [client.ask("GET", "/assets/main-0A.js", role=None).status_code for _ in range(60)] == [200] * 60
    assert any(client.ask("GET", "/healthz", role=None).status_code == 429 for _ in range(200))  # there are ten more a second


@pytest.mark.usefixtures("page")
def test_the_page_asks_nobody_who_he_is_whatever_he_sends(client: Client) -> None:
    for headers in ({"Cookie": "steppe_8090=wrong"}, {"Authorization": "Bearer wrong"}, bearer("view"), {"Origin": "http://evil.example"}):
        assert client.ask("GET", "/", role=None, headers=headers).status_code == 200
