"""The six variables of generated weather and those of the records: their months, their years, and how they go together on a day."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from verification.generator.compare import LEAST_DAYS, LEAST_YEARS, Made
from verification.generator.records import WET, Record, Values, departures, detrended, persistence, yearly

NAMES = ("rain", "tmax", "tmin", "radiation", "vp", "pan")
PAIRS = tuple(combinations(NAMES, 2))


def measures(records: list[Record], made: Made, name: str) -> dict[str, Values]:
    """Generated less recorded, by measure: monthly means (stations x 12,), sd of days and lag-1 (stations,). sd is relative."""
    found: dict[str, list[Values]] = {"monthly mean": [], "sd of days": [], "lag-1": []}
    for i, record in enumerate(records):
        seen, also = getattr(record, name), getattr(made, name)[:, i]
        known = ~np.isnan(seen)
        if known.sum() < LEAST_DAYS:
            continue
        found["monthly mean"].append(months(also, made.month) - months(seen[known], record.month[known]))
        found["sd of days"].append(
            departures(also, made.day_of_year).std() / departures(seen[known], record.day_of_year[known]).std() - 1.0
        )
        found["lag-1"].append(persistence(also, made.day_of_year) - persistence(seen[known], record.day_of_year[known]))
    return {what: np.hstack(values) for what, values in found.items()}


def months(values: Values, month: NDArray[np.int64]) -> Values:
    """The mean of each month (12,)."""
    return np.array([values[month == m].mean() for m in range(12)])


def spread_of_years(records: list[Record], made: Made, name: str) -> Values:
    """Standard deviation of annual means, generated over recorded (stations,): both without a straight line through the years."""
    ratios = []
    for i, record in enumerate(records):
        seen = detrended(*yearly(getattr(record, "filled" if name == "rain" else name), record.year))
        years = int((~np.isnan(seen)).sum())
        if years >= LEAST_YEARS:
            ratios.append(spread_made(getattr(made, name)[:, i], made.year) / np.sqrt(np.nansum(seen**2) / (years - 2)))
    return np.array(ratios)


def spread_made(values: Values, year: NDArray[np.int64]) -> float:
    """Standard deviation of annual means of days (days,): those that are generated have no trend."""
    return float(np.std(yearly(values, year)[1], ddof=1))


def together(records: list[Record], made: Made, wet: bool) -> dict[tuple[str, str], tuple[float, float]]:
    """Pair of variables -> correlation generated and recorded, mean of the stations, on wet days or on dry ones.

    All but rain count less their season. The root of rain counts; on dry days it is the rain of the day after (0 or 1: wet), as none fell.
    """
    found: dict[tuple[str, str], list[tuple[float, float]]] = {pair: [] for pair in PAIRS}
    for i, record in enumerate(records):
        seen = {name: getattr(record, name) for name in NAMES}
        known = ~np.isnan(list(seen.values())).any(axis=0)
        if known.sum() < LEAST_DAYS:
            continue
        also = correlations({name: getattr(made, name)[:, i] for name in NAMES}, made.day_of_year, wet)
        of_record = correlations({name: values[known] for name, values in seen.items()}, record.day_of_year[known], wet)
        for pair in PAIRS:
            found[pair].append((also[pair], of_record[pair]))
    return {pair: tuple(np.mean(values, axis=0)) for pair, values in found.items()}


def correlations(days: dict[str, Values], day_of_year: NDArray[np.int64], wet: bool) -> dict[tuple[str, str], float]:
    """Of each pair, over the wet days or the dry ones."""
    left = {name: departures(values, day_of_year)[:-1] for name, values in days.items() if name != "rain"}
    left["rain"] = np.sqrt(days["rain"][:-1]) if wet else (days["rain"][1:] >= WET).astype(float)
    chosen = (days["rain"][:-1] >= WET) == wet
    return {(one, two): float(np.corrcoef(left[one][chosen], left[two][chosen])[0, 1]) for one, two in PAIRS}
