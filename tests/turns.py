"""A plugin of pytest for `scripts/test`: with `--turn N` only a quarter of the long tests is run, the cases of one test by themselves.

`long.txt` names the functions of which all cases together took 4 s or more.
"""

from pathlib import Path
from zlib import crc32

import pytest

LONG = Path(__file__).with_name("long.txt")
TURNS = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--turn", type=int, help=f"of the long tests, those that have this turn, from 0 to {TURNS - 1}; by default all")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turn = config.getoption("--turn")
    if turn is None:
        return
    long = set(LONG.read_text().split())
    waits = [item.nodeid.split("[")[0] in long and crc32(item.nodeid.encode()) % TURNS != turn for item in items]
    config.hook.pytest_deselected(items=[item for item, waiting in zip(items, waits, strict=True) if waiting])
    items[:] = [item for item, waiting in zip(items, waits, strict=True) if not waiting]
