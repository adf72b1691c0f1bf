"""The files and settings of two sites, compared: the first difference is told by value."""

from collections.abc import Callable
from pathlib import Path

import pytest

from steppe.engine import read_run_file
from steppe.engine.site_inputs import SiteInputs, check_same
from steppe.errors import Mistake
from tests.scenario import copied


def of(folder: Path, ranks: int = 1, **changes: str) -> SiteInputs:
    run = read_run_file(folder / "run.toml", {key.replace("__", "."): value for key, value in changes.items()})
    return SiteInputs.of_parts([SiteInputs.of(run, rank, ranks) for rank in range(ranks)])


@pytest.fixture
def folders(made_scenario: Path, tmp_path: Path) -> tuple[Path, Path]:
    return copied(made_scenario, tmp_path / "a").parent, copied(made_scenario, tmp_path / "b").parent


def test_copies_at_other_places_are_the_same_for_any_number_of_ranks_and_threads(folders):
    here = of(folders[0], 3)
    assert len(here.files["forcing.store"]) > 20
    (folders[1] / "weather.zarr" / "pack").mkdir()
    (folders[1] / "weather.zarr" / "pack" / "file").touch()
    there = of(folders[1], 2, engine__threads="1", output__path='"elsewhere"')
    assert here.paths["forcing.store"] != there.paths["forcing.store"]
    check_same("a", here, "b", there)


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a longer file": (
        lambda b: (b / "weather.zarr/rain/zarr.json").write_bytes(b"\xff" * 9),
        r'"\S+/a/weather.zarr/rain/zarr.json" \(forcing.store\) of sites "a" and "b" differs: it has [\d,]+ bytes at "a" and 9 at "b"\.',
    ),
    "a file too few": (lambda b: (b / "mask.zarr/zarr.json").unlink(), r'/a/mask.zarr/zarr.json" \(grid.file\) .* site "b" lacks it\.'),
    "a file too many": (lambda b: (b / "mask.zarr/more").touch(), r'/a/mask.zarr/more" \(grid.file\) .* site "a" lacks it\.'),
    "a line": (
        lambda b: (b / "bucket.py").write_text((b / "bucket.py").read_text() + "more = 1\n"),
        r'/a/bucket.py" \(model\) .* line \d+ is not given at "a" and "more = 1" at "b"\.',
    ),
    "a setting": (
        lambda b: (b / "run.toml").write_text((b / "run.toml").read_text().replace('"1 month"', '"2 months"')),
        'The run files of sites "a" and "b" differ: output.every is "1 month" at "a" and "2 months" at "b".',
    ),
    "a model of another kind": (
        lambda b: (b / "run.toml").write_text((b / "run.toml").read_text().replace('"bucket.py"', '"pasture"')),
        r'differ: model is "\S+/a/bucket.py" at "a" and "pasture" at "b"\.',
    ),
    "a key too many": (
        lambda b: (b / "run.toml").write_text((b / "run.toml").read_text().replace("[parameters]", "[parameters]\nleak = 0.1")),
        'differ: parameters.leak is not given at "a" and 0.1 at "b".',
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_difference_is_told_by_value(folders, change):
    act, sentence = CHANGES[change]
    act(folders[1])
    with pytest.raises(Mistake, match=sentence):
        check_same("a", of(folders[0]), "b", of(folders[1]))


def test_only_the_weather_may_be_missing(folders):
    for name in ("weather.zarr", "mask.zarr"):
        (folders[1] / name).rename(folders[1] / f"no-{name}")
        with pytest.raises(Mistake, match=r'Site "b" has no "\S+/b/\w+.zarr" \(\S+\), which site "a" has. Copy it there.'):
            check_same("a", of(folders[0]), "b", of(folders[1]))
        if name == "weather.zarr":
            check_same("a", of(folders[0]), "b", of(folders[1]), may_lack="forcing.store")
        (folders[1] / f"no-{name}").rename(folders[1] / name)
