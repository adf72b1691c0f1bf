"""Tokens of the roles: those that were given, and those that a server makes and keeps."""

import os
import pty
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from steppe.cli import run_command
from steppe.errors import Mistake
from steppe.jobs.admit import FaultError, check_paths
from steppe.server import Token
from steppe.server.application import application
from steppe.server.role_tokens import FILE, RoleFile, Tokens
from tests.server.asking import TOKENS, Client
from tests.server.listening import wait_for
from tests.server.toy import Toy

LAST = "Ctrl-C keeps the state and ends."
COMMON = 0o022  # the usual umask


@contextmanager
def started(*words: str, terminal: bool = False) -> Iterator[str]:
    """What `steppe serve` says when it listens, to a terminal or not. It is asked to end."""
    reader, writer = pty.openpty() if terminal else os.pipe()
    command = [sys.executable, "-m", "steppe", "serve", *words, "--bind", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=writer, umask=COMMON) as process, open(reader, "rb", buffering=0) as said:
        os.close(writer)
        try:
            text = b""
            while LAST.encode() not in text:
                text += said.read(4096)
            yield text.decode().replace("\r", "")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def taken(said: str, token: str) -> int:
    """The status of a question with a token."""
    address = re.search(r"http://\S+?/", said)[0]  # type: ignore[index]
    return httpx.get(f"{address}api/v1/whoami", headers={"Authorization": f"Bearer {token}"}, timeout=60.0).status_code


def mode(path: Path) -> int:
    """Who may do what."""
    return stat.S_IMODE(path.stat().st_mode)


def test_tokens_that_were_given_are_never_printed(scenario: Path) -> None:
    tokens = scenario.parent / "tokens"
    tokens.write_text("".join(f"{role} {text}\n" for role, text in TOKENS.items()))
    tokens.chmod(0o600)
    for terminal in (True, False):
        with started(str(scenario), "--token-file", str(tokens), terminal=terminal) as said:
            assert f'The tokens of view, steer, admin are in "{tokens}".' in said
            assert not any(token in said for token in TOKENS.values())
            assert taken(said, TOKENS["admin"]) == 200
    assert not (scenario.parent / "out" / FILE).exists()


def test_tokens_that_a_server_makes_live_in_a_file_of_its_folder_until_they_are_revoked(scenario: Path) -> None:
    folder = scenario.parent / "out"
    with started(str(scenario)) as said:
        made = RoleFile(folder).texts()
        assert list(made) == ["view", "steer", "admin"]
        assert f'The tokens of view, steer, admin are in "{folder / FILE}".' in said
        assert not any(token in said for token in made.values())
        assert mode(folder / FILE) == 0o600
        assert taken(said, made["steer"]) == 200
        assert run_command(["token", "revoke", str(folder), "steer"]) == 0
        wait_for(lambda: taken(said, made["steer"]) == 401)
        assert taken(said, made["view"]) == 200
    with started(str(scenario), terminal=True) as said:
        again = RoleFile(folder).texts()
        assert {role for role in again if again[role] == made[role]} == {"view", "admin"}
        address = re.search(r"http://\S+?(?=/)", said)[0]  # type: ignore[index]
        assert all(f"{address}/#token={token}\n" in said for token in again.values())
        assert (taken(said, made["steer"]), taken(said, again["steer"]), taken(said, again["admin"])) == (401, 200, 200)


def test_a_server_of_runs_keeps_its_tokens_in_their_folder(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with started("--runs", str(runs)) as said:
        assert f'"{runs / FILE}"' in said
        assert [mode(runs), mode(runs / FILE)] == [0o700, 0o600]
        assert taken(said, RoleFile(runs).texts()["admin"]) == 200
    with pytest.raises(FaultError, match="is a file of the server"):
        check_paths({"points": FILE}, runs, [runs])


def test_who_only_looks_is_given_a_token_for_that_and_no_other(scenario: Path) -> None:
    with started(str(scenario), "--read-only", terminal=True) as said:
        ((role, link),) = [line.split() for line in said.splitlines() if line.strip().startswith(("view", "steer", "admin"))]
        assert role == "view"
        address, _, token = link.partition("/#token=")
        with httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60.0) as client:
            assert client.get("/runs/out").json()["scenarios"][0]["step"] == 0
            answer = client.post("/runs/out/step", json={"steps": 1}, headers={"Idempotency-Key": "a"})
            assert (answer.status_code, answer.json()["code"]) == (403, "read-only")
    assert list(RoleFile(scenario.parent / "out").texts()) == ["view"]


