"""A run of steps shorter than a day: computed, recorded, killed, gone on with and read back; and what is refused."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.cli import run_command
from steppe.engine import Plan, Simulation, read_run_file
from steppe.errors import Exit, RunFileError, SteppeError
from steppe.jobs.info import overview
from tests.minutes import RUN_FILE, STEPS, made, reference

HOUR = np.timedelta64(1, "h")


@pytest.fixture
def minutes(tmp_path: Path) -> Path:
    """The run file."""
    return made(tmp_path)


def changed(run_file: Path, *changes: tuple[str, str]) -> Path:
    text = run_file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    run_file.write_text(text)
    return run_file


def digest(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "zarr.json"]  # which has the run's id
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run(run_file: Path, fail: str = "", *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "steppe", "run", str(run_file), *arguments]
    return subprocess.run(command, env={**os.environ, "STEPPE_FAIL": fail}, capture_output=True, text=True, check=False)


def command(*arguments: object) -> int:
    return run_command([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digest of the run in one go on one rank."""
    folder = tmp_path_factory.mktemp("whole")
    steppe.run(made(folder))
    return digest(folder / "out" / "output.zarr")


def test_records_of_days_have_the_date_of_their_first_day(minutes: Path) -> None:
    folder = steppe.run(changed(minutes, ('every = "1 hour"', 'every = "1 day"')))
    found = steppe.open(folder)
    first = np.datetime64("2001-03-05", "ns")
    np.testing.assert_array_equal(found["time"].values, [first, first + 24 * HOUR])
    np.testing.assert_array_equal(found["time_bnds"].values, [[first, first + 24 * HOUR], [first + 24 * HOUR, first + 30 * HOUR]])
    np.testing.assert_array_equal(steppe.unpack(found["concentration"], found).values, reference()[[144, 180]])
    assert command("export", folder, "--netcdf", folder.parent / "days.nc") == Exit.DONE
    with xarray.open_dataset(folder.parent / "days.nc") as exported:
        np.testing.assert_array_equal(exported["time"].values, found["time"].values)


def test_hourly_maps_of_steps_of_ten_minutes_are_the_plain_loop_at_the_end_of_each_hour(minutes: Path) -> None:
    with Simulation(minutes) as simulation:
        assert (simulation.steps, simulation.date) == (STEPS, "2001-03-05T00:00")
        simulation.run()
    found = steppe.open(minutes.parent / "out")
    ends = np.datetime64("2001-03-05T01:00") + np.arange(30) * HOUR
    np.testing.assert_array_equal(found["time"].values, ends.astype("datetime64[ns]"))
    np.testing.assert_array_equal(found["time_bnds"].values, np.stack([ends - HOUR, ends], axis=1).astype("datetime64[ns]"))
    maps = steppe.unpack(found["concentration"], found)
    np.testing.assert_array_equal(maps.values, reference()[6::6])
    np.testing.assert_array_equal(maps.sel(time="2001-03-05T06:00").values, reference()[36])
    halves = steppe.open(minutes.parent / "out", series="halves")
    assert str(halves["time"].values[0])[:16] == "2001-03-05T00:30"
    assert halves.sizes["time"] == 60
    means = np.average(reference()[1:].reshape(60, 3, -1).mean(axis=1), axis=1, weights=found["cell_area"].values)
    np.testing.assert_allclose(halves["concentration"].values[:, 0], means, rtol=1e-12)


@pytest.mark.parametrize("fail", ["checkpoint.part_written:3", "checkpoint.renamed:9"])
def test_a_run_of_short_steps_that_was_killed_and_goes_on_has_the_same_bytes(minutes: Path, whole: dict[str, str], fail: str) -> None:
    assert run(minutes, f"{fail}:kill").returncode == -9
    assert run(minutes).returncode == 0
    assert digest(minutes.parent / "out" / "output.zarr") == whole


def test_two_ranks_record_the_bytes_of_one(minutes: Path, whole: dict[str, str]) -> None:
    assert run(minutes, "", "--ranks", "2").returncode == 0
    assert digest(minutes.parent / "out" / "output.zarr") == whole


def test_until_an_instant_or_a_day_stops_at_its_end(minutes: Path) -> None:
    with Simulation(minutes) as simulation:
        simulation.run(until="2001-03-05T03:10")
        assert (simulation.step_index, simulation.date) == (19, "2001-03-05T03:10")
        np.testing.assert_array_equal(simulation["concentration"].values, reference()[19])
        assert simulation["concentration"]["time"].values == np.datetime64("2001-03-05T03:10")
        simulation.run(until="2001-03-05")
        assert simulation.step_index == 144
        with pytest.raises(RunFileError, match="2001-03-06T01:05 lies between two steps of 10 minutes"):
            simulation.run(until="2001-03-06T01:05")
        with pytest.raises(RunFileError, match="outside the run, 2001-03-05T00:00 to 2001-03-06T06:00"):
            simulation.run(until="2001-03-06T06:10")


