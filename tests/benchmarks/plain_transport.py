"""Transport by scheme `ccm` in plain NumPy, all points at once: slow, and short enough to be read beside the specification."""

import math

import numpy as np
from benchmarks.transport_twin import Array

LIMIT = 3.0 * (1.0 - 10.0 * np.finfo(float).eps)
AROUND = range(-1, 3)


class PlainTransport:
    """A Gaussian grid of `rows` x 2 `rows` points and its levels; arrays are (level, row, column)."""

    def __init__(self, rows: int, interfaces: Array) -> None:
        sine, self.weights = np.polynomial.legendre.leggauss(rows)
        self.rows, self.columns = rows, 2 * rows
        latitude = np.arcsin(sine)
        self.latitude = np.concatenate([-np.pi - latitude[1::-1], latitude, np.pi - latitude[:-3:-1]])  # two rows beyond each pole
        self.levels, self.thickness = (interfaces[1:] + interfaces[:-1]) / 2, np.diff(interfaces)
        self.height, phi, lam = np.meshgrid(self.levels, latitude, 2.0 * np.pi * np.arange(self.columns) / self.columns, indexing="ij")
        self.arrival = np.array([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])
        self.middle, self.middle_height = self.arrival, self.height

    def depart(self, wind: Array, dt: float, iterations: int = 3) -> tuple[Array, Array]:
        """Departure points, (x y z, ...), and their heights; `wind` is (u v eta-dot, ...)."""
        for _ in range(iterations):
            x, y, z = self.middle
            u, v, w = (self.wind_at(q, sign) for q, sign in zip(wind, (-1.0, -1.0, 1.0), strict=True))
            r, speed = np.hypot(x, y), np.hypot(u, v)
            blown = np.array([-u * y / r - v * z * x / r, u * x / r - v * z * y / r, v * r])
            middle = self.arrival - np.tan(dt * speed / 2) / speed * blown
            self.middle = middle / np.linalg.norm(middle, axis=0)
            self.middle_height = np.clip(self.height - dt / 2 * w, self.levels[0], self.levels[-1])
        departure = 2.0 * (self.arrival * self.middle).sum(axis=0) * self.middle - self.arrival
        return departure, np.clip(2.0 * self.middle_height - self.height, self.levels[0], self.levels[-1])

    def wind_at(self, q: Array, sign: float) -> Array:
        """A component of the wind at the midpoints: cubic, cubic, linear."""
        i, s, j, phi, k = self._place(self.middle, self.middle_height)
        rows = np.array([self.latitude[2 + j + n] for n in AROUND])

        def at_level(level: Array) -> Array:
            along = [_lagrange(np.arange(-1.0, 3.0), [self._take(q, level, j + n, i + m, sign) for m in AROUND], s) for n in AROUND]
            return _lagrange(rows, along, phi)

        share = (self.middle_height - self.levels[k]) / (self.levels[k + 1] - self.levels[k])
        return (1.0 - share) * at_level(k) + share * at_level(k + 1)

    def tracer_at(self, q: Array, points: Array, height: Array, limited: bool) -> Array:
        """A tracer at points: longitudes, then latitudes, then levels."""
        i, s, j, phi, k = self._place(points, height)
        rows = np.array([self.latitude[2 + j + n] for n in AROUND])
        ends = [2.0 * self.levels[0] - self.levels[1], *self.levels, 2.0 * self.levels[-1] - self.levels[-2]]  # beyond, it is as at the end
        columns = []
        for level in range(4):
            here = np.clip(k - 1 + level, 0, self.levels.size - 1)
            values = [[self._take(q, here, j + n, i + m) for m in AROUND] for n in AROUND]
            along = [_hermite(np.arange(-1.0, 3.0), np.array(row), s, np.ones_like(k), limited) for row in values]
            columns.append(_hermite(rows, np.array(along), phi, np.ones_like(k), limited))
        return _hermite(np.array([np.array(ends)[k + n] for n in range(4)]), np.array(columns), height, np.ones_like(k), limited)

    def mass(self, q: Array) -> float:
        """The integral of a tracer over the sphere and eta."""
        return float((self.thickness[:, None, None] * self.weights[:, None] / (2 * self.columns) * q).sum())

    def fixed(self, before: Array, after: Array, mass: float) -> Array:
        """CCM's mass fixer."""
        change = self.height * np.abs(after - before)
        alpha = (mass - self.mass(after)) / self.mass(after * change)
        return after * (1.0 + math.copysign(1.0, alpha) * np.minimum(0.1, abs(alpha) * change))

    def _place(self, points: Array, height: Array) -> tuple[Array, ...]:
        """Column before, share of its interval; row below, latitude; level above."""
        position = np.arctan2(points[1], points[0]) % (2.0 * np.pi) * self.columns / (2.0 * np.pi)
        phi = np.arcsin(np.clip(points[2], -1.0, 1.0))
        i = np.floor(position).astype(int)
        k = np.clip(np.searchsorted(self.levels, height, side="right") - 1, 0, self.levels.size - 2)
        return i, position - i, np.searchsorted(self.latitude, phi, side="right") - 3, phi, k

    def _take(self, q: Array, k: Array, j: Array, i: Array, sign: float = 1.0) -> Array:
        beyond = (j < 0) | (j >= self.rows)
        row = np.where(j < 0, -1 - j, np.where(j >= self.rows, 2 * self.rows - 1 - j, j))
        column = (i + np.where(beyond, self.columns // 2, 0)) % self.columns
        return np.where(beyond, sign, 1.0) * q[k, row, column]


def _lagrange(x: Array, f: list[Array], at: Array) -> Array:
    return sum(f[n] * math.prod((at - x[m]) / (x[n] - x[m]) for m in range(4) if m != n) for n in range(4))


def _slope(x: Array, f: Array, at: Array) -> Array:
    """Derivative of the cubic through four points."""
    total = np.zeros_like(at)
    for n in range(4):
        for left in {0, 1, 2, 3} - {n}:
            rest = math.prod((at - x[m]) / (x[n] - x[m]) for m in {0, 1, 2, 3} - {n, left})
            total += f[n] * rest / (x[n] - x[left])
    return total


def _hermite(x: Array, f: Array, at: Array, m: Array, limited: bool) -> Array:
    """Between points m and m + 1 of four."""
    x = x.reshape(4, *(1,) * at.ndim) * np.ones_like(at) if x.ndim == 1 else x
    x0, x1, f0, f1 = (np.take_along_axis(a, n[None], 0)[0] for a in (x, f) for n in (m, m + 1))
    h, mean = x1 - x0, (f1 - f0) / (x1 - x0)
    slopes = [_slope(x, f, x0), _slope(x, f, x1)]
    if limited:
        slopes = [np.where(mean * d <= 0.0, 0.0, np.sign(mean) * np.minimum(np.abs(d), LIMIT * np.abs(mean))) for d in slopes]
    s = (at - x0) / h
    value = f0 + (f1 - f0) * s**2 * (3 - 2 * s) + h * s * (1 - s) * (slopes[0] * (1 - s) - slopes[1] * s)
    return np.clip(value, np.minimum(f0, f1), np.maximum(f0, f1)) if limited else value
