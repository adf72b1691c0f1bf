"""The scenarios of a run by name."""

from collections.abc import Iterable

from steppe.api import ScenarioInfo
from steppe.client.refusals import UnknownError
from steppe.errors import nearest


class Scenarios(dict[str, ScenarioInfo]):
    """Scenarios by name. A name that is unknown raises `UnknownError`, which names the nearest one.

    run: name of the run.
    """

    def __init__(self, run: str, scenarios: Iterable[ScenarioInfo]) -> None:
        super().__init__((each.name, each) for each in scenarios)
        self._run = run

    def __missing__(self, name: str) -> ScenarioInfo:
        facts = {"code": "unknown-scenario", "status": 404, "value": name, "allowed": list(self)}
        raise UnknownError(f'There is no scenario "{name}" in "{self._run}".{nearest(name, self)}', facts)
