"""A model with neighbours, of a class that has only what every model must have: heat that spreads, and comes in by the rows."""

import numpy as np

from steppe.models import Needs, Role, Variable, record_step

YX = ("y", "x")


class Heat:
    name, version = "heat", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables = {  # noqa: RUF012
        "heat": Variable("heat", YX, "J", "float64", Role.STATE, "Heat", initial=1.0),
        "gain": Variable("gain", YX, "J", "float64", Role.DIAGNOSTIC, "Heat that came in"),
        "share": Variable("share", YX, "1", "float64", Role.PARAMETER, "Share to a neighbour", low=0.0, high=0.25, initial=0.1),
    }

    def initialise(self, share, parameters, state, options, reach):
        self.box, self.reach, self.now = share, reach, np.zeros(share.local)
        self.now[share.own] = (state or {}).get("heat", 1.0)
        self.share = share.unpack(np.broadcast_to(parameters["share"], share.n_cells))
        self.gain = np.broadcast_to(0.1 * (share.origin[0] + np.arange(share.shape[0]))[:, None], share.shape)

    @property
    def state(self):
        return {"heat": self.now[self.box.own]}

    def advance(self, steps, inputs, clock, recorder):
        for step in steps:
            self.reach.exchange([self.now]).finish()
            for mirror in self.box.mirrors:
                self.now[mirror.target] = self.now[mirror.source]
            heat, q = self.now[1:-1, 1:-1], self.now
            heat += self.share * ((q[:-2, 1:-1] - heat) + (q[2:, 1:-1] - heat) + ((q[1:-1, :-2] - heat) + (q[1:-1, 2:] - heat))) + self.gain
            record_step(recorder, step, self.box, {"heat": heat, "gain": self.gain}.__getitem__)


MODEL = Heat
