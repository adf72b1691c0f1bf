"""`steppe forcing`: checking stores, and their fast copy."""

import json

from steppe.errors import Exit
from tests.errors import damage


def test_a_good_store_is_described_and_nothing_is_wrong(call, here):
    code, said, wrong = call("forcing", "check", "weather.zarr")
    assert (code, wrong) == (Exit.DONE, "")
    assert "rain: " in said
    assert said.endswith("fast copy: none; `steppe forcing pack` makes one\nNothing is wrong.\n")


def test_bad_values_are_found_without_a_run_file(call, here):
    damage.negative_rain(here)
    code, said, wrong = call("forcing", "check", "weather.zarr")
    assert code == Exit.MISTAKE
    assert "is below 0 mm d-1" in wrong
    assert said.endswith("Problems: 1.\n")
    assert len(json.loads(call("forcing", "check", "weather.zarr", "--json")[1])["problems"]) == 1


def test_a_packed_store_gives_the_same_run(call, here):
    plain = call("run", "run.toml", "--output", "plain", "--quiet")
    code, said, _ = call("forcing", "pack", "weather.zarr", "--raw")
    assert (plain[0], code) == (Exit.DONE, Exit.DONE)
    assert "raw, " in said
    assert "each equal to its shard" in call("forcing", "check", "weather.zarr")[1]
    assert call("run", "run.toml", "--output", "packed", "--quiet")[0] == Exit.DONE
    files = sorted(path.relative_to(here / "plain") for path in (here / "plain" / "output.zarr").rglob("c/*/*"))
    assert files
    assert all((here / "plain" / name).read_bytes() == (here / "packed" / name).read_bytes() for name in files)


def test_the_kind_is_one(call, here):
    code, _, wrong = call("forcing", "pack", "weather.zarr", "--raw", "--bits")
    assert (code, wrong) == (Exit.MISTAKE, "steppe: Both --raw and --bits are given. Choose one.\n")