def test_maps_of_instants_have_names_without_colons_and_an_instant_without_a_record_is_told(
    minutes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steppe.run(minutes)
    monkeypatch.chdir(minutes.parent)
    assert command("export", "out", "--cog", "maps", "--end", "2001-03-05T02:00") == 0
    assert [path.name for path in sorted(Path("maps").iterdir())] == [
        "concentration_2001-03-05T0100.tif",
        "concentration_2001-03-05T0200.tif",
    ]
    assert re.fullmatch(r"maps: 2 files, \d\.\d kB\n", capsys.readouterr().out)
    for arguments, says in (
        (["--cog", "a.tif", "--date", "2001-03-05T00:00"], "the first one is 2001-03-05T01:00, the last one 2001-03-06T06:00. Ask for one"),
        (["--csv", "a.csv", "--date", "2001-03-05T00:00"], "Ask for days of these"),
        (["--netcdf", "a.nc", "--start", "2001-03-05T04:00", "--end", "2001-03-05T03:00"], "its start is after its end. Exchange the two."),
    ):
        assert command("export", "out", *arguments) == Exit.MISTAKE
        assert says in capsys.readouterr().err


def test_what_a_folder_holds_is_told_in_instants(minutes: Path) -> None:
    with Simulation(minutes) as simulation:
        simulation.run(until="2001-03-05T07:00")
    found = overview(minutes.parent / "out")
    assert found["steps"] == "2001-03-05T00:00 to 2001-03-06T06:00, standard calendar"
    assert found["step"] == "10 minutes"
    assert found["progress"] == {"state": "stopped", "steps": 42, "steps of the run": 180, "next step": "2001-03-05T07:00"}
    assert found["time"] == "2001-03-05T00:00 until before 2001-03-05T07:00"


@pytest.mark.parametrize(("step", "ticks"), [("37.5 seconds", 37_500_000), ("0.1 seconds", 100_000), ("1 hour", 3_600_000_000)])
def test_times_of_any_step_are_exact_to_a_microsecond(minutes: Path, step: str, ticks: int) -> None:
    end = np.datetime64("2001-03-05T05:00:00", "us") + 40 * np.timedelta64(ticks, "us")
    changed(
        minutes,
        ("start = 2001-03-05", "start = 2001-03-05T05:00:00"),
        ("end = 2001-03-06T06:00:00", f"end = {end}"),
        ('step = "10 minutes"', f'step = "{step}"'),
        ('every = "1 hour"', f'every = "{step}"'),
        ('every = "30 minutes"', f'every = "{step}"'),
        ("date = 2001-03-05T03:00:00", "date = 2001-03-05T05:00:00"),
        ("date = 2001-03-05\n", "date = 2001-03-05T05:00:00\n"),
        ('checkpoint = "2 hours"\n', ""),
    )
    with Simulation(minutes) as simulation:
        simulation.run()
    times = steppe.open(minutes.parent / "out")["time"].values
    wanted = np.datetime64("2001-03-05T05:00:00", "us") + np.arange(1, 41) * np.timedelta64(ticks, "us")
    assert times.astype("datetime64[us]").tolist() == wanted.tolist()


def test_a_step_of_ten_days_is_called_by_its_first_day(minutes: Path) -> None:
    changed(
        minutes,
        ("end = 2001-03-06T06:00:00", "end = 2001-04-13"),
        ('step = "10 minutes"', 'step = "10 days"'),
        ('every = "1 hour"', 'every = "20 days"'),
        ('every = "30 minutes"', 'every = "10 days"'),
        ("date = 2001-03-05T03:00:00", "date = 2001-03-15"),
        ('checkpoint = "2 hours"', 'checkpoint = "20 days"'),
    )
    with Simulation(minutes) as simulation:
        assert simulation.steps == 4
        simulation.run(until="2001-03-15")
        assert (simulation.step_index, simulation.date) == (2, "2001-03-25")
        simulation.run()
    times = steppe.open(minutes.parent / "out")["time"].values
    assert [str(time)[:10] for time in times] == ["2001-03-05", "2001-03-25"]


def test_the_identity_of_a_run_of_days_has_no_step_and_that_of_another_has(minutes: Path) -> None:
    assert Plan.of(minutes).identity["step"] == "10 minutes"
    assert Plan.of(minutes).identity["time"] == "2001-03-05T00:00 to 2001-03-06T06:00 standard"
    text = RUN_FILE.replace("date = 2001-03-05T03:00:00", "date = 2001-03-05").replace('"2 hours"', '"2 days"')
    text = text.replace("T06:00:00", "").replace('"30 minutes"', '"1 day"').replace('"1 hour"', '"1 day"')
    minutes.write_text(text.replace('step = "10 minutes"\n', ""))
    daily = Plan.of(minutes)
    assert "step" not in daily.identity
    assert daily.identity["time"] == "2001-03-05 to 2001-03-06 standard"
    assert "\nstep =" not in read_run_file(minutes).as_toml()
    minutes.write_text(text.replace('"10 minutes"', '"24 hours"'))
    assert Plan.of(minutes).identity == daily.identity


def test_events_at_two_instants_of_a_day_make_two_runs(minutes: Path) -> None:
    before = Plan.of(minutes).identity["events"]
    assert Plan.of(changed(minutes, ("date = 2001-03-05T03", "date = 2001-03-05T04"))).identity["events"] != before


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({'step = "10 minutes"': 'step = "7 minutes"'}, r'step = "7 minutes" does not divide a day'),
        ({'step = "10 minutes"': 'step = "36 hours"'}, r'step = "36 hours" does not divide a day'),
        ({'step = "10 minutes"': 'step = "0 minutes"'}, r'"0 minutes" is no length of time'),
        ({'step = "10 minutes"': 'step = "10 min"'}, r"Key \"time.step\" = '10 min' is not of the form"),
        ({"end = 2001-03-06T06:00:00": "end = 2001-03-06T06:05:00"}, "time.end 2001-03-06 06:05:00 lies between two steps of 10 minutes"),
        ({"end = 2001-03-06T06:00:00": "end = 2001-03-04"}, "time.end 2001-03-04 is before time.start 2001-03-05"),
        ({"end = 2001-03-06T06:00:00": "end = 2001-03-05T00:00:00"}, "is before the end of the first step"),
        ({"end = 2001-03-06T06:00:00": "end = 2001-03-06T06:00:00Z"}, "has a zone; write it without one"),
        ({'step = "10 minutes"\n': "", "start = 2001-03-05": "start = 2001-03-05T06:00:00"}, "lies within a day, but a step is 1 day"),
        ({"date = 2001-03-05T03:00:00": "date = 2001-03-05T03:01:00"}, "2001-03-05 03:01:00 lies between two steps of 10 minutes"),
        ({"date = 2001-03-05T03:00:00": "date = 2001-03-07T03:00:00"}, "is outside the run, 2001-03-05T00:00 to 2001-03-06T06:00"),
        ({'every = "30 minutes"': 'every = "25 minutes"'}, 'every = "25 minutes" is no whole number of steps of 10 minutes'),
        ({'every = "30 minutes"': 'every = "5 minutes"'}, 'every = "5 minutes" is no whole number of steps of 10 minutes'),
        ({'checkpoint = "2 hours"': 'checkpoint = "15 minutes"'}, 'checkpoint = "15 minutes" is no whole number of steps of 10 minutes'),
    ],
)
def test_a_time_that_does_not_fit_is_refused_by_name(minutes: Path, changes: dict[str, str], says: str) -> None:
    with pytest.raises(RunFileError, match=says), Simulation(changed(minutes, *changes.items())):
        pass


