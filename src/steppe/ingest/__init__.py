"""Making forcing stores: from station files, daily maps, or of generated weather; and the land of the cells."""

from steppe.ingest.columns import ColumnNames
from steppe.ingest.generate import EXTRAPOLATED, generate
from steppe.ingest.land import ingest_land
from steppe.ingest.map_choices import Choices
from steppe.ingest.maps import Product, ingest_maps
from steppe.ingest.provenance import Report
from steppe.ingest.silo import fetch_silo, ingest_silo, years_of
from steppe.ingest.station_file import station_file
from steppe.ingest.station_raster import StationChoices
from steppe.ingest.stations import ingest_stations, station_points

__all__ = [
    "EXTRAPOLATED",
    "Choices",
    "ColumnNames",
    "Product",
    "Report",
    "StationChoices",
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
