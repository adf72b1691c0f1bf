"""Fixtures for all tests."""

import sys

from hypothesis import HealthCheck, settings

from tests.scenario import made_scenario, made_wide_scenario, scenario, wide_scenario

__all__ = ["made_scenario", "made_wide_scenario", "scenario", "wide_scenario"]

# jsonschema has no need of it, and its import parses 39 grammars: 2.5 seconds of each process of pytest
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
# a loaded machine is no failure; the rest is as hypothesis has it, in CI or elsewhere
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
