"""What a terminal sees, and what a file sees: colours and bars there, plain lines here."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ESCAPE = "\x1b["
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")


def on_a_terminal(folder: Path, *arguments: str, **environment: str) -> str:
    """All that a command writes to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    process = subprocess.Popen([sys.executable, "-m", "steppe", *arguments], cwd=folder, env=variables, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        said += piece
    os.close(ours)
    assert process.wait() == 0, said
    return said.decode()


def test_a_terminal_gets_a_bar_with_date_part_and_rate(on_points):
    said = on_a_terminal(on_points, "run", "run.toml")
    assert COLOUR.search(said)
    assert "━" in said
    assert "100%" in said
    assert "1991-03-06" in said
    assert " cell-days/s, 0:00 left" in said
    assert "days: 420 of 420" in said


def test_a_terminal_gets_the_whole_sentence_of_a_warning(on_points):
    said = on_a_terminal(on_points, "run", "run.toml", "--set", "output.variables=[]", "--set", "output.series=[]")
    assert "[output] records nothing: variables is empty, and there are no [[output.maps]]" in re.sub(r"\x1b\[[\d;]*m", "", said)


def test_a_quiet_run_is_quiet_on_a_terminal_too(on_points):
    assert on_a_terminal(on_points, "run", "run.toml", "--quiet") == ""


def test_no_color_takes_the_colours_of_the_bar(on_points):
    said = on_a_terminal(on_points, "run", "run.toml", NO_COLOR="1")
    assert "100%" in said
    assert not COLOUR.search(said)


@pytest.mark.parametrize("arguments", [("run", "--help"), ("describe", "bucket.py")], ids=" ".join)
def test_no_color_takes_the_colours_of_text(on_points, arguments):
    said = on_a_terminal(on_points, *arguments, NO_COLOR="1")
    assert not COLOUR.search(said)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("run", "--help"),
        ("describe", "bucket.py"),
        ("check", "run.toml"),
        ("run", "run.toml"),
        ("run", "--untill"),
        ("info", "weather.zarr"),
    ],
    ids=" ".join,
)
def test_what_is_piped_has_no_escape_codes(call, on_points, monkeypatch, arguments):
    monkeypatch.chdir(on_points)
    _, said, wrong = call(*arguments)
    assert said + wrong
    assert ESCAPE not in said + wrong
