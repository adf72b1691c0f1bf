"""The table of all functions of MPI, what is generated from it, and the libraries that are built."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.built import BUILD, NATIVE, TABLE, generate, make, prototypes

ROOT = Path(__file__).parents[2]
FUNCTIONS = NATIVE.parent / "FUNCTIONS.md"
ABIS = ("mpich", "openmpi", "abi")


@pytest.fixture(scope="module")
def headers():
    make("headers")
    return prototypes.read_headers(BUILD / "headers")


@pytest.fixture(scope="module")
def libraries() -> dict[str, Path]:
    make("libraries")
    return {abi: BUILD / f"libsteppe_bridge_{abi}.so" for abi in ABIS}


def checked(table: str, headers) -> None:
    rules, _, absent = generate.read_table(table)
    generate.check(rules, absent, headers)


def generated(abi: str, folder: Path, defined: set[str]) -> tuple[dict[str, str], list[str]]:
    """The text of each file, and what is not served yet."""
    missing = generate.generate(abi, BUILD / "headers", folder, TABLE, defined)
    return {path.name: path.read_text() for path in folder.iterdir()}, missing


def function(text: str, name: str) -> str:
    """The definition of a function in C."""
    return text[text.index(f" {name}(") :].partition("\n}\n")[0]


def symbols(library: Path, which: str) -> Iterator[str]:
    said = subprocess.run(["nm", "-D", f"--{which}-only", library], capture_output=True, text=True, check=True).stdout
    return (line.split()[-1] for line in said.splitlines())


def test_every_function_of_the_three_headers_has_a_row(headers):
    checked(TABLE, headers)
    functions = {generate.base_of(name, known) for known in headers.values() for name in known}
    assert len(functions) > 550
    assert {"MPI_Send", "MPI_Session_set_info", "MPI_Type_struct", "MPIX_Comm_ack_failed"} <= functions


def test_a_function_without_a_row_fails_the_build_by_its_name(headers):
    with pytest.raises(generate.UnsoundTableError, match=r"No row in mpi_functions.txt: MPI_Bsend, MPI_Ssend\."):
        checked(TABLE.replace(" Bsend Send ", " Send ").replace(" Ssend ", " "), headers)
    with pytest.raises(generate.UnsoundTableError, match=r"No row in mpi_functions.txt: MPIX_Comm_agree\."):
        checked(TABLE.replace(" MPIX_Comm_agree", ""), headers)


def test_a_row_without_a_function_fails_unless_it_has_a_star(headers):
    with pytest.raises(generate.UnsoundTableError, match=r"In no header, and not marked with a star: MPI_Teleport\."):
        checked(TABLE + "native Teleport\n", headers)
    checked(TABLE + "native Teleport*\n", headers)


def test_a_function_has_one_row_and_a_rule_that_fits(headers):
    with pytest.raises(generate.UnsoundTableError, match="MPI_Send has two rows"):
        checked(TABLE + "native Send\n", headers)
    with pytest.raises(generate.UnsoundTableError, match="Unknown rule 'perhaps'"):
        checked(TABLE + "perhaps Send\n", headers)
    with pytest.raises(generate.UnsoundTableError, match=r"Takes no communicator: .*MPI_Waitall, MPI_Waitany"):
        checked(TABLE.replace("always   Wait ", "served   Wait "), headers)


@pytest.mark.parametrize("abi", ABIS)
def test_both_forms_of_a_function_call_one_function_of_the_core_with_large_counts(abi, headers, tmp_path):
    text, missing = generated(abi, tmp_path, {"bridge_Irecv", "bridge_Buffer_detach"})
    assert "int bridge_Irecv(struct communicator *c, void *buf, MPI_Count count, MPI_Datatype datatype, int" in text["core.h"]
    assert "bridge_Irecv(c, buf, count, datatype, source, tag, request)" in function(text["wrappers.c"], "MPI_Irecv")
    assert "return PMPI_Irecv(buf, count, datatype, source, tag, comm, request);" in function(text["wrappers.c"], "MPI_Irecv")
    assert "collective_call(c, alltoall, &call);" in (exchange := function(text["wrappers.c"], "MPI_Alltoallw"))
    assert ".send.counts = {.narrow = sendcounts}, .send.places = {.narrow = sdispls}, .send.types = sendtypes, .receive" in exchange
    assert "bridge_Buffer_detach(buffer" in (detach := function(text["wrappers.c"], "MPI_Buffer_detach"))
    assert "*size = (int)wide_size" in detach
    if abi != "openmpi":  # which has no form with large counts
        assert "bridge_Irecv(c, buf, count, datatype, source, tag, request)" in (large := function(text["wrappers.c"], "MPI_Irecv_c"))
        assert "return PMPI_Irecv_c(" in large
        assert ".send.places = {.wide = (const MPI_Count *)sdispls}" in function(text["wrappers.c"], "MPI_Alltoallw_c")
    assert "MPI_Irecv" not in missing


def test_all_forms_of_a_collective_describe_their_call_alike(headers, tmp_path):
    text, _ = generated("mpich", tmp_path, set())
    call = "const struct call call = {.send.buffer = (void *)sendbuf, .send.count = sendcount, .send.type = sendtype"
    call += ", .receive.buffer = recvbuf, .receive.counts = {.narrow = recvcounts}, .receive.places = {.narrow = displs}"
    call += ", .receive.type = recvtype, .root = root};"
    for name, does in {"Gatherv": "call", "Igatherv": "start", "Gatherv_init": "persistent"}.items():
        written = function(text["wrappers.c"], f"MPI_{name}")
        assert call in written
        assert f"OR_RETURN(collective_checked(c, gather, &call));\n            return collective_{does}(c, gather, &call" in written
    assert ".send.places = {.narrow = displs}" in function(text["wrappers.c"], "MPI_Iscatterv")
    assert "collective_start(c, neighbor_alltoall, " in function(text["wrappers.c"], "MPI_Ineighbor_alltoallw_c")
    assert "collective_call(c, reduce_scatter, " in function(text["wrappers.c"], "MPI_Reduce_scatter_block")


@pytest.mark.parametrize(("name", "sends"), [("Ssend", "call"), ("Ibsend", "begin"), ("Rsend_init_c", "prepare")])
def test_a_send_to_the_own_site_is_left_to_the_library_under_the_rank_there(name, sends, headers, tmp_path):
    text = function(generated("mpich", tmp_path, set())[0]["wrappers.c"], f"MPI_{name}")
    mode = {"S": "SYNCHRONOUS", "I": "BUFFERED", "R": "READY"}[name[0]]
    more = "" if sends == "call" else ", request"
    assert f"if (is_remote(c, dest))\n                return send_{sends}(c, buf, count, datatype, dest, tag, SEND_{mode}{more});" in text
    assert text.index("return send_") < text.index("dest = local_of(c, dest);") < text.index(f"return PMPI_{name}(buf, ")


def test_groups_of_one_site_are_left_to_the_library(headers, tmp_path):
    text = function(generated("mpich", tmp_path, {"bridge_Group_union"})[0]["wrappers.c"], "MPI_Group_union")
    given = "(group1, group2, newgroup);"
    assert f"if (UNLIKELY(group_spans(group1) || group_spans(group2)))\n            return bridge_Group_union{given}" in text
    assert f"return PMPI_Group_union{given}" in text


def test_what_blocks_inside_a_site_goes_on_serving_others(headers, tmp_path):
    text, _ = generated("mpich", tmp_path, {"bridge_Recv", "bridge_Probe", "plain_Probe"})
    send = function(text["wrappers.c"], "MPI_Ssend_c")
    waits = "if (UNLIKELY(busy()))\n            return "
    assert f"{waits}AWAITED(PMPI_Issend_c(buf, count, datatype, dest, tag, comm, &awaited), MPI_STATUS_IGNORE);" in send
    receive = function(text["wrappers.c"], "MPI_Recv")
    assert f"{waits}AWAITED(PMPI_Irecv(buf, count, datatype, source, tag, comm, &awaited), status);" in receive
    assert f"{waits}plain_Probe(source, tag, comm, status);" in function(text["wrappers.c"], "MPI_Probe")
    assert "int plain_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status);" in text["core.h"]
    assert "busy" not in function(text["wrappers.c"], "MPI_Bsend") + function(text["wrappers.c"], "MPI_Isend")
    assert "return HELPED(PMPI_Barrier(comm));" in function(text["wrappers.c"], "MPI_Barrier")
    assert "HELPED" not in function(text["wrappers.c"], "MPI_Ibarrier")


def test_what_the_core_does_not_define_yet_is_refused_by_name_and_listed(headers, tmp_path):
    text, missing = generated("mpich", tmp_path, set())
    assert {"MPI_Recv", "MPI_Wait"} <= set(missing)
    assert 'bridge_refuse("MPI_Recv_c", c)' in function(text["wrappers.c"], "MPI_Recv_c")
    assert 'bridge_refuse_always("MPI_Wait")' in function(text["wrappers.c"], "MPI_Wait")
    assert 'bridge_refuse("MPI_Win_create", c)' in function(text["wrappers.c"], "MPI_Win_create")
    assert 'bridge_refuse_always("MPI_Open_port")' in function(text["wrappers.c"], "MPI_Open_port")


def test_definitions_are_found_in_c():
    source = """
