"""The checks of a chaos run find what they are for: each fault, planted into a small history, is told."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from steppe.control import Order
from steppe.control.server.journal import Journal
from verification.chaos.clients import Observer, Sent
from verification.chaos.history import foreign, gaps, kept, lost, strayed, unordered

DRY = {"name": "dry", "from": {"scenario": "main", "step": 0}, "set": [{"variable": "water", "operation": "set", "value": 2.0}]}
CHANGE = {"scenario": "main", "variable": "water", "operation": "add", "value": 1.5, "when": "now"}


def planted(fault: str = "") -> tuple[Journal, list[Any], list[Observer]]:
    """A journal of three orders, the clients that gave them, and an observer that has read it; with a fault."""
    journal = Journal(":memory:")
    what = [
        ("a", "step", "main", {"steps": 3 if fault != "another argument" else 4}),
        ("b", "set", "main", {"variable": "water", "operation": "add", "value": 1.5, "region": "all"}),
        ("c", "branch", "main", {"name": "dry", "step": 0}),
        ("c/1", "set", "dry", {"variable": "water", "operation": "set", "value": 2.0, "region": "all"}),
        ("d", "step", "main", {"steps": 1}),
        ("b", "step", "main", {"steps": 1}),
    ]
    left_out = {"lost": "b", "half a branch": "c/1"}.get(fault)
    for number, (key, kind, scenario, arguments) in enumerate(what):
        if key == left_out or (key == "d" and fault != "refused and done") or (number == 5 and fault != "done twice"):
            continue  # the last two are faults themselves
        who = "steer" if number < 5 else "admin"
        journal.accept(Order(kind, scenario, arguments, key, who, who, msgspec.json.encode(arguments)), 100, 0.0)
    numbers = {each.key: each.seq for each in journal.commands() if each.who == "steer"}
    sent = {"a": Sent("/step", {"steps": 3}, 0, 1), "b": Sent("/set", CHANGE, 2, 3), "c": Sent("/scenarios", DRY, 4, 5)}
    if fault == "another order":  # than that of the journal: the first was sent when the others had been acknowledged
        sent["a"] = Sent("/step", {"steps": 3}, 6, 7)
    accepted = {key: numbers.get(key, 2) for key in sent}
    client = SimpleNamespace(accepted=accepted, refused={"d": "version-stale"}, sent=sent)
    observer = Observer(SimpleNamespace(ask=lambda _, path: SimpleNamespace(text=pages(journal, path, fault))), "")  # type: ignore[arg-type]
    observer._read(0)
    return journal, [client], [observer]


def pages(journal: Journal, path: str, fault: str) -> str:
    rows = [msgspec.to_builtins(each) for each in journal.commands(int(path.partition("=")[2]))]
    if fault == "a gap":
        rows = [each for each in rows if each["seq"] != 2]
    if fault == "a changed log":
        rows = [each | {"target": 7} if each["seq"] == 1 else each for each in rows]
    if fault == "another outcome":
        rows = [each | {"outcome": "done", "ended_step": 3} if each["seq"] == 1 else each for each in rows]
    return "\n".join(msgspec.json.encode(each).decode() for each in rows)


def found(fault: str = "") -> dict[str, bool]:
    journal, clients, observers = planted(fault)
    commands = kept(journal)
    checks = {
        "lost": lost(commands, clients),
        "foreign": foreign(commands, clients),
        "unordered": unordered(clients),
        "strayed": strayed(journal.commands(), observers),
        "gaps": gaps([*journal.commands()], observers),
    }
    return {name: bool(wrong) for name, wrong in checks.items() if wrong}


def test_a_right_history_has_no_fault() -> None:
    assert found() == {}


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("lost", "lost"),
        ("half a branch", "lost"),
        ("another argument", "lost"),
        ("done twice", "foreign"),
        ("refused and done", "foreign"),
        ("another order", "unordered"),
        ("a changed log", "strayed"),
        ("another outcome", "strayed"),
        ("a gap", "gaps"),
    ],
)
def test_a_planted_fault_is_found(fault: str, check: str) -> None:
    assert check in found(fault)
