import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import cftime
import numpy as np
import pytest
from PIL import Image

from steppe.grid import builtin_grid
from steppe.view import Colours, LinePlot, MapPlot, ScenarioBand, choose_colours, degrees, draw_run, picture_colours, quantiles
from steppe.view.plot import DOTS, NARROW, WIDTH, _moment, _readable

PURE = Colours("oslo_r", 0.0, 1.0, 0.2)


def queensland(value: float) -> MapPlot:
    grid = builtin_grid("queensland")
    return MapPlot("Rain", grid.unpack(np.full(grid.n_cells, value)), "mm", grid.lat, grid.lon, PURE)


def points(count: int) -> MapPlot:
    values = np.linspace(0.0, 1.0, count)
    return MapPlot("Rain", values, "mm", -20.0 - values, 140.0 + values, choose_colours(values, "rain", "mm"))


def line(label: str = "", start: Any = date(1990, 1, 1)) -> LinePlot:
    dates = [start + timedelta(days=10 * i) for i in range(50)]
    return LinePlot("Growth", dates, np.sin(np.arange(50.0)) + 2.0, "kg ha-1 d-1", label)


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def share(picture: np.ndarray, colour: tuple[int, int, int]) -> float:
    return float((np.abs(picture - np.array(colour)).max(axis=2) <= 2).mean())


def _colour(value: float) -> tuple[int, int, int]:
    """The colour of a value of `PURE`, whose darkest fifth is not used."""
    from cmcrameri import cm

    red, green, blue = (round(255 * part) for part in cm.oslo_r(0.8 * value)[:3])
    return red, green, blue


def test_land_has_the_colour_of_its_value_and_the_sea_is_grey(tmp_path: Path) -> None:
    from cmcrameri import cm

    draw_run(tmp_path / "a.png", "Run", [queensland(0.5)], [], [])
    picture = pixels(tmp_path / "a.png")
    red, green, blue = (round(255 * part) for part in cm.oslo_r(0.4)[:3])
    land, sea = share(picture, (red, green, blue)), share(picture, (0xEC, 0xEF, 0xF1))
    grid = builtin_grid("queensland")
    assert land / sea == pytest.approx(grid.n_cells / (grid.active.size - grid.n_cells), rel=0.03)
    assert land > 0.2


def test_a_palette_that_is_chosen_is_the_whole_one_as_on_the_page(tmp_path: Path) -> None:
    from cmcrameri import cm

    chosen = picture_colours(np.linspace(0.0, 1.0, 50), "rain", "mm", scale=(0.0, 1.0), palette="oslo_r")
    draw_run(tmp_path / "a.png", "Run", [queensland(0.5)._replace(colours=chosen)], [], [])
    red, green, blue = (round(255 * part) for part in cm.oslo_r(0.5)[:3])
    assert share(pixels(tmp_path / "a.png"), (red, green, blue)) > 0.2


@pytest.mark.parametrize("count", [1, 4, 5])
def test_any_number_of_maps_and_series_fit(tmp_path: Path, count: int) -> None:
    draw_run(tmp_path / "a.png", "Run", [points(5)] * count, [line("state"), line("west")], ["Weather: generated."])
    assert pixels(tmp_path / "a.png").shape[1] == round(WIDTH * DOTS)


def test_a_map_alone_makes_a_narrow_figure(tmp_path: Path) -> None:
    draw_run(tmp_path / "a.png", "Run", [points(3)], [], ["A note that is long enough to be broken into several lines. " * 6])
    assert pixels(tmp_path / "a.png").shape[1] == round(NARROW * DOTS)


def test_series_alone_and_notes_alone_make_a_figure(tmp_path: Path) -> None:
    draw_run(tmp_path / "series.png", "Run", [], [line()], [])
    draw_run(tmp_path / "notes.png", "Run", [], [], ["Nothing was recorded."])
    assert pixels(tmp_path / "series.png").shape[0] > pixels(tmp_path / "notes.png").shape[0] > 0


def test_rows_from_the_south_make_the_same_picture(tmp_path: Path) -> None:
    north = queensland(0.3)
    south = north._replace(values=north.values[::-1], lat=north.lat[::-1])
    for name, drawn in (("north", north), ("south", south)):
        draw_run(tmp_path / f"{name}.png", "Run", [drawn], [], [])
    assert (pixels(tmp_path / "north.png") == pixels(tmp_path / "south.png")).all()


def test_a_projected_map_is_drawn_in_its_own_measures(tmp_path: Path) -> None:
    values = np.full((20, 60), 0.5)
    y, x = 6_000_000.0 - 1000.0 * np.arange(20), 300_000.0 + 1000.0 * np.arange(60)
    plain = MapPlot("Rain", values, "mm", y, x, PURE, projected=True)
    draw_run(tmp_path / "a.png", "Run", [plain], [], [])
    draw_run(tmp_path / "b.png", "Run", [plain._replace(marks=[(320_000.0, 5_990_000.0)])], [], [])
    a, b = pixels(tmp_path / "a.png"), pixels(tmp_path / "b.png")
    coloured = np.abs(a - np.array(_colour(0.5))).max(axis=2) <= 2
    land = (coloured & (coloured.sum(axis=1) > 300)[:, None] & (coloured.sum(axis=0) > 100)).nonzero()  # not the bar of colours
    assert np.ptp(land[1]) / np.ptp(land[0]) == pytest.approx(3.0, rel=0.02)
    differing = np.argwhere((a != b).any(axis=2))
    assert 0 < len(differing) < 900
    across, down = (np.interp(np.mean(differing[:, i]), (land[i].min(), land[i].max()), (0, 1)) for i in (1, 0))
    assert (across, down) == (pytest.approx(20.5 / 60, abs=0.02), pytest.approx(10.5 / 20, abs=0.04))


