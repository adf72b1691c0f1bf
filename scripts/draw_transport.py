"""Draws docs/transport.png: slotted cylinders at half time by both schemes. Run it as `python scripts/draw_transport.py`."""

import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray
from cmcrameri import cm
from matplotlib.figure import Figure

import steppe

PICTURE = Path(__file__).parents[1] / "docs" / "transport.png"
RUN = """\
model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-06, step = "144 minutes" }}
grid = {{ gaussian = 120 }}
parameters = {{ scheme = "{scheme}", wind = "deforming", levels = 1, tracers = {{ slotted = "slotted" }} }}
output = {{ path = "{scheme}", variables = ["slotted"], every = "1 day", reduce = "last" }}
"""


def half_time(folder: Path, scheme: str) -> xarray.DataArray:
    """The slotted cylinders after six days of twelve, (lat, lon)."""
    path = folder / f"{scheme}.toml"
    path.write_text(RUN.format(scheme=scheme))
    steppe.run(path)
    with steppe.open(folder / scheme) as found:
        return steppe.unpack(found["slotted"], found)[-1, 0].load()


def main() -> None:
    """Two maps with one scale of colours."""
    mpl.rcParams["font.size"] = 8
    figure = Figure(figsize=(9.0, 2.9), layout="constrained")
    plots = figure.subplots(1, 2, sharey=True)
    with tempfile.TemporaryDirectory() as folder:
        for plot, scheme in zip(plots, ("ccm", "best"), strict=True):
            found = half_time(Path(folder), scheme)
            shown = plot.pcolormesh(found["lon"], found["lat"], found, cmap=cm.lajolla_r, vmin=0.1, vmax=1.0, rasterized=True)
            plot.set(title=f"{scheme}: {float(found.min()):.3f} to {float(found.max()):.3f}", xlabel="longitude", aspect="equal")
            plot.set(xticks=np.arange(0, 361, 60), yticks=np.arange(-90, 91, 30))
    plots[0].set_ylabel("latitude")
    figure.colorbar(shown, ax=plots, shrink=0.8, label="slotted cylinders")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
