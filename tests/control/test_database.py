"""A journal of which a byte is flipped: it is read as it was, or one error names the file; never an error of Python."""

import random
from pathlib import Path

import pytest

from steppe.control import Order
from steppe.control.server.engine_process import Scheduler
from steppe.control.server.journal import Journal
from steppe.control.server.supervisor import Supervisor
from steppe.control.wire import BEGINNING
from steppe.errors import SteppeError
from tests.control.simulation import World

FLIPS = 150


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "journal.sqlite"
    journal = Journal(path)
    journal.describe({"steps": 100, "model": "toy"})
    for number in range(12):
        kind, arguments = ("set", {"variable": "water", "value": 1.0}) if number % 2 else ("step", {"steps": 1})
        journal.accept(Order(kind, "main", arguments, f"key-{number}", "anna", "steer", b"x"), 100, 1e9)
    journal.accept(Order("branch", "main", {"name": "wet", "step": None}, "key-b", "anna", "steer", b"x"), 100, 1e9)
    journal._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    journal.close()
    return path.read_bytes()


def read(path: Path) -> None:
    """Opens a journal as a server does, and reads all that it shows."""
    clock: Scheduler = World(0)
    journal = Journal(path)
    try:
        supervisor = Supervisor("run", path.parent, journal, clock, None)  # type: ignore[arg-type]
        journal.placed(1, BEGINNING)
        for each in journal.commands():
            supervisor.operation(each.seq)
        supervisor.info(), supervisor.checkpoints(), journal.emissions(0)
    finally:
        journal.close()


@pytest.mark.parametrize("bit", [0x01, 0x10, 0x80])
def test_a_flipped_byte_in_a_journal_is_harmless_or_named(content: bytes, tmp_path: Path, bit: int) -> None:
    path, chance, found = tmp_path / "journal.sqlite", random.Random(bit), 0
    places = [at for at, byte in enumerate(content) if byte]
    for at in chance.sample(places, FLIPS):
        for each in tmp_path.iterdir():
            each.unlink()
        path.write_bytes(content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :])
        error = None
        try:
            read(path)
        except SteppeError as raised:
            error = raised
        text, advice = str(error), "all orders and all other scenarios are gone with it"
        named = text.startswith(f'"{path}" is no journal of a run, or is damaged: ') and advice in text
        assert error is None or named or "has version" in text, (at, text)
        found += named
    assert found > FLIPS // 10


def test_damaged_facts_of_a_run_are_those_that_the_next_engine_says(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content.replace(b'"steps": 100, "model"', b'"stops": 100, "model"'))
    journal = Journal(path)
    assert journal.facts is None
    journal.describe({"steps": 100, "model": "toy"})
    assert journal.facts == {"steps": 100, "model": "toy"}
    journal.close()
