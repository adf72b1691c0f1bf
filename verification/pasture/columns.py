"""The columns of the reference runs under the names of the model, and how far a run lies from them."""

from collections.abc import Mapping, Sequence

import numpy as np

from steppe.models.pasture import Diagnostics, State
from verification.pasture.cases import Case, by_year, table

STATE = {
    "sw1": "soil_water_1",
    "sw2": "soil_water_2",
    "sw3": "soil_water_3",
    "sw4": "soil_water_4",
    "green_leaf": "green_leaf",
    "green_stem": "green_stem",
    "dead_leaf": "dead_leaf",
    "dead_stem": "dead_stem",
    "litter": "litter",
    "basal_area": "grass_basal_area",
    "n_trans": "nitrogen_transpiration",
    "n_growth": "nitrogen_growth",
    "height": "sward_height",
    "cum_eos": "litter_dryness",
    "et_summer": "summer_evapotranspiration",
    "ba_last": "last_basal_area",
    "eaten_acc": "grazing_eaten",
    "growth_acc": "grazing_growth",
}
DIAGNOSTIC = {
    "rain": "rainfall",
    "runoff": "runoff",
    "infil": "infiltration",
    "drain": "deep_drainage",
    "eos": "potential_soil_evaporation",
    "es1": "soil_evaporation_1",
    "es2": "soil_evaporation_2",
    "es": "soil_evaporation",
    "tree": "tree_transpiration",
    "tpot": "potential_transpiration",
    "trans": "transpiration",
    "up1": "transpiration_1",
    "up2": "transpiration_2",
    "up3": "transpiration_3",
    "up4": "transpiration_4",
    "swi1": "water_supply_1",
    "swi2": "water_supply_2",
    "swi3": "water_supply_3",
    "swi": "soil_water_index",
    "gcov": "green_cover",
    "sward_cov": "sward_cover",
    "lit_cov": "litter_cover",
    "run_cov": "runoff_cover",
    "vpd": "vapour_pressure_deficit",
    "te": "water_use_efficiency",
    "t_idx": "temperature_index",
    "r_idx": "radiation_index",
    "n_idx": "nitrogen_index",
    "n_uptake": "nitrogen_uptake",
    "n_pct": "nitrogen_share",
    "g_trans": "growth_by_transpiration",
    "g_photo": "growth_by_radiation",
    "g_regrow": "growth_by_regrowth",
    "growth": "growth",
    "death": "death",
    "k_frost": "frost",
    "detach": "detachment",
    "decomp": "decomposition",
    "stock_eaten": "stock_consumption",
    "roo_eaten": "kangaroo_consumption",
    "trampled": "trampled",
    "burnt": "burnt",
    "burnt_litter": "burnt_litter",
}
ERRORS = {"err_water": "water_error", "err_sward": "sward_error", "err_litter": "litter_error"}  # round-off: not compared
assert set(STATE.values()) == set(State._fields)
assert set(DIAGNOSTIC.values()) | set(ERRORS.values()) <= set(Diagnostics._fields)

Values = Mapping[str, np.ndarray]  # state or diagnostic -> (days,)


def by_field(found: Sequence[tuple[State, Diagnostics]]) -> Values:
    """Values (days,) of each state and diagnostic."""
    states, diagnostics = zip(*found, strict=True)
    columns = (*zip(*states, strict=True), *zip(*diagnostics, strict=True))
    return {field: np.array(values) for field, values in zip((*State._fields, *Diagnostics._fields), columns, strict=True)}


def worst_of_days(case: Case, found: Values, relative: float) -> tuple[int, float, str]:
    """(days compared, largest difference, its column) of a run from the daily file, in parts of `relative` and 1e-6."""
    reference = table(f"reference/{case.file}.csv.gz")
    days = len(reference["date"])
    parts = {
        column: np.max(_part(found[field][:days], np.array(reference[column], float), relative))
        for column, field in {**STATE, **DIAGNOSTIC}.items()
    }
    where = max(parts, key=parts.__getitem__)
    return days, float(parts[where]), where


def worst_of_years(name: str, dates: np.ndarray, found: Values, relative: float) -> tuple[int, float, str]:
    """(years compared, largest difference, its column and year) of a run's sums and pools at each year's end from `yearly.csv`."""
    yearly = table("reference/yearly.csv")
    rows = [row for row, case in enumerate(yearly["case"]) if case == name]
    expected = {column: np.array([float(values[row]) for row in rows]) for column, values in yearly.items() if column != "case"}
    lengths = by_year(dates, np.ones(len(dates)))
    assert lengths == dict(zip(expected.pop("year"), expected.pop("days"), strict=True))
    ends = np.flatnonzero(np.diff(dates.astype("datetime64[Y]").astype(int), append=0))
    worst, where = 0.0, ""
    for column, values in expected.items():
        if column.startswith("end_"):
            ours = found[STATE[column.removeprefix("end_")]][ends]
        else:
            ours = np.array(list(by_year(dates, found[DIAGNOSTIC[column]]).values()))
        parts = _part(ours, values, relative)
        if parts.max() > worst:
            worst, where = float(parts.max()), f"{column} of {list(lengths)[int(parts.argmax())]}"
    return len(rows), worst, where


def _part(ours: np.ndarray, expected: np.ndarray, relative: float) -> np.ndarray:
    """Differences in parts of what they may be; not a number counts as infinitely far."""
    return np.nan_to_num(np.abs(ours - expected), nan=np.inf) / (1e-6 + relative * np.abs(expected))