def test_the_state_at_an_instant_begins_another_run(minutes: Path, tmp_path: Path) -> None:
    with Simulation(minutes) as simulation:
        simulation.run()
    other = tmp_path / "other.toml"
    drop = "[[event]]\ndate = 2001-03-05\nset = { concentration = 8.0 }\nregion = { cell = [142.0, -21.0] }\n"
    text = minutes.read_text().replace('path = "out"', 'path = "other"')
    assert drop in text
    other.write_text(text.replace(drop, '[initial]\nstate = { store = "out", date = "2001-03-05T06:00" }\n'))
    with Simulation(other) as simulation:
        np.testing.assert_array_equal(simulation["concentration"].values, reference()[36])


def test_exports_and_pictures_are_dated_by_the_instant_of_the_end(minutes: Path, tmp_path: Path) -> None:
    with Simulation(minutes) as simulation:
        simulation.run()
    out = minutes.parent / "out"
    assert command("export", out, "--csv", tmp_path / "cell.csv", "--at", "-21,142", "--date", "2001-03-05T06:00") == 0
    lines = [line for line in (tmp_path / "cell.csv").read_text().splitlines() if not line.startswith("#")]
    assert lines[-1].startswith("2001-03-05T06:00,")
    assert float(lines[-1].split(",")[-1]) == reference()[36, 2, 4]
    assert command("export", out, "--netcdf", tmp_path / "some.nc", "--start", "2001-03-05T05:00", "--end", "2001-03-05T07:00") == 0
    with xarray.open_dataset(tmp_path / "some.nc") as found:
        times = found["time"].values.astype("datetime64[s]")
        assert times.astype(str).tolist() == ["2001-03-05T05:00:00", "2001-03-05T06:00:00", "2001-03-05T07:00:00"]
        np.testing.assert_array_equal(found["concentration"].values, reference()[30:43:6])
    assert command("export", out, "--csv", tmp_path / "none.csv", "--at", "-21,142", "--date", "2001-03-06T07:00") == 2
    assert command("plot", out, "--output", tmp_path / "run.png", "--date", "2001-03-05T06:00") == 0
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert command("plot", out, "--output", tmp_path / "no.png", "--date", "2001-03-06T06:30") == 2


def test_the_same_folder_with_another_step_is_refused(minutes: Path) -> None:
    with Simulation(minutes) as simulation:
        simulation.run(until="2001-03-05T02:00")
    changed(minutes, ('step = "10 minutes"', 'step = "5 minutes"'))
    with pytest.raises(SteppeError, match='step is "10 minutes" there, "5 minutes" here'), Simulation(minutes):
        pass
