"""What the key of a kernel and the identity of a model depend on."""

import gc
import importlib.util
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from steppe.kernels import FieldKernel, fingerprint, tree_of
from steppe.kernels.source import in_memory
from steppe.kernels.vecmath import exp, sqrt


def part(x: float, times: int = 1) -> float:
    for _ in range(times):
        x = 0.5 * x
    return x


def divide(n: int, values: NDArray[np.float64]) -> None:
    for i in range(n):
        values[i] = part(values[i])


def test_another_default_of_a_helper_makes_another_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path))
    found = []
    for times in (1, 3):
        monkeypatch.setattr(part, "__defaults__", (times,))
        values = np.ones(1)
        FieldKernel(divide)(1, values)
        found.append(values[0])
    assert found == [0.5, 0.125]


class Least(IntEnum):
    CELLS = 1


def compare(n: int, values: NDArray[np.float64]) -> None:
    values[0] = 1.0 if n > Least.CELLS else 2.0


def test_another_member_of_an_enumeration_makes_another_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path))
    found = []
    for cells in (1, 3):
        monkeypatch.setitem(globals(), "Least", IntEnum("Least", {"CELLS": cells}))
        values = np.ones(1)
        FieldKernel(compare)(2, values)
        found.append(values[0])
    assert found == [1.0, 2.0]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[..., object]]:
    """The function `derive` of a file with a value and a body."""

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "beside", raising=False)

    def made(value: object, body: str, number: int) -> Callable[..., object]:
        path = tmp_path / f"own{number}.py"
        helper = f"K = {value}\ndef helper(x, k=K):\n    return [k * x for _ in (1,)]\n"
        inside = f"def inside(x):\n    return {value} * x\n"
        more = (
            f"@functools.cache\n{inside}half = functools.partial(inside, 0.5)\nclass Own:\n    def inside(self):\n        return {value}\n"
        )
        (tmp_path / "beside.py").write_text(inside)
        imports = "import functools\nimport numpy as np\nimport beside\nfrom enum import Enum\n"
        text = f"{imports}{helper}{more}TABLE = {{'one': helper, 'two': {value}}}\nclass Kind(Enum):\n    ONE = {value!r}\n"
        path.write_text(f"{text}def derive(p):\n    return {body}\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        return module.derive

    return made


@pytest.mark.parametrize(
    ("values", "body"),
    [
        (("0.9", "0.5"), "max(K for _ in (1,))"),
        (("0.9", "0.5"), "[K for _ in (1,)]"),
        (("0.9", "0.5"), "(lambda: (lambda: K)())()"),
        (("[0.9]", "[0.5]"), "K[0]"),
        (("{'a': [0.9]}", "{'a': [0.5]}"), "K['a'][0]"),
        (("{0.9, 0.1}", "{0.5, 0.1}"), "max(K)"),
        (("np.arange(5000.0)", "np.arange(5000.0) + (np.arange(5000) == 2500)"), "K.sum()"),
        (("(np.zeros(5000), 1)", "(np.where(np.arange(5000) == 2500, 1.0, 0.0), 1)"), "K[0].sum()"),
        (("0.9", "0.5"), "max(helper(1.0)[0] for _ in (1,))"),
        (("0.9", "0.5"), "TABLE['one'](1.0)"),
        (("0.9", "0.5"), "inside(1.0)"),
        (("0.9", "0.5"), "half()"),
        (("0.9", "0.5"), "Own().inside()"),
        (("0.9", "0.5"), "beside.inside(1.0)"),
        (("0.9", "0.5"), "Kind.ONE.value"),
    ],
)
def test_all_that_a_function_reads_is_in_its_fingerprint(values: tuple[str, str], body: str, written: Callable) -> None:
    one, same, other = (fingerprint(written(value, body, number)) for number, value in enumerate((values[0], values[0], values[1])))
    assert one == same
    assert one != other


def test_another_function_of_vecmath_behind_the_same_name_makes_another_kernel() -> None:
    def over(function: Callable[[float], float]) -> FieldKernel:
        def apply(n: int, x: NDArray[np.float64], found: NDArray[np.float64]) -> None:
            for i in range(n):
                found[i] = function(x[i])

        return FieldKernel(apply)

    x, found = np.array([0.5, 2.0]), np.empty((2, 2))
    for row, function in zip(found, (exp, sqrt), strict=True):
        over(function)(2, x, row)
    np.testing.assert_allclose(found, [np.exp(x), np.sqrt(x)], rtol=1e-15)


def test_a_local_of_a_function_is_nothing_that_it_reads(written: Callable) -> None:
    found = [fingerprint(written(value, "[p * K for K in (1.0,) if (lambda: K)()]", number)) for number, value in enumerate((0.9, 0.5))]
    assert found[0] == found[1]


def test_a_function_without_defaults_is_its_code_alone() -> None:
    assert in_memory(divide) == in_memory(divide.__code__)


def test_threads_read_syntax_side_by_side():
    """CPython 3.11 raises SystemError where a thread builds a tree while another one does, as they can when garbage is collected."""
    text = "\n".join(f"x{n} = {'(' * 40}{n}{')' * 40} + {'+'.join(map(str, range(60)))}" for n in range(200))
    before = gc.get_threshold()
    gc.callbacks.append(let_others_run)
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as threads:
            trees = list(threads.map(lambda _: tree_of(text), range(12)))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(let_others_run)
    assert {len(tree.body) for tree in trees} == {200}


def let_others_run(*_: object) -> None:
    time.sleep(0)
