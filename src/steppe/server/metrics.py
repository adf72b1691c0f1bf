"""What the server counts, as Prometheus reads it."""

from bisect import bisect_left
from collections import Counter

BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)  # [s]


class Metrics:
    """Counters of requests by route and status, of the bytes sent, and how long answers took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.bytes: Counter[str] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def count(self, method: str, path: str, status: int, sent: int, seconds: float) -> None:
        """Counts a reply. path: of the route, with names in braces; seconds until its end."""
        self.requests[method, path, status] += 1
        self.bytes[path] += sent
        times = self._times.get(path)
        if times is None:
            times = self._times[path] = [0] * (len(BOUNDS) + 1)
        times[bisect_left(BOUNDS, seconds)] += 1
        self._seconds[path] += seconds  # type: ignore[assignment]

    def text(self, more: dict[str, tuple[str, dict[str, float]]]) -> str:
        """The page. more: name -> (kind, labels -> value) of what others have counted."""
        lines = ["# TYPE steppe_requests_total counter"]
        for (method, path, status), count in sorted(self.requests.items()):
            lines.append(f'steppe_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}')
        lines.append("# TYPE steppe_client_bytes_total counter")
        lines += [f'steppe_client_bytes_total{{path="{path}"}} {count}' for path, count in sorted(self.bytes.items())]
        lines.append("# TYPE steppe_request_seconds histogram")
        for path, times in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*BOUNDS, "+Inf"), times, strict=True):
                total += count
                lines.append(f'steppe_request_seconds_bucket{{path="{path}",le="{bound}"}} {total}')
            lines.append(f'steppe_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}')
            lines.append(f'steppe_request_seconds_count{{path="{path}"}} {total}')
        for name, (kind, values) in more.items():
            lines.append(f"# TYPE {name} {kind}")
            lines += [f"{name}{{{labels}}} {value:g}" for labels, value in values.items()]
        return "\n".join(lines) + "\n"
