"""docs/notation.md is made from the declarations of the models."""

import re
from collections import Counter

from scripts import notation


def test_the_page_of_names_is_what_the_models_declare():
    assert notation.PAGE.read_text() == notation.page(), "the page is out of date; this writes it again: python scripts/notation.py"


def test_each_name_of_each_model_has_its_unit_on_the_page_once():
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| ([^|]+) \| (\w+) \| ([^|]+) \|", notation.page(), re.MULTILINE)
    assert [each for each, times in Counter(rows).items() if times > 1] == []
    examples = [str(notation.ROOT / "examples" / f"{name}.py") for name in ("bucket", "diffusion", "shallow_water", "tracers")]
    for entry in map(notation.described, ["pasture", *examples]):
        for variable in entry["variables"]:
            found = [row for row in rows if row[0] == variable["name"] and entry["name"] in row[4].split(", ")]
            assert [(row[1], row[3]) for row in found] == [(variable["units"], variable["role"])], variable["name"]


def test_a_name_of_two_models_has_one_line_and_one_on_levels_names_them():
    page = notation.page()
    assert page.count("| `spacing` |") == 1
    assert "| `spacing` | `m` | width of a cell | parameter | shallow_water, tracers |" in page
    assert "| `u` | `m s-1` | wind to the east, on each level (CF: `eastward_wind`) | forcing | air, tracers |" in page
    assert "| `level` | `hPa` | 1000, 850, 700, 500 (CF: `air_pressure`, positive down) | tracers |" in page