@pytest.mark.parametrize(("rows", "columns"), [(1, 8), (8, 1)])
def test_a_single_row_is_as_high_as_its_columns_are_wide(tmp_path: Path, rows: int, columns: int) -> None:
    y, x = 6_000_000.0 - 1000.0 * np.arange(rows), 300_000.0 + 1000.0 * np.arange(columns)
    draw_run(tmp_path / "a.png", "Run", [MapPlot("Rain", np.full((rows, columns), 0.5), "mm", y, x, PURE, projected=True)], [], [])
    coloured = np.abs(pixels(tmp_path / "a.png") - np.array(_colour(0.5))).max(axis=2) <= 2
    counts = (coloured.sum(axis=axis) for axis in (0, 1))
    down, across = (np.median(count[count > 25]) for count in counts)  # more than the bar of colours has
    assert across / down == pytest.approx(columns / rows, rel=0.1)


def test_a_run_without_values_is_drawn_too(tmp_path: Path) -> None:
    empty = LinePlot("Growth", [date(1990, 1, 1), date(1990, 1, 2)], np.full(2, np.nan), "mm")
    draw_run(tmp_path / "a.png", "Run", [queensland(np.nan)], [empty], [])
    assert pixels(tmp_path / "a.png").size


@pytest.mark.parametrize(
    ("moment", "wanted"),
    [
        (date(1996, 2, 29), "1996-02-29"),
        (np.datetime64("1996-02-29"), "1996-02-29"),
        (cftime.datetime(1996, 2, 29), "1996-02-29"),
        (cftime.datetime(1996, 2, 29, 1, 40, 30), "1996-02-29T01:40:30"),
        (cftime.datetime(1995, 3, 1, calendar="noleap"), "1995-03-01"),
        (cftime.datetime(1995, 7, 1, calendar="360_day"), "1995-07-02T12"),
    ],
)
def test_a_date_of_any_calendar_keeps_its_part_of_the_year(moment: Any, wanted: str) -> None:
    assert _moment(moment) == np.datetime64(wanted)


@pytest.mark.parametrize(
    ("units", "printed"),
    [("kg ha-1 d-1", "kg ha⁻¹ d⁻¹"), ("m2", "m²"), ("degC", "°C"), ("1", ""), ("10 mm", "10 mm"), ("J kg-1 degC-1", "J kg⁻¹ °C⁻¹")],
)
def test_units_are_printed_with_raised_exponents(units: str, printed: str) -> None:
    assert _readable(units) == printed


@pytest.mark.parametrize(("units", "least"), [("K", 280.0), ("degC", 280.0), ("mm", 0.0)])
def test_lines_begin_at_0_but_those_of_temperatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, units: str, least: float) -> None:
    from matplotlib.figure import Figure

    ends = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: ends.append(figure.axes[0].get_ylim()[0]))
    dates = [date(1990, 1, 1) + timedelta(days=i) for i in range(20)]
    draw_run(tmp_path / "a.png", "Run", [], [LinePlot("Warmth", dates, np.linspace(281.0, 291.0, 20), units)], [])
    assert ends == [pytest.approx(least, abs=1.0)]


def test_series_in_a_calendar_of_360_days_are_drawn(tmp_path: Path) -> None:
    draw_run(tmp_path / "a.png", "Run", [], [line(start=cftime.datetime(1990, 1, 30, calendar="360_day"))], [])
    assert pixels(tmp_path / "a.png").size


def test_importing_the_view_does_not_import_matplotlib() -> None:
    code = "import sys, steppe.view; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("count", "named"), [(3, True), (20, False)])
def test_scenarios_are_lines_with_their_median_and_band(tmp_path: Path, count: int, named: bool) -> None:
    dates = [date(1990, 1, 1) + timedelta(days=10 * i) for i in range(50)]
    values = np.linspace(1.0, 2.0, count)[:, None] * (np.sin(np.arange(50.0)) + 2.0)
    values[0, 30:] = np.nan
    draw_run(tmp_path / "a.png", "Ensemble", [], [ScenarioBand("Growth", dates, values, "kg", [f"s{i}" for i in range(count)])], [])
    picture = pixels(tmp_path / "a.png")
    assert share(picture, (0x1F, 0x5F, 0x8B)) > 1e-3  # the median
    assert share(picture, (0xD2, 0xDF, 0xE8)) > 1e-2  # the band: a fifth of that colour on white
    assert (share(picture, (0xC2, 0x62, 0x2D)) > 1e-4) == named  # the first scenario has a colour of its own
    assert (share(picture, (0xB8, 0xC0, 0xC6)) > 5e-3) != named  # all scenarios have one


def test_quantiles_are_of_the_scenarios_that_have_a_value() -> None:
    values = np.array([[0.0, 1.0, np.nan], [10.0, np.nan, np.nan], [20.0, 3.0, np.nan]])
    np.testing.assert_allclose(quantiles(values), [[2.0, 1.2, np.nan], [10.0, 2.0, np.nan], [18.0, 2.8, np.nan]])


def test_a_place_on_the_equator_or_the_first_meridian_has_no_side():
    assert [degrees(value, "N", "S") for value in (-22.5, 0.0, 22.0)] == ["22.5°S", "0°", "22°N"]
