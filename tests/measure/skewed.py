"""A clock that goes wrong on one rank, for programs that tests run: MPI_Wtime by another address, with an offset and a drift."""

import numpy as np
from numba import cfunc

from steppe.comm.raw import ADDRESS, Raw, seconds


def skew(raw: Raw, offset: float, drift: float) -> object:
    """From now on the compiled loops of this rank see a clock that is `offset` [s] ahead and gains `drift` [s/s]; keep the result."""
    true, begin = np.int64(raw.addresses[ADDRESS["Wtime"]]), raw.now()

    @cfunc("float64()")
    def clock():
        now = seconds(true)
        return now + offset + drift * (now - begin)

    raw.addresses = raw.addresses.copy()
    raw.addresses[ADDRESS["Wtime"]] = clock.address
    return clock


def sleep(raw: Raw, away: float, period: float) -> object:
    """From now on the compiled loops of this rank come to nothing for `away` of each `period` [s]; keep the result."""
    true = np.int64(raw.addresses[ADDRESS["Wtime"]])

    @cfunc("float64()")
    def clock():
        now = seconds(true)
        while now % period < away:
            now = seconds(true)
        return now

    raw.addresses = raw.addresses.copy()
    raw.addresses[ADDRESS["Wtime"]] = clock.address
    return clock
