"""Making forcing stores: from station files, or of generated weather; and the land of the cells."""

from steppe.io.ingest.generate import EXTRAPOLATED, generate
from steppe.io.ingest.land import ingest_land
from steppe.io.ingest.report import Report
from steppe.io.ingest.stations import ingest_stations

__all__ = ["EXTRAPOLATED", "Report", "generate", "ingest_land", "ingest_stations"]
