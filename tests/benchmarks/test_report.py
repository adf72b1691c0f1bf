import json
from pathlib import Path

import pytest
from benchmarks.figures import Figure, MissingPeer, table
from benchmarks.rounds import alternate, output, ratio

from benchmarks import __main__ as command


def test_a_figure_passes_when_it_meets_its_target() -> None:
    assert Figure("speed", 0.95, at_least=0.9).verdict == "pass"
    assert Figure("speed", 0.85, at_least=0.9).verdict == "FAIL"
    assert Figure("time", 0.5, at_most=0.4).verdict == "FAIL"
    assert Figure("context", 0.5).verdict == ""


def test_the_table_shows_value_target_and_verdict() -> None:
    text = table([Figure("kernel / NumPy", 6.0, "x", at_least=4.5, note="quartiles 5.9 to 6.1 of 9")])
    assert text == "kernel / NumPy  6 x  >= 4.5  pass  quartiles 5.9 to 6.1 of 9"


def test_a_ratio_is_taken_round_by_round() -> None:
    assert ratio([2.0, 20.0, 4.0], [1.0, 10.0, 2.0]).value == 2.0


def test_programs_run_in_turn_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    def run(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = alternate({"a": lambda: run("a"), "b": lambda: run("b")}, 2)
    assert order == ["a", "b", "b", "a", "a", "b"]  # every other round goes backwards
    assert samples == {"a": [4.0, 5.0], "b": [3.0, 6.0]}


def test_a_process_that_fails_is_a_missing_peer() -> None:
    with pytest.raises(MissingPeer, match="exit code 3"):
        output(["sh", "-c", "exit 3"])


def test_a_missing_peer_fails_the_command_and_is_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "broken_suite.py"
    suite.write_text("from benchmarks.figures import MissingPeer\ndef figures(quick): raise MissingPeer('There is no peer.')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(command.SUITES, "broken", "broken_suite")
    assert command.main(["broken", "--json", str(tmp_path / "report.json")]) == 1
    assert "FAIL  There is no peer." in capsys.readouterr().out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["failures"] == {"broken": "There is no peer."}
    assert {"processor", "cores", "memory_gigabytes", "numba"} <= set(report["machine"])


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(SystemExit):
        command.main(["pastures"])
