"""Makes narrow.h: PMPI_X_c for the core, by PMPI_X where the counts fit an int. Not every library has the form with `_c`."""

import re

from prototypes import Function, Parameter

NEW_TYPES = {"MPI_User_function_c *", "MPI_Datarep_conversion_function_c *"}
OUTLIVES = re.compile(r"_I[a-z]|_init|[Nn]eighbor")  # arrays must stay until the operation has ended; or are of another length
HEAD = """#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define FITS(n) ((n) == (int)(n))

/* A copy of an array of counts as int, which the caller frees; null where the array is null or a value does not fit. */
static inline int *narrow_array(const void *array, MPI_Count n, bool *fits)
{
    const int64_t *wide = array;
    int *narrow = wide ? malloc((size_t)(n + 1) * sizeof *narrow) : NULL;
    for (MPI_Count i = 0; narrow && i < n; i++) {
        narrow[i] = (int)wide[i];
        *fits = *fits && FITS(wide[i]);
    }
    return narrow;
}

/* The length of the arrays of a collective. Arrays that mean nothing at this rank are to be null. */
static inline int narrow_length(MPI_Comm comm)
{
    int n, inter;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &n);
    else
        PMPI_Comm_size(comm, &n);
    return n;
}
"""


def header(mpich: dict[str, Function], known: dict[str, Function]) -> list[str]:
    """The lines of narrow.h for a library that has the functions `known`."""
    large = [name for name in mpich if name.endswith("_c") and name.startswith("MPI_") and name[:-2] in known]
    return [HEAD, *filter(None, (narrow_function(name, mpich[name], known) for name in large))]


def narrow_function(name: str, large: Function, known: dict[str, Function]) -> str:
    """PMPI_X_c by PMPI_X, or by PMPI_X_x, which takes large counts; nothing where neither can be."""
    base = f"{name[:-2]}_x" if f"{name[:-2]}_x" in known else name[:-2]
    small = known[base]
    pairs = list(zip(small.parameters, large.parameters, strict=False))
    arrays = [p.name for s, p in pairs if p.array and s.type == "const int" != p.type]
    outputs = [p.name for s, p in pairs if s.type == "int *" != p.type]
    names = [p.name for p in large.parameters]
    length = "count" if "count" in names else "narrow_length(comm)" if "comm" in names else ""
    if len(small.parameters) != len(large.parameters) or any(p.type in NEW_TYPES for _, p in pairs):
        return ""
    if (arrays and (OUTLIVES.search(name) or not length or name in known)) or (outputs not in ([], ["position"]) and name in known):
        return ""
    fits = [f"FITS({p.name})" for s, p in pairs if s.type == "int" != p.type] + ["FITS(*position)"] * ("position" in outputs)
    call = f"P{base}({', '.join(argument(s, p, arrays, outputs) for s, p in pairs)})"
    large_call = f"P{name}({', '.join(names)})" if name in known else "MPI_ERR_COUNT"
    if arrays:
        lines = [f"bool fits = {' && '.join(fits) or 'true'};"]
        lines += [f"int *narrow_{a} = narrow_array({a}, {length}, &fits);" for a in arrays]
        lines += [f"int error = fits ? {call} : MPI_ERR_COUNT;", *(f"free(narrow_{a});" for a in arrays), "return error;"]
    else:
        lines = [f"if (!({' && '.join(fits)}))", f"    return {large_call};"] if fits else []
        lines += [f"int narrow_{o} = {'(int)*position' if o == 'position' else 0};" for o in outputs]
        lines += [f"int error = {call};", *(f"*{o} = narrow_{o};" for o in outputs), "return error;"]
    renamed = name.replace("MPI_", "narrow_")
    return f"static inline {large.text(renamed)}\n{{\n    " + "\n    ".join(lines) + f"\n}}\n#define P{name} {renamed}\n"


def argument(small: Parameter, large: Parameter, arrays: list[str], outputs: list[str]) -> str:
    """What PMPI_X gets for a parameter of PMPI_X_c."""
    if large.name in arrays:
        return f"narrow_{large.name}"
    if large.name in outputs:
        return f"&narrow_{large.name}"
    if small.type == large.type:
        return large.name
    return f"({small.type}{' *' if small.array else ''}){large.name}"
