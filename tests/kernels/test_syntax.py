"""Mistakes in a model's own functions are named by file, line and text, before anything is compiled."""

import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from steppe.errors import Failure, ModelError
from steppe.models import CellModel, find_model
from tests.models import doubling, garden
from tests.models.cells import CLOCK, NOTHING, MemoryInputs, started, weather
from tests.scenario import EXAMPLES

BUCKET = (EXAMPLES / "bucket.py").read_text()
GARDEN = Path(garden.__file__).read_text()
NUMBERS = itertools.count()
WET = "    wet = s.water + f.rain + f.irrigation\n"
RETURN = "    return State(water=kept - runoff), Diagnostics(runoff=runoff, actual_evaporation=evaporation, drainage=drainage)"
STEP = "def step(s: State, f: Forcing, p: Parameters)"

Own = Callable[..., ModuleType]


@pytest.fixture
def own(tmp_path: Path) -> Own:
    """Writes and loads a model: an example in which some texts are changed."""

    def made(*changes: tuple[str, str], of: str = BUCKET) -> ModuleType:
        text = of
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / f"own{next(NUMBERS)}.py"
        file.write_text(text)
        return find_model(str(file))

    return made


def refused(module: ModuleType, line: str) -> str:
    """What is wrong, without the place, which must be the file and this line."""
    number = next(n for n, text in enumerate(Path(module.__file__ or "").read_text().splitlines(), 1) if text.strip() == line)
    with pytest.raises(ModelError) as error:
        CellModel(module)
    head = f'{module.__file__}, line {number} ("{line}"): '
    assert str(error.value).startswith(head)
    return str(error.value).removeprefix(head)


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        (
            "s.water + f.rain",
            "s.watr + f.rain",
            "wet = s.watr + f.rain + f.irrigation",
            's.watr: State has no "watr". Did you mean "water"?',
        ),
        (
            "wet / p.capacity",
            "wet / p.capcity",
            "evaporation = min(wet, f.pan * min(1.0, wet / p.capcity))",
            'p.capcity: Parameters has no "capcity". Did you mean "capacity"?',
        ),
        (
            WET,
            WET.replace("s.water", "p.water"),
            "wet = p.water + f.rain + f.irrigation",
            'p.water: Parameters has no "water". Write s.water',
        ),
        (
            WET,
            f"    s.water = 2.0\n{WET}",
            "s.water = 2.0",
            "s.water cannot be changed. Give the value another name, and return State",
        ),
        (WET, f"    import math\n{WET}", "import math", "a step cannot import. Import at the top of the file; exp, log, power, tanh,"),
        (WET, f"    from math import exp\n{WET}", "from math import exp", "a step cannot import. Import at the top of the file; exp, log,"),
        (WET, WET.replace("f.rain", "fain"), "wet = s.water + fain + f.irrigation", 'there is no "fain".'),
        (
            WET,
            WET.replace("s.water", "State.water"),
            "wet = State.water + f.rain + f.irrigation",
            "State.water is not a number. Write it with",
        ),
        (WET, WET + "    big = wett + 1.0\n", "big = wett + 1.0", 'there is no "wett". Did you mean "wet"?'),
        ("* exp(-p.leak)", "* exq(-p.leak)", "kept = (wet - evaporation) * exq(-p.leak)", 'there is no "exq". Did you mean "exp"?'),
    ],
)
def test_a_misspelt_name_is_found_where_it_stands(own, old, new, line, sentence):
    assert refused(own((old, new)), line).startswith(sentence)


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ("State(watr=kept), Diagnostics(0.0, 0.0, 0.0)", 'State(watr=...): State has no "watr". Did you mean "water"?'),
        ("State(), Diagnostics(0.0, 0.0, 0.0)", "State(...) has no value for water. Give one to each field."),
        ("State(kept), Diagnostics(0.0, drainage=0.0)", "Diagnostics(...) has no value for actual_evaporation. Give one to each field."),
        ("State(kept, 1.0), Diagnostics(0.0, 0.0, 0.0)", "State(...) takes 1 values (water), 2 are given."),
        ("State(kept, water=1.0), Diagnostics(0.0, 0.0, 0.0)", 'State(...) is given "water" twice. Remove one.'),
        ("Diagnostics(0.0, 0.0, 0.0), State(kept)", "step returns (Diagnostics(...), State(...)). Return (State(...), Diagnostics(...))."),
        ("State(kept), Diagnostics(0.0, 0.0, 0.0), wet", "step returns (State(...), Diagnostics(...), a value). Return"),
        ("State(kept)", "step returns State(...). Return (State(...), Diagnostics(...))."),
        (
            "s._replace(water=kept), Diagnostics(0.0, 0.0, 0.0)",
            's._replace: State has no "_replace". A step can read the fields',
        ),
    ],
)
def test_what_a_step_returns_is_checked(own, returned, sentence):
    assert refused(own((RETURN, f"    return {returned}")), f"return {returned}").startswith(sentence)


