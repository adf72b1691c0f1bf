"""The pasture's scalar step with the C library's functions in place of Steppe's own: what compiled runs are held to."""

import dis
import math
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from steppe.kernels import vecmath
from steppe.models import pasture
from steppe.variable import Role, declared, initial_values

LIBRARY = {
    vecmath.exp: math.exp,
    vecmath.log: math.log,
    vecmath.power: math.pow,
    vecmath.sin_near: math.sin,
    vecmath.sqrt: math.sqrt,
}
DEFAULTS = initial_values(declared(pasture.Parameters, Role.PARAMETER))


def with_functions(function: Any, others: dict[Any, Any]) -> Any:
    """A copy of `function`, and of every function it names, that sees other functions where `others` has one."""
    done = dict(others)

    def visit(f: Any) -> Any:
        if f not in done:
            names = {line.argval for line in dis.get_instructions(f) if line.opname == "LOAD_GLOBAL"}
            copies = {name: visit(f.__globals__[name]) for name in names if isinstance(f.__globals__.get(name), FunctionType)}
            done[f] = FunctionType(f.__code__, {**f.__globals__, **copies}, f.__name__)
        return done[f]

    return visit(function)


step = with_functions(pasture.step, LIBRARY)


def parameters(plant: str = "native", soil: str = "narayen-ref", **others: float) -> pasture.Parameters:
    """Declared defaults, then the sets, then `others`."""
    kinds = pasture.sets()
    return pasture.Parameters(**{**DEFAULTS, **kinds["plant"][plant], **kinds["soil"][soil], **others})


def constants(p: pasture.Parameters, o: pasture.Options) -> pasture.Derived:
    """What follows from the parameters, as Python floats."""
    return pasture.Derived(*map(float, pasture.derive(p, o)))


def fresh(p: pasture.Parameters, **others: float) -> pasture.State:
    """The state that a run starts from."""
    own = {name: float(value) for name, value in pasture.start(p, constants(p, pasture.Options())).items()}
    return pasture.State(**{**initial_values(declared(pasture.State, Role.STATE)), **own, **others})


def run(
    state: pasture.State,
    days: Iterable[tuple[pasture.Forcing, pasture.Today]],
    p: pasture.Parameters,
    o: pasture.Options = pasture.Options(),  # noqa: B008  a constant
    evening: Callable[[int, pasture.State], pasture.State] = lambda day, state: state,
) -> list[tuple[pasture.State, pasture.Diagnostics]]:
    """(state, diagnostics) of each day. evening: what is made of the state before day n, from 0."""
    d = constants(p, o)
    found = []
    for n, (f, t) in enumerate(days):
        state, diagnostics = step(evening(n, state), f, p, d, t, o)
        found.append((state, diagnostics))
    return found
