"""Memory that a host or a container does not have is not shared out."""

from pathlib import Path

import pytest

from steppe.comm import Serial, container_memory, host_memory, machine_state, process_state, shared
from steppe.errors import Failure


def test_memory_that_the_host_does_not_have_is_an_error_before_any_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    monkeypatch.setattr(machine_state, "GROUP", tmp_path)
    assert machine_state.free_memory() == 3000
    with pytest.raises(Failure, match="cannot share 0 MB of memory with other ranks: the host has 0 MB left"):
        shared(Serial(), [0], 4000)
    assert shared(Serial(), [0], 2000).size == 2000
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_state.free_memory() > 1e8
    assert container_memory() == float("inf")
    assert 0 < host_memory("MemAvailable") < host_memory("MemTotal")


def test_the_cache_of_files_of_a_container_is_free_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("8000\n")
    (tmp_path / "memory.current").write_text("7995\n")
    (tmp_path / "memory.stat").write_text("anon 200\nfile 7700\ninactive_file 7000\nactive_file 700\n")
    monkeypatch.setattr(machine_state, "GROUP", tmp_path)
    assert machine_state.free_memory() == 7005


def test_the_limits_of_all_groups_of_a_process_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a batch job, whose ranks see the whole tree of groups."""
    (tmp_path / "own").write_text("4:memory:/other\n0::/job_7/step_0\n")
    (tmp_path / "job_7" / "step_0").mkdir(parents=True)
    for group, limit, used in (("job_7", "9000", "4000"), ("job_7/step_0", "max", "1000")):
        (tmp_path / group / "memory.max").write_text(limit)
        (tmp_path / group / "memory.current").write_text(used)
    monkeypatch.setattr(machine_state, "GROUP", tmp_path)
    monkeypatch.setattr(machine_state, "OWN", tmp_path / "own")
    assert (machine_state.free_memory(), container_memory()) == (5000, 9000)


def test_a_process_has_a_state_until_it_has_ended() -> None:
    assert process_state(1) in ("S", "R", "D", "I")
    assert process_state(2**22 + 1) == ""  # beyond the greatest number of a process
