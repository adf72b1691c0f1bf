"""A field of single precision that spreads: so many cells as one likes, and no weather."""

from collections.abc import Mapping

from examples.diffusion import Diffusion

from steppe.models import Role, Variable


class Field(Diffusion):
    """`Diffusion` in float32."""

    name = "field"
    variables: Mapping[str, Variable] = {
        "concentration": Variable("concentration", ("y", "x"), "kg m-3", "float32", Role.STATE, "concentration", low=0.0, initial=1.0),
        "rate": Diffusion.variables["rate"],
    }


MODEL = Field
