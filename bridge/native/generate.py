"""Makes the wrappers of the preload library from the table `mpi_functions.txt` and the headers of three MPI libraries.

`generate.py ABI HEADERS OUT` (ABI: mpich, openmpi or abi) writes into the folder OUT
    wrappers.c   one function for each MPI_X and MPI_X_c of the header that the table does not leave to the library
    core.h       prototypes of the functions bridge_X, plain_X that the core defines: counts are MPI_Count
    narrow.h     PMPI_X_c for the core by PMPI_X, since not every library has the form with `_c`: narrow.py
`generate.py --markdown` prints the table by chapter.

MPICH's header, which has every `_c` form, decides which parameters are counts. A rule that calls a bridge_X which no file of
`preload/` defines yet is built as an error by name, and listed. A function that blocks goes by plain_X inside a site, if a file defines it.
"""

import re
import sys
from pathlib import Path

import narrow
from prototypes import Function, Parameter, read_headers

HERE = Path(__file__).resolve().parent
RULES = {  # rule -> word in the docs
    "served": "served",
    "blocking": "served",
    "awaited": "served",
    "send": "served",
    "collective": "served",
    "group": "served",
    "always": "served",
    "refused": "refused",
    "never": "refused",
    "native": "plain",
}
ENTRY = Parameter("struct communicator *", "c", "")
OF_COMMUNICATOR = ("served", "blocking", "awaited", "send", "collective", "refused")
BREAK = "\n            "
MODES = {"": "STANDARD", "s": "SYNCHRONOUS", "r": "READY", "b": "BUFFERED"}
SIDES = {"send": "send", "recv": "receive", "s": "send", "r": "receive"}  # prefix of a parameter -> side of a collective's call
PARTS = {"buf": "buffer", "count": "count", "type": "type", "counts": "counts", "displs": "places", "types": "types"}
DEFINITION = re.compile(r"^[A-Za-z](?:.*?\W)?((?:bridge|plain)_\w+)\b.*[^;\n]$", re.MULTILINE)
MACRO_CALL = re.compile(r"^[A-Z]\w*\((.*)", re.MULTILINE)  # where macros define bridge_##X or bridge_Group_##X


INTRODUCTION = """Made from `native/mpi_functions.txt`: `python native/generate.py --markdown > FUNCTIONS.md`.
Served: also on communicators that span sites. Refused: an error by name there. Plain: left to the MPI of the site. `_c` forms follow."""


class UnsoundTableError(Exception):
    """Table and headers do not fit: the names are in the text."""


def read_table(text: str) -> tuple[dict[str, str], dict[str, dict[str, list[str]]], set[str]]:
    """Function -> rule; chapter -> rule -> functions; functions marked as absent."""
    rules: dict[str, str] = {}
    chapters: dict[str, dict[str, list[str]]] = {}
    absent, chapter = set(), ""
    for line in text.splitlines():
        if line.startswith("## "):
            chapter = line[3:]
        elif line.strip() and not line.startswith("#"):
            rule, *names = line.split()
            if rule not in RULES:
                raise UnsoundTableError(f"Unknown rule '{rule}' in '{line}'.")
            for name in names:
                full = ("" if name.startswith("MPIX_") else "MPI_") + name.rstrip("*")
                if full in rules:
                    raise UnsoundTableError(f"{full} has two rows.")
                rules[full] = rule
                chapters.setdefault(chapter, {}).setdefault(rule, []).append(full)
                absent.update([full] if name.endswith("*") else [])
    return rules, chapters, absent


def target(prefix: str, name: str) -> str:
    """The function of the core for MPI_X or MPI_X_c."""
    return f"{prefix}_{name.removeprefix('MPI_').removesuffix('_c')}"


def base_of(name: str, known: dict[str, Function]) -> str:
    """The name without `_c`, where it is the form with large counts."""
    return name[:-2] if name.endswith("_c") and name[:-2] in known else name


