"""`steppe plot`: a picture of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steppe.cli.making import CountBar
from steppe.errors import Mistake

if TYPE_CHECKING:
    from steppe.jobs.film import FilmChoices


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
    movie: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    start: Annotated[str | None, Parameter(name="--from", metavar="DATE")] = None,
    end: Annotated[str | None, Parameter(name="--to", metavar="DATE")] = None,
    fps: Annotated[int | None, Parameter(metavar="NUMBER")] = None,
    size: Annotated[str | None, Parameter(metavar="WIDTHxHEIGHT")] = None,
    quiet: bool = False,
) -> None:
    """Draw the maps and the regional series of a run as one PNG, or the records of a variable as a film.

    Without --date the maps are means over the computed days. An ensemble is drawn as the median of its maps, and as lines of
    all scenarios with their median and the band between 10 and 90 %.

    With --movie each record of one variable is a frame, and the colours are the same in all of them. A film needs the extra `film`:
    `pip install ".[film]"` in the clone of Steppe.

    Examples:

        steppe plot runs/queensland
        steppe plot runs/queensland --variables growth --date 1993-06-15 \\
            --output june.png
        steppe plot runs/queensland --variables growth --at -23.44,144.25 \\
            --at -27.16,151.26
        steppe plot runs/queensland --variables growth --region 144,-28,154,-22 \\
            --scale 0,20
        steppe plot runs/queensland --movie film.mp4 --variable green_leaf \\
            --from 1991-01-01 --to 1995-12-31

    Parameters
    ----------
    path
        The run folder, the folder of an ensemble, or a store.
    output
        The PNG file to write; default: picture.png in the run folder, or a file beside the store.
    variables
        Variables to draw, instead of all of the run: soil,runoff. May be given several times. A film shows one, by default the first
        of the run file.
    date
        Draw the maps of the interval that holds this day, as 1993-06-15.
    at
        Lines of the cell at this latitude and longitude, marked on the maps. May be given several times.
    region
        The part of the maps to show; the lines are its means. A name, such as west, or a box WEST,SOUTH,EAST,NORTH in degrees.
    scale
        Values at the ends of the colours, to compare pictures.
    maps
        Name of an `[[output.maps]]` of the run, instead of the maps of `[output]`.
    movie
        The film to write, an MP4 file (H.264).
    start
        First day of the film, as 1990-01-01; the record that holds it is shown.
    end
        Last day of the film, inclusive.
    fps
        Frames a second of the film, 10 by default.
    size
        Width and height of the film in pixels, 1280x720 by default.
    quiet
        No progress of a film, and no list of the written files.
    """
    from steppe.cli.typed_places import check_png, names_of, place_of, region_of, scale_of
    from steppe.files import writing
    from steppe.io import results_folder
    from steppe.jobs.film import FilmChoices
    from steppe.jobs.picture import PictureChoices, draw

    part, ends, variables = region_of(region) or "all", scale_of(scale), names_of(variables)
    if movie is not None:
        if given := [name for name, value in {"--output": output, "--date": date, "--at": at}.items() if value]:
            raise Mistake(f"{given[0]} is an option of pictures. Leave it out with --movie: --from and --to are the period of a film.")
        if len(variables or []) > 1:
            raise Mistake(f"A film shows one variable, and {len(variables or [])} are given. Give --variable once.")
        choices = FilmChoices(variables[0] if variables else None, start, end, part, ends, maps or "")
        with writing(movie):
            _film(results_folder(path), movie, choices, fps, size, quiet)
        return
    of_films = {"--from": start, "--to": end, "--fps": fps, "--size": size}
    if given := [name for name, value in of_films.items() if value is not None]:
        raise Mistake(f"{given[0]} is an option of films. Give it with --movie, or leave it out.")
    check_png("--output", output)
    places = [place_of(text) for text in at or []]
    file = output or (path.with_suffix(".png") if (path / "zarr.json").is_file() else path / "picture.png")
    with writing(file):
        drawn = draw(results_folder(path), file, PictureChoices(variables, date, places, part, ends, maps or ""))
    if not quiet:
        print(drawn)


def _film(path: Path, movie: Path, choices: "FilmChoices", fps: int | None, size: str | None, quiet: bool) -> None:
    from steppe.cli.typed_places import size_of
    from steppe.jobs.film import draw_film

    if fps is not None and not 1 <= fps <= 60:
        raise Mistake(f"--fps {fps} is out of range. Give 1 to 60 frames a second.")
    if movie.suffix.lower() != ".mp4":
        raise Mistake(f'--movie "{movie}" is no name of an MP4 file. Give a name that ends in .mp4.')
    with CountBar("film", quiet) as tell:
        made = draw_film(path, movie, choices, fps or 10, size_of(size), tell)
    if not quiet:
        print(f"{made.path}: {made.frames:,} frames, {made.seconds:,.1f} s, colours {made.colours}")
