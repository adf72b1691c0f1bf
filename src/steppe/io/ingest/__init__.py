"""Making forcing stores: from station files, daily maps, or of generated weather; and the land of the cells."""

from steppe.io.ingest.columns import ColumnNames
from steppe.io.ingest.generate import EXTRAPOLATED, generate
from steppe.io.ingest.land import ingest_land
from steppe.io.ingest.map_choices import Choices
from steppe.io.ingest.maps import Product, ingest_maps
from steppe.io.ingest.report import Report
from steppe.io.ingest.silo import fetch_silo, ingest_silo, years_of
from steppe.io.ingest.station_file import station_file
from steppe.io.ingest.stations import ingest_stations, station_points

__all__ = [
    "EXTRAPOLATED",
    "Choices",
    "ColumnNames",
    "Product",
    "Report",
    "fetch_silo",
    "generate",
    "ingest_land",
    "ingest_maps",
    "ingest_silo",
    "ingest_stations",
    "station_file",
    "station_points",
    "years_of",
]
