import re

import numpy as np
from examples import bucket
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from steppe.kernels.cell_kernel import compile_loop
from steppe.kernels.ordering import NAME, ordered, reordered
from steppe.models.cell_declaration import CellDeclaration

V = "<8 x float>"
HEAD = f"""\
loop:                     ; preds = %loop, %begin
  %i = phi i64 [ 0, %begin ], [ %next, %loop ]
  %sum = phi {V} [ %z, %begin ], [ %y, %loop ]"""
TAIL = "  br i1 %end, label %after, label %loop, !llvm.loop !7"


def double(x: np.ndarray, y: np.ndarray) -> None:
    for i in range(x.size):
        y[i] = x[i] * 2.0 + 1.0


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """A loop of loads, sums, divisions, comparisons with a choice, and stores, each of anything before it."""
    lines, values = [], ["%sum", "%outer"]
    for k in range(draw(st.integers(1, 60))):
        a, b = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        kind = draw(st.sampled_from(["load", "fadd", "fdiv", "select", "store", "lane", "gathered"]))
        if kind == "load":
            lines += [f"  %p{k} = getelementptr float, ptr %old, i64 %i", f"  %{k} = load {V}, ptr %p{k}, align 4"]
        elif kind == "select":
            lines += [f"  %c{k} = fcmp ogt {V} {a}, {b}", f"  %{k} = select <8 x i1> %c{k}, {V} {a}, {V} {b}"]
        elif kind == "store":
            lines += [f"  %p{k} = getelementptr float, ptr %new, i64 %i", f"  store {V} {a}, ptr %p{k}, align 4"]
        elif kind == "lane":  # what has no vector instruction, done for one cell
            lines += [f"  %e{k} = extractelement {V} {a}, i64 0", f"  %f{k} = frem float %e{k}, %e{k}"]
            lines += [f"  %{k} = insertelement {V} {b}, float %f{k}, i64 0"]
        elif kind == "gathered":
            lines += [f"  %e{k} = extractelement <8 x i64> {a}, i64 0", f"  %p{k} = getelementptr float, ptr %old, i64 %e{k}"]
            lines += [f"  %{k} = load {V}, ptr %p{k}, align 4"]
        else:
            lines += [f"  %{k} = {kind} {V} {a}, {b}"]
        if kind != "store":
            values.append(f"%{k}")
    return "\n".join([HEAD, *lines, "  %next = add i64 %i, 8", "  %end = icmp eq i64 %next, 256", TAIL, ""])


@given(blocks())
def test_every_instruction_stays_and_stands_after_what_it_needs(block: str) -> None:
    found = reordered(block, 16)
    lines = found.splitlines()
    assert sorted(lines) == sorted(block.splitlines())
    assert lines[:3] == HEAD.splitlines()
    assert lines[-1] == TAIL
    made = set(re.findall(rf"(?m)^\s*({NAME}) = ", block))
    seen: set[str] = set()
    for line in lines[3:]:
        name, text = re.findall(rf"^\s*(?:({NAME}) = )?(.*)", line)[0]
        assert not {n for n in re.findall(NAME, text) if n in made} - seen - {"%i", "%sum"}, line
        seen.add(name)
    assert reordered(block, 16) == found


def test_chains_that_do_not_wait_for_each_other_take_turns() -> None:
    chains = [[f"  %{c}{k} = fmul {V} %{c}{k - 1}, %{c}{k - 1}" for k in range(1, 9)] for c in "abc"]
    block = "\n".join([HEAD, *chains[0], *chains[1], *chains[2], TAIL, ""])
    lines = [line.strip()[:2] for line in reordered(block, 16).splitlines()[3:-1]]
    assert lines == ["%a", "%b", "%c"] * 8


def test_a_load_stands_before_its_first_user() -> None:
    lines = [f"  %x = load {V}, ptr %p", f"  %u = fdiv {V} %outer, %outer", f"  %v = fadd {V} %u, %x", f"  store {V} %v, ptr %q"]
    found = reordered("\n".join([HEAD, *lines, TAIL, ""]), 16).splitlines()[3:-1]
    assert found == [lines[1], lines[0], lines[2], lines[3]]


def test_only_the_named_functions_change_and_numbers_become_names() -> None:
    lines = [f"  %{k + 2} = fadd {V} %z, %z" for k in range(3)] + [f"  %5 = fadd {V} %3, %3"]
    text = "\n".join(
        [
            "define void @{}() {{",
            "begin:",
            "  br label %1",
            "",
            "1:",
            *lines,
            "  br i1 %e, label %1, label %6",
            "",
            "6:",
            "  ret void",
            "}}",
        ]
    )
    text = "\n".join([text.format("one"), text.format('"two$1"'), ""])
    named = re.sub(r"%(\d)", r"%n\1", re.sub(r"(?m)^(\d):", r"n\1:", text))
    assert ordered(text, [], 16) == named
    found = ordered(text, ["two$1"], 16)
    assert found[: found.index("two")] == named[: named.index("two")]
    assert [line[:5] for line in found.splitlines()[19:23]] == ["  %n3", "  %n2", "  %n4", "  %n5"]


def test_the_loop_of_a_model_has_two_vectors_a_turn_and_what_others_compile_is_as_before() -> None:
    def assembly() -> list[str]:
        function = njit("void(f4[::1], f4[::1])")(double)
        text = next(iter(function.inspect_asm().values()))
        return re.findall(r"(?m)^\t([a-z]\w+)", text)

    before = assembly()
    code = compile_loop(CellDeclaration(bucket).cell_step(()), np.float32)
    assert assembly() == before
    loops = [block for block in re.split(r"(?m)^(?=\S+:)", str(code.module)) if f"label %{block.split(':')[0]}" in block]
    # one division, of two vectors; and of a loop so short LLVM makes two turns one
    assert max(len(re.findall(r"fdiv <\d+ x float>", block)) for block in loops) == 4