def check(rules: dict[str, str], absent: set[str], headers: dict[str, dict[str, Function]]) -> None:
    """Raises UnsoundTableError where a function has no row, or a row no function."""
    every = {base_of(name, known): function for known in headers.values() for name, function in known.items()}
    rowless = sorted(n for n, f in every.items() if n not in rules and (n.startswith("MPI_") or f.communicator()))
    if rowless:
        raise UnsoundTableError(f"No row in mpi_functions.txt: {', '.join(rowless)}.")
    unknown = sorted(set(rules) - set(every) - absent)
    if unknown:
        raise UnsoundTableError(f"In no header, and not marked with a star: {', '.join(unknown)}.")
    bare = sorted(n for n, rule in rules.items() if rule in OF_COMMUNICATOR and n in every and not every[n].communicator())
    if bare:
        raise UnsoundTableError(f"Takes no communicator: {', '.join(bare)}.")


def wide(narrow: Parameter, large: Parameter) -> Parameter:
    """The parameter of bridge_X that stands for that of MPI_X and of MPI_X_c."""
    return narrow if narrow.type == large.type else Parameter(large.type, narrow.name, "")


def core_function(name: str, rule: str, mpich: dict[str, Function]) -> Function:
    """What the core defines for a function, by MPICH's header."""
    narrow = mpich[name]
    pairs = zip(narrow.parameters, mpich.get(f"{name}_c", narrow).parameters, strict=True)
    parameters = [wide(*pair) for pair in pairs]
    if rule in OF_COMMUNICATOR:
        parameters[parameters.index(narrow.communicator())] = ENTRY  # type: ignore[arg-type]
        parameters.sort(key=lambda p: p != ENTRY)
    return Function(narrow.result, parameters)


def call_core(name: str, called: str, function: Function, core: Function) -> str:
    """The statement that calls `called`, with the parameters of `core`, from MPI_X or MPI_X_c."""
    spans = core.parameters[:1] == [ENTRY]
    given = [p for p in function.parameters if not spans or p is not function.communicator()]
    taken = core.parameters[spans:]
    words, before, after = ["c"] * spans, "", ""
    for mine, its in zip(given, taken, strict=True):
        if its.type == "MPI_Count *" and mine.type == "int *":
            before += f"MPI_Count wide_{mine.name}; "
            after += f"*{mine.name} = (int)wide_{mine.name}; "
            words.append(f"&wide_{mine.name}")
        else:
            words.append(mine.name)
    call = f"{called}({', '.join(words)})"
    return f"{{ {before}int error = {call}; {after}return error; }}" if before else f"return {call};"


def describe(name: str, function: Function) -> str:
    """The declaration of the `struct call` of a collective."""
    fields = {}
    for p in function.parameters:
        side, part = re.fullmatch(r"(send|recv|s(?=disp)|r(?=disp)|)(\w+)", p.name).groups()  # type: ignore[union-attr]
        if side or p.name == "displs":
            fields[f"{SIDES[side or ('send' if 'scatterv' in name else 'recv')]}.{PARTS[part]}"] = p
        elif p.name in ("buffer", "count", "datatype"):
            fields[f"receive.{p.name.removeprefix('data')}"] = p
        elif p.name in ("op", "root"):
            fields[p.name] = p
    return f"const struct call call = {{{', '.join(f'.{field} = {value(p)}' for field, p in fields.items())}}}"


def value(p: Parameter) -> str:
    """A parameter as a field of a `struct call`."""
    if p.array and p.type != "const MPI_Datatype":
        return f"{{.narrow = {p.name}}}" if p.type == "const int" else f"{{.wide = (const MPI_Count *){p.name}}}"
    return f"(void *){p.name}" if p.type == "const void *" else p.name


