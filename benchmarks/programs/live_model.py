"""A field whose values say when they were made, so that who sees them knows how old they are; so many cells as one likes, no weather."""

import time
from collections.abc import Mapping

from steppe.models import FieldModel, Needs, Role, Variable

ROUND = 60_000  # [0.1 ms] after which it begins anew; 16 bits tell each


def moment() -> int:
    """The time now."""
    return time.monotonic_ns() // 100_000 % ROUND


class Moment(FieldModel):
    """The clock that all processes of a machine have, in every cell."""

    name = "moment"
    version = "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables: Mapping[str, Variable] = {
        "moment": Variable("moment", ("y", "x"), "0.1 ms", "float32", Role.STATE, "when the step was made", low=0.0, initial=0.0),
    }

    def compute(self, where: tuple[slice, ...]) -> None:
        """One step of a rectangle of the box."""
        self.new[0, where[0], where[1]] = moment()


MODEL = Moment
