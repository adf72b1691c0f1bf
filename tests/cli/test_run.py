"""`steppe run`: begin, stop at a day, go on, begin anew, and what it says meanwhile."""

import json
import re
import tomllib

import numpy as np
import pytest

import steppe
from steppe.cli import progress
from steppe.cli.run import own_run_file
from steppe.errors import Exit

NUMBER = r"[\d.]+"
AT_THE_END = """\
model: bucket 1.0
cells: 144
days: 420 of 420
weather: The weather is generated: no day, year or place of it is real.
years: area means of series "means", region "all"
year   runoff [mm, total]  water [mm, mean]
"""


def without_times(said: str) -> str:
    """A summary without what is never the same."""
    return said.partition("results: ")[0]


def days(said: str) -> str:
    """What the summary says of the days."""
    return next(line for line in said.splitlines() if line.startswith("days: "))


def test_a_run_ends_with_its_facts_and_a_table_of_years(call, here):
    code, said, wrong = call("run", "run.toml")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.startswith(f"run: {here / 'out'}\n{AT_THE_END}1990*  ")
    assert re.search(r"reading: [\d.]+ MB, [\d.]+ s of decoding, [\d.]+ s of the reading thread, [\d.]+ s waited\n$", said)
    with steppe.open("out", "means") as series:
        water = series["water"].isel(region=0).sel(time="1991").values.astype(np.float64)
        runoff = series["runoff"].isel(region=0).sel(time="1991").values.astype(np.float64)
    last, partial, size, took = said.splitlines()[-5:-1]
    assert last.split() == ["1991*", f"{runoff.sum():.3g}", f"{water.mean():.3g}"]
    assert partial == "* not a whole year"
    assert re.fullmatch(r"results: [\d.]+ kB", size)
    first, second = took.split("; ")
    assert re.fullmatch(rf"time: {NUMBER} s( after {NUMBER} s of compiling)?, {NUMBER} [kM] cell-days/s", first)
    assert re.fullmatch(rf"waited {NUMBER} s for weather, {NUMBER} s for the disk", second)


def test_up_to_a_day_and_on(call, here):
    code, said, _ = call("run", "run.toml", "--until", "1990-01-31")
    assert code == Exit.DONE
    assert days(said) == "days: 22 of 420"
    code, said, wrong = call("run", "run.toml", "--until", "1990-01-20")  # as a script that is started again
    assert (code, days(said)) == (Exit.DONE, "days: 22 of 420")
    assert wrong.endswith("The run is computed up to 1990-01-31 already.\n")
    code, said, wrong = call("run", "run.toml")
    assert (code, wrong) == (Exit.DONE, "The run continues at 1990-02-01.\n")
    assert days(said) == "days: 420 of 420"
    assert without_times(call("run", "run.toml", "--output", "in-one-go")[1]).splitlines()[1:] == without_times(said).splitlines()[1:]


def test_a_finished_run_shows_its_summary_and_says_how_to_run_it_again(call, here):
    first = without_times(call("run", "run.toml")[1])
    written = (here / "out" / "output.zarr" / "water" / "zarr.json").stat().st_mtime_ns
    code, said, wrong = call("run", "run.toml")
    assert (code, without_times(said), wrong) == (Exit.DONE, first, "The run is complete; --fresh runs it again.\n")
    assert (here / "out" / "output.zarr" / "water" / "zarr.json").stat().st_mtime_ns == written
    code, said, wrong = call("run", "run.toml", "--fresh")
    assert (code, without_times(said), wrong) == (Exit.DONE, first, "")
    assert (here / "out" / "output.zarr" / "water" / "zarr.json").stat().st_mtime_ns > written


def test_a_finished_run_is_silent_when_asked(call, here):
    assert call("run", "run.toml", "--quiet") == (Exit.DONE, "", "")
    assert call("run", "run.toml", "--quiet") == (Exit.DONE, "", "")


def test_the_summary_as_json(call, here):
    code, said, wrong = call("run", "run.toml", "--json")
    assert json.loads(call("run", "run.toml", "--json", "--quiet")[1])["days"] == 420
    found = json.loads(said)
    assert (code, wrong) == (Exit.DONE, "")
    assert found["model"] == "bucket 1.0"
    assert (found["cells"], found["days"], found["days_of_run"], found["partial_years"]) == (144, 420, 420, [1990, 1991])
    assert found["bytes"] == sum(file.stat().st_size for file in (here / "out/output.zarr").rglob("*") if file.is_file())
    assert found["cell_days_per_second"] == pytest.approx(144 * 420 / (found["seconds"] - found["compiling_seconds"]), rel=0.1)
    assert min(found["stall_in_seconds"], found["stall_out_seconds"]) >= 0
    assert found["columns"] == ["runoff [mm, total]", "water [mm, mean]"]
    assert list(found["years"]) == ["1990", "1991"]
    assert all(len(row) == 2 and all(np.isfinite(row)) for row in found["years"].values())


def test_a_changed_parameter_is_another_run(call, here):
    shallow, deep = ["--set", "parameters.capacity=20.0"], ["--set", "parameters.capacity=600"]
    runoff = {}
    for name, change in (("shallow", shallow), ("deep", deep)):
        assert call("run", "run.toml", *change, "--output", name, "--quiet")[0] == Exit.DONE
        with steppe.open(name) as dataset:
            runoff[name] = float(dataset["runoff"].mean())
    assert runoff["shallow"] > 2.0 * runoff["deep"]
    code, _, wrong = call("run", "run.toml", *deep, "--output", "shallow")
    assert code == Exit.MISTAKE
    assert "belongs to a run with other parameters: parameters.capacity is 20.0 there, 600 here. " in wrong
    assert "--fresh" in wrong
    assert call("run", "run.toml", *deep, "--output", "shallow", "--fresh", "--quiet")[0] == Exit.DONE
    with steppe.open("shallow") as dataset:
        assert float(dataset["runoff"].mean()) == runoff["deep"]


