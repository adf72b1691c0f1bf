"""The rates of requests: a bucket of requests for each token and each stranger's address, and one of bytes for what is read in bulk."""

import time
from collections.abc import Callable

from steppe.control import Refused
from steppe.server.limits import Limits
from steppe.server.request import Request

MOST = 10_000  # buckets; beyond, those that are full are forgotten


class RequestRates:
    """The buckets. now: seconds that only grow."""

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._now = limits, now
        self._requests: dict[str, tuple[float, float]] = {}
        self._bytes: dict[str, tuple[float, float]] = {}

    def __call__(self, request: Request) -> None:
        """Raises Refused, too-many, with the seconds to wait."""
        limits, route = self._limits, request.route
        who = payer(request)
        assert route is not None
        if route.by_bytes and (request.principal or route.role == "-"):
            left = self._left(self._bytes, who, limits.data, limits.data_burst)
            if left <= 0.0:
                raise _wait(-left / limits.data)
            return
        rate, burst = (limits.requests, limits.requests_burst) if request.principal else (limits.strangers, limits.strangers_burst)
        left = self._left(self._requests, who, rate, burst)
        if left < 1.0:
            raise _wait((1.0 - left) / rate)
        self._requests[who] = (left - 1.0, self._now())

    def _left(self, buckets: dict[str, tuple[float, float]], key: str, rate: float, burst: float) -> float:
        """The level of a bucket."""
        now = self._now()
        held, since = buckets.get(key, (burst, now))
        if len(buckets) > MOST:
            for name in [name for name, (had, then) in buckets.items() if had + (now - then) * rate >= burst]:
                del buckets[name]
        return min(burst, held + (now - since) * rate)

    def spend(self, who: str, count: int) -> None:
        """Takes bytes that were sent from the bucket of a `payer`."""
        left = self._left(self._bytes, who, self._limits.data, self._limits.data_burst)
        self._bytes[who] = (left - count, self._now())

    def requests_left(self, who: str) -> int:
        """Requests that a token may send at once."""
        return int(self._left(self._requests, who, self._limits.requests, self._limits.requests_burst))


def payer(request: Request) -> str:
    """The owner of the buckets of a request: a token, or the address of a stranger."""
    return request.principal.token if request.principal else f"@{request.address}"


def _wait(seconds: float) -> Refused:
    return Refused("too-many", f"Too many requests. Wait {max(seconds, 0.001):.3f} s.", retry_after=seconds)
