"""Fixtures for all tests."""

from tests.scenario import made_scenario, made_wide_scenario, scenario, wide_scenario

__all__ = ["made_scenario", "made_wide_scenario", "scenario", "wide_scenario"]