def test_a_step_that_returns_nothing_is_told_what_to_return(own):
    module = own((RETURN, RETURN.replace("return", "result =")))
    assert refused(module, f"{STEP} -> tuple[State, Diagnostics]:") == "step returns nothing. Return (State(...), Diagnostics(...))."


HELPER = """\
def room(state, parameters, more=1.0):
    return more * (parameters.capacity - state.%s)


def next_state(s, water):
    other = s
    return State(water + 0.0 * other.%s)


"""


@pytest.mark.parametrize(
    ("fields", "line", "sentence"),
    [
        (("watr", "water"), "return more * (parameters.capacity - state.watr)", 'state.watr: State has no "watr". Did you mean "water"?'),
        (("water", "watr"), "return State(water + 0.0 * other.watr)", 'other.watr: State has no "watr". Did you mean "water"?'),
    ],
)
def test_a_helper_is_checked_with_the_groups_that_it_is_given(own, fields, line, sentence):
    calls = WET + "    gap = room(parameters=p, state=s)\n    new = next_state(s, gap)\n    wet = wet + new.water\n"
    assert refused(own((STEP, HELPER % fields + STEP), (WET, calls)), line) == sentence


@pytest.mark.parametrize(
    ("used", "line", "sentence"),
    [
        ("    new = next_state(s, 1.0)\n    wet = wet + new.watr\n", "wet = wet + new.watr", 'new.watr: State has no "watr".'),
        ("    new, old = next_state(s, 1.0), s\n    wet = wet + old.watr\n", "wet = wet + old.watr", 'old.watr: State has no "watr".'),
        ("    new = s if wet > 1.0 else next_state(s, 1.0)\n    wet = new.watr\n", "wet = new.watr", 'new.watr: State has no "watr".'),
        ("    wet = room(s)\n", "wet = room(s)", "room(...): missing a required argument: 'parameters'."),
        ("    wet = room(s, p, 1.0, 2.0)\n", "wet = room(s, p, 1.0, 2.0)", "room(...): too many positional arguments."),
        ("    wet = room(s, p, much=1.0)\n", "wet = room(s, p, much=1.0)", "room(...): got an unexpected keyword argument 'much'."),
    ],
)
def test_what_helpers_return_and_take_is_known(own, used, line, sentence):
    module = own((STEP, HELPER % ("water", "water") + STEP), (WET, WET + used))
    assert refused(module, line).startswith(sentence)


PLAIN = """\
class Pair(NamedTuple):
    low: float
    high: float

    @property
    def middle(self):
        return 0.5 * (self.low + self.high)


LIMITS = Pair(0.0, 1.0)


def either(s, p):
    return s if p.leak > 0.5 else p


def spread(*values):
    return State(*values)


"""
USED = """\
    some = either(s, p)
    some = 1.0
    other = (s)
    limit = max(LIMITS.low, other.water)
    made = spread(limit)
    s = made
    pair = Pair(low=0.0, high=1.0)
"""


def test_a_default_of_a_group_is_to_be_written_in_a_step(own):
    """Compiled code has no default values of groups; `derive`, which Python runs, has."""
    with_default = PLAIN.replace("high: float", "high: float = 5.0")
    module = own((STEP, with_default + STEP), (WET, WET + "    pair = Pair(0.0)\n"))
    assert refused(module, "pair = Pair(0.0)") == "Pair(...) has no value for high. Give one to each field."
    CellModel(own((STEP, f"{with_default}def start(p):\n    return {{'water': Pair(1.0).high}}\n\n\n{STEP}")))


def test_what_is_right_is_never_refused(own):
    CellModel(own((STEP, PLAIN + STEP), (WET, WET + USED)))
    for module in (garden, doubling, find_model("pasture"), find_model(str(EXAMPLES / "bucket.py"))):
        CellModel(module)


AGAIN = "def again(s, depth):\n    return s if depth == 0 else again(s, depth - 1)\n\n\n"
LOOKED = "    if wet < 0.0:\n        return State(0.0), Diagnostics(0.0, 0.0, 0.0)\n"


