"""Every world keeps the contract: one rank, ranks as threads, ranks as processes."""

import pytest

from steppe.comm import Serial, run_threads
from tests.comm.contract import CONTRACT


@pytest.mark.parametrize("clause", CONTRACT)
def test_one_rank(clause: str) -> None:
    CONTRACT[clause](Serial())


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("clause", CONTRACT)
def test_ranks_as_threads(clause: str, ranks: int) -> None:
    run_threads(ranks, CONTRACT[clause])
