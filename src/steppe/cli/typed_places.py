"""Places, boxes, ranges, sizes and names of pictures as they are typed on the command line."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from steppe.errors import Mistake

if TYPE_CHECKING:
    from steppe.grid import RegionLike
    from steppe.view import Size

LEAST, MOST = (320, 180), (7680, 4320)  # [pixel] of a film


def place_of(text: str) -> tuple[float, float]:
    """(longitude, latitude) of a text LAT,LON.

    Raises
    ------
    Mistake
        The text is no such place.
    """
    numbers = _numbers(text)
    if len(numbers) != 2 or not -90.0 <= numbers[0] <= 90.0 or not -180.0 <= numbers[1] <= 360.0:
        raise Mistake(f'--at "{text}" is no place. Give latitude before longitude in degrees, as -23.44,144.25.')
    return numbers[1], numbers[0]


def names_of(texts: list[str] | None) -> list[str] | None:
    """The names of texts of one or several, with commas between them; None where none is given."""
    return [name.strip() for text in texts for name in text.split(",")] if texts else None


def region_of(text: str | None) -> "RegionLike | None":
    """The region of a name, or of a text WEST,SOUTH,EAST,NORTH."""
    if text is None or "," not in text:
        return text
    return {"box": _numbers(text)}


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return []


def check_png(option: str, path: Path | None) -> None:
    """Checks the name of a picture.

    Raises
    ------
    Mistake
        It is not that of a PNG file, the only format of pictures.
    """
    if path is not None and path.suffix.lower() != ".png":
        raise Mistake(f'{option} "{path}" is no name of a PNG file. Give a name that ends in .png.')


def scale_of(text: str | None) -> tuple[float, float] | None:
    """The two ends of a text LOW,HIGH.

    Raises
    ------
    Mistake
        The text is no such range.
    """
    if text is None:
        return None
    numbers = _numbers(text)
    if len(numbers) != 2 or not 0.0 < numbers[1] - numbers[0] < math.inf:
        raise Mistake(f'--scale "{text}" is no range. Give two finite numbers, the lower before the upper, as 0,20.')
    return numbers[0], numbers[1]


def size_of(text: str | None) -> "Size":
    """The size of a text WIDTHxHEIGHT, in pixels.

    Raises
    ------
    Mistake
        The text is no such size.
    """
    from steppe.view import Size

    if text is None:
        return Size()
    numbers = [int(part) for part in text.lower().split("x") if part.isdecimal()]
    whole = len(numbers) == 2 and text.lower() == f"{numbers[0]}x{numbers[1]}" and not any(number % 2 for number in numbers)
    if not whole or not all(low <= number <= high for low, number, high in zip(LEAST, numbers, MOST, strict=True)):
        raise Mistake(f'--size "{text}" is no size of a film. Give even numbers of pixels from 320x180 to 7680x4320, as 1280x720.')
    return Size(numbers[0], numbers[1])
