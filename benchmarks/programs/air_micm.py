"""Chemistry of many cells by MICM (musica), with rates that are given for each cell: `python air_micm.py cases.npz found.npz`.

Runs in the peers' environment. cases.npz holds the equations as JSON, concentrations c (species, cells) and rates k (processes, cells) in
molecule, cm3 and s, and what is asked: seconds, rtol, atol, first (step), group (cells of one state), rounds. Prints JSON: CPU seconds of
each round, and the mean number of steps; found.npz holds the concentrations. MICM does not convert amounts, so that molecules do as well.
"""

# mypy: disable-error-code="import-not-found"
# The library is in an environment that mypy does not see.

import json
import sys
import time

import musica
import musica.mechanism_configuration as mc
import numpy as np
from musica.micm.solver_parameters import RosenbrockSolverParameters


def made(species: list[str], equations: list[tuple[list[int], list[tuple[int, float]]]]) -> mc.Mechanism:
    """Every process as one whose rate is given, r0, r1, ..."""
    every = [mc.Species(name=name) for name in species]
    gas = mc.Phase(name="gas", species=every)
    reactions = [
        mc.UserDefined(
            name=f"r{n}",
            gas_phase=gas,
            reactants=[every[i] for i in reactants],
            products=[(every[i], share) for i, share in products],
        )
        for n, (reactants, products) in enumerate(equations)
    ]
    return mc.Mechanism(name="given", species=every, phases=[gas], reactions=reactions)


def main(cases: str, found: str) -> None:
    case = np.load(cases)
    told = json.loads(str(case["told"]))
    species, c, k = told["species"], case["c"], case["k"]
    mechanism = made(species, told["equations"])
    cells, group = c.shape[1], told["group"]
    solver = musica.MICM(mechanism=mechanism, solver_type=musica.SolverType.rosenbrock)
    order = None
    result, times, steps = np.empty_like(c), [], []
    parameters = {
        "relative_tolerance": told["rtol"],
        "absolute_tolerances": [told["atol"]] * len(species),
        "h_start": told["first"],
    }
    solver.set_solver_parameters(RosenbrockSolverParameters(**parameters))  # before a state is made: it takes the tolerances
    states = []
    for at in range(0, cells, group):
        here = slice(at, min(at + group, cells))
        state = solver.create_state(here.stop - here.start)
        state.set_conditions(np.full(here.stop - here.start, 298.0), np.full(here.stop - here.start, 101_325.0))
        state.set_user_defined_rate_parameters({f"USER.r{n}": k[n, here] for n in range(len(k))})
        states.append((here, state))
    for _ in range(told["rounds"]):
        spent, n_steps = 0.0, 0
        for here, state in states:
            state.set_concentrations({name: c[i, here] for i, name in enumerate(species)})
            begun, left = time.thread_time(), told["seconds"]
            while left > 0.0:
                answer = solver.solve(state, time_step=left)
                n_steps += (answer.stats.accepted + answer.stats.rejected) * (here.stop - here.start)
                if answer.stats.final_time <= 0.0:
                    raise SystemExit(f"MICM cannot go on: {answer.state}")
                left -= answer.stats.final_time
            spent += time.thread_time() - begun
            values = state.get_concentrations()
            order = order or list(values)
            for i, name in enumerate(species):
                result[i, here] = values[name]
        times.append(spent)
        steps.append(n_steps / cells)
    np.savez(found, c=result)
    print(json.dumps({"seconds": times, "steps": steps[-1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
