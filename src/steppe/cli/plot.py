"""`steppe plot`: a picture of a run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def plot(
    path: Path,
    /,
    *,
    output: Path | None = None,
    variables: Annotated[list[str] | None, Parameter(name=("--variables", "--variable"), metavar="NAME")] = None,
    date: Annotated[str | None, Parameter(metavar="DATE")] = None,
    at: Annotated[list[str] | None, Parameter(metavar="LAT,LON", allow_leading_hyphen=True)] = None,
    region: Annotated[str | None, Parameter(metavar="NAME|BOX", allow_leading_hyphen=True)] = None,
    scale: Annotated[str | None, Parameter(metavar="LOW,HIGH", allow_leading_hyphen=True)] = None,
    maps: Annotated[str | None, Parameter(metavar="NAME")] = None,
) -> None:
    """Draw the maps and the regional series of a run as one PNG.

    Without --date the maps are means over what has been computed so far. An ensemble is drawn as the median of its maps, and as lines of
    all scenarios with their median and the band between 10 and 90 %.

    Examples:

        steppe plot runs/queensland
        steppe plot runs/queensland --variables growth --date 1993-06-15 \\
            --output june.png
        steppe plot runs/queensland --variables growth --at -23.44,144.25 \\
            --at -27.16,151.26
        steppe plot runs/queensland --variables growth --region 144,-28,154,-22 \\
            --scale 0,20

    Parameters
    ----------
    path
        The run folder, the folder of an ensemble, or a store.
    output
        The file to write; default: picture.png in the run folder, or a file beside the store.
    variables
        A variable to draw, instead of all that the run holds. May be given several times.
    date
        Maps of the interval that this day lies in, as 1993-06-15.
    at
        Lines of the cell at this latitude and longitude, marked on the maps. May be given several times.
    region
        The part of the maps to show, its mean as line: a name, such as west, or a box WEST,SOUTH,EAST,NORTH in degrees.
    scale
        Values at the ends of the colours, to compare pictures.
    maps
        Name of an `[[output.maps]]` of the run, instead of the maps of `[output]`.
    """
    from steppe.cli.places import place_of, region_of, scale_of
    from steppe.engine import draw

    places = [place_of(text) for text in at or []]
    beside = path.with_suffix(".png") if (path / "zarr.json").is_file() else path / "picture.png"
    print(draw(path, output or beside, variables, date, places, region_of(region) or "all", scale_of(scale), maps or ""))
