"""The chemistry of one cell in plain NumPy: speeds, changes and their derivatives, straight from the equations."""

import numpy as np


def change(equations, k, y):
    """dy/dt (species,) at rates k (processes,)."""
    found = np.zeros(len(y))
    for rate, (reactants, products) in zip(k, equations, strict=True):
        _add(found, rate * np.prod(y[list(reactants)]), reactants, products)
    return found


def jacobian(equations, k, y):
    """Its derivative, (species, species)."""
    found = np.zeros((len(y), len(y)))
    for rate, (reactants, products) in zip(k, equations, strict=True):
        for place, column in enumerate(reactants):
            others = [i for other, i in enumerate(reactants) if other != place]
            _add(found[:, column], rate * np.prod(y[others]), reactants, products)
    return found


def _add(to, speed, reactants, products):
    for i in reactants:
        to[i] -= speed
    for i, share in products:
        to[i] += share * speed