@pytest.mark.parametrize(
    ("added", "line", "sentence"),
    [
        ("some = [s.water for i in range(3)]", "", "a step cannot use a comprehension. Write each value, or a for loop."),
        ("some = lambda x: x + 1.0", "", "a step cannot define a lambda. Define a function at the top of the file, and call it."),
        ("some = {'a': wet}", "", "a step cannot use a dict or a set. Give each value a name."),
        ("assert wet > 0.0, 'dry'", "", "a step cannot use assert. It computes numbers from numbers."),
        ("global NAME", "", "a step cannot change what is outside it. Return the value in State."),
        ("del wet", "", "a step cannot use del. Remove this line."),
        ("while wet > 1.0:\n        wet = 0.5 * wet", "while wet > 1.0:", "a step cannot loop until something is reached."),
        ("yield wet", "", "a step cannot use yield or await. Return (State(...), Diagnostics(...))."),
        ("def inner(x):\n        return s.watr", "def inner(x):", "a step cannot define a function."),
        ("try:\n        some = wet\n    except ValueError:\n        some = 0.0", "try:", "a step cannot use try."),
        ("some = again(s, 2)", "return s if depth == 0 else again(s, depth - 1)", "again calls itself, and a step cannot do that."),
        ("if wet > 5.0:\n        return", "return", "this returns nothing, and step returns a value elsewhere. Return one."),
        ("if wet > 5.0:\n        return None", "return None", "this returns nothing, and step returns a value elsewhere."),
        ("match wet:\n        case 'dry':\n            wet = 0.0", "case 'dry':", "no number equals a text."),
        ("some = 1.0 if NAME == 'own' else 2.0", "", "no number equals a text. Compare an option with its integer"),
        ("some = step(s, f, p)", "", "step calls itself, and a step cannot do that. Write a loop."),
    ],
)
def test_what_a_step_cannot_hold_is_named_before_it_is_compiled(own, added, line, sentence):
    module = own((STEP, AGAIN + STEP), (WET, f"{WET}    {added}\n"))
    assert refused(module, line or added).startswith(sentence)


def test_a_step_that_does_not_return_on_every_path_is_refused(own):
    sentence = "step has a path without a return. Add a return at its end."
    assert refused(own((RETURN, LOOKED)), f"{STEP} -> tuple[State, Diagnostics]:") == sentence
    CellModel(own((RETURN, f"{LOOKED}    else:\n    {RETURN}")))


UNSET = {
    "one branch": "if wet > 1.0:\n        some = 1.0\n    wet = some",
    "a branch in a branch": "if wet > 1.0:\n        if wet > 2.0:\n            some = 1.0\n    else:\n        some = 2.0\n    wet = some",
    "added to": "if wet > 1.0:\n        some = 1.0\n    some += wet",
    "before it": "wet = some\n    some = wet",
    "no case": "match wet:\n        case 1.0:\n            some = 1.0\n    wet = some",
}
SET = {
    "both branches": "if wet > 1.0:\n        some = 1.0\n    else:\n        some = 2.0\n    wet = some",
    "the other branch returns": f"{LOOKED}    some = wet\n    wet = some".lstrip(),
    "a loop": "for i in range(3):\n        some = wet * i\n    wet = some",
    "a loop that goes on": "for i in range(3):\n        if wet > i:\n            continue\n        some = wet\n    wet = some",
    "on the way": "if (some := wet) > 1.0:\n        wet = 2.0\n    wet = some",
    "each case": "match wet:\n        case 1.0:\n            some = 1.0\n        case other:\n            some = other\n    wet = some",
}


@pytest.mark.parametrize("added", UNSET.values(), ids=UNSET)
def test_a_name_that_may_have_no_value_is_refused_where_it_is_read(own, added):
    """Python raises an error there; machine code would read 0."""
    line = next(line.strip() for line in added.splitlines() if line.strip() in ("wet = some", "some += wet"))
    assert refused(own((WET, f"{WET}    {added}\n")), line).startswith('"some" may have no value here.')


@pytest.mark.parametrize("added", SET.values(), ids=SET)
def test_a_name_with_a_value_on_every_path_is_not(own, added):
    CellModel(own((WET, f"{WET}    {added}\n")))


def test_a_function_of_a_library_is_refused_though_a_kernel_with_its_name_is_in_the_cache(own):
    module = own(("from steppe.kernels.vecmath import exp", "from math import exp"))
    assert refused(module, "kept = (wet - evaporation) * exp(-p.leak)").startswith('"exp" cannot be compiled into a fast loop.')


