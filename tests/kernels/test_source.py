"""What the key of a kernel and the identity of a model depend on."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from steppe.kernels import FieldKernel, fingerprint
from steppe.kernels.source import in_memory


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


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Callable[..., object]]:
    """The function `derive` of a file with a value and a body."""

    def made(value: object, body: str, number: int) -> Callable[..., object]:
        path = tmp_path / f"own{number}.py"
        helper = f"K = {value}\ndef helper(x, k=K):\n    return [k * x for _ in (1,)]\n"
        text = f"import numpy as np\n{helper}TABLE = {{'one': helper, 'two': {value}}}\n"
        path.write_text(f"{text}def derive(p):\n    return {body}\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
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
    ],
)
def test_all_that_a_function_reads_is_in_its_fingerprint(values: tuple[str, str], body: str, written: Callable) -> None:
    one, same, other = (fingerprint(written(value, body, number)) for number, value in enumerate((values[0], values[0], values[1])))
    assert one == same
    assert one != other


def test_a_local_of_a_function_is_nothing_that_it_reads(written: Callable) -> None:
    found = [fingerprint(written(value, "[p * K for K in (1.0,) if (lambda: K)()]", number)) for number, value in enumerate((0.9, 0.5))]
    assert found[0] == found[1]


def test_a_function_without_defaults_is_its_code_alone() -> None:
    assert in_memory(divide) == in_memory(divide.__code__)
