"""Choices by cost: which rank computes which cells, and which rank reads weather for which. No result depends on them."""

from steppe.costs.cell_costs import CostLattice, MoveCost, better_cuts, first_cuts, imbalance, measured_cost
from steppe.costs.spread_choice import RETIRED, SPREAD, SpreadFigures, SpreadPrediction, choose_spread, measure_spread, spread_forcing

__all__ = [
    "RETIRED",
    "SPREAD",
    "CostLattice",
    "MoveCost",
    "SpreadFigures",
    "SpreadPrediction",
    "better_cuts",
    "choose_spread",
    "first_cuts",
    "imbalance",
    "measure_spread",
    "measured_cost",
    "spread_forcing",
]
