"""A film of maps: one figure whose values and date change from frame to frame, as H.264 in an MP4 file.

Only values and date change, so that the eye follows them.
"""

from pathlib import Path
from textwrap import wrap
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steppe.array_types import Array, Bytes
from steppe.errors import not_installed
from steppe.view.plot import ABOVE, BELOW, DOTS, FAINT, INK, LEFT, MARGIN, MapPlot, draw_map, right, shown, tallness

if TYPE_CHECKING:
    from collections.abc import Sequence

HEIGHT = 720  # [pixel] of a frame whose text is as large as in a picture
HEAD = 0.56  # [inch] of a frame above its map: title and date
QUALITY = {"crf": "18", "preset": "fast", "tune": "animation"}  # of x264: for flat areas and sharp edges, without visible loss
BT709 = 1  # the number of these colours in H.264, ITU-T H.273, table 2: players expect them for 720 lines and more


class Size(NamedTuple):
    """Width and height of a frame [pixel]; even, since H.264 stores one colour for four points."""

    width: int = 1280
    height: int = 720


class Scene:
    """The figure of a film. drawn: a map with a value in each cell that ever has one; its colours apply to all frames."""

    def __init__(self, title: str, drawn: MapPlot, notes: "Sequence[str]", size: Size) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # as slow to import as in `draw_run`
        from matplotlib.figure import Figure

        dots = DOTS * size.height / HEIGHT
        width, height = ((pixels + 0.01) / dots for pixels in size)  # whole pixels are counted by rounding down
        figure = Figure(figsize=(width, height), dpi=dots, facecolor="white")
        self._canvas: Any = FigureCanvasAgg(figure)
        small_print = [line for note in notes for line in wrap(note, round(width * 14.5))]
        foot = 0.2 + 0.17 * len(small_print)
        self._title = figure.text(0.2 / width, 1.0 - 0.2 / height, title, size=15, weight="bold", color=INK, va="top")
        self._date = figure.text(1.0 - 0.2 / width, 1.0 - 0.2 / height, "", size=15, color=INK, va="top", ha="right")
        for number, note in enumerate(small_print):
            figure.text(0.2 / width, (foot - 0.1 - 0.17 * number) / height, note, size=8, color=FAINT, va="top")
        beside = LEFT + right([drawn])
        room = width - 2 * MARGIN - beside, max(height - HEAD - foot - ABOVE - BELOW, 0.5)
        across = min(room[0], max(room[1] / max(tallness(drawn), 1e-6), 1.2))
        corner = (width - across - beside) / 2.0, height - HEAD
        self._colours = drawn.colours
        self._values = draw_map(figure, drawn, corner, (across, room[1] + ABOVE + BELOW), 1 if across > 4.0 else 2)

    def frame(self, values: Array, date: str) -> Bytes:
        """The frame of some values of the map: (height, width, red green blue alpha). The next call overwrites it."""
        self._values.set_array(shown(values, self._colours))
        self._date.set_text(date)
        title = self._title.get_window_extent()
        room = self._date.get_window_extent().x0 - 2.0 * title.x0
        if title.width > room:  # they share a line
            self._title.set_fontsize(max(self._title.get_fontsize() * room / title.width, 6.0))
        self._canvas.draw()
        return np.asarray(self._canvas.buffer_rgba())


class Encoder:
    """An MP4 file; complete when the `with` block ends without an error. rate: frames a second.

    Raises
    ------
    Mistake
        PyAV is not installed.
    """

    def __init__(self, path: Path, size: Size, rate: int) -> None:
        try:
            import av  # 30 MB with FFmpeg, which only films need
        except ImportError:
            raise not_installed("A film", "film", "av") from None
        self._frame = av.VideoFrame.from_ndarray
        self._file = av.open(str(path), "w", format="mp4", options={"movflags": "faststart"})
        self._stream: Any = self._file.add_stream("libx264", rate=rate, options=QUALITY)
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        context = self._stream.codec_context
        context.colorspace = context.color_primaries = context.color_trc = BT709

    def __enter__(self) -> "Encoder":
        return self

    def add(self, frame: Bytes) -> None:
        """Adds a frame (height, width, red green blue alpha)."""
        picture = self._frame(frame, format="rgba").reformat(format="yuv420p", dst_colorspace=BT709)
        self._file.mux(self._stream.encode(picture))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._file.mux(self._stream.encode())
        self._file.close()
