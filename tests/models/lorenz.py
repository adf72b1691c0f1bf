"""A model without space, of a class that has only what every model must have: Lorenz (1963), J. Atmos. Sci. 20, equations 25 to 27."""

import numpy as np

from steppe.models import Role, Variable, record_step

SIGMA, RHO, BETA = 10.0, 28.0, 8.0 / 3.0  # [1] the constants of the paper


class Lorenz:
    name, version = "lorenz", "1"
    variables = {  # noqa: RUF012
        **{name: Variable(name, ("cell",), "1", "float64", Role.STATE, f"{name} of Lorenz", initial=1.0) for name in "xyz"},
        "speed": Variable("speed", ("cell",), "1", "float64", Role.DIAGNOSTIC, "How fast x changes"),
        "length": Variable("length", (), "1", "float64", Role.PARAMETER, "Length of a step", low=0.0, initial=0.01),
    }

    def initialise(self, share, parameters, state, options, reach):
        self.share, self.length = share, parameters["length"]
        self.state = {name: np.full(share.n_cells, (state or {}).get(name, 1.0)) for name in "xyz"}

    def advance(self, steps, inputs, clock, recorder):
        for step in steps:
            x, y, z = self.state.values()
            change = {"x": SIGMA * (y - x), "y": x * (RHO - z) - y, "z": x * y - BETA * z}
            self.state = {name: self.state[name] + self.length * change[name] for name in "xyz"}
            record_step(recorder, step, self.share, {**self.state, "speed": change["x"]}.__getitem__)


MODEL = Lorenz
