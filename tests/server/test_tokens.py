"""Tokens that are made while a server is at work."""

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from steppe.cli import run_command
from steppe.errors import DamagedError, FolderError, Mistake
from steppe.grid import Raster
from steppe.server import Access, Token
from steppe.server.application import application
from steppe.server.tokens import FILE, TokenFile
from tests.server.asking import TOKENS, Client, problem
from tests.server.toy import Toy


class Time:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def access(time: Time) -> Access:
    return Access([Token.of(role, role, text) for role, text in TOKENS.items()], time, time)


def status(client: Client, token: str) -> int:
    return client.ask("GET", "/whoami", role=None, headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_server_at_work_takes_a_new_token_at_once_until_it_ends(client: Client, toy: Toy, time: Time) -> None:
    assert status(client, "g" * 43) == 401
    TokenFile(toy.folder).add(Token.of("guest", "view", "g" * 43, 2000.0))
    found = client.ask("GET", "/whoami", role=None, headers={"Authorization": f"Bearer {'g' * 43}"}).json()
    assert (found["name"], found["role"], found["expires"]) == ("guest", "view", "1970-01-01T00:33:20+00:00")
    assert client.post("/step", {"steps": 1}, role=None, headers={"Authorization": f"Bearer {'g' * 43}"}).status_code == 403
    assert status(client, TOKENS["steer"]) == 200
    time.now = 2000.0
    assert status(client, "g" * 43) == 401
    assert status(client, TOKENS["view"]) == 200


def test_a_token_opens_the_run_for_which_it_was_made_and_no_other(tmp_path: Path, raster: Raster, access: Access) -> None:
    runs = {name: Toy(tmp_path / name, raster, name=name) for name in ("mine", "other")}
    TokenFile(runs["mine"].folder).add(Token.of("guest", "admin", "g" * 43, 2000.0))
    server = application(runs, access)

    def ask(path: str, token: str = "g" * 43, method: str = "GET", **more: Any) -> httpx.Response:
        return Client(server, runs["mine"]).ask(method, path, role=None, headers={"Authorization": f"Bearer {token}"}, **more)

    assert ask("/runs/mine").status_code == 200
    assert ask("/runs/mine/step", method="POST", json={"steps": 1}).status_code == 200
    for path, method in (("", "GET"), ("/data/green", "GET"), ("/zarr/main/zarr.json", "GET"), ("/step", "POST"), ("", "DELETE")):
        refused = ask(f"/runs/other{path}", method=method, **({"json": {}} if method == "POST" else {}))
        assert (refused.status_code, problem(refused)["code"]) == (404, "unknown-run")
        assert problem(refused)["allowed"] == ["mine"]
    assert [each["run"] for each in ask("/runs").json()["runs"]] == ["mine"]
    assert [each["run"] for each in ask("/runs", TOKENS["view"]).json()["runs"]] == ["mine", "other"]
    assert 'run="other"' not in ask("/metrics").text
    assert 'run="other"' in ask("/metrics", TOKENS["view"]).text
    assert ask("/whoami").json()["run"] == "mine"
    began = ask("/runs", method="POST", json={"name": "third", "toml": ""})
    assert (began.status_code, problem(began)["code"]) == (403, "role-too-low")
    cookie = ask("/login", method="POST", json={"token": "g" * 43}).headers["set-cookie"].split(";")[0]
    by_cookie = Client(server, runs["mine"]).ask("GET", "/runs/other", role=None, headers={"Cookie": cookie})
    assert problem(by_cookie)["code"] == "unknown-run"
    for run in runs.values():
        run.close()


def test_a_server_that_starts_takes_those_that_are_there(toy: Toy, access: Access) -> None:
    TokenFile(toy.folder).add(Token.of("guest", "view", "g" * 43, 2000.0))
    assert status(Client(application({"toy": toy}, access), toy), "g" * 43) == 200


def test_a_token_that_is_revoked_ends_with_its_sessions_within_a_second(client: Client, toy: Toy, time: Time) -> None:
    tokens = TokenFile(toy.folder)
    tokens.add(Token.of("guest", "view", "g" * 43, 2000.0))
    tokens.add(Token.of("other", "view", "o" * 43, 2000.0))
    answer = client.ask("POST", "/login", role=None, key=None, json={"token": "g" * 43})
    cookie = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
    assert client.ask("GET", "/whoami", role=None, headers=cookie).status_code == 200
    tokens.remove("guest")
    time.now += 1.0
    assert client.ask("GET", "/whoami", role=None, headers=cookie).status_code == 401
    assert (status(client, "g" * 43), status(client, "o" * 43)) == (401, 200)


def test_a_clock_that_is_set_back_keeps_no_token_alive_and_no_new_one_out(toy: Toy, time: Time) -> None:
    passed = Time()
    client = Client(application({"toy": toy}, Access([Token.of("view", "view", TOKENS["view"])], time, passed)), toy)
    tokens = TokenFile(toy.folder)
    tokens.add(Token.of("guest", "view", "g" * 43, 2000.0))
    assert status(client, "g" * 43) == 200
    time.now -= 500.0
    tokens.add(Token.of("other", "view", "o" * 43, 2000.0))
    assert status(client, "o" * 43) == 200
    tokens.remove("guest")
    passed.now += 1.0
    assert status(client, "g" * 43) == 401


def test_one_that_was_written_into_an_address_is_not_taken_again(client: Client, toy: Toy) -> None:
    tokens = TokenFile(toy.folder)
    tokens.add(Token.of("guest", "view", "g" * 43, 2000.0))
    assert client.ask("GET", f"/whoami?token={'g' * 43}", role=None).status_code == 400
    tokens.add(Token.of("other", "view", "o" * 43, 2000.0))
    assert (status(client, "g" * 43), status(client, "o" * 43)) == (401, 200)


def test_the_file_holds_no_token_and_only_its_owner_may_read_it(toy: Toy) -> None:
    TokenFile(toy.folder).add(Token.of("guest", "view", "g" * 43, 2000.0))
    path = toy.folder / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "g" * 43 not in path.read_text()
    assert sorted(file.name for file in toy.folder.glob(f"{FILE}*")) == [FILE]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"tokens": [{}]}', '{"tokens": [1]}', "\xff"])
