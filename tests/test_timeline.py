import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Thread
from time import perf_counter, sleep

import numpy as np
import pytest
from examples import bucket
from hypothesis import given
from hypothesis import strategies as st

from steppe import timeline
from steppe.testing import run_threads
from steppe.timeline import KINDS, SPAN, packed, seconds, span, start, stop, to_trace, unpacked
from steppe.view import draw_timeline
from steppe.view.timeline_plot import _parts
from tests.models.cells import CLOCK, NOTHING, MemoryInputs, started, weather


def test_nothing_is_kept_before_start_and_after_stop() -> None:
    with span("compute"):
        pass
    assert stop() == {}
    start()
    with span("read"):
        pass
    (spans,) = stop().values()
    assert [KINDS[number] for number in spans["kind"]] == ["read"]
    with span("write"):
        pass
    assert stop() == {}


def test_spans_lie_where_the_work_was() -> None:
    before = perf_counter()
    start()
    sleep(0.02)
    with span("wait"):
        sleep(0.03)
    with span("write"):
        pass
    whole = perf_counter() - before
    (spans,) = stop().values()
    assert 0.02 <= spans["begin"][0] < spans["end"][0] <= spans["begin"][1] <= spans["end"][1] <= whole
    assert spans["end"][0] - spans["begin"][0] >= 0.03


def test_a_span_that_ends_in_an_error_is_kept_and_the_error_goes_on() -> None:
    start()
    with pytest.raises(ValueError, match="damaged"), span("read"):
        raise ValueError("damaged")
    (spans,) = stop().values()
    assert spans.size == 1


def test_every_thread_has_its_own_spans_also_threads_of_one_name() -> None:
    together = Barrier(3)

    def work(count: int) -> None:
        together.wait()
        for _ in range(count):
            with span("decode"):
                pass

    start()
    threads = [Thread(target=work, args=(count,), name="forcing") for count in (5, 70, 900)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = stop()
    assert set(found) == {"forcing", "forcing (2)", "forcing (3)"}
    assert sorted(values.size for values in found.values()) == [5, 70, 900]
    assert all((np.diff(values["begin"]) >= 0).all() for values in found.values())


def test_a_thread_keeps_its_last_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "CAPACITY", 10)
    start()
    for kind in ("read",) * 20 + ("write",) * 4:
        with span(kind):
            pass
    (spans,) = stop().values()
    assert [KINDS[number] for number in spans["kind"]] == ["read"] * 6 + ["write"] * 4


def test_a_cell_model_says_when_each_of_its_threads_computes() -> None:
    model, inputs = started(bucket, 3000, threads=2), MemoryInputs(weather(3000, 20), tile=500, piece=10)
    model.advance(range(1), inputs, CLOCK, NOTHING)  # loads the kernel
    start()
    model.advance(range(20), inputs, CLOCK, NOTHING)
    found = stop()
    assert set(found) <= {"cells_0", "cells_1"}  # one of them may do all when the machine is busy
    computed = np.concatenate(list(found.values()))
    assert (computed["kind"] == KINDS.index("compute")).all()
    assert computed.size == 14  # 2 pieces of 6 tiles, and of the tile in which the threads' shares meet another part
    assert seconds(found)["compute"] > 0.0


def some_spans(seed: int, count: int = 40) -> np.ndarray:
    random = np.random.default_rng(seed)
    cuts = np.sort(random.uniform(0, 10, 2 * count))
    spans = np.zeros(count, SPAN)
    spans["kind"], spans["begin"], spans["end"] = random.integers(0, len(KINDS), count), cuts[::2], cuts[1::2]
    return spans


def test_spans_go_through_a_message() -> None:
    spans = {"MainThread": some_spans(1), "forcing/0 é": some_spans(2, 3), "idle": some_spans(3, 0)}
    for found in (unpacked(packed(spans)), *run_threads(2, lambda world: _from_last(world, spans))):
        assert list(found) == list(spans)
        assert all(found[name].tobytes() == values.tobytes() for name, values in spans.items())
    assert unpacked(packed({})) == {}


def _from_last(world, spans):
    parts = world.gather(packed(spans if world.rank else {}))
    return unpacked(parts[1]) if parts else spans


def test_a_trace_has_a_process_for_each_rank_and_an_event_for_each_span() -> None:
    ranks = [{"MainThread": some_spans(1), "cells_0": some_spans(2)}, {"MainThread": some_spans(3)}]
    trace = json.loads(json.dumps(to_trace(ranks)))
    events = trace["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {(0, 0): "MainThread", (0, 1): "cells_0", (1, 0): "MainThread"}
    assert {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"} == {0: "rank 0", 1: "rank 1"}
    complete = [e for e in events if e["ph"] == "X"]
    assert {e["ph"] for e in events} == {"X", "M"}
    assert len(complete) == 120
    last = ranks[1]["MainThread"][-1]
    found = complete[-1]
    assert (found["name"], found["pid"], found["tid"]) == (KINDS[last["kind"]], 1, 0)
    assert found["ts"] == pytest.approx(last["begin"] * 1e6, abs=1e-3)
    assert found["dur"] == pytest.approx((last["end"] - last["begin"]) * 1e6, abs=1e-3)


@given(st.integers(0, 10_000), st.integers(1, 50), st.integers(1, 200))
def test_a_point_of_the_picture_has_the_part_of_its_time_that_each_kind_took(seed: int, count: int, points: int) -> None:
    spans, edges = some_spans(seed, count), np.linspace(0.0, 10.0, points + 1)
    wanted = np.zeros((len(KINDS), points))
    for kind, begin, end in spans.tolist():
        wanted[kind] += np.clip(np.minimum(end, edges[1:]) - np.maximum(begin, edges[:-1]), 0.0, None) * points / 10.0
    np.testing.assert_allclose(_parts(spans, edges), wanted, atol=1e-9)


@pytest.mark.parametrize("ranks", [0, 1, 3, 300])
def test_a_picture_is_drawn_of_any_number_of_ranks(tmp_path: Path, ranks: int) -> None:
    draw_timeline(tmp_path / "a.png", "A run", [{"MainThread": some_spans(k), "idle": some_spans(k, 0)} for k in range(ranks)])
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_spans_of_threads_that_still_work_do_no_harm() -> None:
    start()
    with ThreadPoolExecutor(1, "late") as pool:
        for _ in range(20):
            pool.submit(_spans_of_a_while)
        found = stop()
    assert set(found) <= {"late_0"}


def _spans_of_a_while() -> None:
    for _ in range(300):
        with span("decode"):
            pass
