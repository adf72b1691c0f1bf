"""The tree of commands, made from the table in `steppe.cli.commands`."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, get_args

from cyclopts import App, Parameter, Token, convert

from steppe.cli.commands import COMMANDS

FRACTION = re.compile(r"[-+]?\d*\.\d*[1-9]\d*")


def whole_or_refused(hint: Any, tokens: Sequence[Token]) -> Any:
    """The value of an option. Raises ValueError for a fraction where a whole number is expected, which would be rounded."""
    kinds = {hint, *get_args(hint)}
    for token in tokens if int in kinds and float not in kinds else ():
        if FRACTION.fullmatch(token.value):
            raise ValueError(f"{token.value} is no whole number.")
    return convert(hint, tokens)


app = App(
    name="steppe",
    version=f"steppe {version('steppe')}",
    version_flags=["--version"],
    help_format="plaintext",
    default_parameter=Parameter(negative=(), show_default=False, converter=whole_or_refused),  # the help texts name the defaults
)

for name in COMMANDS:
    app.command(f"steppe.cli.{name}:{name}", name=name)
app.command("steppe.cli.completion:install", name="--install-completion")
