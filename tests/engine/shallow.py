"""Shallow water on some ranks, put together on rank 0. `python -m tests.engine.shallow` does it as ranks of an MPI job."""

import hashlib
import json
from collections.abc import Mapping

import numpy as np
from examples.shallow_water import ShallowWater

from steppe.comm import BoxReach, World, open_world
from steppe.grid import Edges, Partition, Raster
from steppe.kernels.sums import totals
from tests.engine.test_diffusion import CLOCK, Nothing

Fields = Mapping[str, np.ndarray]
NAMES = ("h", "flow_x", "flow_y")
EDGES: dict[str, Edges] = {
    "walls": {},
    "periodic": {"y": "periodic", "x": "periodic"},
    "channel": {"x": "periodic"},
    "poles": {"y": "pole", "x": "periodic"},
    "one pole": {"y": ("pole", "wall"), "x": "periodic"},
}
SHAPE, STEPS = (25, 70), 5


def stirred(shape: tuple[int, int]) -> Fields:
    """Some depths and flows."""
    random = np.random.default_rng(11)
    return {"h": 1.0 + 0.3 * random.random(shape), "flow_x": 0.1 * random.random(shape), "flow_y": 0.1 * random.random(shape)}


def computed(
    world: World, state: Fields, steps: int, edges: Edges, dims: tuple[int, int] | None = None, seconds: float = 0.5
) -> tuple[Fields, float]:
    """The water in all, and on rank 0 the fields of all cells, put together by their packed positions."""
    grid = Raster(0.0, -0.01, 0.0, 0.01, np.ones(state["h"].shape, dtype=bool))
    chosen = None if dims is None else dict(zip("yx", dims, strict=True))
    boxes = Partition.boxes(grid, world.size, ShallowWater.needs.halo or {}, edges, chosen)
    box, model = boxes[world.rank], ShallowWater()
    reach = BoxReach(world, box, totals)
    part = {name: box.unpack(values.ravel()[grid.order[box.cells]]) for name, values in state.items()}
    model.initialise(box, {"gravity": 1.0, "spacing": 1.0, "seconds": seconds}, part, {}, reach)
    model.advance(range(steps), Nothing(), CLOCK, Nothing())
    assert model.status().count == 0
    found = {}
    for name in NAMES:
        packed = np.full(grid.n_cells, np.nan)
        for rank, values in enumerate(world.gather(box.pack(model.export(name))) or []):
            packed[boxes.cells(rank)] = values
        found[name] = grid.unpack(packed)
    return found, reach.total(model.state["h"])


def digests(world: World) -> dict[str, str]:
    """On rank 0 the hash of all bits of fields and total, by kind of edges and of cut."""
    found = {}
    for kind, edges in EDGES.items():
        for cut, dims in {"chosen": None, "rows": (world.size, 1), "columns": (1, world.size)}.items():
            fields, water = computed(world, stirred(SHAPE), STEPS, edges, dims)
            found[f"{kind}, {cut}"] = hashlib.sha256(b"".join(fields[name].tobytes() for name in NAMES) + str(water).encode()).hexdigest()
    return found


if __name__ == "__main__":
    here = open_world()
    told = digests(here)
    if here.rank == 0:
        print(json.dumps(told), flush=True)
    here.close()
