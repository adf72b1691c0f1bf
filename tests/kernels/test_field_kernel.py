import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from steppe.errors import ModelError
from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.vecmath import exp, power

Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Mask = NDArray[np.bool_]
SCALE = np.float64(0.75)


def weight(x: float) -> float:
    return 0.1 * power(x, 1.5)


@field_kernel
def spread(rows: int, columns: int, rate: float, active: Mask, now: Doubles, new: Doubles) -> None:
    """One step of the cells within a frame of one cell."""
    for y in range(1, rows - 1):
        for x in range(1, columns - 1):
            at = y * columns + x
            flow = 0.0
            if active[at - 1]:
                flow += now[at - 1] - now[at]
            if active[at + 1]:
                flow += now[at + 1] - now[at]
            new[at] = now[at] * exp(-rate) + weight(rate) * flow * SCALE


@field_kernel
def spin(n: int, values: Doubles) -> None:
    """Takes long: every turn needs the one before."""
    for _ in range(n):
        values[0] = exp(-values[0])


@field_kernel
def halve(cells: int, by: float, values: Singles) -> None:
    for i in range(cells):
        values[i] = 0.5 * values[i] - by


class Place(NamedTuple):
    first: int
    values: Doubles


class Table(NamedTuple):
    n: int
    place: Place
    factor: float


def add(n: int, to: Place, total: Doubles) -> None:
    for i in range(n):
        total[i] = total[i] + to.values[to.first + i]


@field_kernel
def look_up(table: Table, at: NDArray[np.int64], total: Doubles) -> None:
    for i in range(table.n):
        total[i] = table.factor * table.place.values[at[i]]
    add(table.n, table.place, total)


WARM = """
import sys
import numpy as np
from tests.kernels.test_field_kernel import spread
rows, columns = 5, 7
now = np.arange(35.0).reshape(5, 7)
new = np.zeros((5, 7))
spread(rows, columns, 0.1, np.ones((5, 7), bool), now, new)
print(new.tobytes().hex(), "numba" in sys.modules)
"""


def test_it_computes_what_the_function_computes_bit_for_bit() -> None:
    random = np.random.default_rng(1)
    now, active = random.random((9, 40)), random.random((9, 40)) < 0.6
    compiled, interpreted = np.zeros((9, 40)), np.zeros((9, 40))
    spread(9, 40, 0.3, active, now, compiled)
    spread.function(9, 40, np.float64(0.3), active.ravel(), now.ravel(), interpreted.reshape(-1))
    assert compiled.any()
    assert compiled.tobytes() == interpreted.tobytes()


def test_a_kernel_of_singles_computes_in_single_precision() -> None:
    values = np.random.default_rng(2).random(100).astype(np.float32)
    expected = np.float32(0.5) * values - np.float32(0.1)
    halve(100, 0.1, values)
    assert values.tobytes() == expected.tobytes()


def test_arrays_and_numbers_may_come_in_groups() -> None:
    random = np.random.default_rng(3)
    at, values, total = np.array([3, 0, 4, 1]), random.random(6), np.zeros(4)
    table = Table(4, Place(2, values), 0.3)
    look_up(table, at, total)
    assert (total == 0.3 * values[at] + values[2:]).all()
    interpreted = np.zeros(4)
    look_up.function(table, at, interpreted)
    assert total.tobytes() == interpreted.tobytes()


def test_a_group_that_does_not_fit_is_named() -> None:
    at, values = np.arange(4), np.zeros(6)
    for table, says in (
        (Place(2, values), 'takes "table" as Table(...), it was given a Place.'),
        (Table(4, (2, values), 0.3), 'takes "place" as Place(...), it was given a tuple.'),  # type: ignore[arg-type]
        (Table(4, Place(2, values.astype("f4")), 0.3), 'takes "table.place.values" as a contiguous array of float64, it was given one of'),  # type: ignore[arg-type]
        (Table(4, Place(2, values), "x"), "takes \"table.factor\" as float, it was given 'x'."),  # type: ignore[arg-type]
    ):
        with pytest.raises(ModelError, match=re.escape(says)):
            look_up(table, at, np.zeros(4))
    with pytest.raises(ModelError, match=r'"table\.place\.values" and "total" share memory'):
        look_up(Table(4, Place(2, values), 0.3), at, values)


