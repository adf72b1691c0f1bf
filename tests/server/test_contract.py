import json
import subprocess
import sys
from collections import Counter

import pytest
from scripts import page_types

from steppe.api import ROLES
from steppe.control import Refused
from steppe.server.contract import HERE, text
from steppe.server.routes import TABLE
from steppe.server.routes.steering import preview, start
from steppe.server.routes.table import Route, RouteTable
from tests.server.asking import CONTRACT, Client


def test_the_contract_that_is_checked_in_is_the_one_that_the_code_makes() -> None:
    assert HERE.read_text() == text(), "Run `python -m steppe.server.contract` and look at what has changed."


def test_the_page_has_the_types_of_the_contract() -> None:
    assert page_types.PAGE.read_text() == page_types.page(), "This writes the types again: python scripts/page_types.py"


def test_the_contract_is_served(client: Client) -> None:
    assert client.ask("GET", "/openapi.json", role=None).json() == CONTRACT


def test_each_operation_has_a_name_of_its_own_and_a_role() -> None:
    names = Counter(route.name for route in TABLE.routes)
    assert [name for name, count in names.items() if count > 1] == []
    assert {route.role for route in TABLE.routes} == {"-", *ROLES}
    assert all(
        route.steering or route.keyed
        for route in TABLE.routes
        if route.method == "POST" and route.role in ("steer", "admin") and route.handler not in (start, preview)
    )


def test_every_reference_of_the_contract_leads_somewhere() -> None:
    whole = json.dumps(CONTRACT)
    for kind in ("schemas", "responses"):
        there = set(CONTRACT["components"][kind])
        assert {part.split('"')[0] for part in whole.split(f"#/components/{kind}/")[1:]} <= there


def test_generators_of_clients_can_read_each_list_of_the_contract() -> None:
    def check(part: object) -> None:
        if isinstance(part, dict):
            if part.get("type") == "array":
                assert isinstance(part.get("items", {}), dict), part  # `false` is a schema of JSON, and unknown to generators
                assert "items" in part or part["minItems"] == part["maxItems"] == len(part["prefixItems"]), part
            for each in part.values():
                check(each)
        elif isinstance(part, list):
            for each in part:
                check(each)

    check(CONTRACT)


def test_a_route_without_a_role_does_not_start() -> None:
    route = TABLE.routes[0]
    with pytest.raises(ValueError, match='has the role ""'):
        RouteTable([Route("GET", "/x", "", route.handler, "x", (200,), None)], ROLES)


@pytest.mark.parametrize(
    "path", ["", "/assets", "/api/v1", "/api/v1/runs/", "/api/v1/runs//data/green", "/api/v1/runs/toy/image/green", "/api/v1/runs/a/b/c/d"]
)
def test_what_is_no_address_is_not_found(path: str) -> None:
    with pytest.raises(Refused):
        TABLE.find("GET", path)


def test_the_server_starts_without_numba_mpi_or_any_model() -> None:
    code = (
        "import sys, steppe.server\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('numba', 'mpi4py', 'xarray', 'zarr', 'matplotlib', 'pandas')"
        " or name.startswith(('steppe.models', 'steppe.engine', 'steppe.io', 'steppe.kernels'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
