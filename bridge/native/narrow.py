"""Makes narrow.h: PMPI_X_c for the core, by PMPI_X where the counts fit an int. Not every library has the form with `_c`.

Functions that take arrays of counts, which the core never calls so, are left out.
"""

from prototypes import Function, Parameter

NEW_TYPES = {"MPI_User_function_c *", "MPI_Datarep_conversion_function_c *"}


def header(mpich: dict[str, Function], known: dict[str, Function]) -> list[str]:
    """The lines of narrow.h for a library that has the functions `known`."""
    large = [name for name in mpich if name.endswith("_c") and name.startswith("MPI_") and name[:-2] in known]
    return ["#define FITS(n) ((n) == (int)(n))", *filter(None, (narrow_function(name, mpich[name], known) for name in large))]


def narrow_function(name: str, large: Function, known: dict[str, Function]) -> str:
    """PMPI_X_c by PMPI_X, or by PMPI_X_x, which takes large counts; nothing where neither can be."""
    base = f"{name[:-2]}_x" if f"{name[:-2]}_x" in known else name[:-2]
    small = known[base]
    pairs = list(zip(small.parameters, large.parameters, strict=False))
    outputs = [p.name for s, p in pairs if s.type == "int *" != p.type]
    names = [p.name for p in large.parameters]
    if len(small.parameters) != len(large.parameters) or any(
        p.type in NEW_TYPES or (p.array and s.type == "const int" != p.type) for s, p in pairs
    ):
        return ""
    if outputs not in ([], ["position"]) and name in known:
        return ""
    fits = [f"FITS({p.name})" for s, p in pairs if s.type == "int" != p.type] + ["FITS(*position)"] * ("position" in outputs)
    call = f"P{base}({', '.join(argument(s, p, outputs) for s, p in pairs)})"
    large_call = f"P{name}({', '.join(names)})" if name in known else "MPI_ERR_COUNT"
    lines = [f"if (!({' && '.join(fits)}))", f"    return {large_call};"] if fits else []
    lines += [f"int narrow_{o} = {'(int)*position' if o == 'position' else 0};" for o in outputs]
    lines += [f"int error = {call};", *(f"*{o} = narrow_{o};" for o in outputs), "return error;"]
    renamed = name.replace("MPI_", "narrow_")
    return f"static inline {large.text(renamed)}\n{{\n    " + "\n    ".join(lines) + f"\n}}\n#define P{name} {renamed}\n"


def argument(small: Parameter, large: Parameter, outputs: list[str]) -> str:
    """What PMPI_X gets for a parameter of PMPI_X_c."""
    if large.name in outputs:
        return f"&narrow_{large.name}"
    if small.type == large.type:
        return large.name
    return f"({small.type}{' *' if small.array else ''}){large.name}"
