"""Events and triggers of a branch: the same for any number of ranks, checkpoints, branches and replays."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from steppe.engine import Session, Simulation
from tests.engine.sessions import OWN, on_session, seen, sent, setting, to

RANKS = (1, 2, 3)
EXPRESSIONS = (
    "max(runoff) > 5",
    "mean(water / capacity) < 0.25 and min(water) > 0.1",
    "sum(rain - irrigation) > 2000 or -mean(rain) < -6",
    "max(water) - min(water) > 2 * mean(water)",
)


def watching(number: int, expression: str, action: str = "message", variable: str = "", text: str = "") -> dict[str, Any]:
    """The arguments of an action that adds a trigger."""
    return {"id": number, "expression": expression, "action": action, "text": text, "variable": variable}


def happening(number: int, step: int | None = None, yearly: str = "", **change: Any) -> dict[str, Any]:
    """The arguments of an action that adds an event."""
    return {"id": number, "step": step, "yearly": yearly, "change": setting(**change)}


def steps_of(session: Session, end: int) -> list[tuple[int, str, str]]:
    """Steps on; what rules did."""
    to(session, end)
    return [(each.step, each.source, each.kind) for each in session.fired()]


def watched(session: Session) -> list[tuple[int, str, str]]:
    session.load(1, OWN)
    for number, expression in enumerate(EXPRESSIONS, 1):
        assert session.apply(1, number, "trigger", watching(number, expression)).ok
    return steps_of(session, 120)


@pytest.fixture(scope="module")
def expected(made_wide_scenario, tmp_path_factory) -> list[tuple[int, str, str]]:
    """When the expressions become true, by NumPy from the values that people see."""
    from tests.scenario import copied

    def work(session: Session) -> list[tuple[int, str, str]]:
        session.load(1, OWN)
        area, was, found = session.plan.grid.cell_area, [False] * 4, []
        for step in range(1, 121):
            to(session, step)
            water, capacity, rain, irrigation, runoff = (
                seen(session, name).astype(float) for name in ("water", "capacity", "rain", "irrigation", "runoff")
            )

            def mean(values: np.ndarray) -> float:
                return float(np.average(values, weights=area))

            holds = [
                runoff.max() > 5,
                mean(water / capacity) < 0.25 and water.min() > 0.1,
                (rain - irrigation).sum() > 2000 or -mean(rain) < -6,
                water.max() - water.min() > 2 * mean(water),
            ]
            found += [(step, f"trigger:{n + 1}", "message") for n in range(4) if holds[n] and not was[n]]
            was = holds
        return found

    return on_session(copied(made_wide_scenario, tmp_path_factory.mktemp("expected")), work)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_trigger_fires_when_its_expression_becomes_true(wide_scenario, expected, ranks):
    assert len({source for _, source, _ in expected}) >= 3, "the expressions are of use"
    assert on_session(wide_scenario, watched, ranks) == expected


@pytest.mark.parametrize("ranks", RANKS)
def test_rules_go_on_from_a_checkpoint_and_tell_what_was_not_heeded(wide_scenario, expected, ranks):
    def first(session: Session) -> Any:
        session.load(1, OWN)
        for number, expression in enumerate(EXPRESSIONS, 1):
            session.apply(1, number, "trigger", watching(number, expression))
        told = steps_of(session, 60)
        for step, source, _ in told[:-1]:
            session.acknowledge(1, step, source)
        session.save(1)
        return told, session.digest(1)

    def then(session: Session) -> Any:
        assert session.load(1, OWN) == (60, 0)
        digest = session.digest(1)
        again = [(each.step, each.source, each.kind) for each in session.fired()]
        return again, digest, steps_of(session, 120)

    told, digest = on_session(wide_scenario, first, ranks)
    again, digest_again, rest = on_session(wide_scenario, then, 4 - ranks)
    assert again == told[-1:]
    assert digest_again == digest
    assert told + rest == expected


def test_a_branch_has_the_rules_of_where_it_left(wide_scenario, expected):
    def work(session: Session) -> Any:
        session.load(1, OWN)
        for number, expression in enumerate(EXPRESSIONS, 1):
            session.apply(1, number, "trigger", watching(number, expression))
        to(session, 40)
        session.load(2, [(1, 40, 0), (2, *OWN[0][1:])])
        to(session, 40, (2,))
        session.fired()
        assert session.apply(1, 9, "remove", {"rule": 1}).ok
        assert not session.apply(1, 10, "remove", {"rule": 1}).ok
        to(session, 120, (1, 2))
        return [(each.branch, each.step, each.source) for each in session.fired()]

    found = on_session(wide_scenario, work)
    late = [(step, source) for step, source, _ in expected if step > 40]
    assert [each[1:] for each in found if each[0] == 2] == late
    assert [each[1:] for each in found if each[0] == 1] == [each for each in late if each[1] != "trigger:1"]


@pytest.mark.parametrize("ranks", RANKS)
def test_events_are_as_what_is_set_by_hand_on_their_dates(wide_scenario, ranks):
    def by_hand(session: Session) -> list[Any]:
        cells = sent(session, np.arange(40, 90, dtype="<u4"))
        session.load(1, OWN)
        for step in (50, 77, 415):  # 1990-03-01, a step, 1991-03-01
            to(session, step)
            change = setting("water", 9.0, cells=cells) if step == 77 else setting("capacity", 0.5, operation="scale")
            assert session.apply(1, step, "set", change).ok
        to(session, 420)
        return [seen(session, name).tolist() for name in ("water", "capacity", "runoff")]

    def by_rules(session: Session) -> list[Any]:
        cells = sent(session, np.arange(40, 90, dtype="<u4"))
        session.load(1, OWN)
        assert session.apply(1, 1, "event", happening(1, yearly="03-01", variable="capacity", value=0.5, operation="scale")).ok
        assert session.apply(1, 2, "event", happening(2, 77, variable="water", value=9.0, cells=cells)).ok
        assert session.apply(1, 3, "event", happening(3, yearly="02-29", variable="water", value=0.0)).ok  # 1992
        assert steps_of(session, 420) == [(51, "event:1", "event"), (78, "event:2", "event"), (416, "event:1", "event")]
        return [seen(session, name).tolist() for name in ("water", "capacity", "runoff")]

    assert on_session(wide_scenario, by_rules, ranks, output__path='"rules"') == on_session(wide_scenario, by_hand)


def test_what_cannot_be_is_told_and_changes_nothing(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        assert session.apply(1, 1, "trigger", watching(1, "mean(1 / (water - water)) > 0")).ok
        assert session.apply(1, 2, "trigger", watching(2, "max(water * 1e300 * 1e300) > 0")).ok
        assert session.apply(1, 3, "event", happening(3, 5, variable="water", value=-1e6, operation="add")).ok
        empty = session.digest(1)
        for seq, kind, arguments, code in (
            (4, "trigger", watching(4, "mean(watr) > 0"), "bad-query"),
            (5, "trigger", watching(5, "mean(water) > 0", "image", "watr"), "unknown-variable"),
            (6, "event", happening(6, 9, variable="watr", value=0.0), "unknown-variable"),
            (7, "remove", {"rule": 99}, "bad-query"),
        ):
            outcome = session.apply(1, seq, kind, arguments)
            assert (outcome.ok, outcome.detail["code"]) == (False, code)
            assert outcome.digest == empty
        to(session, 10)
        told = session.fired()
        assert [(each.step, each.source, each.kind) for each in told] == [
            (1, "trigger:1", "warning"),
            (1, "trigger:2", "warning"),
            (6, "event:3", "warning"),
        ]
        assert "it divides by 0" in told[0].text
        assert "not finite" in told[1].text
        assert "could not happen" in told[2].text
        assert not session.apply(1, 8, "event", happening(8, 9, variable="water", value=0.0)).ok  # it is over

    on_session(scenario, work)


def test_an_image_is_saved_once_for_each_firing(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        session.apply(1, 1, "trigger", watching(1, "mean(water) > 0", "image", "water", "wet"))
        to(session, 3)
        (told,) = session.fired()
        assert (told.step, told.kind) == (1, "image")
        assert told.text == "wet (1990-01-10). 1-1-1.png"
        assert (session.plan.run.output.path / "images" / "1-1-1.png").read_bytes().startswith(b"\x89PNG")

    on_session(scenario, work)


def test_there_is_an_end_to_the_number_of_rules(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        outcomes = [session.apply(1, seq, "trigger", watching(seq, "1 > 2")).ok for seq in range(1, 102)]
        assert outcomes == [True] * 100 + [False]

    on_session(scenario, work)


def test_a_rule_of_a_client_leaves_the_trigger_of_a_script_alone(scenario):
    """Also one under the number 1, which former versions gave it."""
    with Simulation(scenario) as simulation:
        number = simulation.add_trigger("mean(water) > -1", text="Of the script.")
        simulation.step(1)
        rules = simulation._session.on.rules
        simulation._session.on.rules = rules.with_trigger(replace(rules.triggers[0], id=1))
        simulation.set("water", 5.0)

    def work(session: Session) -> list[int]:
        session.load(1, OWN)
        session.apply(1, 1, "trigger", watching(1, "max(water) > -2"))
        return session.open_branches.find(1).rules.numbers

    assert on_session(scenario, work) == [1, number, number + 1]
