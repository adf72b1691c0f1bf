"""`steppe completion`: scripts with which a shell completes commands, options and files."""

import sys
from pathlib import Path
from typing import Literal

from steppe.errors import Failure, Mistake

Shell = Literal["bash", "zsh", "fish"]


def completion(shell: Shell, /, *, output: Path | None = None) -> None:
    """Print the script that completes commands, options and files in a shell.

    `steppe --install-completion` installs it for the current shell.

    Examples:

        steppe completion bash
        steppe completion fish --output ~/.config/fish/completions/steppe.fish

    Parameters
    ----------
    shell
        The shell: bash, zsh or fish.
    output
        The file to write or to replace, instead of standard output.
    """
    from steppe.cli.app import app

    write_text(app.generate_completion(shell=shell), output)


def write_text(text: str, output: Path | None) -> None:
    """Writes a text to a file, making its folder, or to standard output.

    Raises
    ------
    Failure
        The file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f'"{output}" cannot be written: {error.strerror}. Give another name with --output.') from None


def install() -> None:
    """Install completion for the current shell."""
    from cyclopts.completion import ShellDetectionError

    from steppe.cli.app import app

    try:
        path: Path = app.install_completion()
    except ShellDetectionError:
        raise Mistake("The current shell cannot be determined. Print the script with `steppe completion bash`, zsh or fish.") from None
    except OSError as error:
        raise Failure(f'"{error.filename}" cannot be written: {error.strerror}. `steppe completion bash` prints the script.') from None
    print(f"{path} is written; a new shell completes steppe.")
