import inspect
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe import api
from steppe.api import KINDS, At, EventRequest, NewScenario, RegionRequest, Set, Step, canonical


def test_the_canonical_text_does_not_depend_on_order_blanks_or_defaults() -> None:
    texts = ['{"variable": "green", "value": 2.0}', '{ "value":2, "scenario":"main", "when":"after", "variable":"green" }']
    assert {canonical(msgspec.json.decode(text, type=Set)) for text in texts} == {b'{"value":2.0,"variable":"green"}'}


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_canonical_texts_are_equal_for_equal_requests_only(one: int, other: int) -> None:
    assert (canonical(Step(steps=one)) == canonical(Step(steps=other))) == (one == other)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Step, '{"steps": 0}'),
        (Step, '{"steps": 1.5}'),
        (Step, '{"steps": 1000000000000}'),
        (Step, '{"stepps": 1}'),
        (Step, '{"until": "spring"}'),
        (Set, "{}"),
        (Set, '{"variable": "../x", "value": 1}'),
        (Set, '{"variable": "x", "value": "1"}'),
        (Set, '{"variable": "x", "value": 1, "when": "soon"}'),
        (Set, '{"variable": "x", "upload": "abc"}'),
        (Set, '{"variable": "x", "region": {"polygon": [[0, 0], [1, 1]]}}'),
        (Set, '{"variable": "x", "region": {"box": [0, -91, 1, 1]}}'),
        (EventRequest, '{"variable": "x", "value": 1, "when": "now"}'),
        (NewScenario, '{"name": "a b"}'),
        (NewScenario, '{"name": ""}'),
    ],
)
def test_what_is_outside_the_limits_is_no_request(kind: type, text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=kind)


def test_requests_keep_their_forms_on_the_way() -> None:
    asked = Set(variable="green", value=1.0, region=RegionRequest(polygon=[(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]), when=At(date="2001-03-05"))
    assert msgspec.json.decode(canonical(asked), type=Set) == asked
    branch = msgspec.json.decode('{"name": "dry", "from": {"step": 3}, "set": [{"variable": "green", "value": 1}]}', type=NewScenario)
    assert json.loads(canonical(branch))["from"] == {"step": 3}


def test_every_struct_and_every_member_with_a_limit_says_what_it_is() -> None:
    structs = [kind for _, kind in inspect.getmembers(api, inspect.isclass) if issubclass(kind, msgspec.Struct)]
    assert len(structs) > 25
    _, schemas = msgspec.json.schema_components(structs)
    assert [name for name, schema in schemas.items() if not schema.get("description")] == []


def test_every_problem_has_a_status_of_an_error_and_says_what_to_do() -> None:
    for code, kind in KINDS.items():
        assert 400 <= kind.status < 600, code
        assert kind.title[0].isupper()
        assert not kind.title.endswith(".")
        assert kind.advice.endswith(".")
