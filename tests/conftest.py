"""Fixtures for all tests."""

from tests.scenario import made_scenario, scenario

__all__ = ["made_scenario", "scenario"]
