"""A model file is what its text says now, also in a process that has loaded it before."""

import importlib
import os
import shutil
from pathlib import Path

import pytest

from steppe.errors import ModelError
from steppe.models import CellModel, FieldModel, find_model, make_model
from steppe.models.defaults import source_digest
from tests.models import heat
from tests.scenario import EXAMPLES

BUCKET = (EXAMPLES / "bucket.py").read_text()
LEAK = "exp(-p.leak)"


def test_a_model_file_that_was_changed_is_loaded_anew(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(BUCKET)
    first = find_model(str(path))
    assert find_model(str(path)) is first
    found = [make_model(first).digest]
    for text in (BUCKET.replace(LEAK, "0.9"), BUCKET.replace(LEAK, "0.5")):
        path.write_text(text)
        os.utime(path, (1e9, 1e9))  # texts of one length and one second
        module = find_model(str(path))
        assert module is not first
        found.append(make_model(module).digest)
    assert len(set(found)) == 3
    assert module.step(module.State(10.0), module.Forcing(0.0, 0.0, 0.0), module.Parameters(100.0, 0.1))[0].water == 5.0


def test_a_model_has_the_digest_of_the_text_that_was_loaded(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(BUCKET)
    module = find_model(str(path))
    before = CellModel(module).digest
    path.write_text(BUCKET.replace(LEAK, "0.5"))
    assert CellModel(module).digest == before


def test_a_field_model_that_was_changed_is_loaded_anew(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    found = []
    for version in ("1", "2"):
        path.write_text(Path(heat.__file__).read_text() + f"\n# {version}\n")
        found.append(make_model(find_model(str(path))).digest)
    assert found[0] != found[1]


BESIDE = f"""from own_parts.numbers import RATE
import own_rates as rates

{(EXAMPLES / "diffusion.py").read_text()}
"""


def test_files_that_a_field_model_imports_from_its_folder_are_in_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_parts").mkdir()
    path, rates = tmp_path / "own_model.py", tmp_path / "own_rates.py"
    numbers, other = tmp_path / "own_parts" / "numbers.py", tmp_path / "own_other.py"
    path.write_text(BESIDE)
    rates.write_text("def rate():\n    from own_deeper import deeper\n")
    texts = dict.fromkeys([rates, tmp_path / "own_deeper.py", numbers, other], "RATE = 1.0\n") | {rates: rates.read_text()}
    for file, text in texts.items():
        file.write_text(text)
    before, found = source_digest(find_model(str(path)).MODEL, FieldModel), {}
    for file, text in texts.items():
        file.write_text(text + "# changed\n")
        found[file] = source_digest(find_model(str(path)).MODEL, FieldModel)
        file.write_text(text)
    assert found.pop(other) == before  # which nothing imports
    assert len({before, *found.values()}) == 4


def test_a_mistake_in_a_changed_file_is_named_by_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(BUCKET)
    find_model(str(path))
    path.write_text("a = 1\nb = = 2\n")
    with pytest.raises(ModelError, match=r'line 2 \("b = = 2"\)'):
        find_model(str(path))
    path.write_text(BUCKET)
    assert hasattr(find_model(str(path)), "step")


@pytest.mark.parametrize(("name", "part"), [("transport", "mass.py"), ("air", "diffusion.py")])
def test_all_modules_of_a_model_are_in_its_digest(name: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"steppe.models.{name}.model")
    home, found = Path(str(module.__file__)).parent, [make_model(find_model(name)).digest]
    for text in ("", "# another equation\n"):
        copy = shutil.copytree(home, tmp_path / f"{name}{len(found)}")
        (copy / part).write_text((home / part).read_text() + text)
        monkeypatch.setattr(module, "__file__", str(copy / "model.py"))
        found.append(make_model(find_model(name)).digest)
    assert found[0] == found[1] != found[2]


def test_a_model_that_is_no_class_is_refused_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text('MODEL = "Red"\n')
    with pytest.raises(ModelError, match=r'own.py": MODEL = \'Red\' is no class\. Write the class of the model, without quotes'):
        make_model(find_model(str(path)))
