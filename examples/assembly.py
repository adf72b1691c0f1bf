"""Assembles the matrix and the load of linear finite elements on an irregular mesh, whose nodes and elements have random numbers.

    python examples/assembly.py                          alone
    mpiexec -n 4 python examples/assembly.py --ordered   the same bits for any number of ranks

-div grad u + u = f on the unit square, f = x y. An element adds to three rows that may belong to any ranks: each rank just updates them.
"""

import argparse
import hashlib

import numpy as np

from steppe.arrays import GlobalArray, WorkQueue, open_world


def mesh(side: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (nodes, 2) and nodes of the elements (elements, 3): squares of side x side cut into triangles, moved and shuffled."""
    random, n = np.random.default_rng(seed), side + 1
    y, x = np.divmod(np.arange(n * n), n)
    moved = random.uniform(-0.3, 0.3, (n * n, 2)) * ((x % side != 0) & (y % side != 0))[:, None]
    points = (np.stack([x, y], axis=1) + moved) / side
    corner = (np.arange(side)[:, None] * n + np.arange(side)).reshape(-1)
    triangles = np.concatenate([corner[:, None] + [0, 1, n], corner[:, None] + [1, n + 1, n]])
    number = random.permutation(n * n)
    numbered = np.empty_like(points)
    numbered[number] = points
    return numbered, random.permutation(number[triangles])


def element(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrices (e, 3, 3) and loads (e, 3) of elements with corners (e, 3, 2): linear functions, f at the three midpoints."""
    edges = np.roll(corners, -1, axis=1) - np.roll(corners, -2, axis=1)
    area = 0.5 * np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])[:, None, None]
    stiffness = edges @ edges.transpose(0, 2, 1) / (4.0 * area)
    mass = area / 12.0 * (np.ones((3, 3)) + np.eye(3))
    middle = 0.5 * (corners + np.roll(corners, -1, axis=1))
    f = middle[:, :, 0] * middle[:, :, 1]
    return stiffness + mass, area[:, 0] / 6.0 * (f + np.roll(f, 1, axis=1))


def main(side: int, ordered: bool) -> None:
    """Assembles on all ranks, and prints sums that are known."""
    points, triangles = mesh(side)
    n = len(points)
    rows, columns = np.repeat(triangles, 3, axis=1), np.tile(triangles, 3)
    pattern, place = np.unique(rows * n + columns, return_inverse=True)  # the entries of the matrix, by row and column
    place = place.reshape(rows.shape)
    with open_world() as world:
        matrix, load = GlobalArray(world, pattern.size, name="matrix"), GlobalArray(world, n, name="load")
        for chunk in WorkQueue(world, len(triangles), least=64):
            some = np.array(chunk)
            local_matrix, local_load = element(points[triangles[some]])
            key = np.broadcast_to(some[:, None], (some.size, 9)) if ordered else None
            matrix.update(place[some], local_matrix.reshape(-1, 9), key=key)
            load.update(triangles[some], local_load, key=None if key is None else key[:, :3])
        matrix.sync()
        load.sync()
        with matrix.read_only() as seen:
            whole = seen[:]
        if world.rank == 0:
            print(f"{len(triangles)} elements, {n} nodes, {pattern.size} entries on {world.size} ranks")
            print(f"sum of the matrix {whole.sum():.12f} (area 1), of the load {load[:].sum():.12f} (integral of x y: 0.25)")
            print(f"digest {hashlib.sha256(whole.tobytes() + load[:].tobytes()).hexdigest()[:16]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Finite elements assembled in global arrays.")
    parser.add_argument("--side", type=int, default=200, help="squares of a side of the mesh (default 200)")
    parser.add_argument("--ordered", action="store_true", help="the same bits for any number of ranks")
    given = parser.parse_args()
    main(given.side, given.ordered)
