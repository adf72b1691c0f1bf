"""A timeline of the threads of a rank: spans of a few kinds of work, kept while a timeline is asked for.

    start() ──> with span("compute"): ...    in any thread ──> stop() ──> Spans ──> to_trace: a file for ui.perfetto.dev
                                                                            └─────> view.draw_timeline: a picture

Off, as it is unless `start` was called, a span costs next to nothing; on, less than a microsecond. Spans of one thread follow each
other and do not lie in each other. A thread keeps its last `CAPACITY` spans. Nothing that is computed depends on it.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import BytesIO
from threading import Lock, current_thread, local
from time import perf_counter
from typing import Literal, get_args

import numpy as np

from steppe.array_types import Array, Bytes

Kind = Literal["compute", "wait", "read", "decode", "write", "exchange"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CAPACITY = 1 << 16  # spans of a thread: some megabytes, and some minutes of a fast run
SPAN = np.dtype([("kind", "i1"), ("begin", "f8"), ("end", "f8")])  # place in KINDS; [s] since `start`

Spans = dict[str, Array]  # name of a thread -> its spans (spans,) of type SPAN, in order of time

_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
_NOTHING = nullcontext()


class _Recording:
    """The rings of all threads since `start`."""

    def __init__(self) -> None:
        self.begin = perf_counter()
        self._own = local()
        self._lock = Lock()
        self._rings: list[tuple[str, deque[tuple[int, float, float]]]] = []

    @property
    def ring(self) -> deque[tuple[int, float, float]]:
        """That of this thread."""
        try:
            found: deque[tuple[int, float, float]] = self._own.ring
        except AttributeError:
            found = self._own.ring = deque(maxlen=CAPACITY)
            with self._lock:
                self._rings.append((current_thread().name, found))
        return found

    def spans(self) -> Spans:
        found: Spans = {}
        for name, ring in self._rings:
            number = sum(each == name or each.startswith(f"{name} (") for each in found)
            values = np.array(list(ring.copy()), SPAN)
            values["begin"] -= self.begin
            values["end"] -= self.begin
            found[f"{name} ({number + 1})" if number else name] = values
        return found


class _Span:
    __slots__ = ("_begin", "_number", "_ring")

    def __init__(self, ring: deque[tuple[int, float, float]], number: int) -> None:
        self._ring, self._number = ring, number

    def __enter__(self) -> None:
        self._begin = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._ring.append((self._number, self._begin, perf_counter()))


_recording: _Recording | None = None


def start() -> None:
    """Begins to keep spans, from nothing. All ranks call it after a barrier, so that their times have one zero."""
    global _recording
    _recording = _Recording()


def stop() -> Spans:
    """Ends it and gives the spans of every thread, the first one's first; nothing when it was not started."""
    global _recording
    recording, _recording = _recording, None
    return recording.spans() if recording else {}


def span(kind: Kind) -> AbstractContextManager[None]:
    """Records the kind of work of this thread inside the `with` statement."""
    recording = _recording
    return _NOTHING if recording is None else _Span(recording.ring, _NUMBER[kind])


def packed(spans: Spans) -> Bytes:
    """Spans as bytes, for a message to another rank."""
    file = BytesIO()
    np.savez(file, allow_pickle=False, **{f"{number} {name}": values for number, (name, values) in enumerate(spans.items())})
    return np.frombuffer(file.getvalue(), np.uint8)


def unpacked(message: Bytes) -> Spans:
    """The spans in what `packed` made."""
    with np.load(BytesIO(message.tobytes()), allow_pickle=False) as held:
        return {key.split(" ", 1)[1]: held[key] for key in held.files}


def seconds(spans: Mapping[str, Array]) -> dict[Kind, float]:
    """How long each kind of work took, summed over threads."""
    total = dict.fromkeys(KINDS, 0.0)
    for values in spans.values():
        lengths = np.bincount(values["kind"], values["end"] - values["begin"], len(KINDS))
        for kind, length in zip(KINDS, lengths.tolist(), strict=True):
            total[kind] += length
    return total


def to_trace(ranks: Sequence[Spans]) -> dict[str, object]:
    """All ranks' spans in the trace event format, as JSON has it: `ui.perfetto.dev` and `chrome://tracing` open the file.

    A rank is a process of the trace. Complete events ("X") with times in microseconds; metadata events ("M") name ranks and threads.
    """
    events: list[dict[str, object]] = []
    for rank, spans in enumerate(ranks):
        events.append({"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": f"rank {rank}"}})
        events.append({"ph": "M", "name": "process_sort_index", "pid": rank, "tid": 0, "args": {"sort_index": rank}})
        for thread, (name, values) in enumerate(spans.items()):
            events.append({"ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": {"name": name}})
            events.append({"ph": "M", "name": "thread_sort_index", "pid": rank, "tid": thread, "args": {"sort_index": thread}})
            begins, lengths = values["begin"] * 1e6, (values["end"] - values["begin"]) * 1e6
            for number, begin, length in zip(values["kind"].tolist(), begins.tolist(), lengths.tolist(), strict=True):
                place = {"pid": rank, "tid": thread, "ts": round(begin, 3), "dur": round(length, 3)}
                events.append({"ph": "X", "name": KINDS[number], "cat": "steppe", **place})
    return {"traceEvents": events, "displayTimeUnit": "ms"}
