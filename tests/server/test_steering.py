import json
from typing import Any

import numpy as np
import pytest

from steppe.control.wire import RuleFiring
from tests.server.asking import Client, problem
from tests.server.toy import Toy


def test_a_run_is_stepped_and_says_where_it_stands(client: Client) -> None:
    answer = client.post("/step", {"steps": 3})
    assert answer.status_code == 200  # it was over at once
    assert answer.json()["target"] == 3
    assert answer.headers["location"] == f"/api/v1/runs/toy/operations/{answer.json()['id']}"
    main = client.get("").json()["scenarios"][0]
    assert (main["step"], main["date"], main["name"]) == (3, "2001-01-03", "main")
    assert client.post("/step", {"until": "2001-01-31"}).json()["target"] == 31
    assert client.post("/step", {"end": True}).json()["target"] == 365


def test_what_is_not_over_is_answered_202_and_found_at_its_location(client: Client, toy: Toy) -> None:
    toy.slow = True
    answer = client.post("/step", {"steps": 3}, headers={"Prefer": "respond-async, wait=0"})
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    toy.work()
    assert client.ask("GET", answer.headers["location"]).json()["state"] == "done"


ON_WET = {  # orders about the scenario "wet"
    "/set": {"scenario": "wet", "variable": "green", "value": 1.0},
    "/step": {"scenario": "wet", "steps": 1},
    "/events": {"scenario": "wet", "variable": "green", "value": 1.0, "when": {"step": 9}},
    "/triggers": {"scenario": "wet", "expression": "mean(green) > 3", "action": "message"},
    "/scenarios": {"name": "wetter", "from": {"scenario": "wet"}},
}


@pytest.mark.parametrize("path", ON_WET)
def test_an_order_about_a_scenario_keeps_its_answer_when_the_scenario_is_left(client: Client, path: str) -> None:
    client.post("/scenarios", {"name": "wet"})
    first = client.post(path, ON_WET[path], key="once")
    assert client.ask("DELETE", "/api/v1/runs/toy/scenarios/wet", headers={"Idempotency-Key": "leave"}).status_code in (200, 202)
    again = client.post(path, ON_WET[path], key="once")
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize("path", ON_WET)
def test_an_order_about_an_unknown_scenario_stays_refused_when_the_scenario_is_made(client: Client, path: str) -> None:
    assert problem(client.post(path, ON_WET[path], key="early"))["code"] == "unknown-scenario"
    client.post("/scenarios", {"name": "wet"})
    assert problem(client.post(path, ON_WET[path], key="early"))["code"] == "unknown-scenario"


def test_an_order_that_is_sent_again_is_answered_from_the_journal(client: Client) -> None:
    first = client.post("/step", {"steps": 3}, key="once")
    again = client.post("/step", {"scenario": "main", "steps": 3}, key="once")
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]
    assert client.get("").json()["scenarios"][0]["step"] == 3
    assert problem(client.post("/step", {"steps": 4}, key="once"))["code"] == "key-reused"


def test_who_orders_on_an_old_version_is_told_what_was_ordered_since(client: Client) -> None:
    tag = client.get("").headers["etag"]
    assert client.post("/step", {"steps": 1}, headers={"If-Match": tag}).status_code == 200
    stale = problem(client.post("/step", {"steps": 1}, headers={"If-Match": tag}))
    assert stale["code"] == "version-stale"
    assert [change["kind"] for change in stale["changed"]] == ["step"]
    assert client.post("/step", {"steps": 1}, headers={"If-Match": client.get("").headers["etag"], "If-Step": "1"}).status_code == 200
    assert problem(client.post("/step", {"steps": 1}, headers={"If-Step": "1"}))["status"] == 412


@pytest.mark.parametrize(
    ("region", "cells"),
    [
        ("all", 40),
        ({"box": [138.0, -20.0, 143.0, -10.0]}, 8),
        ({"polygon": [[138.0, -20.0], [143.0, -20.0], [143.0, -10.0], [138.0, -10.0]]}, 8),
        ({"cell": [139.0, -11.0]}, 1),
        ({"cells": [5, 3]}, 2),
    ],
)
def test_a_variable_is_set_in_a_region(client: Client, region: object, cells: int) -> None:
    answer = client.post("/set", {"variable": "green", "value": 7.5, "region": region})
    assert answer.json()["result"]["cells"] == cells
    assert answer.json()["result"]["after"] == 7.5 * cells


