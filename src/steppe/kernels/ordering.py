"""The order of the instructions in the loop over cells.

LLVM orders instructions for few registers: chains of dependent instructions stand one after another. A processor looks one or two hundred
instructions ahead, sees little more than one such chain, and waits. Here the loop, with two vectors of cells a turn, gets the order in
which its instructions could start if one started each cycle, the longest chain first. While more values are alive than there are registers,
instructions that end a value come first (Goodman and Hsu 1988, "Code scheduling and register allocation in large basic blocks"). LLVM then
chooses instructions and registers in that order.

It works on text, since llvmlite cannot move instructions. The loop reads nothing that it writes, so only values fix the order.
"""

import re
from collections.abc import Collection, Iterator

LATENCY = {"fadd": 3, "fsub": 3, "fmul": 3, "fma": 4, "fdiv": 11, "sqrt": 15}  # [cycles] AMD Zen 3, as LLVM has them; others 1
NAME = r'%(?:[-\w.$]+|"[^"]*")'


class Instruction:
    """One instruction, or a comparison with its select: a processor often does both in one."""

    def __init__(self, line: str, makers: dict[str, "Instruction"]) -> None:
        self.lines = [line]
        self.name, text = re.findall(rf"^\s*(?:({NAME}) = )?(.*)", line)[0]
        called = re.search(r"@llvm\.(\w+)", text)
        self.operation = called[1] if called else text.split(maxsplit=1)[0]
        self.needs = list(dict.fromkeys(makers[name] for name in re.findall(NAME, text) if name in makers))
        self.is_of_cells: bool = "<" in text or any(need.is_of_cells for need in self.needs)
        self.users: list[Instruction] = []
        for need in self.needs:
            need.users.append(self)
        self.height = 0  # cycles from its start to the end of the loop's turn
        self.start = 0  # cycle in which what it needs is there
        self.waits_for = 0  # instructions
        self.open_uses = 0  # users that have not yet had its value

    @property
    def change(self) -> int:
        """The change in the number of live values."""
        return bool(self.users) - sum(need.open_uses == 1 for need in self.needs)

    def take_in(self, other: "Instruction") -> None:
        """Merges `other`, whose only user this is, into this."""
        self.lines = other.lines + self.lines
        self.needs = list(dict.fromkeys([need for need in self.needs if need is not other] + other.needs))
        for need in other.needs:
            need.users = list(dict.fromkeys(self if user is other else user for user in need.users))


def ordered(module: str, functions: Collection[str], registers: int) -> str:
    """The text of a module, with the longest vector loop of each of `functions` reordered for a number of registers."""
    # Numbers as names must count upwards; with a letter before them they need not.
    module = re.sub(r"(?m)^(\d+):", r"n\1:", re.sub(r"%(\d+)\b", r"%n\1", module))
    return re.sub(r'(?ms)^define [^@]*@"?([^"(]+).*?^\}$', lambda f: _with_order(f[0], registers) if f[1] in functions else f[0], module)


def _with_order(function: str, registers: int) -> str:
    loops = [block for block in _blocks(function) if _is_vector_loop(block)]
    if not loops:
        return function
    block = max(loops, key=len)
    return function.replace(block, reordered(block, registers))


def _blocks(function: str) -> Iterator[str]:
    yield from re.split(r"(?m)^(?=\S+:)", function.removesuffix("}"))[1:]


def _is_vector_loop(block: str) -> bool:
    label = block.split(":", 1)[0]
    return "<" in block and re.search(rf"label %{re.escape(label)}(?![-\w.$])", block) is not None


def reordered(block: str, registers: int) -> str:
    """A block of one label, phis, other instructions and a branch, in a better order."""
    lines = [line for line in block.splitlines() if line.strip()]
    begin = next(k for k in range(1, len(lines)) if " = phi " not in lines[k])
    makers: dict[str, Instruction] = {}
    instructions = []
    for line in lines[begin:-1]:
        instruction = Instruction(line, makers)
        instructions.append(instruction)
        if instruction.name:
            makers[instruction.name] = instruction
    # Addresses and what is the same in all cells: first, as it is.
    common = [line for i in instructions if not i.is_of_cells for line in i.lines]
    made = [*lines[:begin], *common, *_sequence([i for i in instructions if i.is_of_cells], registers), lines[-1]]
    return "\n".join(made) + "\n" * (len(block) - len(block.rstrip("\n")))


def _sequence(instructions: list[Instruction], registers: int) -> Iterator[str]:
    """The lines in the order of a list schedule. A load stands before its first user."""
    loads = {i for i in instructions if i.operation == "load" and i.users and not any(need.is_of_cells for need in i.needs)}
    comparisons = {i for i in instructions if i.operation == "fcmp" and len(i.users) == 1}
    for i in instructions:
        if i in comparisons:
            i.users[0].take_in(i)
    units = [i for i in instructions if i not in loads and i not in comparisons]
    known = set(units)
    for unit in reversed(units):
        unit.height = LATENCY.get(unit.operation, 1) + max((user.height for user in unit.users), default=0)
    for unit in units:
        unit.waits_for, unit.open_uses = sum(need in known for need in unit.needs), len(unit.users)
    ready = [unit for unit in units if not unit.waits_for]
    now = alive = 0
    loaded: set[Instruction] = set()
    while ready:
        crowded = alive >= registers * 7 // 8  # what is worked on needs some, too
        unit = min(ready, key=lambda u: (u.change if crowded else 0, max(u.start - now, 0), -u.height))
        ready.remove(unit)
        now, alive = max(now + 1, unit.start), alive + unit.change
        for need in unit.needs:
            need.open_uses -= 1
            if need in loads and need not in loaded:
                loaded.add(need)
                yield from need.lines
        yield from unit.lines
        for user in unit.users:
            user.waits_for -= 1
            user.start = max(user.start, now + LATENCY.get(unit.operation, 1))
            if not user.waits_for:
                ready.append(user)