def test_a_file_that_is_damaged_lets_nobody_in_and_shuts_nobody_out(client: Client, toy: Toy, content: str) -> None:
    (toy.folder / FILE).write_bytes(content.encode("latin-1"))
    with pytest.raises(DamagedError, match="cannot be read"):
        TokenFile(toy.folder).read()
    assert (status(client, "g" * 43), status(client, TOKENS["view"])) == (401, 200)


def test_a_role_that_there_is_not_is_none(toy: Toy) -> None:
    row = {"name": "x", "role": "root", "digest": "00" * 32, "expires": 2000.0}
    (toy.folder / FILE).write_text(json.dumps({"tokens": [row]}))
    with pytest.raises(DamagedError, match='"root" is no role'):
        TokenFile(toy.folder).read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_file_of_somebody_else_lets_nobody_in(client: Client, toy: Toy) -> None:
    TokenFile(toy.folder).add(Token.of("guest", "admin", "g" * 43, 2000.0))
    os.chown(toy.folder / FILE, 12345, -1)
    assert status(client, "g" * 43) == 401


def test_a_name_is_of_one_token_alone(toy: Toy, tmp_path: Path) -> None:
    tokens = TokenFile(toy.folder)
    tokens.add(Token.of("guest", "view", "g" * 43, 2000.0))
    with pytest.raises(Mistake, match='There is a token "guest" already'):
        tokens.add(Token.of("guest", "admin", "o" * 43, 2000.0))
    with pytest.raises(Mistake, match=r'no token "gest".*Did you mean "guest"'):
        tokens.remove("gest")
    with pytest.raises(FolderError, match="no folder of a run"):
        TokenFile(tmp_path / "nowhere").add(Token.of("guest", "view", "g" * 43, 2000.0))
    assert [each.name for each in tokens.read()] == ["guest"]


def test_the_command_prints_a_token_once_and_lists_and_revokes_it(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    (toy.folder / "status.json").write_text('{"address": "http://127.0.0.1:8090"}')
    client = Client(application({"toy": toy}, Access([])), toy)
    assert run_command(["token", "new", str(toy.folder), "--role", "steer", "--days", "2", "--name", "anna"]) == 0
    said = capsys.readouterr().out
    text = said.partition("http://127.0.0.1:8090/#token=")[2].split()[0]
    assert said.startswith("anna, until ")
    assert status(client, text) == 200
    assert run_command(["token", "list", str(toy.folder)]) == 0
    listed = capsys.readouterr().out
    assert listed.split()[:2] == ["anna", "steer"]
    assert text not in listed
    assert run_command(["token", "revoke", str(toy.folder), "anna"]) == 0
    assert TokenFile(toy.folder).read() == []


def test_many_wrong_tokens_at_once_look_at_the_disk_together(tmp_path: Path) -> None:
    class Counted(TokenFile):
        looks = 0

        def is_new(self) -> bool:
            self.looks += 1
            return super().is_new()

    file, access = Counted(tmp_path), Access([])
    access.take_from({"run": file})

    async def flood() -> None:
        await asyncio.gather(*(access.look(f"wrong {number}") for number in range(500)))

    asyncio.run(flood())
    assert 1 <= file.looks - 1 <= 5