def test_units_are_converted_before_the_journal(client: Client, toy: Toy) -> None:
    client.post("/set", {"variable": "temperature", "value": 300.15, "units": "K"})
    client.post("/set", {"variable": "temperature", "value": 1.0, "units": "K", "operation": "add"})
    values = [command.arguments["value"] for command in toy.journal.commands()]
    assert values == [pytest.approx(27.0, rel=1e-12), pytest.approx(1.0, rel=1e-12)]


def test_an_array_is_uploaded_and_set(client: Client, toy: Toy) -> None:
    import hashlib

    content = np.arange(40, dtype="<f4").tobytes()
    name = hashlib.sha256(content).hexdigest()
    put = {"content": content, "headers": {"Content-Type": "application/octet-stream"}}
    assert client.ask("PUT", f"/runs/toy/uploads/{name}", **put).status_code == 201
    assert client.ask("PUT", f"/runs/toy/uploads/{name}", **put).status_code == 200
    client.post("/set", {"variable": "green", "upload": name})
    assert (toy.state[1]["green"] == np.arange(40)).all()


def test_an_event_happens_at_its_date_or_is_taken_back(client: Client, toy: Toy) -> None:
    kept = client.post("/events", {"variable": "green", "value": 9.0, "when": {"date": "2001-01-03"}})
    gone = client.post("/events", {"variable": "green", "value": 8.0, "when": {"step": 3}})
    listed = client.get("/events").json()["events"]
    assert (listed[0]["id"], listed[0]["date"]) == (kept.json()["id"], "2001-01-03")
    assert client.ask("DELETE", f"/runs/toy/events/{gone.json()['id']}").status_code == 200
    client.post("/step", {"steps": 4})
    assert (toy.state[1]["green"] == 9.0 + 2).all()
    assert client.get("/events").json()["events"] == []
    assert problem(client.ask("DELETE", f"/runs/toy/events/{kept.json()['id']}"))["code"] == "already-finished"


def test_an_event_of_every_year_is_listed_until_it_is_removed(client: Client) -> None:
    made = client.post("/events", {"variable": "green", "value": 9.0, "when": {"yearly": "03-01"}}).json()["id"]
    (listed,) = client.get("/events").json()["events"]
    assert (listed["id"], listed["scenario"], listed["yearly"], listed["at_step"]) == (made, "main", "03-01", None)
    assert listed["arguments"]["value"] == 9.0
    assert client.ask("DELETE", f"/runs/toy/events/{made}?scenario=main").status_code == 200
    assert client.get("/events").json()["events"] == []


def test_a_trigger_is_listed_with_what_it_did_until_it_is_removed(client: Client, toy: Toy) -> None:
    expression = "mean(green) > 3 and max(rain) < 1e3"
    made = client.post("/triggers", {"expression": expression, "action": "pause", "text": "enough"}).json()["id"]
    client.post("/step", {"steps": 9})
    assert toy.journal.fired(RuleFiring(1, 9, f"trigger:{made}", "pause", "enough"), 0.0) == (True, True)
    assert toy.journal.fired(RuleFiring(1, 9, f"trigger:{made}", "pause", "enough"), 0.0) == (False, True)  # said again
    (listed,) = client.get("/triggers").json()["triggers"]
    assert (listed["id"], listed["expression"], listed["action"], listed["fired"]) == (made, expression, "pause", [9])
    rows = [json.loads(line) for line in client.get("/log").text.splitlines()]
    assert [(row["kind"], row["who"], row["at_step"]) for row in rows if row["kind"] == "pause"] == [("pause", f"trigger:{made}", 9)]
    effect = {"step": 9, "kind": "pause", "text": "enough"}
    assert [row["effects"] for row in rows if row["kind"] == "trigger"] == [[{"branch": 1, **effect}]]
    client.post("/scenarios", {"name": "dry", "from": {"step": 5}})
    assert [each["scenario"] for each in client.get("/triggers").json()["triggers"]] == ["main", "dry"]
    assert client.ask("DELETE", f"/runs/toy/triggers/{made}?scenario=dry", key="away").status_code == 200
    assert client.ask("DELETE", f"/runs/toy/triggers/{made}?scenario=dry", key="away").headers["idempotent-replayed"] == "true"
    assert problem(client.ask("DELETE", f"/runs/toy/triggers/{made}?scenario=dry"))["code"] == "unknown-trigger"
    assert [each["scenario"] for each in client.get("/triggers").json()["triggers"]] == ["main"]
    assert client.ask("DELETE", f"/runs/toy/triggers/{made}").status_code == 200
    assert problem(client.ask("DELETE", f"/runs/toy/triggers/{made}"))["code"] == "already-finished"


