"""Every call of a run that changes a file fails once, in every way; `tests/faults` takes a sample of this. In CI every tenth."""

import os

import pytest
from tests.faults.layer import ERRORS
from tests.faults.test_faults import Case, case

__all__ = ["case"]

STRIDE = 10 if os.environ.get("CI") else 1


@pytest.mark.parametrize("kind", ERRORS)
def test_whichever_write_fails_the_run_says_so_and_goes_on_when_started_again(case: Case, kind: str) -> None:
    positions = range(1 + list(ERRORS).index(kind) % STRIDE, case.whole.calls + 1, STRIDE)
    for at in positions:
        case.check(at, ERRORS[kind])
    print(
        f"\n{kind}: {len(positions)} of {case.whole.calls} calls failed, each in its turn; "
        "expected: one error, a readable store, the same bytes in the end."
    )
