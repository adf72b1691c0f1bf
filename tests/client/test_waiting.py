"""The client for programs that wait is made from the asynchronous one."""

import inspect

from scripts import waiting

from steppe.client import AsyncOperation, AsyncRun, Operation, Run


def test_the_types_that_are_checked_in_are_those_that_the_asynchronous_client_gives() -> None:
    assert waiting.STUB.read_text() == waiting.stub(), "The types are out of date; this writes them again: python scripts/waiting.py"


def test_each_public_method_waits_and_has_the_words_of_the_asynchronous_one() -> None:
    for waits, of, hidden in ((Run, AsyncRun, {"widget"}), (Operation, AsyncOperation, {"part", "refresh"})):
        names = {name for name in dir(of) if not name.startswith("_")} - hidden
        assert names <= {*dir(waits)}
        for name in names:
            member, other = inspect.getattr_static(waits, name), inspect.getattr_static(of, name)
            assert isinstance(member, property) == isinstance(other, property)
            assert member.__doc__ == other.__doc__
            if not isinstance(member, property):
                assert not inspect.iscoroutinefunction(member)
                assert inspect.signature(member) == inspect.signature(other)