def test_the_image_of_a_trigger_is_served_and_no_other_file(client: Client, toy: Toy) -> None:
    (toy.folder / "images").mkdir()
    (toy.folder / "images" / "1-9-2.png").write_bytes(b"\x89PNG")
    found = client.get("/images/1-9-2.png")
    assert (found.content, found.headers["content-type"]) == (b"\x89PNG", "image/png")
    assert found.headers["cache-control"] == "private, no-cache"
    since = {"If-None-Match": found.headers["etag"]}
    assert client.get("/images/1-9-2.png", headers=since).status_code == 304
    (toy.folder / "images" / "1-9-2.png").write_bytes(b"\x89PNG of a new run")
    assert client.get("/images/1-9-2.png", headers=since).content == b"\x89PNG of a new run"
    for name in ("1-9-3", "..%2fjournal", "1-9-2.png%00", "1-9", "%2e%2e"):
        assert problem(client.get(f"/images/{name}.png"))["code"] in ("unknown-image", "unknown-path"), name


def test_a_scenario_branches_off_and_the_main_one_is_rewound(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 5})
    change = {"variable": "rate", "value": 2.0}
    answer = client.post("/scenarios", {"name": "dry", "from": {"date": "2001-01-03"}, "set": [change]})
    assert answer.status_code == 201
    assert {each["name"]: each["step"] for each in client.get("/scenarios").json()["scenarios"]} == {"main": 5, "dry": 3}
    assert (toy.state[2]["rate"] == 2.0).all()
    assert problem(client.post("/scenarios", {"name": "dry"}))["code"] == "name-taken"
    assert client.post("/scenarios/main/rewind", {"step": 2}).status_code == 200
    assert {each["name"]: each["step"] for each in client.get("/scenarios").json()["scenarios"]} == {"main@1": 5, "dry": 3, "main": 2}
    assert client.post("/restart").status_code == 200
    assert problem(client.post("/step", {"scenario": "main@1", "steps": 1}))["code"] == "scenario-closed"


def test_an_undone_rewind_gives_back_the_state_and_what_was_to_come(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 4})
    client.post("/set", {"variable": "rate", "value": 2.0, "when": "now"})
    client.post("/set", {"variable": "rate", "value": 3.0, "when": {"step": 6}})
    before = client.get("/data/rate?format=npy").content
    back = client.post("/scenarios/main/rewind", {"step": 2}).json()
    since = {"headers": {"If-Match": f'"{back["version"]}"'}}
    undone = client.post("/scenarios/main/rewind", {"left": "main@1"}, **since)
    assert undone.status_code == 200
    assert client.get("/scenarios").json()["scenarios"][-1]["step"] == 4
    assert client.get("/data/rate?format=npy").content == before
    client.post("/step", {"steps": 3})
    changes = [(each.arguments["value"], each.at_step, each.outcome) for each in toy.journal.commands() if each.kind == "set"]
    assert changes == [(2.0, 4, "done"), (3.0, 6, "cancelled"), (3.0, 6, "done")]
    again = client.post("/scenarios/main/rewind", {"left": "main@1"}, **since)
    assert problem(again)["code"] == "version-stale"  # who undoes late takes nothing away


def test_a_key_of_an_undo_takes_none_of_the_clients_other_keys(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 4}, key="job-2")
    assert client.post("/set", {"variable": "rate", "value": 3.0, "when": {"step": 6}}, key="x").json()["id"] == 2
    client.post("/scenarios/main/rewind", {"step": 2}, key="y")
    for status in ("done", "done"):  # also when it is sent again
        assert client.post("/scenarios/main/rewind", {"left": "main@1"}, key="job").json()["state"] == status
    assert [each.key for each in toy.journal.commands() if each.kind == "set"] == ["x", "job/2"]


