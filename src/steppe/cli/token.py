"""`steppe token`: access to a served run."""

import json as json_format
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from cyclopts import App

from steppe.cli.commands import COMMANDS
from steppe.errors import Exit, FolderError, Mistake

DAY = 86400.0  # [s]
LONGEST = 3650  # [days]
NAME = "[A-Za-z0-9._-]{1,64}"

token = App(name="token", help=COMMANDS["token"], help_format="plaintext")


@token.command
def new(run: Path, /, *, role: str = "view", days: int = 7, name: str = "") -> Exit:
    """Make a token and print it once. A running server accepts it at once.

    Examples:

        steppe token new runs/queensland --role view --days 7
        steppe token new runs/queensland --role steer --days 1 --name anna

    Parameters
    ----------
    run
        The run folder.
    role
        The rights of its holder: view reads, steer orders, admin also ends runs.
    days
        Days until it expires.
    name
        Name of its holder in the journal and the log; default: the role and eight hexadecimal digits.
    """
    from steppe.api import ROLES
    from steppe.server.tokens import Token, TokenFile, new_token

    if role not in ROLES:
        raise Mistake(f'--role "{role}" must be one of {", ".join(ROLES)}.')
    if not 1 <= days <= LONGEST:
        raise Mistake(f"--days {days} must be 1 to {LONGEST}.")
    text, expires = new_token(), time.time() + days * DAY
    made = Token.of(name, role, text, expires)
    name = name or f"{role}-{made.digest.hex()[:8]}"
    if not re.fullmatch(NAME, name) or name in ROLES:
        raise Mistake(f'--name "{name}" must be 1 to 64 of A-Z a-z 0-9 . _ -, and no role.')
    _check_folder(run)
    TokenFile(run).add(Token(name, role, made.digest, expires))
    sys.stdout.write(f"{name}, until {_date(expires)}:\n\n  {_address(run)}{text}\n\nCopy it now: Steppe does not store it.\n")
    return Exit.DONE


@token.command
def list(run: Path, /, *, json: bool = False) -> Exit:
    """Show the tokens that were made for a run, by this command and by its server, with name, role and end.

    Examples:

        steppe token list runs/queensland
        steppe token list runs/queensland --json

    Parameters
    ----------
    run
        The run folder.
    json
        The tokens as JSON on standard output.
    """
    from steppe.server.role_tokens import RoleFile
    from steppe.server.tokens import TokenFile

    _check_folder(run)
    now, there = time.time(), [*RoleFile(run).read(), *TokenFile(run).read()]
    rows = [{"name": each.name, "role": each.role, "end": _date(each.expires), "over": each.is_over(now)} for each in there]
    if json:
        sys.stdout.write(json_format.dumps({"tokens": rows}, indent=2) + "\n")
        return Exit.DONE
    if not rows:
        sys.stderr.write(f'No token was made for "{run}". `steppe token new` makes one, `steppe serve` one for each role.\n')
    for row in rows:
        sys.stdout.write(f"{row['name']:<20}  {row['role']:<6}  {row['end']}{'  over' if row['over'] else ''}\n")
    return Exit.DONE


@token.command
def revoke(run: Path, name: str, /) -> Exit:
    """End a token. A running server ends its sessions within a second.

    The next server makes another token for a role that has none.

    Examples:

        steppe token revoke runs/queensland anna
        steppe token revoke runs/queensland steer

    Parameters
    ----------
    run
        The run folder, or that of `steppe serve --runs` for a token that its server made.
    name
        Name of the token, as `steppe token list` shows it.
    """
    from steppe.server.role_tokens import RoleFile
    from steppe.server.tokens import TokenFile

    _check_folder(run)
    made = RoleFile(run)
    for each in made.read():
        if each.name == name:
            made.forget(each.digest)
            return Exit.DONE
    TokenFile(run).remove(name)
    return Exit.DONE


def _check_folder(run: Path) -> None:
    if not run.is_dir():
        raise FolderError(f'There is no folder "{run}". Give the run folder, or that of `steppe serve --runs`.')


def _date(moment: float | None) -> str:
    return "for ever" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _address(run: Path) -> str:
    """The address to write before a token; "" if no server runs."""
    try:
        address = str(json_format.loads((run / "status.json").read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError):
        return ""
    return f"{address}/#token=" if address else ""
