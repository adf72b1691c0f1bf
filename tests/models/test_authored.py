"""An error in a function of a model's author names the author's line; it is not a defect of Steppe."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from steppe.cli import run_command
from steppe.engine.options import with_picks
from steppe.engine.parameters import Chosen
from steppe.errors import Exit, ModelError, authors_line, unexpected
from steppe.models import CellModel, Pick, find_model
from tests.engine.test_fitting import AIR, DECLARED, air, changed
from tests.models import garden
from tests.scenario import EXAMPLES

__all__ = ["air"]  # a fixture


def line_of(file: Path, text: str) -> int:
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if line.strip() == text)


def test_an_error_in_derive_names_its_line(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(Path(garden.__file__).read_text().replace("room=p.depth * 0.45", "room=p.depth * {}['room']"))
    text = "return Derived(room=p.depth * {}['room'], spread=np.sqrt(p.shape) + (1.0 if o.response == CURVED else 0.0))"
    sentence = f"""{file}, line {line_of(file, text)} ("{text}"): `derive` of model garden fails with KeyError: 'room'."""
    with pytest.raises(ModelError, match=re.escape(sentence)):
        CellModel(find_model(str(file))).initialise(SimpleNamespace(n_cells=1), {}, None, {}, None)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("MODEL = Air", "def MODEL():\n    return Air(1)\n", "return Air(1)", "`MODEL` of the model fails with TypeError"),
        (
            "    variables",
            "    def compute(self, where):\n        self.neww[0] = 1.0\n    variables",
            "self.neww[0] = 1.0",
            "`step` of model air fails on 1990-01-01 with AttributeError: 'Air' object has no attribute 'neww'. Did you mean \"new\"?",
        ),
        (
            "    variables",
            "    def compute(self, where):\n        self.now[0][where] *= 2.0\n    variables",
            "self.now[0][where] *= 2.0",
            "`step` of model air fails on 1990-01-01 with ValueError: output array is read-only; `compute` cannot change fields",
        ),
        (
            "    variables",
            "    def compute(self, where):\n        self.parameters['rate'] *= 2.0\n    variables",
            "self.parameters['rate'] *= 2.0",
            "`step` of model air fails on 1990-01-01 with ValueError: output array is read-only; `compute` cannot change fields",
        ),
        (
            "    variables",
            "    def compute(self, where):\n        exit()\n    variables",
            "exit()",
            "`step` of model air fails on 1990-01-01 with SystemExit",
        ),
        (
            "    variables",
            "    def step(self):\n        self.before['hh']\n    variables",
            "self.before['hh']",
            '`step` of model air fails on 1990-01-01 with KeyError: \'there is no "hh" here. Known: ',
        ),
        ("MODEL = Air", "MODEL = Air\nexit()", "exit()", "SystemExit"),
        ("MODEL = Air", "MODEL = Air\ndef choose(available):\n    return 1 / 0\n", "", ""),
        ("MODEL = Air", "MODEL = Air\ndef sets():\n    return 1 / 0\n", "return 1 / 0", "`sets` of the model fails with ZeroDivisionError"),
        ("MODEL = Air", "MODEL = Aire", "MODEL = Aire", "NameError: name 'Aire' is not defined. Did you mean \"Air\"?"),
        ("MODEL = Air", "MODEL = = Air", "MODEL = = Air", "SyntaxError: invalid syntax."),
    ],
)
def test_every_function_of_a_model_is_its_authors(air, capfd, monkeypatch, old, new, line, what):
    changed(air.parent / "air.py", old, new)
    monkeypatch.chdir(air.parent)
    code = run_command(["check", "run.toml"])
    said = capfd.readouterr().err
    if not line:  # a model without weather is not asked
        assert (code, said) == (Exit.DONE, "")
        return
    assert code == Exit.MISTAKE
    assert f'{air.parent / "air.py"}, line {line_of(air.parent / "air.py", line)} ("{line}"): {what}' in said
    assert "defect of Steppe" not in said


NOTHING_CHOSEN = Chosen({}, {}, {})


def test_a_function_with_other_arguments_is_named():
    def choose() -> dict[str, Pick]:
        return {}

    with pytest.raises(ModelError, match=r"`choose` of the model fails with TypeError: .* takes 0 positional arguments but 1 was given"):
        with_picks(NOTHING_CHOSEN, SimpleNamespace(choose=choose), {}, {"rain"})


def test_a_defect_of_steppe_stays_one():
    with pytest.raises(AttributeError) as error:
        with_picks(NOTHING_CHOSEN, SimpleNamespace(choose=find_model), {}, {"rain"})
    assert authors_line(error.value) == ""
    sentence = "AttributeError: 'set' object has no attribute 'endswith'. This is a defect of Steppe; the same command with --debug"
    assert unexpected(error.value) == f"{sentence} shows where."


def test_an_unforeseen_error_below_a_users_file_names_the_file(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(AIR + "\ndef broken(part):\n    return [][1]\n")
    with pytest.raises(IndexError) as error:
        CellModel._each(SimpleNamespace(_pool=None), find_model(str(file)).broken, [1])
    head = f'{file}, line {line_of(file, "return [][1]")} ("return [][1]"): IndexError: list index out of range. Correct this line'
    assert unexpected(error.value).startswith(head)


def test_an_error_of_a_script_that_called_nothing_of_steppe_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("[][1]\n")
    for name, head in ((str(file), f'{file}, line 1 ("[][1]"): '), ("<string>", "")):
        try:
            exec(compile(file.read_text(), name, "exec"), {})
        except IndexError as error:
            error.__traceback__ = error.__traceback__.tb_next
            said = unexpected(error, traced=True)
        assert said == f"{head}IndexError: list index out of range." + (" Correct this line." if head else "")


def test_files_of_one_name_in_two_folders_are_two_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "mine.py").write_text(f"name = 'number {number}'\nMODEL = None\n")
        monkeypatch.chdir(tmp_path / str(number))
        assert find_model("mine.py").name == f"number {number}"


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_error_in_mid_run_names_its_step_and_is_a_failure(air, capfd, monkeypatch, ranks):
    changed(air.parent / "air.py", "    variables", "    def mirror(self):\n        [0][int(self.elapsed) // 864000]\n    variables")
    monkeypatch.chdir(air.parent)
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    code = run_command(["run", "run.toml", "--ranks", str(ranks), "--quiet"])
    said = capfd.readouterr().err
    assert code == Exit.FAILURE
    assert "`step` of model air fails on 1990-01-11 with IndexError: list index out of range. Results up to the last checkpoint" in said


def test_a_diagnostic_that_no_step_computes_is_found(air, capfd, monkeypatch):
    changed(air.parent / "air.py", "}", ", " + DECLARED % ('("y", "x")', "float64", "DIAGNOSTIC"))
    changed(air, '["concentration"]', '["concentration", "extra"]')
    monkeypatch.chdir(air.parent)
    assert run_command(["check", "run.toml"]) == Exit.DONE
    said = capfd.readouterr()
    assert '"extra" has no value after the first days: every cell is NaN. Check that the model computes it.' in said.err
    assert said.out.endswith("Nothing else is wrong.\n")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("self.reach.exchange([self.now[0, 1:]])", "The last dimensions of an array must be the box with halos"),
        ("self.reach.exchange([self.now], along='z')", 'There is no axis "z"'),
        ("self.reach.array(4)[7]", '"array 1" of shape (4,): index 7 is out of bounds'),
    ],
)
def test_a_call_of_steppe_that_fails_in_a_step_names_its_line(air, capfd, monkeypatch, line, what):
    changed(air.parent / "air.py", "    variables", f"    def step(self):\n        {line}\n    variables")
    monkeypatch.chdir(air.parent)
    assert run_command(["check", "run.toml"]) == Exit.FAILURE
    assert f'air.py, line {line_of(air.parent / "air.py", line)} ("{line}"): {what}' in capfd.readouterr().err
