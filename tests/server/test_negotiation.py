"""What a client takes decides the format and the coding of an answer."""

import asyncio
import gzip
from collections.abc import AsyncGenerator

import pytest

from steppe.api import decode
from steppe.server.compression import SHORT, compressed
from steppe.server.query import FORMATS
from steppe.server.request import Request, Response
from tests.server.asking import Client, problem

AT = "at=140,-20&at=142.5,-20"
ANY = [media.partition(";")[0] for media in FORMATS.values()]


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/*", "text/csv; charset=utf-8"),
        ("text/html, TEXT/CSV ;q=0.5", "text/csv; charset=utf-8"),
        ("application/json;q=0.5, text/csv;q=0.9", "text/csv; charset=utf-8"),
        ("image/*;q=0.2, application/vnd.cov+json", "application/vnd.cov+json"),
        ("application/x-netcdf", "application/x-netcdf"),
        ("image/png", "image/png"),
        ("*/*", "application/vnd.steppe.array"),
        ("", "application/vnd.steppe.array"),
        ("text/html,application/xhtml+xml,image/avif,*/*;q=0.8", "application/vnd.steppe.array"),
        ("*/*, application/vnd.steppe.array;q=0, application/x-npy;q=0", "text/csv; charset=utf-8"),
    ],
)
def test_data_come_in_the_format_that_the_client_prefers(client: Client, accept: str, media: str) -> None:
    answer = client.get("/data/green", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media)
    assert "accept" in answer.headers["vary"].split(", ")


