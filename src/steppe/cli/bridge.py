"""`steppe bridge`: the command of the distribution steppe-bridge."""

from importlib import import_module
from typing import Annotated, NoReturn

from cyclopts import Parameter

from steppe.errors import Mistake


def bridge(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> NoReturn:
    """Join MPI launches at several sites to one world, for any MPI program.

    The bridge is a distribution of its own: `pip install ./bridge` in a clone. `steppe bridge run --help` shows the options.
    Other commands are `site`, `doctor` and `key`.

    Examples:

        steppe bridge run --site a=local:8 --site b=host.b:16 -- ./program
        steppe bridge run --site a=local:2 --site b=local:2 -- \\
            steppe run run.toml

    Parameters
    ----------
    words
        Command and options of `steppe-bridge`; the program follows "--".

    Raises
    ------
    Mistake
        The distribution is not installed.
    """
    try:
        command = import_module("steppe_bridge.cli")
    except ModuleNotFoundError as error:
        if error.name != "steppe_bridge":
            raise
        raise Mistake(
            "The bridge is not installed; it is a distribution of its own. Type in the clone of Steppe: pip install ./bridge"
        ) from None
    raise SystemExit(command.main([*words], "steppe bridge"))
