"""Serves a toy run in a process of its own. Argument: its folder; prints the port."""

import faulthandler
import signal
import sys
import time
from pathlib import Path

import numpy as np

from steppe.grid import Raster
from steppe.server import Limits
from steppe.server.application import application
from tests.server.asking import access_of_all
from tests.server.listening import listening
from tests.server.toy import Toy

PLENTY = Limits(requests=1e9, requests_burst=1e9, strangers=1e9, strangers_burst=1e9, data=1e15, data_burst=1e15, logins=10**9)


def main(folder: str) -> None:
    """Serves until it is killed. All limits hold but those of rates."""
    faulthandler.register(signal.SIGUSR1)
    active = np.ones((8, 6), dtype=bool)
    active[:, -1] = False
    toy = Toy(Path(folder), Raster(-11.25, -2.5, 139.25, 2.5, active))
    with listening(application({"toy": toy}, access_of_all(), PLENTY)) as port:
        print(port, flush=True)
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1])