int bridge_Send(struct communicator *c,
                int tag) {
    return bridge_Isend(c, tag);
}
int bridge_Attr_get(int key) { return bridge_Comm_get_attr(key); }
int bridge_Probe(int tag);
int plain_Ssend(int tag) {
#define TWO(NAME, OTHER) int bridge_Group_##NAME(void) { return OTHER; }
TWO(union,
    1)
"""
    found = set(generate.defined_in(source))
    assert {"bridge_Send", "bridge_Attr_get", "bridge_Group_union", "plain_Ssend"} <= found
    assert not {"bridge_Isend", "bridge_Comm_get_attr", "bridge_Probe"} & found


def test_large_counts_go_by_the_narrow_form_where_they_fit(headers, tmp_path):
    openmpi, _ = generated("openmpi", tmp_path / "openmpi", set())
    send = function(openmpi["narrow.h"], "narrow_Send_c")
    assert "if (!(FITS(count)))\n        return MPI_ERR_COUNT;" in send
    assert "PMPI_Send(buf, (int)count, datatype, dest, tag, comm)" in send
    mpich, _ = generated("mpich", tmp_path / "mpich", set())
    assert "return PMPI_Send_c(buf, count, datatype, dest, tag, comm);" in function(mpich["narrow.h"], "narrow_Send_c")
    assert "narrow_Ialltoallv_c" not in openmpi["narrow.h"]  # its arrays would be gone before it ends


def test_the_table_of_the_documentation_names_each_function_once():
    rules, chapters, _ = generate.read_table(TABLE)
    rows = [line.strip("| ").split(" | ") for line in FUNCTIONS.read_text().splitlines()[7:]]
    names = [name for _, _, names in rows for name in names.split()]
    assert len(names) == len(set(names)) == len(rules)
    assert {chapter for chapter, _, _ in rows} == set(chapters)
    assert {rule for _, rule, _ in rows} == {"served", "refused", "plain"}
    assert FUNCTIONS.read_text() == generate.markdown(TABLE) + "\n"


@pytest.mark.parametrize("abi", ABIS)
def test_a_library_exports_what_the_table_does_not_leave_to_mpi_and_nothing_else(abi, headers, libraries):
    rules = generate.read_table(TABLE)[0]
    wrapped = {name for name in headers[abi] if rules.get(generate.base_of(name, headers[abi]), "native") != "native"}
    assert set(symbols(libraries[abi], "defined")) == wrapped
    assert len(wrapped) > 150


@pytest.mark.parametrize("abi", ABIS)
def test_a_library_needs_only_libc_and_binds_functions_of_mpi_when_they_are_called(abi, libraries):
    needed = subprocess.run(["readelf", "-dW", libraries[abi]], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"NEEDED.*\[(.*)\]", needed) == ["libc.so.6"]
    assert "BIND_NOW" not in needed
    relocated = subprocess.run(["readelf", "-rW", libraries[abi]], capture_output=True, text=True, check=True).stdout
    entries = [fields for line in relocated.splitlines() if len(fields := line.split()) > 4 and fields[2].startswith("R_")]
    at_load = [fields[4] for fields in entries if "JUMP_SLO" not in fields[2]]
    assert len(entries) > 150
    assert [name for name in at_load if not re.search(r"@|^__gmon|^_ITM", name)] == []
    unknown = [name for name in symbols(libraries[abi], "undefined") if not re.search(r"@|^P?MPIX?_|^MPII_|^_ITM_|^__", name)]
    assert unknown == []  # no part of the bridge is missing


@pytest.mark.parametrize("abi", ABIS)
def test_a_program_without_mpi_runs_with_a_library_preloaded(abi, libraries):
    assert subprocess.run(["true"], env=os.environ | {"LD_PRELOAD": str(libraries[abi])}).returncode == 0


@pytest.mark.parametrize(
    ("abi", "environment", "library", "include"),
    [
        ("mpich", Path(sys.prefix), "libmpi.so.12", BUILD / "headers" / "mpich"),
        ("abi", Path(sys.prefix), "libmpi_abi.so.1", BUILD / "abi"),
        ("openmpi", ROOT / ".mpi" / "openmpi", "libmpi.so.40", BUILD / "headers" / "openmpi"),
    ],
)
def test_a_program_runs_the_same_with_a_library_preloaded_and_no_site_to_join(abi, environment, library, include, libraries, tmp_path):
    linked = environment / "lib" / library
    if not linked.exists():
        pytest.skip(f"no {linked}")
    program = tmp_path / "inert"
    source = Path(__file__).parent / "programs" / "inert.c"
    subprocess.run(["cc", f"-I{include}", source, linked, f"-Wl,-rpath,{linked.parent}", "-o", program], check=True)
    launch = [environment / "bin" / "mpiexec", *(["--oversubscribe"] if abi == "openmpi" else []), "-n", "3"]
    root = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*launch, *command], capture_output=True, text=True, timeout=60, env=root)

    plain, preloaded = run(program), run("env", f"LD_PRELOAD={libraries[abi]}", program)
    assert preloaded.returncode == plain.returncode == 7
    assert sorted(preloaded.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    assert "bridge" not in preloaded.stderr  # what Open MPI's launcher says of the exit code differs from run to run
    assert "2 of 3: 4 from 1, tag 1, sum 39, place 0, 1" in plain.stdout
