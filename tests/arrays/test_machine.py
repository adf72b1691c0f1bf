"""Any calls of any ranks on any hosts, in any order, do to a global array what NumPy does to one array."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from steppe.arrays import GlobalArray
from steppe.errors import ArrayError, IndexOutOfRangeError
from tests.arrays.crew import Crew

SEEDS = some.integers(0, 2**32 - 1)
KEYS = some.sampled_from([np.s_[3], np.s_[-1], np.s_[2:7], np.s_[::-3], np.s_[...], np.s_[[4, 1, 1]], np.s_[:0]])
KEYS_2D = some.sampled_from(
    [np.s_[1, 2], np.s_[:, 3], np.s_[2:4, ::-2], np.s_[[0, 2], [1, 1]], np.s_[..., -1], np.s_[[1], :], np.s_[None, 1]]
)


class Machine(RuleBasedStateMachine):
    """A global array and its picture. Small pages, so that every rank and host has some."""

    crew: Crew | None = None

    @initialize(
        hosts=some.lists(some.sampled_from("abc"), min_size=1, max_size=5),
        shape=some.sampled_from([(97,), (7, 40), (0,)]),
        dtype=some.sampled_from(["int32", "int64", "float32", "float64"]),
        layout=some.sampled_from(["blocks", "wrapped"]),
    )
    def begin(self, hosts: list[str], shape: tuple[int, ...], dtype: str, layout: str) -> None:
        self.crew, self.shape, self.dtype, self.layout, self.reading = Crew(hosts), shape, dtype, layout, None
        self.create()

    def create(self) -> None:
        self.arrays = self.crew.all(lambda world: GlobalArray(world, self.shape, self.dtype, layout=self.layout, page=64))
        assert all(isinstance(each, GlobalArray) for each in self.arrays), self.arrays
        self.picture = np.zeros(self.shape, self.dtype)
        self.logged: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def drawn(self, seed: int) -> tuple[int, np.ndarray, np.ndarray]:
        random = np.random.default_rng(seed)
        n = int(random.integers(0, 60)) if self.picture.size else 0
        index = random.integers(0, max(self.picture.size, 1), n)
        if n > 20:
            index[10:20] = np.arange(10) + index[10] % max(self.picture.size - 10, 1)
        return int(random.integers(len(self.crew.ranks))), index, random.integers(-50, 50, n).astype(self.dtype)

    @rule(seed=SEEDS)
    def gather(self, seed: int) -> None:
        rank, index, _ = self.drawn(seed)
        assert self.crew.one(rank, lambda world: self.arrays[rank].gather(index)).tolist() == self.picture.flat[index].tolist()

    @precondition(lambda self: self.reading is None)
    @rule(seed=SEEDS)
    def scatter(self, seed: int) -> None:
        rank, index, values = self.drawn(seed)
        assert self.crew.one(rank, lambda world: self.arrays[rank].scatter(index, values)) is None
        self.picture.flat[index] = values

    @precondition(lambda self: self.reading is None)
    @rule(seed=SEEDS, a=some.sampled_from([1, -2]), b=some.sampled_from([1, 0, 2]), fetch=some.booleans())
    def update(self, seed: int, a: int, b: int, fetch: bool) -> None:
        rank, index, values = self.drawn(seed)
        found = self.crew.one(rank, lambda world: self.arrays[rank].update(index, values, a, b, fetch=fetch))
        before = []
        flat = self.picture.reshape(-1)
        for i, x in zip(index, values, strict=True):
            before.append(flat[i])
            with np.errstate(over="ignore"):
                flat[i] = (a * x + b * flat[i]).astype(self.dtype) if b else a * x
        assert found.tolist() == before if fetch else found is None

    @precondition(lambda self: self.reading is None)
    @rule(seed=SEEDS)
    def update_with_keys(self, seed: int) -> None:
        rank, index, values = self.drawn(seed)
        keys = np.random.default_rng(seed).permutation(index.size) * len(self.crew.ranks) + rank + 10_000 * len(self.logged)
        self.crew.one(rank, lambda world: self.arrays[rank].update(index, values, b=2, key=keys))
        self.logged.append((index, keys, values))

    @rule()
    def sync(self) -> None:
        if self.reading is None:
            assert self.crew.all(lambda world: self.arrays[world.rank].sync()) == [None] * len(self.crew.ranks)
            if self.logged:
                index, keys, values = (np.concatenate(column) for column in zip(*self.logged, strict=True))
                flat = self.picture.reshape(-1)
                with np.errstate(over="ignore"):
                    for k in np.lexsort((keys, index)):
                        flat[index[k]] = (values[k] + 2 * flat[index[k]]).astype(self.dtype)
                self.logged = []

    @rule(data=some.data(), value=some.integers(-9, 9), rank=some.integers(0, 4), write=some.booleans())
    def slices(self, data: some.DataObject, value: int, rank: int, write: bool) -> None:
        key = data.draw(KEYS_2D if len(self.shape) == 2 else KEYS)
        rank %= len(self.crew.ranks)
        try:
            expected = self.picture[key]
        except IndexError:
            assert isinstance(self.crew.one(rank, lambda world: self.arrays[rank][key]), IndexOutOfRangeError)
            return
        found = self.crew.one(rank, lambda world: self.arrays[rank][key])
        assert found.shape == expected.shape
        assert found.dtype == self.picture.dtype
        assert found.tolist() == expected.tolist()
        if write and self.reading is None:
            assert self.crew.one(rank, lambda world: self.arrays[rank].__setitem__(key, value)) is None
            self.picture[key] = value

    @precondition(lambda self: self.reading is None and not self.logged)
    @rule(cache=some.sampled_from([0, 64, 200, "1 MiB"]))
    def enter_read_only(self, cache: int | str) -> None:
        self.reading = [array.read_only(cache) for array in self.arrays]
        self.seen = self.crew.all(lambda world: self.reading[world.rank].__enter__())

    @precondition(lambda self: self.reading is not None)
    @rule(seed=SEEDS, flush=some.booleans())
    def gather_through_the_cache(self, seed: int, flush: bool) -> None:
        rank, index, _ = self.drawn(seed)
        assert self.crew.one(rank, lambda world: self.seen[rank].gather(index)).tolist() == self.picture.flat[index].tolist()
        if flush:
            self.crew.one(rank, lambda world: self.seen[rank].flush())

    @precondition(lambda self: self.reading is not None)
    @rule(rank=some.integers(0, 4))
    def write_while_reading(self, rank: int) -> None:
        rank %= len(self.crew.ranks)
        error = self.crew.one(rank, lambda world: self.arrays[rank].scatter([], []))
        assert isinstance(error, ArrayError)
        assert "is read-only" in str(error)

    @precondition(lambda self: self.reading is not None)
    @rule()
    def leave_read_only(self) -> None:
        self.crew.all(lambda world: self.reading[world.rank].__exit__(None, None, None))
        self.reading = None

    @precondition(lambda self: self.reading is None)
    @rule()
    def free_and_make_anew(self) -> None:
        old = self.arrays
        self.crew.all(lambda world: old[world.rank].free())
        assert "has been freed" in str(self.crew.one(0, lambda world: old[0].gather([])))
        self.create()

    @invariant()
    def every_rank_sees_the_picture(self) -> None:
        if self.crew:
            for found in self.crew.all(lambda world: self.arrays[world.rank][...]):
                assert np.array_equal(found, self.picture)

    def teardown(self) -> None:
        if self.crew:
            self.crew.close()


Machine.TestCase.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
test_ranks_do_to_a_global_array_what_numpy_does = Machine.TestCase
