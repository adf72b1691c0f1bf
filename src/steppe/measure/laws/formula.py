"""Known laws as formulas in p, simulated measurements of them with noise, and the laws that the fits find: a test of the fits.

A file of laws is JSON: objects `{"t0": "41 + 42*p", "r_inf": "1.05"}`, t0 in microseconds, r_inf in MB/s, null where it is not known, under
their names, in groups or not. `p` is the number of ranks, `log` the natural logarithm.
"""

import ast
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steppe.array_types import Floats
from steppe.errors import Mistake
from steppe.measure.laws.law import FittedLaw
from steppe.measure.laws.operation import AGGREGATE, OperationFit, fit
from steppe.measure.laws.points import MB, US, SamplePoints, medians

OUTLIERS = (3.0, 10.0)  # times as long, uniformly distributed
SIZES = 2.0 ** np.arange(2, 17)  # [bytes] of Santos et al. (1997), section 4
RANKS = (2, 4, 8, 12, 16)
LEAST = 1e-30  # [s] and [bytes/s]: less is taken for zero
Function = Callable[[Floats], Floats]
Value = float | Floats
_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True)
class Formula:
    """A published law: t0 (p) [s], rate (p) [bytes/s]; None where it is not known."""

    environment: str
    operation: str
    t0: Function | None
    rate: Function | None

    @property
    def title(self) -> str:
        """Environment and operation."""
        return f"{self.environment} {self.operation}".strip()


def read_json(path: Path) -> object:
    """What a JSON file holds. Raises `Mistake` where it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))  # editors may write a byte order mark
    except (OSError, ValueError) as error:
        raise Mistake(f'"{path}" cannot be read as JSON: {getattr(error, "strerror", None) or error}.') from None


def read_formulas(path: Path) -> list[Formula]:
    """The laws of a JSON file.

    Raises
    ------
    Mistake
        The file cannot be read or has no laws, or a formula cannot be read.
    """
    found = [_formula(path, names, law) for names, law in _laws(read_json(path), [])]
    if not found:
        raise Mistake(f'"{path}" holds no laws: no object with "t0" and "r_inf".')
    return found


def _laws(held: object, names: list[str]) -> Iterator[tuple[list[str], dict[str, object]]]:
    if isinstance(held, dict):
        if {"t0", "r_inf"} <= set(held):
            yield names, held
            return
        for name, inner in held.items():
            yield from _laws(inner, [*names, name])


def _formula(path: Path, names: list[str], law: dict[str, object]) -> Formula:
    title, groups = " ".join(names[-1:]), " ".join(names[:-1]).replace("_", "-")
    operation = next((one for one in (*AGGREGATE, "barrier") if f" {title}".endswith(f" {one}")), "")
    environment = title.removesuffix(operation).strip()
    operation = operation or next((one for one in AGGREGATE if one in groups), "")
    t0, rate = (_function(path, title, law[key], unit) for key, unit in (("t0", US), ("r_inf", MB)))
    return Formula(environment, operation, t0, rate)


def _function(path: Path, title: str, text: object, unit: float) -> Function | None:
    if text is None:
        return None

    def function(p: Floats) -> Floats:
        with np.errstate(all="ignore"):  # what is no number above zero at some p is left out there
            return np.asarray(unit * _evaluate(tree, p), float) * np.ones_like(p)

    try:
        tree = ast.parse(str(text), mode="eval").body
        function(np.array([2.0]))
    except (SyntaxError, TypeError, ValueError, ArithmeticError) as error:
        why = error.args[-1] if isinstance(error, OverflowError) else error
        raise Mistake(f'"{path}", {title}: "{text}" is no formula in p: {why}. Write as 41 + 42*p**1.2 - 3*log(p).') from None
    return function


def _evaluate(tree: ast.expr, p: Floats) -> Value:
    match tree:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id="p"):
            return p
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_evaluate(left, p), _evaluate(right, p))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, p)
        case ast.Call(func=ast.Name(id="log"), args=[argument], keywords=[]):
            logarithm: Value = np.log(_evaluate(argument, p))
            return logarithm
    raise ValueError(f"{ast.unparse(tree)} is not understood")


def made_points(times: Floats, n: Floats, p: Floats, noise: float, outliers: float, repeats: int, seed: int) -> SamplePoints:
    """Points of simulated measurements: times (points,) [s] of sizes n on p ranks, `repeats` each.

    noise: standard deviation relative to the time; outliers: the share of times that are 3 to 10 times as long.
    """
    random = np.random.default_rng(seed)
    shape = (times.size, repeats)
    made = times[:, None] * np.maximum(1.0 + noise * random.standard_normal(shape), 0.01)
    made *= np.where(random.random(shape) < outliers, random.uniform(*OUTLIERS, shape), 1.0)
    return medians(np.repeat(n, repeats), np.repeat(p, repeats), made.reshape(-1))


@dataclass(frozen=True)
class Rehearsal:
    """A law, the fit of its simulated times, and the worst relative errors at the measured p, NaN where there are none."""

    formula: Formula
    fit: OperationFit | None
    t0_error: float = np.nan
    rate_error: float = np.nan
    reason: str = ""


def rehearse(
    formulas: Sequence[Formula], noise: float, outliers: float, repeats: int, seed: int, ranks: Sequence[int] = RANKS
) -> list[Rehearsal]:
    """The rehearsals of laws, each with its own seed, on those of the p where the law is above zero."""
    return [_one(formula, noise, outliers, repeats, seed + number, ranks) for number, formula in enumerate(formulas)]


def _one(formula: Formula, noise: float, outliers: float, repeats: int, seed: int, ranks: Sequence[int]) -> Rehearsal:
    if formula.t0 is None:
        return Rehearsal(formula, None, reason="t0 is not known")
    p = np.unique(np.array(ranks, float))
    for law in (formula.t0, formula.rate):
        if law is not None:
            p = p[(law(p) > LEAST) & (law(p) < np.inf)]
    if p.size < 3:
        return Rehearsal(formula, None, reason="above zero at fewer than 3 of the p")
    sizes = SIZES[:1] if formula.rate is None else SIZES
    each_p, each_n = (grid.reshape(-1) for grid in np.meshgrid(p, sizes, indexing="ij"))
    times = formula.t0(each_p) + (0.0 if formula.rate is None else each_n / formula.rate(each_p))
    points = made_points(times, each_n, each_p, noise, outliers, repeats, seed)
    found = fit(points, {"environment": formula.environment, "operation": formula.operation})
    t0, rate = found.pieces[0].t0, found.pieces[-1].rate
    return Rehearsal(formula, found, _furthest(t0, formula.t0, p), _furthest(rate, formula.rate, p))


def _furthest(law: FittedLaw | None, true: Function | None, p: Floats) -> float:
    return np.nan if law is None or true is None else float(np.abs(law.curve(p) / true(p) - 1.0).max())