def test_threads_are_no_part_of_a_run(call, here):
    assert call("run", "run.toml", "--threads", "1", "--until", "1990-06-30", "--quiet")[0] == Exit.DONE
    code, said, wrong = call("run", "run.toml", "--threads", "3")
    assert (code, wrong) == (Exit.DONE, "The run continues at 1990-07-01.\n")
    assert days(said) == "days: 420 of 420"


@pytest.mark.parametrize("name", ["elsewhere/deep/down", 'a "quoted" name'])
def test_the_run_folder_can_be_anywhere(call, here, name):
    code, said, _ = call("run", "run.toml", "--output", name, "--until", "1990-02-01")
    assert code == Exit.DONE
    assert said.startswith(f"run: {here / name}\n")
    assert (here / name / "output.zarr").is_dir()
    assert not (here / "out").exists()


def test_a_site_with_files_of_its_own_reads_the_words_of_the_command(here):
    for words in (["run", "run.toml", "--threads", "3"], ["--debug", "run", "run.toml", "--threads", "3"]):
        assert own_run_file(words).engine.threads == 3


def test_the_whole_run_file_that_is_shown_is_the_same_run(call, here):
    code, shown, wrong = call("run", "run.toml", "--show-config", "--set", "output.every=10 days", "--threads", "3")
    assert (code, wrong) == (Exit.DONE, "")
    assert not (here / "out").exists()
    found = tomllib.loads(shown)
    usual = {"checkpoint": "auto", "on_bad_cell": "stop", "write_behind": True, "step_limit": 30.0}
    assert found["engine"] == usual | {"threads": 3, "writers": "private"}
    assert found["output"]["precision"] == "exact"
    assert found["grid"] == {"file": str(here / "mask.zarr")}
    (here / "sub").mkdir()
    (here / "sub" / "whole.toml").write_text(shown)
    assert call("run", "sub/whole.toml", "--show-config")[1] == shown
    assert call("run", "sub/whole.toml", "--quiet")[0] == Exit.DONE
    again = call("run", "run.toml", "--set", "output.every=10 days")
    assert again[0] == Exit.DONE
    assert again[2] == "The run is complete; --fresh runs it again.\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--until", "1999-01-01"], "1999-01-01 is outside the run, 1990-01-10 to 1991-03-05."),
        (["--until", "tomorrow"], '"tomorrow" is not a date'),
        (["--set", "capacity"], '--set "capacity" must be KEY=VALUE, such as parameters.stocking_rate=0.2.'),
        (["--set", "engine.threads=1", "--set", "engine.threads=2"], "--set gives engine.threads twice, 1 and 2. Keep one."),
        (["--set", "engine.thread=2"], 'Key "engine.thread" is not known. Did you mean "threads"?'),
        (["--threads", "0"], 'Key "engine.threads" = 0'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_found_before_the_folder_is_made(call, here, arguments, sentence):
    code, said, wrong = call("run", "run.toml", *arguments)
    assert (code, said) == (Exit.MISTAKE, "")
    assert sentence in wrong
    assert not (here / "out").exists()


def test_into_a_file_progress_is_lines_of_date_part_and_rate(call, here, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    code, _, wrong = call("run", "run.toml")
    assert code == Exit.DONE
    lines = wrong.splitlines()
    assert len(lines) == 7  # of 64 days at most
    assert lines[0].split() == ["1990-03-15", "15", "%", "starting"]
    assert lines[-1].startswith("1991-03-06  100 %  ")
    assert lines[-1].endswith(" cell-days/s, 0:00 left")
    assert "\x1b" not in wrong


def test_a_trigger_that_pauses_the_run_says_so_and_the_same_command_goes_on(call, here):
    with steppe.Simulation("run.toml") as simulation:
        simulation.add_trigger("max(runoff) > 5", "pause", text="It runs off")
    code, said, wrong = call("run", "run.toml")
    assert code == Exit.STOPPED
    step = int(days(said).split()[1])
    assert 0 < step < 420
    _, told, stopped = wrong.splitlines()
    assert re.fullmatch(r"It runs off \(\d{4}-\d\d-\d\d\)\.", told)
    assert re.fullmatch(r"Stopped before \d{4}-\d\d-\d\d with a checkpoint\. The same command continues\.", stopped)
    code, said, wrong = call("run", "run.toml")
    assert "The run continues at " in wrong
    assert int(days(said).split()[1]) > step


def test_the_years_say_what_they_are_of_and_hold_no_interval_of_two_years(call, here):
    text = (here / "run.toml").read_text()
    (here / "other.toml").write_text(text.replace('every = "1 day"', 'every = "100 days"'))
    assert (
        'years: no table, as records of series "means" reach from one year into the next\nresults'
        in call("run", "other.toml", "--output", "b")[1]
    )
    (here / "other.toml").write_text(text.replace('region = ["all"', 'over = "min"\nregion = ["all"'))
    assert 'years: area minima of series "means", region "all"\n' in call("run", "other.toml", "--output", "c")[1]


def test_a_mistake_that_is_found_late_leaves_no_folder(call, here):
    model = (here / "bucket.py").read_text() + "\n\ndef start(p):\n    return {'water': 0.0 * p.capacity - 5.0}\n"
    (here / "bucket.py").write_text(model)
    code, _, wrong = call("run", "run.toml")
    assert (code, (here / "out").exists()) == (Exit.MISTAKE, False)
    assert '"water" is -5 mm' in wrong
