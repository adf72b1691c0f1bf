"""The palettes of pictures and of the page, as eyes without one of the three kinds of cones see them."""

import re
from pathlib import Path

import numpy as np
import pytest
from cmcrameri import cm
from numpy.typing import NDArray

from steppe.view.colour import _MAPS, CLASSES, DIFFERENCE, PLAIN, SHADES

ROOT = Path(__file__).parents[2]
ON_THE_PAGE = set(re.findall(r"^  (\w+): \"", (ROOT / "web/src/draw/palettes.ts").read_text(), re.MULTILINE))
PALETTES = sorted({DIFFERENCE, PLAIN, *(name for _, name in _MAPS), *ON_THE_PAGE})
LEVELS = 9  # of a legend, with its ends
APART = 3.0  # [CIE 1976 difference] an eye tells areas that touch apart from 2.3 on
TWO_SIDED, CYCLIC = {"vik", "vik_r", "cork", "berlin"}, {"romaO"}

# Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113, table 1, severity 1.0: of red, green, blue in linear light
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])


def seen(name: str, eye: str) -> NDArray[np.float64]:
    """Lightness, a and b of CIE 1976 of the levels of a palette, (level, 3)."""
    return by_eye(getattr(cm, name)(np.linspace(0.0, 1.0, LEVELS))[:, :3], eye)


def by_eye(colours: NDArray[np.float64], eye: str) -> NDArray[np.float64]:
    """The same of colours from 0 to 1."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(BLIND[eye]).T, 0.0, 1.0)
    ratio = linear @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("eye", BLIND)
@pytest.mark.parametrize("name", PALETTES)
def test_neighbouring_levels_of_a_palette_stay_apart_without_a_kind_of_cones(name: str, eye: str) -> None:
    steps = np.linalg.norm(np.diff(seen(name, eye), axis=0), axis=1)
    assert steps.min() >= APART


@pytest.mark.parametrize("eye", BLIND)
@pytest.mark.parametrize(("classes", "apart"), [(16, 20.0), (48, 10.0)])
def test_classes_are_told_apart(eye: str, classes: int, apart: float) -> None:
    lab = by_eye(SHADES[:classes], eye)
    between = np.linalg.norm(lab[:, None] - lab, axis=2)
    assert between[~np.eye(classes, dtype=bool)].min() >= apart


def test_the_page_and_pictures_have_the_same_colours_of_classes() -> None:
    assert f'CLASSES =\n  "{CLASSES}";' in (ROOT / "web/src/draw/palettes.ts").read_text()


@pytest.mark.parametrize("eye", BLIND)
@pytest.mark.parametrize("name", [name for name in PALETTES if name not in TWO_SIDED | CYCLIC])
def test_a_palette_of_amounts_grows_lighter_or_darker_all_the_way(name: str, eye: str) -> None:
    rising = np.diff(seen(name, eye)[:, 0])
    assert (rising > 0).all() or (rising < 0).all()


@pytest.mark.parametrize("eye", BLIND)
@pytest.mark.parametrize("name", sorted(TWO_SIDED))
def test_the_sides_of_a_palette_of_differences_are_told_apart(name: str, eye: str) -> None:
    levels = seen(name, eye)
    assert np.linalg.norm(levels[:4] - levels[:4:-1], axis=1)[:3].min() >= 2 * APART


def test_the_simulation_takes_red_for_green() -> None:
    red, green = np.array([0.6, 0.35, 0.1]), np.array([0.4, 0.44, 0.1])  # a pair on a line of confusion, in linear light
    matrix = np.array(BLIND["deuteranopia"])
    assert np.abs(matrix @ red - matrix @ green).max() < 0.3 * np.abs(red - green).max()


def test_every_palette_that_the_page_offers_is_looked_at() -> None:
    assert {"batlow", "bamako_r", "vik_r", "romaO"} <= ON_THE_PAGE <= set(PALETTES)
