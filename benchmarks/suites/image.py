"""A map as a picture: made by the engine, beside the way that everybody takes."""

import io
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.queensland import run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, ratio
from steppe.api.query import MapQuery
from steppe.control import OPEN_END, Leg
from steppe.engine import Plan, Session, read_run_file

NAME = "green_leaf"


def figures(quick: bool) -> list[Figure]:
    """CPU time of a PNG of Queensland, 156 x 186 cells, at a step of which none was made; pcolormesh draws it at the same size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder) / "run", Plan.of(read_run_file(run_file(1))))
        session.load(1, [Leg(1, OPEN_END, OPEN_END)])

        def step() -> None:
            until = session.position(1).step + 1
            while session.position(1).step < until:
                session.advance([1], until, looked=0.02)

        def ours() -> float:
            step()
            begin = time.process_time()
            head, body = session.get(1, MapQuery(name=NAME, format="png"))
            assert bytes(body[:4]) == b"\x89PNG", head
            return time.process_time() - begin

        def theirs() -> float:
            step()
            grid = session.plan.grid
            _, body = session.get(1, MapQuery(name=NAME))
            begin = time.process_time()
            values = memoryview(body).cast("B").cast("f", shape=list(grid.active.shape))
            height, width = grid.active.shape
            figure = pyplot.figure(figsize=(width / 100, height / 100), dpi=100)
            figure.add_axes((0, 0, 1, 1)).pcolormesh(values)
            figure.savefig(io.BytesIO(), format="png")
            pyplot.close(figure)
            return time.process_time() - begin

        samples = alternate({"ours": ours, "pcolormesh": theirs}, QUICK_ROUNDS if quick else ROUNDS)
        session.close()
    found = ratio(samples["pcolormesh"], samples["ours"])
    return [Figure("pcolormesh and savefig / an image of the engine", found.value, "x", at_least=20, note=found.spread, samples=samples)]
