"""Series of many steps: the bits of each step asked for alone, from records, copies and where the branch stands."""

from typing import Any

import numpy as np
import pytest

from steppe.api.query import LATEST
from steppe.control import OPEN_END, Leg
from steppe.engine import session as session_file
from steppe.engine.series_answer import of_region
from steppe.engine.session import Session
from tests.engine.sessions import OWN, on_session, query, seen, sent, setting, to


def series(
    session: Session, name: str, cells: np.ndarray, first: int, last: int, branch: int = 1, **more: bool
) -> tuple[np.ndarray, list[Any]]:
    """All steps, however many a turn of the engine gives."""
    found, missing = [], []
    while first <= last:
        along = {"steps": [first, last], "again": True, "region": False} | more
        head, body = session.get(branch, query({"name": name, "chosen": cells.astype("<u4").tobytes(), "packed": True, "along": along}))
        found.append(np.frombuffer(body, head["dtype"]).reshape(head["shape"]))
        missing += head["missing"]
        first = head["last"] + 1
    return np.concatenate(found), missing


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_series_has_the_bits_of_each_step(wide_scenario, ranks):
    cells = np.array([3, 40, 500, 691])

    def work(session: Session) -> None:
        session.load(1, OWN)
        each = []
        for step in range(1, 31):
            to(session, step)
            each.append(seen(session, "runoff")[cells])
            if step == 12:
                session.apply(1, 3, "set", setting("water", 50.0, cells=sent(session, np.arange(0, 600, dtype="<u4"))))
        found, missing = series(session, "runoff", cells, 1, 30)
        assert (found.dtype, missing) == (each[0].dtype, [])
        assert np.array_equal(found, each)
        means, _ = series(session, "runoff", cells, 1, 30, region=True)
        assert np.array_equal(means[:, 1:], np.stack([np.min(each, axis=1), np.max(each, axis=1)], axis=1))
        assert means[:, 0] == pytest.approx(np.average(each, axis=1, weights=session.plan.grid.cell_area[cells]), rel=1e-13)

    on_session(wide_scenario, work, ranks)


def test_the_mean_of_a_region_lies_between_its_least_and_greatest_value():
    random = np.random.default_rng(5)
    values, areas = random.uniform(0.0, 100.0, (300, 1)), random.uniform(1e7, 1e9, 3)
    for count in (1, 3):  # of cells with the same value
        found = of_region(np.repeat(values, count, axis=1), areas[:count])
        assert np.array_equal(found, np.repeat(values, 3, axis=1))


def test_records_give_a_long_series_and_what_they_do_not_hold_is_a_gap(scenario, monkeypatch):
    text = (
        scenario.read_text()
        .replace('every = "1 month"', 'every = "1 day"', 1)
        .replace('variables = ["water", "runoff"]', 'variables = ["water"]', 1)
    )
    scenario.write_text(text)
    cells = np.array([5, 77])

    def first(session: Session) -> tuple[np.ndarray, list[np.ndarray]]:
        session.load(1, OWN)
        each, every = [], {}
        for step in range(1, 101):
            to(session, step)
            every[step] = seen(session, "water")
            each.append(every[step][cells])
        session.save(1)
        return np.array(each), [np.percentile(every[step], [2, 98]) for step in (1, 50, 99)]

    def then(session: Session) -> Any:
        monkeypatch.setattr(session_file, "AGAIN", 0.0)
        session.load(1, OWN)
        gone, missing = series(session, "runoff", cells, 1, 99, again=False)
        assert np.isnan(gone).all()
        assert (missing[0][0], missing[-1][1]) == (1, 99)
        assert missing[0][2].startswith('No record of "runoff" holds these steps')
        (*_, fit), _ = session.frames([1], query({"name": "water"}), 16, None)
        return *series(session, "water", cells, 1, 100, again=False), fit

    stepped, ends = on_session(scenario, first)
    found, missing, fit = on_session(scenario, then)
    assert fit[0] <= min(low for low, _ in (ends[0], ends[2])) + 0.01  # colours of a run that was opened again fit its past, too
    assert fit[1] >= max(high for _, high in (ends[0], ends[2])) - 0.01
    assert missing == []
    assert np.array_equal(found, stepped)


def test_the_latest_step_is_the_one_at_the_time_of_the_answer(scenario, monkeypatch):
    monkeypatch.setattr(session_file, "AGAIN", 0.0)  # nothing is computed again
    cells = np.array([2, 5])

    def work(session: Session) -> None:
        session.load(1, OWN)
        for step in (40, 41):
            to(session, step)
            along = {"steps": LATEST, "again": True, "region": False}
            head, body = session.get(1, query({"name": "runoff", "chosen": cells.astype("<u4").tobytes(), "packed": True, "along": along}))
            assert (head["last"], head["missing"]) == (step, [])
            assert np.array_equal(np.frombuffer(body, head["dtype"]), seen(session, "runoff")[cells])
        _, missing = series(session, "runoff", cells, 40, 40)
        assert [each[:2] for each in missing] == [[40, 40]]

    on_session(scenario, work)


def test_where_a_branch_stands_a_change_counts_more_than_the_record_of_that_step(scenario):
    scenario.write_text(scenario.read_text().replace('every = "1 month"', 'every = "1 day"', 1))
    cells = np.array([5, 77])

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 20)
        before = seen(session, "water")[cells]
        session.apply(1, 3, "set", setting("water", 50.0))
        session.save(1)
        found, missing = series(session, "water", cells, 19, 20, again=False)
        assert (found[1].tolist(), missing) == ([50.0, 50.0], [])
        to(session, 21)
        session.save(1)
        found, _ = series(session, "water", cells, 20, 20, again=False)
        assert np.array_equal(found[0], before)

    on_session(scenario, work)


def test_a_new_branch_has_the_records_of_its_origin(scenario, monkeypatch):
    scenario.write_text(scenario.read_text().replace('every = "1 month"', 'every = "1 day"', 1))
    monkeypatch.setattr(session_file, "AGAIN", 0.0)  # nothing is computed again
    cells, fork = np.array([5, 77]), [Leg(1, 60, 0), Leg(2, OPEN_END, OPEN_END)]

    def first(session: Session) -> np.ndarray:
        session.load(1, OWN)
        each = []
        for step in range(1, 101):
            to(session, step)
            each.append(seen(session, "water")[cells])
        session.save(1)
        session.load(2, fork)
        to(session, 60, (2,))
        found, missing = series(session, "water", cells, 1, 59, again=False)
        assert missing == []
        assert np.array_equal(found, each[:59])
        inherited, missing = series(session, "water", cells, 1, 59, branch=2, again=False)
        assert missing == []
        assert np.array_equal(inherited, found)
        return found

    def then(session: Session) -> None:
        session.load(2, fork)
        to(session, 60, (2,))
        inherited, missing = series(session, "water", cells, 1, 59, branch=2, again=False)
        assert missing == []
        assert np.array_equal(inherited, stepped)

    stepped = on_session(scenario, first)
    on_session(scenario, then)
