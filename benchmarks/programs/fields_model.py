"""Species on levels, as many rows as air quality has, with a cheap kernel: a model for `benchmarks.suites.fields`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from steppe.grid import Box
from steppe.models import FieldModel, Needs, Reach, Role, Space, Variable

SPECIES, LEVELS, CELLS = [f"species_{number}" for number in range(66)], 32, 32  # cells of each axis


class Air(FieldModel):
    """Each cell becomes the mean of its four neighbours, on a torus."""

    name, version = "air", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1}, edges={"y": "periodic", "x": "periodic"})
    spaces: Mapping[str, Space] = {"level": Space(tuple(range(LEVELS)))}
    variables: Mapping[str, Variable] = {
        name: Variable(name, ("level", "y", "x"), "1", "float32", Role.STATE, f"amount of {name}", initial=1.0) for name in SPECIES
    }

    def initialise(
        self, share: Box, parameters: Mapping[str, Any], state: Mapping[str, Any] | None, options: Mapping[str, Any], reach: Reach
    ) -> None:
        """Begins with numbers that do not compress well."""
        super().initialise(share, parameters, state, options, reach)
        self.now[...] = np.random.default_rng(1).random(self.now.shape, np.float32)

    def compute(self, where: tuple[slice, ...]) -> None:
        """All rows at once."""
        y, x = where
        new = self.new[..., y, x]
        np.add(self.now[..., y.start - 1 : y.stop - 1, x], self.now[..., y.start + 1 : y.stop + 1, x], out=new)
        new += self.now[..., y, x.start - 1 : x.stop - 1]
        new += self.now[..., y, x.start + 1 : x.stop + 1]
        new *= np.float32(0.25)


MODEL = Air
