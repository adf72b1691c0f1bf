"""A film over HTTP: the same as `steppe plot --movie` makes, one at a time, beside a run that goes on."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np
import pytest

import steppe
from steppe.jobs.film import FilmChoices, draw_film
from tests.scenario import copied
from tests.server.asking import bearer, documented, problem
from tests.server.listening import wait_for
from tests.server.test_serve import RUN, ordered, served

FILM = f"{RUN}/film/water.mp4"


@contextmanager
def recorded(scenario: Path) -> Iterator[httpx.Client]:
    """A client of a server whose run has records of five months."""
    with served(scenario) as client:
        ordered(client, "/step", "step", {"until": "1990-06-05"})
        ordered(client, "/checkpoints", "records", {})
        yield client


def asked(client: httpx.Client, path: str, **query: Any) -> httpx.Response:
    answer = client.get(path, params=query, headers=bearer("view"))
    documented("GET", str(answer.request.url), answer)
    return answer


def film_of(client: httpx.Client, path: str = FILM, **query: Any) -> bytes:
    """The film, once it is made."""
    parts = [-1.0]
    while (answer := asked(client, path, **query)).status_code == 202:
        parts.append(answer.json()["part"])
        assert parts[-2] <= parts[-1] <= 1.0
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "video/mp4"
    return answer.content


def frames_of(content: bytes) -> np.ndarray:
    """All frames, (frame, height, width, 3)."""
    with av.open(io.BytesIO(content)) as file:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)])


def held(client: httpx.Client, scenario: Path) -> int:
    """The process that makes the film, stopped when it has stepped behind all others and drawn nothing yet."""
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(asked, client, FILM)
        making = process_of(scenario)
        wait_for(lambda: os.getpriority(os.PRIO_PROCESS, making) == 19)
        os.kill(making, signal.SIGSTOP)
        assert first.result().status_code == 202
    return making


def process_of(scenario: Path) -> int:
    """The process that makes the film, once it is there."""
    server = (scenario.parent / "out" / "server.lock").read_text().split()[1]
    children = Path(f"/proc/{server}/task")

    def there() -> list[int]:
        every = {int(child) for task in children.iterdir() for child in (task / "children").read_text().split()}
        return [child for child in every if b"steppe.jobs.filming" in Path(f"/proc/{child}/cmdline").read_bytes()]

    wait_for(there)
    return there()[0]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server puts what it does not keep."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def left_in(folder: Path) -> list[Path]:
    return list(folder.glob("steppe-film-*"))


def test_each_record_is_a_frame_and_the_film_is_that_of_the_command_line(scenario: Path, tmp_path: Path) -> None:
    with recorded(scenario) as client:
        found = frames_of(film_of(client))
    records = steppe.open(scenario.parent / "out").sizes["time"]
    assert found.shape == (records, 720, 1280, 3)
    assert records == 5
    draw_film(scenario.parent / "out", tmp_path / "film.mp4", FilmChoices("water"))
    assert np.array_equal(found, frames_of((tmp_path / "film.mp4").read_bytes()))


def test_period_colours_and_rate_are_those_that_are_asked_for(scenario: Path, tmp_path: Path) -> None:
    query = {"from": "1990-02-10", "to": "1990-04-01", "low": 0, "high": 90, "style": "oslo_r", "fps": 25}
    with recorded(scenario) as client:
        content = film_of(client, **query)
    with av.open(io.BytesIO(content)) as file:
        assert file.streams.video[0].average_rate == 25
    made, out = tmp_path / "film.mp4", scenario.parent / "out"
    choices = FilmChoices("water", "1990-02-10", "1990-04-01", scale=(0.0, 90.0), palette="oslo_r")
    draw_film(out, made, choices, 25)
    assert np.array_equal(frames_of(content), frames_of(made.read_bytes()))
    draw_film(out, made, choices._replace(scale=None, palette=None), 25)
    assert not np.array_equal(frames_of(content), frames_of(made.read_bytes()))
    assert len(frames_of(content)) == 3


def test_a_scenario_has_a_film_of_its_own(scenario: Path) -> None:
    with recorded(scenario) as client:
        change = {"variable": "water", "value": 0.0}
        ordered(client, "/scenarios", "dry", {"name": "dry", "from": {"date": "1990-03-31"}, "set": [change]})
        ordered(client, "/step", "on", {"scenario": "dry", "until": "1990-05-05"})
        ordered(client, "/checkpoints", "more", {"scenario": "dry"})
        period = {"low": 0, "high": 100, "from": "1990-04-10", "to": "1990-04-20"}
        dry, wet = (frames_of(film_of(client, scenario=name, **period)) for name in ("dry", "main"))
    assert dry.shape == wet.shape == (1, 720, 1280, 3)
    assert not np.array_equal(dry, wet)


def test_one_film_is_made_at_a_time_with_what_others_leave_of_the_processors_and_given_up_when_nobody_asks(
    scenario: Path, temporary: Path
) -> None:
    with recorded(scenario) as client:
        making = held(client, scenario)
        assert os.getsid(making) == making
        group = Path(f"/proc/{making}/autogroup")
        assert not group.exists() or group.read_text().endswith("nice 19\n")
        begin = time.monotonic()
        answer = asked(client, f"{RUN}/film/runoff.mp4")
        assert problem(answer)["code"] == "too-many"
        assert answer.headers["retry-after"] == "5"
        ordered(client, "/step", "meanwhile", {"steps": 1})
        assert time.monotonic() - begin < 10
        wait_for(lambda: not Path(f"/proc/{making}").exists(), 60)
        assert len(frames_of(film_of(client, f"{RUN}/film/runoff.mp4"))) == 5
        assert not left_in(temporary)


def test_a_server_ends_while_a_film_is_made_and_takes_its_process_along(scenario: Path, temporary: Path) -> None:
    with recorded(scenario) as client:
        making = held(client, scenario)
        assert left_in(temporary)
    assert not Path(f"/proc/{making}").exists()
    assert not left_in(temporary)


@pytest.mark.parametrize(
    ("path", "query", "code", "sentence"),
    [
        (f"{RUN}/film/rain.mp4", {}, "not-recorded", 'The run does not record "rain"'),
        (f"{RUN}/film/watr.mp4", {}, "unknown-variable", 'no variable "watr"'),
        (FILM, {"scenario": "dry"}, "unknown-scenario", 'no scenario "dry"'),
        (FILM, {"from": "1980-01-01"}, "date-outside-forcing", "1980-01-01 lies outside the run, which goes from 1990-01-10"),
        (FILM, {"to": "1990-02-30"}, "date-wrong", "1990-02-30"),
        (FILM, {"to": "1990-09-01"}, "not-computed", 'to 1990-09-01 is not in the run "out", which holds 1990-01-10 to 1990-05-31'),
        (FILM, {"from": "1990-05-01", "to": "1990-02-01"}, "out-of-range", "from=1990-05-01 lies after to=1990-02-01"),
        (FILM, {"from": "spring"}, "bad-query", "no date"),
        (FILM, {"low": 1}, "out-of-range", "Give low and a greater high"),
        (FILM, {"low": 1, "high": 1}, "out-of-range", "Give low and a greater high"),
    ],
)
def test_a_film_that_cannot_be_is_refused(served_run: httpx.Client, path: str, query: dict[str, Any], code: str, sentence: str) -> None:
    while (answer := asked(served_run, path, **query)).status_code == 202:
        pass
    found = problem(answer)
    assert found["code"] == code
    assert sentence in found["detail"]
    assert "/" not in found["detail"]


@pytest.fixture(scope="module")
def served_run(made_scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with recorded(copied(made_scenario, tmp_path_factory.mktemp("film") / "scenario")) as client:
        yield client


def test_nothing_is_recorded_yet(scenario: Path) -> None:
    with served(scenario) as client:
        ordered(client, "/step", "step", {"steps": 3})
        while (answer := asked(client, FILM)).status_code == 202:
            pass
        ordered(client, "/scenarios", "dry", {"name": "dry"})
        in_memory = asked(client, FILM, scenario="dry")
    assert problem(answer)["code"] == "not-computed"
    assert problem(in_memory)["detail"].startswith('Scenario "dry" has no records on the disk yet, so there is no film of it.')


def test_without_the_encoder_the_refusal_says_what_to_install(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "av.py").write_text('raise ImportError("not here")')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "none"))
    with recorded(scenario) as client:
        while (answer := asked(client, FILM)).status_code == 202:
            pass
    assert answer.status_code == 501
    assert (
        'A film needs av, not found in this installation. Type in the clone of Steppe: pip install ".[film]"' in problem(answer)["detail"]
    )


def test_what_would_be_too_costly_is_refused_with_the_command_that_makes_it(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = steppe.run(steppe.read_run_file(scenario, {"time.end": "1990-05-31"}))
    monkeypatch.chdir(run.parent)
    wanted = {"path": str(run), "name": "out", "film": "short.mp4", "options": {"variable": "water", "most": 3}}
    command = [sys.executable, "-m", "steppe.jobs.filming", json.dumps(wanted)]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout.splitlines()[-1])
    assert said["code"] == "too-costly"
    assert said["detail"].startswith("The film would have 5 frames, more than 3.")
    way = said["detail"].split("`")[1]
    assert subprocess.run([sys.executable, "-m", *shlex.split(way)], cwd=run.parent, check=False).returncode == 0
