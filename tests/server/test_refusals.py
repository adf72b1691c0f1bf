"""What must not be: one clear problem each, and nothing is changed by it."""

import hashlib
import tracemalloc
from typing import Any

import numpy as np
import pytest

from steppe.server import Access, Limits
from steppe.server.application import application
from tests.server.asking import Client, problem
from tests.server.toy import Toy

SQUARE = [[138.0, -20.0], [143.0, -20.0], [143.0, -10.0], [138.0, -10.0]]
SET = {"variable": "green", "value": 1.0}
WHEN = "after: after all earlier orders; now: at the end of the next step; or a future step or date"


def crossed(count: int) -> list[list[float]]:
    return [[139.0 + 10 * i / count, -20.0 + 1e-4 * (i % 2)] for i in range(count)]


@pytest.mark.parametrize(
    ("address", "code", "more"),
    [
        ("/data/gren", "unknown-variable", {"nearest": "green", "value": "gren"}),
        ("/variables/Green", "unknown-variable", {"nearest": "green"}),
        ("/image/gren.png", "unknown-variable", {"nearest": "green"}),
        ("/data/green?scenario=mian", "unknown-scenario", {"nearest": "main"}),
        ("/series/green?at=152,-11", "cell-inactive", {"value": [152.0, -11.0]}),
        ("/series/green?at=10,50", "cell-outside", {"value": [10.0, 50.0]}),
        ("/series/green", "region-invalid", {"position": "at"}),
        ("/data/green?time=2000-12-31", "date-outside-forcing", {"allowed": ["2001-01-01", "2001-12-31"]}),
        ("/data/green?time=2002-01-01", "date-outside-forcing", {}),
        ("/data/green?time=2001-02-30", "date-wrong", {"value": "2001-02-30", "allowed": None}),
        ("/data/green?time=2001-01-02T06:00", "date-wrong", {"title": "The date names no step of the run", "allowed": None}),
        ("/data/green?time=2001-01-05", "not-computed", {"computed": [0, 2]}),
        ("/data/green?time=step:3", "not-computed", {"computed": [0, 2]}),
        ("/data/green?time=step:366", "date-outside-forcing", {}),
        ("/data/green?time=2001-01-02/2001-01-01", "out-of-range", {}),
        ("/data/green?tiem=latest", "bad-query", {"value": "tiem"}),
        ("/data/green?time=latest&time=latest", "bad-query", {"value": "time"}),
        ("/data/green?time=soon", "bad-query", {"position": "time"}),
        ("/data/green?width=0", "bad-query", {"position": "width"}),
        ("/data/green?width=1e3", "bad-query", {"position": "width"}),
        ("/data/green?width=٣", "bad-query", {}),
        ("/data/green?box=1,2,3", "bad-query", {"position": "box"}),
        ("/data/green?box=3,2,1,4", "out-of-range", {"position": "box"}),
        ("/data/green?box=nan,2,3,4", "bad-query", {"position": "box"}),
        ("/data/green?box=0,-60,1,-50", "region-invalid", {}),
        ("/data/green?box=138,-20,143,-10&cells=1", "region-invalid", {}),
        ("/data/green?cells=40", "cell-outside", {"allowed": [0, 39]}),
        ("/data/green?cells=1,1", "region-invalid", {}),
        ("/data/green?polygon=1,2,3,4", "polygon-invalid", {"position": 2}),
        ("/data/green?format=xml", "bad-query", {}),
        ("/data/green?format=csv&dtype=int16", "not-acceptable", {"value": "int16", "position": "dtype"}),
        ("/data/green?%ff=1", "bad-query", {}),
        ("/data/green?time", "bad-query", {}),
        ("/image/green.png?low=2&high=1", "out-of-range", {}),
        ("/image/green.png?low=1e12", "bad-query", {}),
        ("/image/green.png?style=viik", "bad-query", {"value": "viik"}),
        ("/data/green?time=0000-01-01", "date-wrong", {}),
        ("/series/green?at=200,91", "out-of-range", {}),
        ("/image/green.png?style=../x", "bad-query", {}),
        ("/data/green?format=png&time=2001-01-01/2001-01-02", "not-acceptable", {}),
        ("/operations/99", "unknown-operation", {"value": 99}),
        ("/operations/x", "unknown-operation", {}),
        ("/log?after=-1", "bad-query", {}),
        ("/log?limit=0", "bad-query", {}),
        ("/log?limit=10001", "bad-query", {"value": "10001"}),
        ("/nothing", "unknown-path", {}),
        ("/step", "method", {"allowed": ["POST"]}),
        ("/data/..%2f..%2fetc%2fpasswd", "unknown-path", {}),
        ("/data/%2e%2e", "unknown-variable", {}),
        ("/data/green%00", "unknown-variable", {}),
        ("/../../etc/passwd", "unknown-path", {}),
    ],
)
def test_what_cannot_be_answered_is_explained(client: Client, address: str, code: str, more: dict[str, Any]) -> None:
    client.post("/step", {"steps": 2})
    before = client.standing()
    found = problem(client.get(address))
    assert found["code"] == code, found
    assert {key: found.get(key) for key in more} == more
    assert found["detail"][0].isupper() or found["detail"][0] in '"0123456789' or "=" in found["detail"].split()[0]
    assert client.standing() == before


