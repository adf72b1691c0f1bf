"""A served run on uneven ranks is given other shares, as one of a script is; no byte depends on it."""

import pytest

import steppe
from steppe.control import OPEN_END, Leg
from steppe.engine import Session
from steppe.engine.rank_state import RankState
from tests.engine.sessions import OWN, on_session, seen, setting, to
from tests.engine.test_simulation import digest
from tests.scenario import copied


@pytest.fixture
def uneven(monkeypatch):
    """As the clock would tell when the last share costs six times as much as the first."""
    monkeypatch.setattr(RankState, "tell_busy", lambda part: lambda: [factor * part.kept for factor in (100.0, 200.0, 600.0)])


def sizes(session: Session) -> list[int]:
    return [len(cells) for cells in session.ranks.state(0).deal.cells]


def saved_often(session: Session, end: int, every: int = 10) -> None:
    while (step := session.position(1).step) < end:
        to(session, min(end, step + every))
        session.save(1)


def test_uneven_ranks_of_a_served_run_are_given_other_shares(wide_scenario, tmp_path, uneven):
    other = copied(wide_scenario, tmp_path / "other")
    expected = digest(steppe.run(other))
    notes: list[str] = []

    def work(session: Session) -> list[int]:
        session._say = lambda kind, text: notes.append(text)
        session.load(1, OWN)
        saved_often(session, session.plan.steps)
        return sizes(session)

    first, second, third = on_session(wide_scenario, work, 3)
    assert first > second > third > 0
    assert [note for note in notes if note.startswith("Shares are cut anew: the ranks were uneven by ")]
    assert digest(wide_scenario.parent / "out") == expected
    first, second, third = on_session(wide_scenario, sizes, 3)
    assert first > second > third > 0, "the next engine begins with what this one found"


def test_what_was_changed_and_branched_before_the_shares_were_cut_anew_stays(wide_scenario, tmp_path, uneven):
    def work(session: Session) -> tuple[bytes, bytes, list[int]]:
        session.load(1, OWN)
        to(session, 20)
        assert session.apply(1, 1, "set", setting("water", 5.0)).ok
        session.load(2, [Leg(1, 20, 1), Leg(2, OPEN_END, OPEN_END)])
        to(session, 30, (2,))
        session.save(2)
        saved_often(session, 200)
        to(session, 200, (2,))
        return seen(session, "water").tobytes(), seen(session, "runoff", 2).tobytes(), sizes(session)

    alone = copied(wide_scenario, tmp_path / "alone")
    water, runoff, cut = on_session(wide_scenario, work, 3)
    assert cut[0] > cut[2]
    assert on_session(alone, work)[:2] == (water, runoff)
