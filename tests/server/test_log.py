"""The journal over HTTP, however long it is."""

import json
import re
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import steppe
from steppe.control.server.journal import Journal
from tests.server.asking import TOKENS, Client
from tests.server.test_serve import RUN, served

MANY = 100_000  # orders
MB = 1 << 10  # [KiB]


def filled(journal: Journal, count: int) -> None:
    """Adds steps that were cancelled."""
    row = f"(seq, branch, place, key, request, who, role, kind, arguments, due, accepted_at, outcome, detail) VALUES (?, 1, ?, {'?, ' * 5}"
    rows = (
        (number, number, f"key-{number}", b"", "anna", "steer", "step", json.dumps({"steps": 1, "speed": "x" * 250}))
        for number in range(journal.last + 1, journal.last + 1 + count)
    )
    journal._base.execute("BEGIN")
    journal._base.executemany(f"INSERT INTO command{row}?, 'now', 1.0, 'cancelled', '{{}}')", rows)
    journal._base.execute("COMMIT")


def test_the_log_comes_in_pages_and_a_link_leads_to_the_next(client: Client) -> None:
    filled(client.toy.journal, 2500)
    found, pages, following = list[int](), list[int](), ""
    while following is not None:
        page = client.get(f"/log{following}")
        rows = [json.loads(line)["seq"] for line in page.text.splitlines()]
        found, pages = found + rows, [*pages, len(rows)]
        following = page.links.get("next", {}).get("url")
    assert pages == [1000, 1000, 500]
    assert found == [*range(1, 2501)]
    exact = client.get("/log?after=2000&limit=500")
    assert ("link" in exact.headers, len(exact.text.splitlines())) == (False, 500)
    assert client.get("/log?after=2500").text == ""


def test_an_order_that_is_sent_again_is_found_without_a_walk_through_the_journal(client: Client) -> None:
    filled(client.toy.journal, 20_000)
    made = client.post("/events", {"variable": "green", "value": 9.0, "when": {"yearly": "03-01"}}).json()["id"]
    work: list[int] = []
    client.toy.journal._base.set_progress_handler(lambda: work.append(1), 100)  # instructions of SQLite
    for replayed in (None, "true"):
        answer = client.ask("DELETE", f"/runs/toy/events/{made}", key="away")
        assert (answer.is_success, answer.headers.get("idempotent-replayed")) == (True, replayed)
    assert client.get("/events").json()["events"] == []
    assert len(work) < 100


@pytest.fixture
def long_run(scenario: Path) -> Path:
    """A run file whose run has a journal of many orders."""
    (scenario.parent / "out").mkdir()
    journal = Journal(scenario.parent / "out" / "journal.sqlite")
    filled(journal, MANY)
    journal.close()
    return scenario


def memory(process: int, peak: bool = True) -> int:
    """KiB that a process has, or had at most since `forget_peak`."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(rf"{'VmHWM' if peak else 'VmRSS'}:\s*(\d+)", status)[1])  # type: ignore[index]


def test_a_log_of_many_orders_costs_little_memory_and_others_are_answered_meanwhile(long_run: Path) -> None:
    with served(long_run) as client, ExitStack() as lines:
        assert client.get(f"{RUN}/log?limit=1").status_code == 200
        server = json.loads((long_run.parent / "out" / "status.json").read_text())["pid"]
        Path(f"/proc/{server}/clear_refs").write_text("5")  # the peak begins anew
        before = memory(server, peak=False)
        head = f"GET /api/v1{RUN}/log?limit=10000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKENS['view']}\r\n\r\n"
        for _ in range(40):  # clients that read nothing
            line = lines.enter_context(socket.create_connection((client.base_url.host, client.base_url.port)))
            line.sendall(head.encode())
        rows: list[int] = []

        def read() -> None:
            with steppe.connect(str(client.base_url.copy_with(path="")), TOKENS["view"]) as run:
                rows.extend(row["seq"] for row in run.log())

        reading = threading.Thread(target=read)
        reading.start()
        answers = 0
        while reading.is_alive():
            assert client.get("/whoami").status_code == 200
            answers += 1
            time.sleep(0.02)
        assert rows == [*range(1, MANY + 1)]
        assert answers > 20
        assert memory(server) < before + 24 * MB