def engage(name: str, function: Function) -> str:
    """The statement that runs, starts or prepares a collective: MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init are `gather`."""
    run = re.sub(r"^mpi_i?|(_block|v|w)?(_init)?(_c)?$", "", name.lower())
    waits = function.parameters[-1].name == "request"
    do = "collective_persistent" if "_init" in name else "collective_start" if waits else "collective_call"
    return f"""{{
            {describe(name.lower(), function)};
            OR_RETURN(collective_checked(c, {run}, &call));
            return {do}(c, {run}, &call{", request" if waits else ""});
        }}"""


def send(name: str, function: Function) -> str:
    """The statement that sends to another site, or leaves `dest` as the number of a rank at this one."""
    starts, mode, prepares = re.fullmatch(r"mpi_(i?)(.?)send(_init)?(_c)?", name.lower()).groups()[:3]  # type: ignore[union-attr]
    do = "prepare" if prepares else "begin" if starts else "call"
    buffer, count, datatype, dest, tag = (p.name for p in function.parameters[:5])
    more = ", request" if starts or prepares else ""
    return f"""{{
            OR_RETURN(send_checked(c, {dest}, {tag}, {count}, {datatype}));
            if (is_remote(c, {dest}))
                return send_{do}(c, {buffer}, {count}, {datatype}, {dest}, {tag}, SEND_{MODES[mode]}{more});
            {dest} = local_of(c, {dest});
        }}"""


def plainly(name: str, rule: str, function: Function, plain: Function | None) -> str:
    """The statement that calls the library while it may block: with progress while other sites may need this rank, or with the helper."""
    if rule in ("send", "awaited"):
        words = [p.name for p in function.parameters]
        status = words.pop() if words[-1] == "status" else "MPI_STATUS_IGNORE"
        started = f"PMPI_I{name.removeprefix('MPI_').lower()}({', '.join(words)}, &awaited)"
        return f"if (UNLIKELY(busy()))\n            return AWAITED({started}, {status});"
    if plain:
        return f"if (UNLIKELY(busy()))\n            {call_core(name, target('plain', name), function, plain)}"
    return f"return HELPED(P{name}({', '.join(p.name for p in function.parameters)}));"


def wrapper(name: str, rule: str, function: Function, core: Function | None, plain: Function | None) -> str:
    """The definition of MPI_X; `core` is missing where the core does not serve it, `plain` where it has no plain_X."""
    communicator = function.communicator()
    by_communicator = rule in OF_COMMUNICATOR or (core is None and communicator)
    starts = "request" in [p.name for p in function.parameters]
    blocks = rule in ("blocking", "awaited", "send", "collective") and not starts and not name.startswith("MPI_Bsend")
    if rule == "collective":
        action = engage(name, function)
    elif rule == "send":
        action = send(name, function)
    elif core:
        action = call_core(name, target("bridge", name), function, core)
    else:
        action = f'return bridge_refuse("{name}", c);' if by_communicator else f'return bridge_refuse_always("{name}");'
    body = f"\n        {action}"
    if rule == "group":
        given = [p.name for p in function.parameters if p.type == "MPI_Group"]
        body = f"\n        if (UNLIKELY({' || '.join(f'group_spans({name})' for name in given)})){BREAK}{action}"
    if by_communicator:
        assert communicator
        body = f"""
        struct communicator *c = bridge_spans({communicator.name});
        if (UNLIKELY(c != NULL)){" " if rule in ("send", "collective") else BREAK}{action}"""
        body += f"\n        {plainly(name, rule, function, plain)}" if blocks else ""
    return f"""{function.text(name)}
{{
    if (UNLIKELY(bridge_mode > BRIDGE_INERT))
        bridge_enter();
    if (LIKELY(bridge_mode == BRIDGE_ON)) {{{body}
    }}
    return P{name}({", ".join(p.name for p in function.parameters)});
}}
"""


def lacking(rules: dict[str, str], known: dict[str, Function]) -> list[str]:
    """The functions of the core that this library does not have."""
    return [name for name, rule in rules.items() if RULES[rule] == "served" and name not in known]