def test_a_scenario_whose_changes_are_refused_is_not_made(client: Client, toy: Toy) -> None:
    client.post("/step", {"end": True})
    change = {"variable": "rate", "value": 2.0}
    assert problem(client.post("/scenarios", {"name": "dry", "set": [change]}))["code"] == "already-finished"
    assert [each["name"] for each in client.get("/scenarios").json()["scenarios"]] == ["main"]
    assert [each.kind for each in toy.journal.commands()] == ["step"]


def test_the_end_of_a_run(client: Client, toy: Toy) -> None:
    assert client.ask("DELETE", "/runs/toy?keep=data", role="steer").status_code == 403
    assert client.ask("DELETE", "/runs/toy?keep=data").json() == {"run": "toy", "state": "archived"}
    assert toy.closed
    assert problem(client.get(""))["code"] == "unknown-run"


@pytest.mark.parametrize(
    ("change", "cells", "after"),
    [
        ({"value": 7.0}, 40, 7.0),
        ({"value": 2.0, "operation": "scale", "region": {"cell": [139.0, -11.0]}}, 1, None),
        ({"value": 10.0, "operation": "add", "region": {"box": [138.0, -20.0, 143.0, -10.0]}}, 8, None),
        ({"value": 1.0, "units": "t ha-1"}, 40, 1000.0),
    ],
)
def test_a_change_says_what_it_would_do_and_then_does_that(client: Client, change: dict[str, Any], cells: int, after: float | None) -> None:
    before = client.standing()
    told = client.post("/preview", {"variable": "green", **change}, key=None)
    assert told.status_code == 200, told.text
    found = told.json()
    assert client.standing() == before
    assert (found["cells"], found["units"], found["outside"]) == (cells, "kg ha-1", 0)
    if after is not None:
        assert found["after"] == after
    assert client.post("/set", {"variable": "green", **change}).status_code == 200
    again = client.post("/preview", {"variable": "green", "value": 0.0, "region": change.get("region", "all")}, key=None).json()
    assert again["before"] == pytest.approx(found["after"], rel=1e-6)  # the values are float32


def test_a_mean_that_is_previewed_is_one_by_area(client: Client) -> None:
    values = client.get("/data/green?packed=1&format=json").json()["values"]
    rows = client.get("/data/green?packed=1&format=csv").text.splitlines()[1:]
    weights = np.cos(np.deg2rad([float(row.split(",")[2]) for row in rows]))
    told = client.post("/preview", {"variable": "green", "value": 0.0}, key=None).json()
    assert told["before"] == pytest.approx(
        np.average(np.array(values, float).ravel(), weights=weights), rel=1e-3
    )  # a sphere; it uses an ellipsoid
    assert told["before"] != pytest.approx(np.mean(values), rel=1e-3)


def test_values_that_a_change_would_put_outside_are_counted(client: Client) -> None:
    told = client.post("/preview", {"variable": "green", "value": -1e9, "operation": "add", "region": {"cells": [1, 2]}}, key=None).json()
    assert (told["cells"], told["outside"]) == (2, 2)


def test_a_scenario_is_renamed_and_left_for_good(client: Client) -> None:
    client.post("/step", {"steps": 3})
    assert client.post("/scenarios", {"name": "dry"}).status_code == 201
    assert client.post("/scenarios/dry/rename", {"name": "wet"}).json()["state"] == "done"
    names = [each["name"] for each in client.get("/scenarios").json()["scenarios"]]
    assert names == ["main", "wet"]
    assert problem(client.post("/scenarios/wet/rename", {"name": "main"}))["code"] == "name-taken"
    assert problem(client.post("/scenarios/main/rename", {"name": "first"}))["code"] == "bad-field"
    assert problem(client.ask("DELETE", "/runs/toy/scenarios/main"))["code"] == "bad-field"
    assert client.ask("DELETE", "/runs/toy/scenarios/wet").json()["state"] == "done"
    assert [each["name"] for each in client.get("/scenarios").json()["scenarios"]] == ["main", "wet@1"]
    assert problem(client.post("/step", {"scenario": "wet@1", "steps": 1}))["code"] == "scenario-closed"
    assert client.get("/data/green?scenario=wet@1").status_code == 200
    again = client.post("/scenarios", {"name": "wet", "from": {"scenario": "wet@1"}})
    assert again.status_code == 201
