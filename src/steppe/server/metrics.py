"""The counts of the server, in the format of Prometheus."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import accumulate

BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)  # [s]


class _Tally:
    """The counts of one route."""

    __slots__ = ("bytes", "seconds", "times")

    def __init__(self) -> None:
        self.bytes, self.seconds, self.times = 0, 0.0, [0] * (len(BOUNDS) + 1)


class Metrics:
    """Counters of requests by route and status, of the bytes sent, and how long answers took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._tallies: defaultdict[str, _Tally] = defaultdict(_Tally)

    def count(self, method: str, path: str, status: int, sent: int, seconds: float) -> None:
        """Counts a reply. path: of the route, with names in braces; seconds until its end."""
        self._requests[method, path, status] += 1
        tally = self._tallies[path]
        tally.bytes += sent
        tally.seconds += seconds
        tally.times[bisect_left(BOUNDS, seconds)] += 1

    def text(self, more: Mapping[str, tuple[str, str, Mapping[str, float]]]) -> str:
        """The page. more: name -> (kind, help, labels -> value) of what others have counted."""
        lines = _head("steppe_requests_total", "counter", "Requests that were answered, by method, route and status.")
        for (method, path, status), count in sorted(self._requests.items()):
            lines.append(f'steppe_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}')
        tallies = sorted(self._tallies.items())
        lines += _head("steppe_client_bytes_total", "counter", "Bytes of the bodies of replies, by route.")
        lines += [f'steppe_client_bytes_total{{path="{path}"}} {tally.bytes}' for path, tally in tallies]
        lines += _head("steppe_request_seconds", "histogram", "Seconds from a request to the end of its reply, by route.")
        for path, tally in tallies:
            for bound, total in zip((*BOUNDS, "+Inf"), accumulate(tally.times), strict=True):
                lines.append(f'steppe_request_seconds_bucket{{path="{path}",le="{bound}"}} {total}')
            lines.append(f'steppe_request_seconds_sum{{path="{path}"}} {tally.seconds:.6f}')
            lines.append(f'steppe_request_seconds_count{{path="{path}"}} {sum(tally.times)}')
        for name, (kind, help, values) in more.items():
            lines += _head(name, kind, help)
            lines += [f"{name}{{{labels}}} {value:.15g}" for labels, value in values.items()]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]