def test_a_misspelt_field_is_found_in_a_helper_of_another_file(own):
    helper = own((STEP, HELPER % ("watr", "water") + STEP))
    module = own((WET, f"    gap = room(s, p)\n{WET}"))
    module.step.__globals__["room"] = helper.room
    with pytest.raises(ModelError, match=r'state.watr: State has no "watr". Did you mean "water"\?') as error:
        CellModel(module)
    assert str(error.value).startswith(f"{helper.__file__}, line ")


def test_a_step_that_is_not_a_function_is_named(own):
    with pytest.raises(ModelError, match=r"bucket: step is 3\. Write it as a function, with def\."):
        CellModel(own((STEP, "step = 3\ndef other(s: State, f: Forcing, p: Parameters)")))


def test_functions_that_python_runs_may_import_and_use_methods(own):
    derive = "    import numpy\n    p = p._replace(shape=numpy.sqrt(p.shape))\n    return Derived(room"
    CellModel(own(("    return Derived(room", derive), of=GARDEN))


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        (
            "room=p.depth * 0.45",
            "room=p.dept * 0.45",
            "return Derived(room=p.dept * 0.45, spread=np.sqrt(p.shape) + (1.0 if o.response == CURVED else 0.0))",
            'p.dept: Parameters has no "dept". Did you mean "depth"?',
        ),
        ("d.room * 0.5", "d.rom * 0.5", 'return {"lower": d.rom * 0.5}', 'd.rom: Derived has no "rom". Did you mean "room"?'),
        (
            "o.response == CURVED else 0.0))",
            "o.respons == CURVED else 0.0))",
            "return Derived(room=p.depth * 0.45, spread=np.sqrt(p.shape) + (1.0 if o.respons == CURVED else 0.0))",
            'o.respons: Options has no "respons". Did you mean "response"?',
        ),
    ],
)
def test_derive_and_start_are_checked_too(own, old, new, line, sentence):
    assert refused(own((old, new), of=GARDEN), line) == sentence


def test_an_argument_of_derive_that_it_is_not_given_is_named(own):
    with pytest.raises(ModelError, match=r'garden: start has an argument "s"\. Name its arguments p, d, o\.'):
        CellModel(own(("def start(p: Parameters, d: Derived)", "def start(p: Parameters, s: State)"), ("d.room * 0.5", "1.0"), of=GARDEN))


def test_a_file_that_was_changed_after_it_was_imported_is_not_judged_by_its_new_text(own):
    module = own()
    Path(module.__file__ or "").write_text(BUCKET.replace("s.water +", "s.watr +"))
    CellModel(module)


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("exp(-p.leak)", "exp(-p.leak, 2.0)", "kept = (wet - evaporation) * exp(-p.leak, 2.0)", "too many positional arguments"),
        (
            WET,
            WET.replace("f.rain", "len(f.rain)"),
            "wet = s.water + len(f.rain) + f.irrigation",
            "there is no len(float32) in compiled",
        ),
        (WET, WET.replace("s.water", "'a'"), "wet = 'a' + f.rain + f.irrigation", "in compiled code"),
        (WET, WET.replace("s.water", "s.water()"), "wet = s.water() + f.rain + f.irrigation", "Invalid use of float32 with parameters"),
    ],
)
def test_what_only_the_compiler_finds_is_one_line_with_its_place(own, old, new, line, sentence):
    model = started(own((old, new)), 3)
    with pytest.raises(ModelError) as error:
        model.advance(range(4), MemoryInputs(weather(3, 4)), CLOCK, NOTHING)
    assert f'("{line}"): this cannot be compiled: ' in str(error.value)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_step_that_returns_numbers_alone_is_told_what_to_return(own):
    model = started(own((RETURN, "    return wet")), 3)
    with pytest.raises(ModelError, match=r"Check that step returns \(State\(\.\.\.\), Diagnostics\(\.\.\.\)\)"):
        model.advance(range(4), MemoryInputs(weather(3, 4)), CLOCK, NOTHING)


def test_an_index_beyond_the_end_of_a_tuple_ends_the_run(own):
    count = "    at, edge = 0, 0.0\n    for i in range(4):\n        at, edge = (i if wet > edge else at), edge + 10.0\n"
    added = f"{count}    wet = wet * (1.0, 1.0, 1.0)[at]\n"
    model = started(own((WET, WET + added)), 3)
    dry = {name: 0.0 * values for name, values in weather(3, 20).items()}
    with pytest.raises(Failure, match="an index lies beyond the end of a tuple"):
        model.advance(range(20), MemoryInputs(dry), CLOCK, NOTHING)
