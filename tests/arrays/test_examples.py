"""The examples of arrays print what they promise, the same on any number of ranks."""

import re
import subprocess
import sys

import numpy as np
from examples import assembly

from tests.comm.mpis import ROOT, run_ranks

ASSEMBLY = ("examples/assembly.py", "--side", "40", "--ordered")


def digest(said: str) -> str:
    return said.split("digest ")[1].strip()


def test_an_assembly_has_the_same_bits_on_any_number_of_ranks() -> None:
    alone = subprocess.run([sys.executable, *ASSEMBLY], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert "3200 elements, 1681 nodes" in alone
    assert "sum of the matrix 1.000000000000 (area 1), of the load 0.250000000000" in alone
    for ranks in (2, 5):
        assert digest(run_ranks("installed", ranks, *ASSEMBLY).stdout) == digest(alone)


def test_an_element_is_the_one_of_the_textbook() -> None:
    matrix, load = assembly.element(np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]))
    stiffness = np.array([[2, -1, -1], [-1, 1, 0], [-1, 0, 1]]) / 2
    mass = (np.ones((3, 3)) + np.eye(3)) / 24
    np.testing.assert_allclose(matrix[0], stiffness + mass, rtol=1e-13)
    np.testing.assert_allclose(load.sum(), 1 / 24, rtol=1e-13)  # of x y over this triangle


def test_tasks_are_shared_out_and_have_one_result() -> None:
    results = set()
    for ranks in (1, 3):
        said = run_ranks("installed", ranks, "examples/tasks.py", "--columns", "2000").stdout
        columns = [int(found) for found in re.findall(r"rank \d: +(\d+) columns", said)]
        assert (len(columns), sum(columns)) == (ranks, 2000)
        results.add(said.split("mean of what is left ")[1])
    assert len(results) == 1