@field_kernel
def clip(cells: int, values: Doubles) -> None:
    for i in range(cells):
        if values[i] > 1.0:
            most = 1.0
        values[i] = most


def test_a_name_that_may_have_no_value_is_refused() -> None:
    with pytest.raises(ModelError, match=r'line \d+ \("values\[i\] = most"\): "most" may have no value here\.'):
        clip(2, np.ones(2))


def test_a_warm_start_imports_no_numba(tmp_path: Path) -> None:
    environment = {**os.environ, "STEPPE_CACHE": str(tmp_path)}
    cold, warm = (
        subprocess.run([sys.executable, "-c", WARM], env=environment, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert cold[0] == warm[0]
    assert (cold[1], warm[1]) == ("True", "False")
    assert [path.name[:7] for path in (tmp_path / "kernels").glob("*.kernel")] == ["spread_"]


def test_many_processes_compile_it_once(tmp_path: Path) -> None:
    environment = {**os.environ, "STEPPE_CACHE": str(tmp_path)}
    processes = [subprocess.Popen([sys.executable, "-c", WARM], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate()[0].split() for process in processes]
    assert len({numbers for numbers, _ in said}) == 1
    assert [imported for _, imported in said].count("True") == 1


def test_two_threads_run_it_at_the_same_time() -> None:
    spin(1, np.ones(1))  # compiled
    begun, over = Event(), Event()
    one, other = np.full(1, 0.5), np.full(1, 0.5)

    def run() -> None:
        begun.set()
        spin(40_000_000, one)
        over.set()

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run)
        begun.wait()
        time.sleep(0.05)  # a call that held the lock of the interpreter would be over when this thread goes on
        assert not over.is_set()
        spin(1_000, other)
        assert not over.is_set()
        running.result()
    assert over.is_set()
    assert other[0] == pytest.approx(0.5671432904, rel=1e-9)  # x = exp(-x)
    assert one[0] == pytest.approx(other[0], rel=1e-12)


def test_threads_that_call_it_first_get_one_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path))
    kernel = FieldKernel(halve.function)
    arrays = [np.full(64, 4.0, np.float32) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda values: kernel(64, 1.0, values), arrays))
    assert all((values == 1.0).all() for values in arrays)
    assert len(list((tmp_path / "kernels").glob("*.kernel"))) == 1