@pytest.mark.parametrize(
    ("address", "content", "code", "more"),
    [
        ("/step", {"steps": 0}, "out-of-range", {"value": 0, "position": "$.steps"}),
        ("/step", {"steps": -5}, "out-of-range", {"value": -5}),
        ("/step", {"steps": 1.5}, "out-of-range", {"value": 1.5}),
        ("/step", {"steps": 10**12}, "out-of-range", {"value": 10**12}),
        ("/step", {"steps": 366}, "out-of-range", {"allowed": [3, 365]}),
        ("/step", {"until": "2001-01-02"}, "out-of-range", {"value": "2001-01-02", "allowed": ["2001-01-03", "2001-12-31"]}),
        ("/step", {"until": "1999-01-01"}, "date-outside-forcing", {"nearest": "2001-01-01"}),
        ("/step", {"until": "2010-01-01"}, "date-outside-forcing", {"nearest": "2001-12-31"}),
        ("/step", {"until": "yesterday"}, "bad-field", {"position": "$.until"}),
        ("/step", {}, "bad-field", {"position": "$"}),
        ("/step", {"steps": 1, "end": True}, "bad-field", {}),
        ("/step", {"stpes": 1}, "bad-field", {"nearest": "steps"}),
        ("/step", {"steps": "1"}, "bad-field", {}),
        ("/step", {"steps": True}, "bad-field", {}),
        ("/step", {"steps": 1, "scenario": "mian"}, "unknown-scenario", {"nearest": "main"}),
        ("/step", {"steps": 1, "speed": 0}, "out-of-range", {}),
        ("/step", [], "bad-field", {}),
        ("/set", {**SET, "variable": "cover"}, "derived-variable", {"settable_by": ["green"]}),
        ("/set", {**SET, "variable": "rain"}, "derived-variable", {"detail": '"rain" cannot be set: the weather holds it.'}),
        ("/set", {**SET, "variable": "gren"}, "unknown-variable", {"nearest": "green"}),
        ("/set", {**SET, "value": -1.0}, "out-of-range", {"value": -1.0, "allowed": [0.0, 20000.0]}),
        ("/set", {**SET, "units": "K"}, "unit-wrong", {"allowed": "kg ha-1"}),
        ("/set", {**SET, "units": "no unit"}, "unit-wrong", {}),
        ("/set", {**SET, "units": "kg ha-1", "operation": "scale"}, "unit-wrong", {}),
        ("/set", {"variable": "green"}, "bad-field", {}),
        ("/set", {**SET, "upload": "0" * 64}, "bad-field", {}),
        ("/set", {"variable": "green", "upload": "0" * 64}, "unknown-upload", {}),
        ("/set", {**SET, "region": "westt"}, "region-invalid", {"detail": 'Region "westt" is not known. Did you mean "west"?'}),
        ("/set", {**SET, "region": {}}, "bad-field", {"position": "$.region"}),
        ("/set", {**SET, "region": {"box": [0.0, -60.0, 1.0, -50.0]}}, "region-invalid", {}),
        ("/set", {**SET, "region": {"box": [0.0, -91.0, 1.0, -50.0]}}, "out-of-range", {"value": -91.0}),
        ("/set", {**SET, "region": {"cells": [3, -1]}}, "out-of-range", {"value": -1}),
        ("/set", {**SET, "region": {"cell": [152.0, -11.0]}}, "cell-inactive", {}),
        ("/set", {**SET, "region": {"cell": [10.0, 50.0]}}, "cell-outside", {}),
        ("/set", {**SET, "region": {"polygon": SQUARE[:2]}}, "polygon-invalid", {"position": 2}),
        ("/set", {**SET, "region": {"polygon": [SQUARE[0], SQUARE[2], SQUARE[1], SQUARE[3]]}}, "polygon-invalid", {"position": 2}),
        ("/set", {**SET, "region": {"polygon": [*SQUARE[:3], [138.0, -91.0]]}}, "polygon-invalid", {"position": 3}),
        ("/set", {**SET, "region": {"polygon": [*SQUARE[:3], [138.0]]}}, "polygon-invalid", {"position": 3}),
        ("/set", {**SET, "region": {"polygon": [*SQUARE[:3], ["a", "b"]]}}, "polygon-invalid", {"position": 3}),
        ("/set", {**SET, "region": {"polygon": [[139.0, -20.0]] * 5}}, "polygon-invalid", {}),
        ("/set", {**SET, "region": {"polygon": crossed(10_001)}}, "polygon-invalid", {"position": 10_000}),
        ("/set", {**SET, "when": {"step": 1}}, "step-passed", {}),
        ("/set", {**SET, "when": {"step": 365}}, "step-passed", {}),
        ("/set", {**SET, "when": {"date": "2003-01-01"}}, "date-outside-forcing", {}),
        ("/set", {**SET, "when": {}}, "bad-field", {"position": "$.when"}),
        ("/set", {**SET, "when": "2001-03-10"}, "bad-field", {"detail": f"when is '2001-03-10'. Expected: {WHEN}."}),
        ("/events", SET, "bad-field", {}),
        ("/events", {**SET, "when": {}}, "bad-field", {"position": "$.when"}),
        ("/events", {**SET, "when": {"step": 5, "yearly": "03-01"}}, "bad-field", {"position": "$.when"}),
        ("/events", {**SET, "when": {"step": 1}}, "step-passed", {}),
        ("/events", {**SET, "when": {"date": "2003-01-01"}}, "date-outside-forcing", {}),
        ("/events", {**SET, "when": {"yearly": "02-29"}}, "date-outside-forcing", {"value": "02-29"}),
        ("/events", {**SET, "when": {"yearly": "13-01"}}, "bad-field", {}),
        ("/events", {**SET, "variable": "cover", "when": {"yearly": "03-01"}}, "derived-variable", {}),
        ("/triggers", {}, "bad-field", {}),
        ("/triggers", {"expression": ""}, "bad-field", {}),
        ("/triggers", {"expression": "x" * 1025}, "bad-field", {}),
        ("/triggers", {"expression": "é" * 600}, "expression-invalid", {}),
        ("/triggers", {"expression": "mean(gren) > 3"}, "expression-invalid", {"position": 6, "nearest": "green"}),
        ("/triggers", {"expression": "__import__('os').system('true')"}, "expression-invalid", {"position": 1}),
        ("/triggers", {"expression": "mean(green) > 3 and " + "1 > " * 99 + "1"}, "expression-invalid", {"position": 27}),
        ("/triggers", {"expression": " + ".join(["1"] * 101) + " > 0"}, "expression-invalid", {"position": 201}),
        ("/triggers", {"expression": "(" * 200 + "1" + ")" * 200 + " > 0"}, "expression-invalid", {"position": 26}),
        ("/triggers", {"expression": "mean(green)"}, "expression-invalid", {"position": 1}),
        ("/triggers", {"expression": "mean(green) > 3", "action": "image"}, "bad-field", {"position": "$.variable"}),
        ("/triggers", {"expression": "mean(green) > 3", "variable": "green"}, "bad-field", {"position": "$.variable"}),
        ("/triggers", {"expression": "mean(green) > 3", "action": "image", "variable": "gren"}, "unknown-variable", {"nearest": "green"}),
        ("/triggers", {"expression": "mean(green) > 3", "action": "shell"}, "bad-field", {}),
        ("/triggers", {"expression": "mean(green) > 3", "scenario": "mian"}, "unknown-scenario", {}),
        ("/scenarios", {"name": "main"}, "name-taken", {}),
        ("/scenarios", {"name": "../x"}, "bad-field", {}),
        ("/scenarios", {"name": "dry\n"}, "bad-field", {"value": "dry\n"}),
        ("/scenarios", {"name": "x", "from": {"step": 3}}, "out-of-range", {"allowed": [0, 2]}),
        ("/scenarios", {"name": "x", "from": {"scenario": "mian"}}, "unknown-scenario", {}),
        ("/scenarios", {"name": "x", "set": [{**SET, "variable": "cover"}]}, "derived-variable", {}),
        ("/scenarios/main/rewind", {"step": 3}, "out-of-range", {"allowed": [0, 2]}),
        ("/scenarios/main/rewind", {}, "bad-field", {}),
        ("/scenarios/mian/rewind", {"step": 0}, "unknown-scenario", {}),
        ("/skip", {"seq": 99}, "unknown-operation", {}),
    ],
)
def test_an_order_that_cannot_be_is_refused_and_changes_nothing(
    client: Client, address: str, content: Any, code: str, more: dict[str, Any]
) -> None:
    client.post("/step", {"steps": 2})
    before = client.standing()
    found = problem(client.post(address, content))
    assert found["code"] == code, found
    assert {key: found.get(key) for key in more} == more
    assert client.standing() == before