@pytest.mark.parametrize(
    ("accept", "media"),
    [("*/*", "application/json"), ("text/csv", "text/csv; charset=utf-8"), ("image/png, text/*;q=0.1", "text/csv; charset=utf-8")],
)
def test_a_series_comes_in_the_format_that_the_client_prefers(client: Client, accept: str, media: str) -> None:
    answer = client.get(f"/series/green?{AT}", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"], answer.headers["vary"]) == (200, media, "accept")


@pytest.mark.parametrize("accept", ["text/html", "text/csv;q=0", "text/csv;q=2.5", "text", "application/*;q=0, image/gif"])
@pytest.mark.parametrize(("path", "last"), [("/data/green?time=latest", "image/png"), (f"/series/green?{AT}", "application/vnd.cov+json")])
def test_a_client_that_takes_no_format_is_given_the_list(client: Client, accept: str, path: str, last: str) -> None:
    found = problem(client.get(path, headers={"Accept": accept}))
    assert (found["status"], found["code"], found["value"], found["position"]) == (406, "not-acceptable", accept, "Accept")
    assert found["allowed"][-1] == last
    assert set(found["allowed"]) <= set(ANY)


def test_a_format_that_is_named_counts_more_than_the_header(client: Client) -> None:
    answer = client.get("/data/green?format=json", headers={"Accept": "text/csv"})
    assert answer.headers["content-type"] == "application/json"
    assert "vary" not in answer.headers


def test_a_tag_of_one_format_does_not_hold_for_another(client: Client) -> None:
    tags = {
        accept: client.get("/data/green", headers={"Accept": accept}).headers["etag"] for accept in ("text/csv", "application/json", "*/*")
    }
    assert len(set(tags.values())) == 3
    for accept, tag in tags.items():
        for other in tags:
            again = client.get("/data/green", headers={"Accept": other, "If-None-Match": tag})
            assert again.status_code == (304 if other == accept else 200)
    decode(client.get("/data/green", headers={"If-None-Match": tags["text/csv"]}).content)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/openapi.json",
        "/scenarios",
        *(f"/data/green?time=2001-01-01/2001-01-12&format={form}" for form in ("json", "csv", "coverage-json")),
        "/log",
    ],
)
def test_json_and_text_come_by_gzip_for_who_takes_it(client: Client, path: str) -> None:
    for number in range(12):
        client.post("/step", {"steps": 1})
        client.post("/scenarios", {"name": f"s{number}"})
    path = path if path.startswith("/api") else f"/runs/toy{path}"
    plain = client.ask("GET", path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert len(plain.content) > SHORT
    packed = client.ask("GET", path, headers={"Accept-Encoding": "br, gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == plain.headers["vary"] == "accept-encoding"
    assert packed.content == plain.content
    assert packed.num_bytes_downloaded < 0.6 * plain.num_bytes_downloaded
    for refused in ("gzip;q=0", "deflate", "gzip;q=0, *"):
        assert "content-encoding" not in client.ask("GET", path, headers={"Accept-Encoding": refused}).headers


def test_what_is_short_or_no_text_is_not_compressed(client: Client) -> None:
    for path in ("", "/data/rain", "/image/green.png", "/data/green?format=npy", f"/series/green?{AT}"):
        answer = client.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert "content-encoding" not in answer.headers, path
    assert len(client.get("").content) < SHORT


def test_a_tag_holds_however_its_reply_was_coded(client: Client) -> None:
    for number in range(12):
        client.post("/scenarios", {"name": f"s{number}"})
    tags = [client.get("", headers={"Accept-Encoding": coding}).headers["etag"] for coding in ("gzip", "identity")]
    assert tags[0] == "W/" + tags[1]
    for tag in tags:
        assert client.get("", headers={"If-None-Match": tag}).status_code == 304
    assert client.post("/step", {"steps": 1}, headers={"If-Match": tags[0]}).status_code == 200


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_tag_to_which_a_compressing_proxy_adds_its_coding_holds(client: Client, coding: str) -> None:
    client.post("/step", {"steps": 1})
    for path in ("", "/data/green", "/variables"):
        tag = client.get(path).headers["etag"].removeprefix("W/")
        marked = f'{tag[:-1]}-{coding}"'  # as mod_deflate of Apache writes it
        assert client.get(path, headers={"If-None-Match": marked}).status_code == 304, path
        assert client.get(path, headers={"If-None-Match": f'"other-{coding}", W/{marked}'}).status_code == 304, path
        assert client.get(path, headers={"If-None-Match": f'"other-{coding}"'}).status_code == 200, path
    tag = client.get("").headers["etag"].removeprefix("W/")
    assert client.post("/step", {"steps": 1}, headers={"If-Match": f'{tag[:-1]}-{coding}"'}).status_code == 200
    assert client.post("/step", {"steps": 1}, headers={"If-Match": f'{tag[:-1]}-{coding}"'}).status_code == 412


def test_a_reply_without_its_text_varies_as_the_text_does(client: Client) -> None:
    client.post("/step", {"steps": 8})
    for path in ("/variables", "/data/green?format=json&time=step:1/8"):
        whole = client.get(path)
        assert "accept-encoding" in whole.headers["vary"], path
        again = client.get(path, headers={"If-None-Match": whole.headers["etag"]})
        assert (again.status_code, again.headers["vary"]) == (304, whole.headers["vary"])


def test_lines_that_are_streamed_are_compressed_as_they_come(client: Client) -> None:
    closed = []

    async def lines() -> AsyncGenerator[bytes]:
        try:
            for number in range(10_000):
                yield b'{"seq": %d}\n' % number
        finally:
            closed.append(True)

    async def packed() -> tuple[Response, bytes]:
        request = Request(client.server.context, {"method": "GET"}, None, {b"accept-encoding": b"gzip"})  # type: ignore[arg-type]
        reply = await compressed(request, Response(200, media=b"application/jsonl", stream=lines()))
        assert reply.stream is not None
        return reply, b"".join([piece async for piece in reply.stream])

    reply, content = asyncio.run(packed())
    assert (b"content-encoding", b"gzip") in reply.headers
    assert gzip.decompress(content).splitlines()[9_999] == b'{"seq": 9999}'
    assert closed == [True]
