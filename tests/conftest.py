"""Fixtures for all tests."""

from hypothesis import HealthCheck, settings

from tests.scenario import made_scenario, made_wide_scenario, scenario, wide_scenario

__all__ = ["made_scenario", "made_wide_scenario", "scenario", "wide_scenario"]

# a loaded machine is no failure; the rest is as hypothesis has it, in CI or elsewhere
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
