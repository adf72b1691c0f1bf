"""A run as a film: a frame for each record of a variable, in colours that hold for all of them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steppe.array_types import Array, Integers
from steppe.errors import RequestError, RunFileError
from steppe.grid import RegionLike
from steppe.io import MAPS, Axis, StoredRecords
from steppe.io.export import aside
from steppe.jobs.picture import BLOCK, Ground, classes_of, commonest, held_in, notes_of, rows_at, scenarios_of, title_of
from steppe.levels import numbered
from steppe.view import Encoder, MapPlot, Scene, Size, class_colours, picture_colours, quantiles

Tell = Callable[[float, str], None]

SAMPLE = 2_000_000  # values of a film by which its colours are chosen


class Reel(NamedTuple):
    """A film before it is drawn. axis: times of the shortest scenario. drawn: its map, with the greatest value of each cell in all frames.

    colours: as in `Film`.
    """

    every: Sequence[StoredRecords]
    name: str
    axis: Axis
    rows: range
    cells: Integers | None
    ground: Ground
    drawn: MapPlot
    notes: Sequence[str]
    colours: str

    def frames(self) -> Iterator[tuple[Array, str]]:
        """Values, in the shape of the map, and date of each frame."""
        for row, values in _values(self.every, self.name, self.rows, self.cells):
            first, last = self.axis.begin_of(row), self.axis.end_of(row)
            yield self.ground.spread(values), first if first == last else f"{first} to {last}"


class Film(NamedTuple):
    """A finished film. seconds: its length. colours: their ends, such as "from 0 to 40 mm"; "of classes"."""

    path: Path
    frames: int
    seconds: float
    colours: str


class FilmChoices(NamedTuple):
    """The contents of a film.

    variable: default: the first of the run file. start, end: first and last day; records that hold them are shown, too; default: all.
    region, scale, maps: as in `PictureChoices`. palette: a colour map of cmcrameri; default: one that suits the variable. most: the
    greatest number of frames.
    """

    variable: str | None = None
    start: str | None = None
    end: str | None = None
    region: RegionLike = "all"
    scale: tuple[float, float] | None = None
    maps: str = ""
    palette: str | None = None
    most: int | None = None


def draw_film(
    path: Path,
    output: Path,
    choices: FilmChoices = FilmChoices(),  # noqa: B008  # never changed
    rate: int = 10,
    size: Size = Size(),  # noqa: B008  # never changed
    tell: Tell = lambda part, date: None,
) -> Film:
    """Makes an MP4 file (H.264) of the records of a run; of an ensemble each frame is the median of its scenarios.

    Parameters
    ----------
    path
        A run folder, the folder of an ensemble, or a store.
    output
        The file to write.
    choices
        The contents of the film.
    rate
        Frames a second.
    size
        Of a frame in pixels.
    tell
        Gets the share of the frames that are done, and the date of the last one.

    Raises
    ------
    RunFileError
        The run has no such variable, no such day, or no results yet.
    GridError
        There is no such region.
    RequestError
        The film would have more than `most` frames.
    Mistake
        PyAV is not installed.
    FolderError, DamagedError, NoSpaceError, Failure
        There is no run, a file of it is damaged, or the film cannot be written.
    """
    reel = reel_of(path, choices)
    with aside(output) as beside, Encoder(beside, size, rate) as encoder:
        scene = Scene(str(reel.every[0].about.get("title", path.name)), reel.drawn, reel.notes, size)
        for number, (values, date) in enumerate(reel.frames(), 1):
            encoder.add(scene.frame(values, date))
            tell(number / len(reel.rows), date)
    return Film(output, len(reel.rows), len(reel.rows) / rate, reel.colours)


def reel_of(path: Path, choices: FilmChoices) -> Reel:
    """Prepares a film: reads all its records once, for the range of its colours. Raises as `draw_film`."""
    ensemble, folders, _ = scenarios_of(path)
    every = [StoredRecords.open(folder, choices.maps, MAPS) for folder in folders]
    wanted = [numbered(choices.variable, every[0].levels)] if choices.variable else []
    held = held_in(every[0], path, choices.maps, wanted)
    if not held:
        raise RunFileError(f'The run "{path}" has no maps, so there is nothing to show. Record some: `[output] variables`.')
    (name,) = wanted or held[:1]
    axis = min((one.axes[name] for one in every), key=lambda axis: axis.rows)
    if not axis.rows:
        raise RunFileError(f'The run "{path}" has no results yet. Perhaps `[output]` records none.')
    rows = range(rows_at("--from", choices.start, axis, path).start, rows_at("--to", choices.end, axis, path).stop)
    if not rows:
        period = f"from {choices.start} to {choices.end}"
        raise RunFileError(f"The period {period} holds no record. Give the first day with --from, the last with --to.")
    if choices.most is not None and len(rows) > choices.most:
        raise RequestError(f"The film would have {len(rows):,} frames, more than {choices.most:,}.")
    cells = None if choices.region == "all" else every[0].grid.select(choices.region)
    about, attributes = every[0].about, every[0].attributes[name]
    title, units = title_of(attributes, name, len(every)), str(attributes.get("units", "1"))
    greatest, ends, sample = _looked_through(every, name, rows, cells)
    standard_name = str(attributes.get("standard_name", ""))
    classes = classes_of(attributes)
    if classes:
        colours, said = class_colours(classes), "of classes"
    else:
        colours = picture_colours(sample, name, units, standard_name, title, choices.scale, choices.palette)
        said = f"from {colours.low:,.6g} to {colours.high:,.6g}{'' if units == '1' else f' {units}'}"
    notes = [f"{about.get('source', '')}. Colours {said} in all frames.", *notes_of(about)]
    if ensemble:
        notes.insert(1, f"Each frame is the {'commonest class' if classes else 'median'} of the scenarios.")
    ground = Ground.of(every[0], cells)
    return Reel(every, name, axis, rows, cells, ground, ground.map(title, greatest, units, colours)._replace(ends=ends), notes, said)


def _values(every: Sequence[StoredRecords], name: str, rows: range, cells: Integers | None) -> Iterator[tuple[int, Array]]:
    """Number and values (cells,) of each record; of several scenarios their median, of classes the commonest."""
    classes = classes_of(every[0].attributes[name])
    for first in range(rows.start, rows.stop, BLOCK):
        part = range(first, min(first + BLOCK, rows.stop))
        blocks = [one.read(name, slice(part.start, part.stop), cells) for one in every]
        if len(blocks) == 1:
            values = blocks[0]
        elif classes:
            values = commonest(np.stack([sum(block == number for block in blocks) for number in classes]), classes)
        else:
            values = quantiles(np.stack(blocks))[1]
        yield from zip(part, values, strict=True)


def _looked_through(
    every: Sequence[StoredRecords], name: str, rows: range, cells: Integers | None
) -> tuple[Array, tuple[float, float], Array]:
    """The greatest value of each cell, the least and greatest of all, and a sample of all: every cell of few, else every n-th one."""
    sample: list[Array] = []
    greatest, least = np.full(1, np.nan), np.inf
    for _, values in _values(every, name, rows, cells):
        stride = -(-values.size * len(rows) // SAMPLE)
        greatest = np.fmax(greatest, values)
        least = min(least, float(np.min(values, where=np.isfinite(values), initial=np.inf)))
        sample.append(values[len(sample) % stride :: stride].copy())
    return greatest, (least, float(np.max(greatest, where=np.isfinite(greatest), initial=-np.inf))), np.concatenate(sample)