@pytest.mark.parametrize(
    ("body", "sentence", "where"),
    [
        (b'{"variable": "rate", "value": NaN}', 'value of variable "rate" is NaN, expected a finite number of 64 bits.', "$.value"),
        (
            b'{"variable": "green", "value": 1, "region": {"box": [138, -1e999, 143, -10]}}',
            'region.box[1] of variable "green" is -1e999, expected a finite number of 64 bits.',
            "$.region.box[1]",
        ),
        (b"Infinity", "The request is Infinity, expected a finite number of 64 bits.", "$"),
    ],
)
def test_a_number_that_is_none_is_named_with_its_place(client: Client, body: bytes, sentence: str, where: str) -> None:
    found = problem(client.ask("POST", "/runs/toy/set", content=body, headers={"Content-Type": "application/json"}))
    assert (found["code"], found["detail"], found["position"]) == ("bad-json", sentence, where)


@pytest.mark.parametrize("path", ["/runs/toy/triggers", "/runs/toy/set", "/login"])
def test_half_of_a_character_is_refused_wherever_it_stands(client: Client, path: str) -> None:
    before = client.standing()
    for body in (rb'{"text": "a\ud83d"}', rb'{"set": [{"\udc00": 1}]}'):
        found = problem(client.ask("POST", path, content=body, headers={"Content-Type": "application/json"}))
        assert (found["status"], found["code"], found["value"]) == (400, "bad-json", "\\ud83d" if b"text" in body else "\\udc00")
    assert client.standing() == before
    whole = client.post("/triggers", {"expression": "max(green) > 1", "text": "\U0001f33e"})  # sent as two halves
    assert whole.status_code in (200, 202)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"steps": 1', 400),
        (b"steps=1", 400),
        (b"\xff\xfe", 400),
        (b'{"steps": 1, "steps": 2}', 400),
        (b'{"steps": 1, "scenario": {"a": 1, "a": 2}}', 400),
        (b'{"steps": ' + b"[" * 33 + b"]" * 33 + b"}", 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"steps": NaN}', 400),
        (b'{"steps": 1e999}', 400),
        (b'{"steps": Infinity}', 400),
        (b'{"steps": ' + b"9" * 5000 + b"}", 400),
        (b'{"steps": 99999999999999999999}', 400),
        (b'{"\x00": 1}', 400),
        (b" " * (1 << 20) + b"{}", 413),
        (b'{"' + b'a":1,"b'.join(str(i).encode() for i in range(60_000)) + b'":1}', 422),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_body_that_can_be_read_in_two_ways_or_none_is_refused(client: Client, body: bytes, status: int) -> None:
    before = client.standing()
    tracemalloc.start()
    answer = client.ask("POST", "/runs/toy/step", content=body, headers={"Content-Type": "application/json"})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem(answer)["status"] == status
    assert client.standing() == before
    assert peak < 30e6


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, 415, "media-type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "media-type"),
        ({"Content-Type": "application/json; charset=latin-1"}, 415, "media-type"),
        ({"Content-Encoding": "gzip"}, 415, "media-type"),
        ({"Content-Encoding": "zstd"}, 415, "media-type"),
        ({"Idempotency-Key": "k" * 65}, 400, "bad-header"),
        ({"Idempotency-Key": "k" * 1000}, 400, "bad-header"),
        ({"Idempotency-Key": "a b"}, 400, "bad-header"),
        ({"Idempotency-Key": ""}, 400, "bad-header"),
        ({"If-Match": "b1.1"}, 412, "version-stale"),
        ({"If-Match": '"b1.99"'}, 412, "version-stale"),
        ({"If-Step": "x"}, 400, "bad-header"),
        ({"If-Step": "7"}, 412, "version-stale"),
    ],
)
def test_headers_that_are_wrong_or_stale(client: Client, headers: dict[str, str], status: int, code: str) -> None:
    before = client.standing()
    found = problem(client.ask("POST", "/runs/toy/step", content=b'{"steps": 1}', headers={"Content-Type": "application/json", **headers}))
    assert (found["status"], found["code"]) == (status, code)
    assert client.standing() == before


