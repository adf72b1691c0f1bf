"""`steppe-bridge doctor`: both ends measure the same link and say the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from steppe_bridge.doctor import choose
from tests.bridge.gateways import free_port
from tests.bridge.wan import start_wan

COMMAND = [sys.executable, "-m", "steppe_bridge", "doctor"]


def start(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def key(gateway_program: Path, tmp_path: Path) -> Path:
    subprocess.run([*COMMAND[:-1], "key", tmp_path / "key"], check=True)
    return tmp_path / "key"


def test_both_ends_say_the_same_of_a_link_whose_connections_are_limited(key: Path) -> None:
    port = free_port()
    first = start("--listen", f"127.0.0.1:{port}", "--key", key, "--seconds", 1)
    with start_wan(port, delay=0.005, rate_each=1e6) as wan:
        second = start("--join", f"127.0.0.1:{wan.port}", "--key", key, "--seconds", 1)
        said, errors = second.communicate(timeout=60)
        assert (second.returncode, errors) == (0, "")
        assert first.communicate(timeout=20) == (said, "")
    assert 5.0 < float(re.search(r"Delay one way ([\d.]+) ms", said)[1]) < 10.0
    rates = {int(row[0]): float(row[1]) for row in re.findall(r"^ +(\d+) +([\d.]+) +[\d.]+$", said, re.MULTILINE)}
    assert list(rates) == [1, 2, 4, 8, 16]
    assert 0.6 < rates[1] < 1.3
    assert rates[8] > 3 * rates[1]
    assert int(re.search(r"Use --connections (\d+)\.", said)[1]) >= 8
    assert re.search(r"Smooth numbers of 8 bytes.* come [\d.]+ and [\d.]+ times as fast as noise", said)


def test_the_fewest_connections_with_nearly_the_best_rate_are_chosen() -> None:
    assert choose({1: (10.0, 10.0), 2: (10.5, 10.5), 4: (9.0, 9.0)}) == 1
    assert choose({1: (1.0, 1.0), 2: (2.0, 2.0), 4: (4.0, 3.9), 8: (4.1, 4.2)}) == 4


def test_an_end_whose_other_end_does_not_come_says_so(key: Path) -> None:
    alone = start("--join", f"127.0.0.1:{free_port()}", "--key", key, "--timeout", 1)
    _, errors = alone.communicate(timeout=20)
    assert alone.returncode == 75
    assert re.fullmatch(r"steppe bridge: This end has not reached the other end at 127.0.0.1:\d+ within 1 s.\n", errors)


def test_an_end_says_that_one_came_with_another_key(key: Path, tmp_path: Path) -> None:
    subprocess.run([*COMMAND[:-1], "key", tmp_path / "wrong"], check=True)
    port = free_port()
    first = start("--listen", f"127.0.0.1:{port}", "--key", key, "--timeout", 4)
    second = start("--join", f"127.0.0.1:{port}", "--key", tmp_path / "wrong", "--timeout", 4)
    refused = f"The gateway at 127.0.0.1:{port} refused the key in {tmp_path}/wrong."
    assert second.communicate(timeout=20)[1] == f"steppe bridge: {refused}\n"
    why = "A connection from 127.0.0.1 did not prove the key."
    assert first.communicate(timeout=20)[1] == f"steppe bridge: The other end has not come within 4 s. {why}\n"
    assert (first.returncode, second.returncode) == (75, 75)


def test_a_key_that_is_not_there_is_named(tmp_path: Path, gateway_program: Path) -> None:
    lost = start("--listen", "127.0.0.1:0", "--key", tmp_path / "none")
    _, errors = lost.communicate(timeout=20)
    assert lost.returncode == 2
    assert errors == f"steppe bridge: The key file {tmp_path}/none cannot be read: No such file or directory.\n"
