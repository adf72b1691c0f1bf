"""What the bridge does not serve between sites is an error by name."""

from pathlib import Path

import pytest

from tests.bridge.built import BUILD, TABLE, generate, prototypes
from tests.bridge.worlds import ABI, MPICH, OPENMPI, Mpi, Site, compiled, sites, world


def refusals(mpi: Mpi, to: Path) -> list[str]:
    """Writes a line for each function that the table refuses and this MPI has; their names."""
    rules, known = generate.read_table(TABLE)[0], prototypes.read_headers(BUILD / "headers")[mpi.name]
    lines = {}
    for name, function in known.items():
        if rules.get(generate.base_of(name, known)) in ("refused", "never"):
            given = ["MPI_COMM_WORLD" if p is function.communicator() else "0" for p in function.parameters]
            lines[name] = f"{'ON_WORLD' if function.communicator() else 'ALWAYS'}({', '.join([name, *given])})\n"
    to.write_text("".join(lines.values()))
    return [*lines]


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI, ABI], ids=lambda mpi: mpi.name)
def test_each_refused_function_names_itself_communicator_and_sites_before_it_looks_at_arguments(folder: Path, mpi: Mpi) -> None:
    lines = folder / f"refusals-{mpi.name}.h"
    names = refusals(mpi, lines)
    assert {"MPI_Win_create", "MPI_Comm_spawn", "MPI_Session_init", "MPI_Psend_init", "MPI_Open_port"} <= set(names)
    program = compiled("refused_each", mpi, folder, f'-DREFUSALS="{lines}"')
    with world(folder, [Site(name, 1, [program], mpi) for name in "ab"]) as running:
        ended = running.end()
    assert ended[0].output == f"{len(names)} called at 2 ranks\n"
    assert [(one.code, one.errors) for one in ended] == [(0, ""), (0, "")], ended


@pytest.mark.parametrize("pair", [(MPICH, OPENMPI)], ids=["mpich-openmpi"])
def test_what_is_not_served_is_an_error_by_name_and_goes_on_inside_a_site(folder: Path, pair: tuple[Mpi, Mpi]) -> None:
    with world(folder, sites(folder, "refused", (2, 1), pair)) as running:
        ended = running.end()
    assert [one.code for one in ended] == [0, 0], ended
    said = ended[0].output.splitlines()
    assert "MPI_Win_allocate on MPI_COMM_WORLD, which spans the sites a, b, is not supported." in said[0]
    assert [line.split(" ", 1)[0] for line in said] == [
        "MPI_Win_allocate",
        "MPI_Win_create",
        "MPI_File_open",
        "MPI_Comm_spawn",
        "inside",
    ], said


@pytest.mark.parametrize("word", ["fatal", "abort"])
def test_a_refused_call_that_is_fatal_ends_all_sites_with_a_code_that_no_batch_script_tries_again(folder: Path, word: str) -> None:
    with world(folder, sites(folder, "refused", (1, 1), (MPICH, OPENMPI), word)) as running:
        ended = running.end()
    assert [one.code for one in ended] == [1, 1], ended
    for one in ended:
        assert "MPI_Win_allocate on MPI_COMM_WORLD, which spans the sites a, b, is not supported." in one.errors