def test_a_duplicate_of_a_refused_order_is_refused_after_the_run_has_changed(client: Client) -> None:
    first = client.post("/step", {"steps": 1}, key="twice", headers={"If-Match": '"b1.999"'})
    assert problem(first)["code"] == "version-stale"
    again = client.post("/step", {"steps": 1}, key="twice")
    assert (again.status_code, problem(again)["detail"]) == (412, problem(first)["detail"])


def test_an_order_without_a_key_is_refused(client: Client) -> None:
    before = client.standing()
    assert problem(client.post("/step", {"steps": 1}, key=None))["code"] == "key-missing"
    assert client.standing() == before


def test_an_upload_that_is_not_what_was_named_leaves_nothing(client: Client, toy: Toy) -> None:
    binary = {"Content-Type": "application/octet-stream"}
    assert problem(client.ask("PUT", f"/runs/toy/uploads/{'0' * 64}", content=b"x", headers=binary))["code"] == "digest-wrong"
    assert problem(client.ask("PUT", "/runs/toy/uploads/..%2f..%2fx", content=b"x", headers=binary))["code"] in (
        "digest-wrong",
        "unknown-path",
    )
    assert list((toy.folder / "uploads" / "unused").iterdir()) == []


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (np.zeros(39, "<f4"), "array-shape"),
        (np.zeros(40, "<f8"), "array-shape"),
        (np.full(40, np.nan, "<f4"), "out-of-range"),
        (np.full(40, 3e4, "<f4"), "out-of-range"),
    ],
)
def test_an_array_that_does_not_fit_is_not_set(client: Client, values: np.ndarray, code: str) -> None:
    content = values.tobytes()
    name = hashlib.sha256(content).hexdigest()
    client.ask("PUT", f"/runs/toy/uploads/{name}", content=content, headers={"Content-Type": "application/octet-stream"})
    before = client.standing()
    assert problem(client.post("/set", {"variable": "green", "upload": name}))["code"] == code
    assert client.standing() == before


