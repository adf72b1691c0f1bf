"""Reads the prototypes of MPI functions out of headers."""

import re
from pathlib import Path
from typing import NamedTuple

HEADERS = {
    "mpich": ["mpich/mpi_proto.h"],
    "openmpi": ["openmpi/mpi.h", "openmpi/openmpi/mpiext/mpiext_ftmpi_c.h"],
    "abi": ["mpich/mpi_abi.h"],
}
NOISE = r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\b(?:MPICH_API_PUBLIC|OMPI_DECLSPEC)\b|\b(?:MPICH_ATTR|__\w+)\w*\([^()]*\)"
PROTOTYPE = re.compile(r"([A-Za-z_][\w\s*]*?[\s*])(P?MPIX?_\w+)\s*\(((?:[^;(){}]|\([^()]*\))*)\)\s*;")


class Parameter(NamedTuple):
    """One parameter of a function: `const int`, `counts`, `[]`."""

    type: str
    name: str
    array: str

    def __str__(self) -> str:
        return self.type + ("" if self.type.endswith("*") or not self.name else " ") + self.name + self.array


class Function(NamedTuple):
    """A prototype."""

    result: str
    parameters: list[Parameter]

    def text(self, name: str) -> str:
        """The prototype under this name."""
        gap = "" if self.result.endswith("*") else " "
        return f"{self.result}{gap}{name}({', '.join(map(str, self.parameters)) or 'void'})"

    def communicator(self) -> Parameter | None:
        """The first parameter that is a communicator."""
        return next((p for p in self.parameters if p.type == "MPI_Comm" and not p.array), None)


def parameter(text: str) -> Parameter:
    """Takes `const int counts[]` to its three parts."""
    found = re.fullmatch(r"(.*?)(\w+)\s*((?:\[\w*\]\s*)*)", re.sub(r"\s+", " ", text).strip())
    assert found, text
    return Parameter(re.sub(r" ?\* ?", " *", found[1]).replace("* *", "**").strip(), found[2], found[3].strip())


def functions(text: str) -> dict[str, Function]:
    """The functions MPI_X of a header that have a twin PMPI_X."""
    found = {}
    for result, name, inside in PROTOTYPE.findall(re.sub(NOISE, " ", text, flags=re.DOTALL | re.MULTILINE)):
        words = [] if inside.strip() == "void" else inside.split(",")
        found[name] = Function(" ".join(result.split()), [Parameter("...", "", "") if "..." in w else parameter(w) for w in words])
    return {name: function for name, function in found.items() if f"P{name}" in found}


def read_headers(folder: Path) -> dict[str, dict[str, Function]]:
    """ABI -> functions of its headers."""
    return {abi: functions("\n".join((folder / name).read_text() for name in names)) for abi, names in HEADERS.items()}
