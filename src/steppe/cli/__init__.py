"""The `steppe` command: one file for each sub-command, imported when the command is called; no logic."""

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from steppe.cli.commands import overview
from steppe.errors import Exit, Mistake, SteppeError, closest, unexpected

if TYPE_CHECKING:
    from cyclopts import CycloptsError


def main() -> NoReturn:
    """Runs the command line and ends with one of the codes of `steppe.errors.Exit`."""
    arguments = sys.argv[1:]
    command = next((word for word in arguments if word != "--debug"), "")
    if command in ("run", "ensemble", "engine", "replay"):
        from steppe.comm import find_launch

        launch = find_launch()
        if launch is not None:
            from steppe.cli.rank import run_together

            sys.exit(run_together(launch, lambda: run_command(arguments)))
    sys.exit(run_command(arguments))


def run_command(arguments: list[str]) -> Exit:
    """Runs one command. An error becomes one sentence on standard error; with `--debug` it is raised."""
    own = arguments.index("--") if "--" in arguments else len(arguments)  # words after "--" belong to the program
    debug = "--debug" in arguments[:own]
    arguments = [*(argument for argument in arguments[:own] if argument != "--debug"), *arguments[own:]]
    try:
        _check_none_is_empty(arguments[:own])
        return _call(arguments)
    except SteppeError as error:
        if debug:
            raise
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILURE
    except Exception as error:
        if debug:
            raise
        _say(unexpected(error))
        return Exit.FAILURE


def _check_none_is_empty(arguments: list[str]) -> None:
    """Raises `Mistake` for an empty argument, which as a path would be the working folder."""
    if "" in arguments:
        before = ["steppe", *arguments][arguments.index("")]
        where = f"The value of {before}" if before.startswith("-") else f'The argument after "{before}"'
        raise Mistake(f"{where} is empty. Leave it out, or set the variable of the shell that it comes from.")


def _call(arguments: list[str]) -> Exit:
    if not arguments or arguments[0] in ("--help", "-h"):
        sys.stdout.write(overview())
        return Exit.DONE
    if arguments[0] == "bridge" and arguments[1:] not in (["--help"], ["-h"]):  # it parses its options itself, not cyclopts
        from steppe.cli.bridge import bridge

        bridge(*arguments[1:])
    from cyclopts import CycloptsError

    from steppe.cli.app import app

    try:
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        command = " ".join(("steppe", *(error.command_chain or ())))
        _say(f"{_sentence(error)} `{command} --help` shows what it takes.")
        return Exit.MISTAKE
    return result if isinstance(result, Exit) else Exit.DONE


def _sentence(error: "CycloptsError") -> str:
    """Its text. For an unknown option an own one: names are compared without their dashes, which make all of them alike."""
    from cyclopts.exceptions import UnknownOptionError, UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError):
        return f"The command takes no {' '.join(map(repr, error.unused_tokens or ()))} here."
    if not isinstance(error, UnknownOptionError):
        return str(error)
    given = (error.token.keyword or error.token.value).partition("=")[0]
    names = [name.removeprefix("--") for each in error.argument_collection for name in each.names if each.parse]
    near = closest(given.removeprefix("--"), names) if given.startswith("--") else None
    return f"Unknown option: {given}." + (f" Did you mean --{near}?" if near else "")


def _say(text: str) -> None:
    sys.stderr.write(f"steppe: {text}\n")
