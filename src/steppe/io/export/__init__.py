"""Results for other programs: NetCDF, CSV, GeoTIFF. A file is whole or absent, and has only committed records."""

from steppe.io.export.aside import aside
from steppe.io.export.csv_table import write_cells, write_series
from steppe.io.export.geotiff import write_geotiff
from steppe.io.export.netcdf import write_netcdf
from steppe.io.export.selection import ExportSource

__all__ = ["ExportSource", "aside", "write_cells", "write_geotiff", "write_netcdf", "write_series"]
