"""A mechanism that comes with MUSICA, run by MICM for an hour under the conditions beside it: `python air_micm_file.py ts4/ts4`.

Runs in the peers' environment. Prints JSON: the paths of both files, and the concentrations [mol m-3] at two tolerances.
"""

# mypy: disable-error-code="import-not-found"
# The library is in an environment that mypy does not see.

import csv
import json
import sys
from pathlib import Path

import musica
from musica.mechanism_configuration import parse
from musica.micm.solver_parameters import RosenbrockSolverParameters

SECONDS = 3600.0
SURFACE = ("effective radius [m]", "particle number concentration [# m-3]")


def hour(mechanism: Path, conditions: Path, rtol: float, atol: float) -> dict[str, float]:
    solver = musica.MICM(mechanism=parse(str(mechanism)), solver_type=musica.SolverType.rosenbrock_standard_order)
    species = len(json.loads(mechanism.read_text())["species"])
    tolerances = {"relative_tolerance": rtol, "absolute_tolerances": [atol] * species, "max_number_of_steps": 10_000_000}
    solver.set_solver_parameters(RosenbrockSolverParameters(**tolerances))
    state = solver.create_state(1)
    begun, given, air = {}, {}, {}
    with conditions.open() as file:
        for name, *numbers in csv.reader(file):
            kind, _, rest = name.partition(".")
            if kind == "CONC":
                begun[rest] = float(numbers[0])
            elif kind == "ENV":
                air[rest] = float(numbers[0])
            elif kind == "SURF":
                given |= {f"{name}.{key}": float(number) for key, number in zip(SURFACE, numbers, strict=True)}
            else:
                given[name] = float(numbers[0])
    state.set_conditions(air["temperature"], air["pressure"])
    state.set_concentrations(begun)
    state.set_user_defined_rate_parameters(given)
    left = SECONDS
    while left > 0.0:
        answer = solver.solve(state, time_step=left)
        if answer.stats.final_time <= 0.0:
            raise SystemExit(f"MICM cannot go on: {answer.state}")
        left -= answer.stats.final_time
    return {name: values[0] for name, values in state.get_concentrations().items()}


def main(name: str) -> None:
    mechanism = Path(musica.__file__).parent / "configs" / "v1" / f"{name}.json"
    conditions = mechanism.with_name("initial_conditions.csv")
    found = {text: hour(mechanism, conditions, rtol, 1e-20) for text, rtol in (("tight", 1e-8), ("usual", 1e-6))}
    print(json.dumps({"mechanism": str(mechanism), "conditions": str(conditions), **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
