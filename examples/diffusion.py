"""Diffusion on a box: the smallest model with neighbours, and a pattern for larger ones.

    c_new = c + rate (c_north + c_south + c_west + c_east - 4 c)

Forward in time, centred in space; nothing flows through a wall, so the total of c is kept. The Laplacian's sine modes decay by
1 - 4 rate (sin^2(ky/2) + sin^2(kx/2)) a step, and none grows for a rate up to 1/4 (Von Neumann's criterion).
"""

from collections.abc import Mapping

from steppe.models import FieldModel, Needs, Role, Variable


class Diffusion(FieldModel):
    """A concentration that spreads; it asks for boxes with a halo of one cell."""

    name = "diffusion"
    version = "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables: Mapping[str, Variable] = {
        "concentration": Variable("concentration", ("y", "x"), "kg m-3", "float64", Role.STATE, "concentration", low=0.0, initial=0.0),
        "rate": Variable("rate", (), "1", "float64", Role.PARAMETER, "share passed to a neighbour", low=0.0, high=0.25, initial=0.1),
    }

    def compute(self, where: tuple[slice, ...]) -> None:
        """One step of a rectangle of the box."""
        (y, x), (c,) = where, self.now
        north, south = c[y.start - 1 : y.stop - 1, x], c[y.start + 1 : y.stop + 1, x]
        west, east = c[y, x.start - 1 : x.stop - 1], c[y, x.start + 1 : x.stop + 1]
        self.new[0, y, x] = c[y, x] + self.parameters["rate"] * (((north + south) + (west + east)) - 4.0 * c[y, x])


MODEL = Diffusion
