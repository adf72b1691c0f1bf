"""A thousand storms, a tenth of them unless `--long` asks for all: nothing fails, nothing hangs."""

from pathlib import Path

import pytest
from tests.bridge.storms import storm


@pytest.mark.many
@pytest.mark.parametrize("number", range(1000))
def test_random_traffic_arrives_in_order(folder: Path, number: int) -> None:
    storm(folder, number)
