"""The weather generator: its random numbers, its fields, its rain, its climate. `verification/generator` holds it to station records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.grid import builtin_grid
from steppe.ingest.generator import Generator, is_extrapolated
from steppe.ingest.generator.amount import rain_of, threshold_and_scale
from steppe.ingest.generator.climate import distance_from_coast, read_surfaces
from steppe.ingest.generator.lattice import Lattice, Patch, philox

PLACES = np.array([[-25.9, 139.35], [-23.44, 144.25], [-27.4, 152.6], [-17.5, 146.0]])  # Birdsville, Longreach, Brisbane, Innisfail
YEAR = 2.0 * np.pi * (np.arange(365) + 0.5) / 365.0


def words(*numbers: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array([number], dtype=np.uint64) for number in numbers)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0x299F31D0_A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_random_words_are_those_of_the_published_test_vectors(counter, key, expected):
    assert tuple(int(word[0]) for word in philox(words(*counter), key)) == expected


@settings(max_examples=25, deadline=None)
@given(
    cells=st.lists(st.integers(0, 59), min_size=1, max_size=8),
    first=st.integers(0, 40),
    count=st.integers(1, 12),
)
def test_a_cell_has_the_same_bits_in_any_set_of_cells_and_days(cells, first, count):
    few = Generator(LATITUDE[cells], LONGITUDE[cells], seed=7).weather(51_100 + first, count)
    for name, values in few.items():
        np.testing.assert_array_equal(values, WHOLE[name][first : first + count, cells])


# a raster's corner and scattered places, over the turn of a year
LATITUDE = np.concatenate([np.repeat(-20.05 - 0.1 * np.arange(5), 10), -12.3 - 2.7 * np.arange(10)])
LONGITUDE = np.concatenate([np.tile(144.05 + 0.1 * np.arange(10), 5), 153.0 - 3.9 * np.arange(10)])
WHOLE = Generator(LATITUDE, LONGITUDE, seed=7).weather(51_100, 52)


def test_another_seed_is_another_weather():
    one, two = (Generator(*PLACES.T, seed=seed).weather(0, 365)["tmax"] for seed in (1, 2))
    assert np.abs(one - two).mean() > 1.0


def test_any_seed_of_64_bits_will_do():
    for seed in (-1, 0, 2**64 - 1, 2**70):
        assert np.isfinite(Generator(*PLACES.T, seed=seed).weather(0, 1)["rain"]).all()


@pytest.mark.parametrize("spacing", [25.0, 650.0])
def test_a_field_has_variance_one_everywhere_and_the_stated_correlation(spacing):
    north = np.full(8, -25.03) + np.linspace(0.0, 1.0, 8) * spacing / 111.1
    patch = Patch(Lattice(spacing, stream=9), north, np.full(8, 179.9))
    field = patch.spread(patch.noise(0, 20_000, seed=3)[0])
    np.testing.assert_allclose(field.std(axis=0), 1.0, atol=0.03)
    np.testing.assert_allclose(np.corrcoef(field.T)[0], np.exp(-0.75 * np.linspace(0.0, 1.0, 8) ** 2), atol=0.08)


def test_a_field_has_no_seam_where_the_day_changes_nor_at_the_pole():
    across = Patch(Lattice(100.0, stream=9), np.array([10.0, 10.0, 90.0]), np.array([179.999, -179.999, 20.0]))
    field = across.spread(across.noise(0, 500, seed=3)[0])
    assert np.corrcoef(field.T)[0, 1] > 0.999
    assert field.std(axis=0) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("wet_share", [0.03, 0.15, 0.45])
@pytest.mark.parametrize("per_wet_day", [6.0, 12.0, 25.0])
def test_rain_has_the_mean_and_the_wet_days_that_were_asked_for(wet_share, per_wet_day):
    from scipy.special import ndtri

    z = ndtri((np.arange(400_000) + 0.5) / 400_000)
    threshold, scale = threshold_and_scale(np.array(-ndtri(wet_share)), np.array(np.log(wet_share * per_wet_day)))
    rain = rain_of(z - threshold, scale)
    assert rain.mean() == pytest.approx(wet_share * per_wet_day, rel=0.01)
    assert (rain >= 1.0).mean() == pytest.approx(wet_share, rel=0.02)


def test_the_climate_runs_from_desert_to_wet_tropics():
    rain = np.exp(read_surfaces(*PLACES.T, YEAR).rain).sum(axis=0)
    birdsville, longreach, brisbane, innisfail = rain
    assert 130.0 < birdsville < 230.0
    assert 350.0 < longreach < 500.0
    assert 900.0 < brisbane < 1500.0
    assert innisfail > 2000.0
    grid = builtin_grid("queensland")
    surfaces = read_surfaces(grid.cell_lat, grid.cell_lon, YEAR[::30])
    assert 560.0 < 365.0 * np.exp(surfaces.rain).mean() < 700.0
    assert (surfaces.tmax - surfaces.tmin).min() > 3.0


def test_places_without_normals_have_a_possible_climate():
    anywhere = np.array([[-23.7, 133.9], [-12.4, 130.9], [-42.9, 147.3], [-22.0, 118.0], [51.5, 0.0], [78.2, 15.6]])
    rain, tmax, tmin, vp, clearness = read_surfaces(*anywhere.T, YEAR)
    annual = np.exp(rain).sum(axis=0)
    assert 100.0 < annual[0] < 600.0  # Alice Springs, 280 mm
    assert 900.0 < annual[1] < 2500.0  # Darwin, 1,700 mm
    assert (annual > 100.0).all()
    assert (annual < 3000.0).all()
    assert ((tmax > 5.0) & (tmax < 45.0)).all()
    assert ((tmin < tmax) & (tmin > -8.0)).all()
    assert ((clearness > 0.3) & (clearness < 0.75)).all()
    assert ((np.exp(vp) > 3.0) & (np.exp(vp) < 40.0)).all()


def test_what_is_extrapolated_is_known():
    assert is_extrapolated(*PLACES.T).tolist() == [False] * 4
    assert is_extrapolated(np.array([-23.7, -18.0]), np.array([128.0, 122.2])).all()  # west of Alice Springs, Broome


def test_summer_is_on_the_right_side_of_the_equator():
    tmax = read_surfaces(np.array([-20.0, 20.0]), np.array([145.0, 145.0]), YEAR).tmax
    january, july = tmax[14], tmax[195]
    assert january[0] > july[0]
    assert january[1] < july[1]


def test_the_coast_is_where_it_is():
    longreach, alice, noosa, hobart = distance_from_coast(np.array([-23.44, -23.7, -26.4, -42.9]), np.array([144.25, 133.9, 153.1, 147.3]))
    assert longreach == pytest.approx(500.0, abs=80.0)
    assert alice > 850.0
    assert noosa < 25.0
    assert hobart < 60.0


def test_wet_days_are_dull_humid_and_cool_by_day():
    weather = Generator(*PLACES[1:2].T, seed=5).weather(50_000, 3652)
    summer = np.isin(np.arange(50_000, 53_652) % 365, np.arange(0, 120))
    rain, tmax, tmin, radiation, vp = (weather[name][summer, 0] for name in ("rain", "tmax", "tmin", "radiation", "vp"))
    wet = rain >= 1.0
    assert tmax[wet].mean() < tmax[~wet].mean() - 1.0
    assert radiation[wet].mean() < radiation[~wet].mean() - 2.0
    assert vp[wet].mean() > vp[~wet].mean() + 1.0
    assert (tmax - tmin >= 1.0 - 1e-9).all()
