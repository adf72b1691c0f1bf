"""`steppe measure`: tables in, laws, weaknesses and predictions out."""

import json

import numpy as np
import pytest

from steppe.errors import Exit
from tests.measure.made import points_of


@pytest.fixture
def table(tmp_path):
    """Repeats of two operations on five numbers of ranks."""
    random = np.random.default_rng(4)
    lines = ["operation,ranks,bytes,t_us"]
    for operation, t0 in (("broadcast", lambda p: 40 * np.log(p)), ("scan", lambda p: 20.0 * p)):
        for p in (2, 4, 8, 12, 16):
            for n in (4, 64, 1024, 4096, 65536):
                times = (t0(p) + n / 900.0) * (1 + 0.03 * random.standard_normal(20))
                lines += [f"{operation},{p},{n},{time:.4f}" for time in times]
    path = tmp_path / "times.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_becomes_laws_weaknesses_and_a_file_that_predicts(call, table, tmp_path):
    kept = tmp_path / "fit.json"
    code, said, wrong = call("measure", "fit", str(table), "--json", str(kept))
    assert (code, wrong) == (Exit.DONE, "")
    assert "broadcast: t0(p) = " in said
    assert "ln p us" in said
    assert "R_inf(16) = " in said
    assert "  1. scan: latency grows 8" in said
    assert json.loads(kept.read_text())["schema"] == "steppe.measure/1"
    code, said, wrong = call("measure", "predict", str(kept), "--ranks", "32", "--bytes", "1024")
    assert (code, wrong) == (Exit.DONE, "")
    first, second = [line for line in said.splitlines() if line.startswith(("broadcast", "scan"))]
    for line, true in ((first, 40 * np.log(32) + 1024 / 900), (second, 20 * 32 + 1024 / 900)):
        assert abs(float(line.split(" ranks: ")[1].split()[0]) / true - 1) < 0.1, line


def test_a_table_without_repeats_shows_what_was_measured_beside_the_line(call, tmp_path):
    path = tmp_path / "nx.csv"
    path.write_text("bytes,average_us\n0,90\n100,116\n1000,121\n10000,269\n100000,1624\n1000000,15178\n")
    code, said, wrong = call("measure", "fit", str(path), "--protocol", "ack")
    assert (code, wrong) == (Exit.DONE, "")
    line = next(line for line in said.splitlines() if line.startswith("all times"))
    assert line.split()[4:6] == ["45", "52.51"]
    assert "65.26" in line
    assert "from 0 to 100 bytes time grows by 26 us" in said


def test_known_laws_are_found_again(call, tmp_path):
    path = tmp_path / "laws.json"
    path.write_text(json.dumps({"A broadcast": {"t0": "100 + 50*log(p)", "r_inf": "3"}, "A gather": {"t0": None, "r_inf": "1"}}))
    code, said, wrong = call("measure", "fit", "--laws", str(path), "--repeats", "50")
    assert (code, wrong) == (Exit.DONE, "")
    assert "ln p" in next(line for line in said.splitlines() if line.startswith("A broadcast"))
    assert next(line for line in said.splitlines() if line.startswith("A gather")).split()[2:] == ["t0", "is", "not", "known"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Give a table of times, or known laws with --laws; one of them."),
        (["no.csv"], '"no.csv" cannot be read as CSV: No such file or directory.'),
        (["one.csv"], "There are times of one size, 8 bytes, on 1 number of ranks"),
        (["series.csv"], "run 1: there are times of one size, 8 bytes, on 1 number of ranks"),
        (["--laws", "laws.json", "--ranks", "1"], "--ranks 1 must be at least 2."),
        (["one.csv", "--spread", "3"], "--spread 3 must lie between 0 and 1"),
        (["one.csv", "--json", "no/a.json"], '"no/a.json" cannot be written: there is no folder "no".'),
        (["--laws", "no.json", "--noise", "2"], "--noise 2 must lie from 0 to below 1."),
        (["--laws", "no.json"], '"no.json" cannot be read as JSON: No such file or directory.'),
    ],
)
def test_mistakes_are_named(call, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.csv").write_text("n,t_us\n8,1\n8,2\n")
    (tmp_path / "series.csv").write_text("run,n,t_us\n1,8,1\n2,16,2\n")
    (tmp_path / "laws.json").write_text('{"a": {"t0": "p", "r_inf": null}}')
    code, said, wrong = call("measure", "fit", *arguments)
    assert (code, said) == (Exit.MISTAKE, "")
    assert says in wrong


def test_a_file_without_fits_says_how_to_make_one(call, tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"schema": "steppe.measure/1", "made": "2026-01-01"}')
    code, _, wrong = call("measure", "predict", str(path), "--ranks", "4")
    assert code == Exit.MISTAKE
    assert "holds no fits and no times of messages. `steppe measure messages --json" in wrong


def test_the_file_of_a_measurement_is_fitted_again(call, table, tmp_path):
    kept = tmp_path / "a.json"
    _, first, _ = call("measure", "fit", str(table), "--json", str(kept))
    code, again, wrong = call("measure", "fit", str(kept), "--json", str(tmp_path / "b.json"))
    assert (code, wrong, again) == (Exit.DONE, "", first)
    assert json.loads((tmp_path / "b.json").read_text())["fits"] == json.loads(kept.read_text())["fits"]
    for options, says in ((["--unit", "us"], "--unit belongs to a table of times"), (["--json", str(kept)], "is the table itself")):
        code, _, wrong = call("measure", "fit", str(kept), *options)
        assert code == Exit.MISTAKE
        assert says in wrong


def test_points_are_made_as_the_tests_believe():
    points = points_of(lambda p: 40 * p, noise=0.0, outliers=0.0)
    np.testing.assert_allclose(points.t, 40e-6 * points.p)


def test_one_rank_is_told_how_to_start_two(call):
    code, said, wrong = call("measure", "messages")
    assert (code, said) == (Exit.MISTAKE, "")
    assert "Messages need at least 2 ranks; start with mpiexec -n 2 steppe measure messages." in wrong


@pytest.mark.parametrize("command", [("kernels",), ("files", "."), ("all",)], ids=lambda command: command[0])
def test_no_pass_at_all_is_refused(call, command):
    code, _, wrong = call("measure", *command, "--passes", "0")
    assert code == Exit.MISTAKE
    assert wrong.startswith('steppe: Invalid value "0" for --passes. Must be >= 1.')
