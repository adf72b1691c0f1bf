"""Requests that do not fit: each refusal names the member, its value and what is expected, wherever the member stands."""

from typing import Any

import pytest
from msgspec import Struct

from steppe.api import NewScenario, Set, Step, Trigger
from steppe.api.live import Said
from steppe.control import Refused
from steppe.service.requests import fitted

CHANGE = {"variable": "green", "value": 1.0}
LINE = {"line": 1, "variable": "green"}
STREAM = {"stream": 1, "variable": "green"}


def refusal(value: object, kind: type[Struct]) -> Refused:
    with pytest.raises(Refused) as caught:
        fitted(value, kind)
    return caught.value


@pytest.mark.parametrize("polygon", [[0, 0, 40, 0], "x", [[0, 0]], [["a", "b"], [1, 2], [2, 3]], {}], ids=str)
def test_a_malformed_polygon_is_refused_wherever_it_stands(polygon: object) -> None:
    change = {**CHANGE, "region": {"polygon": polygon}}
    requests: tuple[tuple[object, type[Struct]], ...] = (
        (change, Set),
        ({"name": "zz", "set": [change]}, NewScenario),
        ({"follow": [{**LINE, "polygon": polygon}]}, Said),
    )
    assert [refusal(*request).code for request in requests] == ["polygon-invalid"] * 3


def test_a_line_of_too_many_corners_says_how_many_it_may_have() -> None:
    ring = [[0.01 * number, 0.0] for number in range(600)] + [[0.01 * number, 1.0] for number in reversed(range(600))]
    found = refusal({"follow": [{**LINE, "polygon": ring}]}, Said)
    assert found.detail == "follow[0].polygon has 1,200 values, expected at most 1000: corners in turn, longitude before latitude."


def test_a_text_that_is_too_long_says_how_long_it_may_be() -> None:
    found = refusal({"expression": "mean(green) > 1", "text": "a" * 201}, Trigger)
    assert found.detail == "text has 201 characters, expected at most 200: text of the message."


@pytest.mark.parametrize(
    ("value", "kind", "allowed"),
    [
        (
            {"watch": [{**STREAM, "layer": 2}]},
            Said,
            ["stream", "variable", "level", "scenario", "width", "stride", "box", "bits", "range", "rate"],
        ),
        ({**CHANGE, "region": {"bx": 1}}, Set, ["box", "polygon", "cell", "cells"]),
        ({"name": "a", "from": {"at": 1}}, NewScenario, ["scenario", "step", "date"]),
    ],
)
def test_an_unknown_member_is_answered_with_the_members_of_its_object(value: object, kind: type[Struct], allowed: list[str]) -> None:
    assert refusal(value, kind).facts["allowed"] == allowed


@pytest.mark.parametrize(
    ("value", "kind", "detail", "given"),
    [
        ({**CHANGE, "region": {"box": [1, 2, 3]}}, Set, "region.box has 3 values, expected 4: west, south, east, north.", [1, 2, 3]),
        ({"watch": [{**STREAM, "box": [1]}]}, Said, "watch[0].box has 1 values, expected 4: west, south, east, north.", [1]),
        ({**CHANGE, "region": {"cells": []}}, Set, "region.cells has 0 values, expected at least 1: packed numbers of cells.", []),
        ({"name": "-a"}, NewScenario, "name is '-a'. Expected: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit.", "-a"),
        ({**CHANGE, "operation": "mul"}, Set, "operation is 'mul'. Expected: one of set, scale, add.", "mul"),
        ({"steps": 1.5}, Step, "steps is 1.5, expected a whole number or null.", 1.5),
        ({"steps": 0}, Step, "steps is 0, expected a whole number >= 1.", 0),
        ({"steps": "x"}, Step, "steps is text, expected a whole number or null.", "x"),
        ({"value": 1.0}, Set, 'The request needs the member "variable".', "variable"),
    ],
)
def test_a_member_that_does_not_fit_is_named_with_its_value(value: object, kind: type[Struct], detail: str, given: Any) -> None:
    found = refusal(value, kind)
    assert (found.detail, found.facts["value"]) == (detail, given)