def test_another_constant_makes_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    now, new = np.ones((3, 3)), np.zeros((3, 3))
    now[1, 1] = 2.0
    found = []
    for scale in (0.75, 0.5):
        monkeypatch.setitem(spread.function.__globals__, "SCALE", np.float64(scale))
        FieldKernel(spread.function)(3, 3, 1.0, np.ones((3, 3), bool), now, new)
        found.append(new[1, 1] - 2.0 * exp(-1.0))
    assert found == pytest.approx([-0.15, -0.1])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((1, 1.0), r'Kernel "halve" takes 3 arguments \(cells, by, values\), not 2\.'),
        ((2**63, 1.0, np.ones(1, np.float32)), 'takes "cells" as an integer of 64 bits, which 9223372036854775808 is not'),
        ((1.5, 1.0, np.ones(1, np.float32)), r'takes "cells" as int, it was given 1\.5'),
        ((1, np.ones(2), np.ones(1, np.float32)), 'takes "by" as float, it was given array'),
        ((1, 1.0, np.ones(1)), 'takes "values" as a contiguous array of float32, it was given one of float64'),
        ((1, 1.0, [1.0]), 'takes "values" as a contiguous array of float32, it was given a list'),
        ((1, 1.0, np.ones((4, 4), np.float32).T[::2]), "it was given one that is not contiguous"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments: tuple[object, ...], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        halve(*arguments)


def test_arrays_that_share_memory_are_refused() -> None:
    field = np.ones((2, 3, 3))
    with pytest.raises(ModelError, match='Kernel "spread": "now" and "new" share memory'):
        spread(3, 3, 0.1, np.ones((3, 3), bool), field[0], field[0])
    spread(3, 3, 0.1, np.ones((3, 3), bool), field[0], field[1])


class Places(NamedTuple):
    """Where a kernel stores."""

    out: Doubles
    first: int


def store(places: Places, k: int, value: float) -> None:
    places.out[places.first + k] = value


def test_a_kernel_stores_into_no_array_that_is_read_only() -> None:
    @field_kernel
    def direct(n: int, source: Doubles, target: Doubles) -> None:
        for i in range(n):
            target[i] += source[i]

    @field_kernel
    def by_helpers(n: int, source: Doubles, places: Places) -> None:
        for i in range(n):
            store(places, k=i, value=source[i])

    fixed, free = np.ones(2), np.zeros(2)
    fixed.flags.writeable = False
    with pytest.raises(ModelError, match='Kernel "direct" stores into "target", which is read-only here'):
        direct(2, free, fixed)
    with pytest.raises(ModelError, match=r'Kernel "by_helpers" stores into "places\.out", which is read-only here'):
        by_helpers(2, free, Places(fixed, 0))
    direct(2, fixed, free)
    by_helpers(1, fixed, Places(free, 1))
    assert (free == 1.0).all()
    assert (fixed == 1.0).all()


def again(n: int) -> int:
    return again(n - 1) if n > 0 else 0


def test_a_function_that_is_no_plain_one_is_refused() -> None:
    def yields(values: Doubles) -> Iterator[None]:
        values[0] = 1.0
        yield

    def later(values: Doubles, *, k: int) -> None:
        values[k] = 1.0

    def recursive(values: Doubles) -> None:
        values[0] = again(3)

    for wrong in (yields, later):
        with pytest.raises(ModelError, match=rf'Kernel "{wrong.__name__}" has a \*, an async or a yield. Write a plain function'):
            field_kernel(wrong)
    with pytest.raises(ModelError, match=r"test_field_kernel.py, line \d+ .*again calls itself, and a kernel cannot do that. Write a loop"):
        field_kernel(recursive)(np.ones(1))


def test_a_parameter_that_says_nothing_is_named() -> None:
    def silent(cells: int, values) -> None:  # type: ignore[no-untyped-def]
        values[0] = cells

    def text(values: NDArray[np.str_]) -> None:
        values[0] = "a"

    def two(one: Doubles, other: Singles) -> None:
        one[0] = other[0]

    with pytest.raises(ModelError, match=r'Kernel "silent" declares "values" as None\. Write int, float, NDArray'):
        field_kernel(silent)
    with pytest.raises(ModelError, match='Kernel "text" declares "values" as'):
        field_kernel(text)
    with pytest.raises(ModelError, match=r'Kernel "two" has arrays of float32 and float64\. A kernel computes in one precision'):
        field_kernel(two)


def test_what_cannot_be_compiled_is_named_with_its_line() -> None:
    def modulo(n: int, values: Doubles) -> None:
        for i in range(n):
            values[i] = values[i] % 2.0

    def module(values: Doubles) -> None:
        values[0] = np.exp(values[0])

    line = modulo.__code__.co_firstlineno + 2
    with pytest.raises(ModelError, match=rf"test_field_kernel\.py, line {line} .*: x % y is a call of the C library"):
        field_kernel(modulo)(1, np.ones(1))
    with pytest.raises(ModelError, match='cannot use the module "np"'):
        field_kernel(module)(np.ones(1))