def test_what_is_over_cannot_be_taken_back(client: Client) -> None:
    done = client.post("/step", {"steps": 1}).json()["id"]
    before = client.standing()
    assert problem(client.ask("DELETE", f"/runs/toy/operations/{done}"))["code"] == "already-finished"
    assert problem(client.ask("DELETE", "/runs/toy/operations/77"))["code"] == "unknown-operation"
    assert problem(client.ask("DELETE", f"/runs/toy/events/{done}"))["code"] == "unknown-event"
    assert problem(client.ask("DELETE", f"/runs/toy/triggers/{done}"))["code"] == "unknown-trigger"
    assert client.standing() == before


def test_steps_behind_those_of_another_order_are_not_taken_back_alone(client: Client, toy: Toy) -> None:
    toy.slow = True
    first, second = (client.post("/step", {"steps": steps}).json()["id"] for steps in (100, 50))
    before = client.standing()
    refused = problem(client.ask("DELETE", f"/runs/toy/operations/{second}"))
    assert (refused["code"], refused["seq"]) == ("engine-busy-conflict", first)
    assert 'Pause "main", which stops all of them' in refused["detail"]
    assert client.standing() == before
    assert client.ask("DELETE", f"/runs/toy/operations/{first}").status_code == 202


def test_more_text_than_people_read_is_refused_and_names_raw(toy: Toy, access: Access) -> None:
    client = Client(application({"toy": toy}, access, Limits(text_values=40, reply=4000, steps_at_once=30, requests_burst=1e9)), toy)
    client.post("/step", {"steps": 60})
    assert "raw" in problem(client.get("/data/green?format=json"))["allowed"]
    assert client.get("/data/green?format=json&packed=1").status_code == 200
    assert problem(client.get("/series/green?at=139,-11&at=144,-11&time=2001-01-01/2001-01-21"))["code"] == "not-acceptable"
    assert problem(client.get("/data/green?time=2001-01-01/2001-01-31"))["allowed"] == 30
    assert problem(client.get("/data/green?time=2001-01-01/2001-01-30"))["code"] == "not-acceptable"
    assert client.get("/data/green?time=2001-01-01/2001-01-20").status_code == 200


