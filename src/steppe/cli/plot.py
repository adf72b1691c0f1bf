"""`steppe plot`: a picture of a run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def plot(
    path: Path,
    /,
    *,
    output: Path | None = None,
    variables: Annotated[list[str] | None, Parameter(metavar="NAME")] = None,
    date: Annotated[str | None, Parameter(metavar="DATE")] = None,
) -> None:
    """Draw the maps and the regional series of a run as one PNG.

    Without --date the maps are means over what has been computed so far.

    Examples:

        steppe plot runs/queensland
        steppe plot runs/queensland --variables growth --date 1993-06-15 --output june.png

    Parameters
    ----------
    path
        The run folder.
    output
        The file to write; default: picture.png in the run folder.
    variables
        A map to draw, instead of all that the run holds. May be given several times.
    date
        Maps of the interval that this day lies in, as 1993-06-15.
    """
    from steppe.engine import draw

    print(draw(path, output or path / "picture.png", variables, date))
