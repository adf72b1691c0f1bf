"""What a trigger may say, and where it is told to be wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.api.expression import ExpressionError, Node, names_of, parse
from steppe.levels import Space
from steppe.variable import Role, Variable, Variables

NAMES = ("water", "runoff", "mean_rain", "größe_2")


def shape(node: Node) -> str:
    """The tree as text, each part in brackets."""
    if node.what in ("variable", "number"):
        return node.name or f"{node.value:g}"
    return f"({node.what} {' '.join(map(shape, node.parts))})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("mean(water) < 20", "(< (mean water) 20)"),
        ("mean(water)<20 and max(runoff)>3 or sum(water) > 1e6", "(or (and (< (mean water) 20) (> (max runoff) 3)) (> (sum water) 1e+06))"),
        ("mean(water) < 20 and (max(runoff) > 3 or 1 > 2)", "(and (< (mean water) 20) (or (> (max runoff) 3) (> 1 2)))"),
        ("1 - 2 - 3 * 4 / 5 < 0", "(< (- (- 1 2) (/ (* 3 4) 5)) 0)"),
        ("min(water / (runoff + 1)) > -.5", "(> (min (/ water (+ runoff 1))) (negative 0.5))"),
        ("--1 > mean(water - mean(water))", "(> (negative (negative 1)) (mean (- water (mean water))))"),
        ("max(mean_rain) > 0", "(> (max mean_rain) 0)"),
        ("max(größe_2) > 0", "(> (max größe_2) 0)"),
    ],
)
def test_an_expression_is_read_as_people_mean_it(text, tree):
    assert shape(parse(text, NAMES)) == tree


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "expected at column 1, not the end"),
        ("mean(water)", 1, "neither true nor false"),
        ("mean(water) < ", 15, "not the end"),
        ("mean(watr) < 3", 6, 'Did you mean "water"?'),
        ("water < 3", 1, "mean(), min(), max() or sum()"),
        ("3 > water", 5, "mean(), min(), max() or sum()"),
        ("mean(3) < 3", 6, "takes what has a value for each cell"),
        ("mean(water < 3) > 1", 12, '")" was expected'),
        ("__import__('os')", 1, "no variable"),
        ("__import__ < 3", 1, "no variable"),
        ("mean(water) < 3 < 4", 17, "was not expected"),
        ("mean(water) < 3 and 4", 21, '"and"'),
        ("mean(water) == 3", 13, "is not taken"),
        ("mean(water) < 3; 4", 16, "is not taken"),
        ("mean < 3", 1, "was expected"),
        ("mean(water) < 1e999", 15, "64 bits"),
        ("- (1 < 2) > 3", 1, "takes a number"),
        ("(1 < 2) + 3 > 1", 1, "takes numbers"),
        ("mean(water) ﹤ 3", 13, "is not taken"),
        ("mean(water.real) > 0", 11, "is not taken"),
        ("mean(water)[0] > 0", 12, "is not taken"),
        ("(" * 26 + "1" + ")" * 26 + " > 0", 26, "nested"),
        (" + ".join(["1"] * 51) + " > 0", 201, "more than 100 parts"),
        ("1" * 1025, 1025, "1,024"),
        ("1 > 0 or " * 200 + "1 > 0", 1025, "1,024"),
    ],
)
def test_what_is_no_expression_is_refused_at_its_column(text, column, says):
    with pytest.raises(ExpressionError) as error:
        parse(text, NAMES)
    assert error.value.column == column, str(error.value)
    assert says in str(error.value)


LEVELS = Variables(
    {name: Variable(name, dims, "1", "float64", Role.STATE, name) for name, dims in (("o3", ("level", "y", "x")), ("water", ("y", "x")))},
    {"level": Space((1000.0, 850.0), "hPa")},
)


@pytest.mark.parametrize("level", ["1", "850 hPa", " 850  hPa ", "85000 Pa", "85 kPa"])
def test_a_level_is_named_by_its_number_or_its_value(level):
    assert shape(parse(f"mean(o3[{level}] - o3[0])<20", LEVELS)) == "(< (mean (- o3[1] o3[0])) 20)"


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("1 > max(o3[700 hPa])", 9, 'There is no level "700 hPa". Levels are 0 to 1, or 1000 hPa, 850 hPa. (column 9)'),
        ("1 > max(o3[2])", 9, '"o3" has levels 0 to 1, not 2. (column 9)'),
        ("1 > max(o3)", 9, '"o3" has 2 levels, 1000 hPa to 850 hPa.'),
        ("1 > max(water[850 hPa])", 9, 'There is no variable "water[850 hPa]" (column 9).'),
        ("1 > max(o3[850 hPa)", 11, '"[" at column 11 is not taken.'),
    ],
)
def test_a_level_that_is_not_there_is_refused_at_its_column(text, column, says):
    with pytest.raises(ExpressionError) as error:
        parse(text, LEVELS)
    assert error.value.column == column
    assert says in str(error.value)


def test_the_variables_of_an_expression_are_known():
    assert names_of(parse("mean(water * runoff) > 2 and 1 < max(water)", NAMES)) == {"water", "runoff"}


@given(st.text(alphabet="mean(water)<>+-*/ 0123.eE andorx_\n\t'\"[]", max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        kind, column = parse(text, NAMES).kind, 1
    except ExpressionError as error:
        kind, column = "truth", error.column
    assert kind == "truth"
    assert 1 <= column <= len(text) + 1
