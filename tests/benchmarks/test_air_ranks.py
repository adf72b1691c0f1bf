"""What the ranks of a job measure of the air model."""

from benchmarks.programs.air_ranks import PARTS, main

from steppe.comm import Serial
from tests.air import air_run


def test_a_run_with_half_of_its_columns_in_the_dark_is_measured(tmp_path):
    path = air_run(tmp_path)
    light, dark = (main(Serial(), str(path), 72, 2, 1, half) for half in (False, True))
    assert all(len(found[part]) == 1 for found in (light, dark) for part in PARTS)
    assert light["steps of a cell"] != dark["steps of a cell"]
