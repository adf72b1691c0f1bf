"""What `steppe` shows of itself."""

import sys
from importlib import import_module

import pytest

import steppe
from steppe.lazy import when_used


def test_dir_shows_the_public_names_alone():
    assert dir(steppe) == sorted(steppe.__all__)
    assert "example" in dir(steppe)


def test_every_public_name_leads_somewhere():
    for name in steppe.__all__:
        assert getattr(steppe, name) is not None


@pytest.mark.parametrize("room", ["comm", "engine", "measure"])
def test_every_name_of_a_room_whose_parts_are_imported_when_used_leads_to_its_home(room):
    package = import_module(f"steppe.{room}")
    assert len(package.__all__) > 10
    assert dir(package) == package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match=f"module 'steppe.{room}' has no attribute 'nothing'"):
        _ = package.nothing


def test_a_name_is_imported_from_its_home_under_another_name_when_it_is_used(tmp_path, monkeypatch):
    (tmp_path / "home_of_names.py").write_text("own = 7\n")
    (tmp_path / "room.py").write_text("if TYPE_CHECKING:\n    from home_of_names import own as shown\n")
    monkeypatch.syspath_prepend(tmp_path)
    get, names, every = when_used("room", str(tmp_path / "room.py"))
    assert (names(), every) == (["shown"], ["shown"])
    assert "home_of_names" not in sys.modules
    assert get("shown") == 7
