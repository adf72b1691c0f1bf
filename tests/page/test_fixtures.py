import importlib.util
import json
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "web" / "tests" / "fixtures.py"


def test_what_the_page_decodes_in_its_tests_is_what_this_code_packs() -> None:
    spec = importlib.util.spec_from_file_location("fixtures", FIXTURES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert json.loads(module.PATH.read_text(encoding="utf-8")) == json.loads(module.text()), "Run `python web/tests/fixtures.py`."
