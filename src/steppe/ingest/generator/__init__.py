"""Weather made of a climate of few coefficients and random numbers.

For trials, teaching and tests, never for conclusions about a place. `docs/generator.md` has the equations, the fit and its errors.
"""

from steppe.ingest.generator.climate import is_extrapolated
from steppe.ingest.generator.weather import Generator

__all__ = ["Generator", "is_extrapolated"]
