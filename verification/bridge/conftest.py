"""The gateway, built, the folder in which sites work, and a second host for a site."""

from collections.abc import Iterator

import pytest
from tests.another_host import AnotherHost, another_host
from tests.bridge.conftest import folder, gateway_program

__all__ = ["folder", "gateway_program"]


@pytest.fixture(scope="module")
def there() -> Iterator[AnotherHost]:
    with another_host("bridged", "10.213.72") as made:
        yield made
