"""A rank trusts no length that another site names."""

import struct
import subprocess
from pathlib import Path

import pytest

from steppe_bridge.rank import FRAGMENT, MESSAGE, Frame
from tests.bridge.gateways import FAILED, Sites, free_port
from tests.bridge.worlds import COMMAND, MPICH, compiled

WHOLE = {"context": 2, "tag": 5}
LEADERS = {"context": 3, "tag": 0x4000005}


@pytest.mark.parametrize(
    ("word", "frames", "what"),
    [
        ("message", [Frame(MESSAGE, 1, 0, bytes(60000), total=8, **WHOLE)], "part of a message from rank 1"),
        (
            "message",
            [Frame(MESSAGE, 1, 0, bytes(4), total=8, id=1, **WHOLE), Frame(FRAGMENT, 1, 0, bytes(60000), id=1)],
            "part of a message from rank 1",
        ),
        (
            "message",
            [Frame(MESSAGE, 1, 0, bytes(4), total=8, id=1, **WHOLE), Frame(MESSAGE, 1, 0, bytes(8), total=8, id=2, **WHOLE)],
            "part of a message from rank 1",
        ),
        ("message", [Frame(FRAGMENT, 1, 0, bytes(4), id=1)], "part of a message from rank 1"),
        ("blocks", [Frame(MESSAGE, 1, 0, struct.pack("<Q4x", 1 << 40), total=12, context=3)], "part of a collective"),
        ("blocks", [Frame(MESSAGE, 1, 0, bytes(4), total=4, context=3)], "part of a collective"),
        (
            "group",
            [
                Frame(MESSAGE, 1, 0, struct.pack("<2Q", 1, 1), total=16, id=1, **LEADERS),
                Frame(MESSAGE, 1, 0, struct.pack("<i", 9999), total=4, id=2, **LEADERS),
            ],
            "group from rank 1",
        ),
    ],
)
def test_a_rank_that_gets_malformed_frames_of_another_site_ends_the_world_by_name(
    folder: Path, sites: Sites, word: str, frames: list[Frame], what: str
) -> None:
    port, program = free_port(), compiled("trusts", MPICH, folder)
    options = ["--listen", f"127.0.0.1:{port}", "--expect", "a,b", "--key", sites.folder / "key", "--name", "a", "-n", 1, "-q"]
    words = [*COMMAND, "site", *options, "--mpiexec", MPICH.mpiexec, "--", program, word]
    with subprocess.Popen([*map(str, words)], stderr=subprocess.PIPE, text=True, cwd=sites.folder) as first:
        try:
            other = sites.other("b", 1, port)
            [rank] = other.join()
            rank.enter().send(*frames)
            sentence = f"steppe bridge: rank 0 of the world got a malformed {what}."
            assert other.ended() == (FAILED, sentence)
            assert sentence in first.communicate(timeout=12)[1]
            assert first.returncode == FAILED
        finally:
            first.terminate()
