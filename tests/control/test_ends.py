"""The two ends of the wire."""

import subprocess
import sys
from typing import get_args

import pytest

from steppe.control.wire import ToEngine, ToServer

ENDS = {
    "engine": ("endpoint", "connection", "frame_source", "series_source"),
    "server": ("supervisor", "listener", "launcher", "compaction"),
}


@pytest.mark.parametrize(("end", "other"), [("engine", "server"), ("server", "engine")])
def test_a_process_of_one_end_loads_nothing_of_the_other(end: str, other: str) -> None:
    imports = "".join(f"import steppe.control.{end}.{name}\n" for name in ENDS[end])
    program = f"import sys\n{imports}print([name for name in sys.modules if name.startswith('steppe.control.{other}')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_messages_keep_the_tags_that_an_engine_of_before_sends() -> None:
    """A new server understands an engine that outlived the old one, whatever the classes are called."""
    assert {each.__struct_config__.tag for each in get_args(ToServer)} == {
        *("Hello", "Described", "Ready", "Boundary", "Applied", "Fired", "Withdrawn", "Kept", "Failed", "Data", "Same", "Refused"),
        *("Shown", "Followed", "Ended", "Busy", "Beat", "News", "Leave"),
    }
    assert {each.__struct_config__.tag for each in get_args(ToEngine)} == {
        *("Greet", "Welcome", "Load", "Target", "Action", "Pin", "Withdraw", "Noted", "Heeded", "Get", "Show", "Hide", "Taken"),
        *("Follow", "Unfollow", "Drop", "Leave"),
    }
