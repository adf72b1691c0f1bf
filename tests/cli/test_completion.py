"""Completion as a shell does it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steppe.cli.commands import COMMANDS
from steppe.errors import Exit


@pytest.fixture
def script(call, tmp_path) -> Path:
    path = tmp_path / "made" / "steppe.bash"
    assert call("completion", "bash", "--output", str(path)) == (Exit.DONE, "", "")
    return path


def proposals(script: Path, line: str) -> set[str]:
    """What bash proposes for the last word of a line."""
    words = line.split(" ")
    text = f"""
        source {script}
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
        COMP_CWORD={len(words) - 1}
        _steppe
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", text], cwd=script.parent, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_bash_proposes_commands_options_and_files(script):
    (script.parent / "queensland.toml").touch()
    assert set(COMMANDS) <= proposals(script, "steppe ")
    assert proposals(script, "steppe exp") == {"export"}
    assert {"--netcdf", "--csv", "--cog"} <= proposals(script, "steppe export out --")
    assert proposals(script, "steppe run queens") == {"queensland.toml"}
    assert {"run", "model"} <= proposals(script, "steppe new ")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_that_they_can_read(call, tmp_path, shell):
    said = call("completion", shell)[1]
    assert all(name in said for name in COMMANDS)
    if shutil.which(shell):
        (tmp_path / "script").write_text(said)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_it_is_installed_where_the_shell_looks(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    command = [sys.executable, "-m", "steppe", "--install-completion"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    written = tmp_path / ".local/share/bash-completion/completions/steppe"
    assert done.stdout == f"{written} is written; a new shell completes steppe.\n"
    assert "_steppe" in written.read_text()


def test_a_shell_that_is_not_known_is_a_mistake(call):
    code, _, wrong = call("completion", "tcsh")
    assert code == Exit.MISTAKE
    assert '"bash"' in wrong
