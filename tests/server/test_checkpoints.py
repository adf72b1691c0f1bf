"""Checkpoints as one file each."""

import io
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from steppe.control import Position, SavedCheckpoint
from tests.io.checkpoints import write_checkpoint
from tests.server.asking import Client, problem
from tests.server.toy import Toy

ARRAYS = {"state/green": np.arange(700_000, dtype="f8"), "parameter/rate": np.array(0.5)}  # of more than one piece of a stream


def saved(toy: Toy, branch: int, step: int) -> Path:
    """A checkpoint on the disk and in the journal."""
    above = toy.folder if branch == 1 else toy.folder / "branches" / str(branch)
    above.mkdir(parents=True, exist_ok=True)
    path = write_checkpoint(above / "checkpoints", step, {name: values + branch for name, values in ARRAYS.items()}, {}, {})
    toy.journal.saved(branch, SavedCheckpoint(path.name, Position(step, 0), 1))
    return path


@pytest.mark.parametrize(("branch", "query"), [(1, "?branch=1"), (2, "?branch=2"), (2, "")])
def test_a_checkpoint_comes_whole_as_a_tar(client: Client, toy: Toy, branch: int, query: str) -> None:
    client.post("/scenarios", {"name": "wet"})
    folders = {each: saved(toy, each, 30) for each in (1, 2)}
    answer = client.get(f"/checkpoints/0000000030{query}")
    assert answer.headers["content-type"] == "application/x-tar"
    assert answer.headers["content-disposition"] == 'attachment; filename="0000000030.tar"'
    assert int(answer.headers["content-length"]) == len(answer.content)
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        found = {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]
    assert found == {f"0000000030/{file.name}": file.read_bytes() for file in folders[branch].iterdir()}


def test_who_asks_for_the_head_gets_the_length_and_no_file_stays_open(client: Client, toy: Toy) -> None:
    saved(toy, 1, 30)
    open_before = sorted(Path("/proc/self/fd").iterdir())
    answer = client.ask("HEAD", "/runs/toy/checkpoints/0000000030", key=None)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > ARRAYS["state/green"].nbytes
    assert len(list(Path("/proc/self/fd").iterdir())) == len(open_before)


@pytest.mark.parametrize("name", ["0000000031", "0000000030.tmp", "%2e%2e%2fjournal.sqlite", "0000000030?branch=7"])
def test_what_was_never_made_is_unknown(client: Client, toy: Toy, name: str) -> None:
    saved(toy, 1, 30)
    answer = client.ask("GET", f"/runs/toy/checkpoints/{name}")
    assert answer.status_code == 404
    if "?" in name or name.isdecimal():
        assert problem(answer)["code"] == "unknown-checkpoint"


def test_one_that_is_no_longer_kept_is_gone(client: Client, toy: Toy) -> None:
    shutil.rmtree(saved(toy, 1, 30))
    saved(toy, 1, 40)
    assert [each["step"] for each in client.get("/checkpoints").json()["checkpoints"]] == [40]
    assert problem(client.get("/checkpoints/x"))["allowed"] == ["0000000040"]
    found = problem(client.get("/checkpoints/0000000030"))
    assert (found["status"], found["code"]) == (410, "expired-checkpoint")
