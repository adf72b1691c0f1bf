import json

import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import read_formulas, rehearse
from steppe.measure.laws.formula import made_points


def test_formulas_give_seconds_and_bytes_a_second(tmp_path):
    path = tmp_path / "laws.json"
    first = {"PVM": {"t0": "169 + 146*log(p)", "r_inf": "1.05"}}
    laws = {"point_to_point": first, "collectives": {"MPI allgather": {"t0": "-p**2", "r_inf": None}}}
    path.write_text(json.dumps({"source": "a paper", **laws}))
    first, second = read_formulas(path)
    assert (first.environment, first.operation) == ("PVM", "point-to-point")
    assert (second.environment, second.operation, second.rate) == ("MPI", "allgather", None)
    p = np.array([2.0, 16.0])
    np.testing.assert_allclose(first.t0(p), (169 + 146 * np.log(p)) * 1e-6)
    np.testing.assert_allclose(first.rate(p), [1.05e6, 1.05e6])
    np.testing.assert_allclose(second.t0(p), -(p**2) * 1e-6)


@pytest.mark.parametrize(
    "text", ["__import__('os').getcwd()", "p +", "q * 2", "log(p, 2)", "p if p else 1", "'a'", "1/0", "10.0**1000", "(-8)**0.5"]
)
def test_what_is_no_formula_is_refused_and_not_run(tmp_path, text):
    path = tmp_path / "laws.json"
    path.write_text(json.dumps({"MPI barrier": {"t0": text, "r_inf": None}}))
    with pytest.raises(Mistake, match="is no formula in p"):
        read_formulas(path)


def test_a_law_may_stand_alone_and_be_a_number(tmp_path):
    path = tmp_path / "laws.json"
    path.write_text('{"t0": 10, "r_inf": "100*p"}')
    (only,) = read_formulas(path)
    assert only.title == ""
    np.testing.assert_allclose(only.t0(np.array([2.0])), [10e-6])
    path.write_text('{"a": {"t0": ["p"], "r_inf": null}}')
    with pytest.raises(Mistake, match=r"\['p'\] is not understood"):
        read_formulas(path)


@pytest.mark.parametrize("t0", ["p**p**p**p", "log(p - 2)", "1e-300"])
def test_a_law_that_has_no_time_at_some_p_is_rehearsed_at_the_others(tmp_path, t0):
    path = tmp_path / "laws.json"
    path.write_text(json.dumps({"a": {"t0": t0, "r_inf": None}}))
    (found,) = rehearse(read_formulas(path), 0.05, 0.05, 20, 1)
    assert found.fit is None or found.fit.points.ranks.tolist() == [4, 8, 12, 16]
    (again,) = rehearse(read_formulas(path), 0.05, 0.05, 20, 1, [4, 4, 8, 8])
    assert again.reason == "above zero at fewer than 3 of the p"


def test_a_file_without_laws_says_so(tmp_path):
    path = tmp_path / "laws.json"
    path.write_text('{"a": 1}')
    with pytest.raises(Mistake, match="holds no laws"):
        read_formulas(path)


def test_made_times_scatter_as_asked():
    one = np.array([1e-3])
    points = made_points(np.repeat(one, 400), np.arange(400.0), np.full(400, 2.0), 0.05, 0.0, 100, 3)
    assert np.std(points.t) == pytest.approx(1.2533 * 0.05e-3 / 10, rel=0.15)
    assert np.median(points.sigma) == pytest.approx(1.2533 * 0.05e-3 / 10, rel=0.1)