def generate(abi: str, folder: Path, out: Path, table: str, defined: set[str]) -> list[str]:
    """Writes the three files; returns the functions that the core is to serve, and does not yet."""
    headers = read_headers(folder)
    rules, _, absent = read_table(table)
    check(rules, absent, headers)
    known, mpich = headers[abi], headers["mpich"]
    served = {n: rule for n, rule in rules.items() if RULES[rule] == "served" and rule not in ("collective", "send") and n in known}
    cores = {n: core_function(n, rule, mpich) for n, rule in served.items()}
    plains = {n: core_function(n, "always", mpich) for n in cores if target("plain", n) in defined}
    wrappers = ["#define WRAPPERS", '#include "core.h"', "", "#define LIKELY(x) __builtin_expect(!!(x), 1)"]
    wrappers += ["#define UNLIKELY(x) __builtin_expect(!!(x), 0)", "#pragma GCC visibility push(default)", ""]
    for name, function in known.items():
        base = base_of(name, known)
        rule = rules.get(base, "native")
        if rule != "native":
            core = cores.get(base) if target("bridge", base) in defined else None
            wrappers.append(wrapper(name, rule, function, core, plains.get(base)))
    core_text = ["#ifndef STEPPE_BRIDGE_CORE_H", "#define STEPPE_BRIDGE_CORE_H", '#include "preload/bridge.h"', ""]
    core_text += ["/* Hidden: one that is not defined does not link. */", "#pragma GCC visibility push(hidden)"]
    core_text += [f"#define LACKS_{name} 1" for name in lacking(rules, known)]
    core_text += [f"{core.text(target('bridge', name))};" for name, core in cores.items()]
    core_text += [f"{plain.text(target('plain', name))};" for name, plain in plains.items()]
    core_text += ["#pragma GCC visibility pop", "#endif"]
    out.mkdir(parents=True, exist_ok=True)
    for name, lines in {"wrappers.c": wrappers, "core.h": core_text, "narrow.h": narrow.header(mpich, known)}.items():
        text = "/* Made by generate.py. */\n" + "\n".join(lines) + "\n"
        if not (out / name).exists() or (out / name).read_text() != text:
            (out / name).write_text(text)
    return [name for name in cores if target("bridge", name) not in defined]


def markdown(table: str) -> str:
    """The table of the documentation: chapter, and what is served, plain and refused in it."""
    lines = ["# Functions of MPI 5.0 between sites", "", INTRODUCTION, "", "| chapter | rule | functions |", "|---|---|---|"]
    for chapter, rules in read_table(table)[1].items():
        words = dict.fromkeys(RULES.values())
        for word in words:
            names = [name for rule, group in rules.items() if RULES[rule] == word for name in group]
            lines += [f"| {chapter} | {word} | {' '.join(name.removeprefix('MPI_') for name in names)} |"] if names else []
    return "\n".join(lines)


def defined_in(source: str) -> list[str]:
    """All bridge_X and plain_X that a file in C defines."""
    words = re.findall(r"\w+", " ".join(MACRO_CALL.findall(source)))
    by_macro = [prefix + word for prefix in set(re.findall(r"((?:bridge|plain)_\w*)##", source)) for word in words]
    return DEFINITION.findall(source) + by_macro


def main(words: list[str]) -> int:
    """Does what the words say; an exit status."""
    table = (HERE / "mpi_functions.txt").read_text()
    if words == ["--markdown"]:
        print(markdown(table))
        return 0
    abi, folder, out = words
    defined = {name for path in sorted((HERE / "preload").glob("*.c")) for name in defined_in(path.read_text())}
    try:
        missing = generate(abi, Path(folder), Path(out), table, defined)
    except UnsoundTableError as error:
        print(error, file=sys.stderr)
        return 1
    if missing:
        print(f"{abi}: not yet served: {' '.join(name.removeprefix('MPI_') for name in missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