def test_while_no_engine_has_said_anything_the_client_is_told_to_wait(client: Client, toy: Toy) -> None:
    toy.facts = None
    answer = client.get("/variables")
    assert problem(answer)["code"] == "engine-recovering"
    assert answer.headers["retry-after"] == "1"
    assert client.get("").status_code == 200


def test_an_engine_that_failed_before_it_said_anything_is_not_waited_for(client: Client, toy: Toy) -> None:
    from steppe.control import Refused

    toy.facts, toy.failure = None, Refused("engine-failed", "The run cannot be opened.")
    assert problem(client.get("/variables"))["code"] == "engine-failed"
    assert problem(client.post("/set", {"variable": "green", "value": 1}))["code"] == "engine-failed"


def test_a_failed_engine_names_its_command_and_other_runs_go_on(client: Client, toy: Toy) -> None:
    from steppe.control import Refused

    toy.failure = Refused("engine-failed", "The engine died 3 times at command 1.", seq=1, log=["x"])
    found = problem(client.post("/step", {"steps": 1}))
    assert (found["status"], found["seq"], found["log"]) == (503, 1, ["x"])
    assert client.ask("GET", "/readyz", role=None).status_code == 503
    assert client.ask("GET", "/healthz", role=None).status_code == 200


def test_a_full_disk_is_said_so(client: Client, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = client.standing()
    with monkeypatch.context() as patched:
        patched.setattr("steppe.service.uploads.UploadDraft", full)
        found = problem(client.post("/set", {**SET, "region": {"cells": [1]}}, key="full"))
    assert (found["status"], found["code"]) == (507, "disk-full")
    assert client.standing() == before
    again = problem(client.post("/set", {**SET, "region": {"cells": [1]}}, key="full"))  # a duplicate that comes when there is room
    assert (again["status"], again["code"]) == (507, "disk-full")
    assert "Send it with a new key" in again["detail"]
    assert client.standing() == before
    assert client.post("/set", {**SET, "region": {"cells": [1]}}).status_code in (200, 202)