def test_what_is_ordered_and_logged_is_read_by_the_owner_alone(scenario: Path) -> None:
    folder = scenario.parent / "out"
    with started(str(scenario)) as said:
        header = {"Authorization": f"Bearer {RoleFile(folder).texts()['steer']}"}
        address = re.search(r"http://\S+?/", said)[0]  # type: ignore[index]
        wait_for(lambda: httpx.get(f"{address}api/v1/runs/out", headers=header, timeout=60.0).json()["state"] == "ready")
        assert mode(folder) == 0o700
        private = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "engine.log", "door.json", FILE]
        assert {name: mode(folder / name) for name in private} == dict.fromkeys(private, 0o600)
    folder.chmod(0o750)  # its owner shares the results
    (folder / "journal.sqlite").chmod(0o644)  # as Steppe left it once
    with started(str(scenario)):
        assert [mode(folder), mode(folder / "journal.sqlite")] == [0o750, 0o600]


def test_a_token_that_was_made_and_stood_in_an_address_is_not_taken_by_the_next_server_either(toy: Toy) -> None:
    tokens = Tokens.of_folder(toy.folder)
    for role in ("steer", "admin"):
        client = Client(application({"toy": toy}, tokens.access()), toy)
        assert client.ask("GET", "/whoami", role=None, params={"token": tokens.texts[role]}).status_code == 400
        wait_for(lambda role=role: role not in RoleFile(toy.folder).texts())
    assert Tokens.of_folder(toy.folder).texts["view"] == tokens.texts["view"]
    assert Tokens.of_folder(toy.folder).texts["steer"] != tokens.texts["steer"]


def test_a_second_token_of_a_role_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# ours\nsteer {TOKENS['steer']}\n\nview {TOKENS['view']}\nsteer {TOKENS['admin']}\n")
    path.chmod(0o600)
    with pytest.raises(Mistake, match=r'tokens", line 5: a second token of the role steer\. Give each role one'):
        Tokens.given(path)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        (b"view " + 20 * b"s", r'tokens", line 2: this token is that of another role, too'),
        (b"view not-a-secr\xe9t-token", r'tokens", line 2: expected a role .* 16 characters of ASCII'),
        ("view not-a-secrét-token".encode(), r'tokens", line 2: expected a role .* 16 characters of ASCII'),
    ],
)
def test_a_token_of_two_roles_or_that_no_header_can_hold_is_refused(tmp_path: Path, line: bytes, match: str) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(b"steer " + 20 * b"s" + b"\n" + line + b"\n")
    path.chmod(0o600)
    with pytest.raises(Mistake, match=match):
        Tokens.given(path)
    path.write_bytes(b"# a comm\xe9nt of any encoding\nsteer " + 20 * b"s" + b"\n")
    assert [*Tokens.given(path).texts] == ["steer"]


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"view {TOKENS['view']}\n")
    for wrong in (0o644, 0o640, 0o620, 0o604):
        path.chmod(wrong)
        with pytest.raises(Mistake, match=f"has mode {wrong:04o}, expected 0600: other users may read it. Type `chmod 600"):
            Tokens.given(path)
    path.chmod(0o400)
    assert Tokens.given(path).texts == {"view": TOKENS["view"]}
    assert TOKENS["view"] not in repr(Tokens.given(path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_secret_of_another_user_may_be_shared_with_a_group_but_a_made_file_must_be_ones_own(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text(f"view {TOKENS['view']}\n")
    os.chown(path, 12345, -1)
    path.chmod(0o640)
    assert Tokens.given(path).access().by_token(TOKENS["view"]) is not None
    with pytest.raises(Mistake, match="belongs to another user"):
        Tokens.of_folder(tmp_path)
    path.chmod(0o644)
    with pytest.raises(Mistake, match="has mode 0644"):
        Tokens.given(path)


def test_tokens_that_a_server_made_are_listed_without_their_text(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    made = Tokens.of_folder(toy.folder).texts
    assert run_command(["token", "list", str(toy.folder)]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == list(made)
    assert not any(token in listed for token in made.values())
    assert RoleFile(toy.folder).read() == [Token.of(role, role, token) for role, token in made.items()]
