import numpy as np

from steppe.measure import find_weaknesses, fit
from steppe.measure.laws.formula import made_points
from tests.measure.made import points_of


def subject(operation, t0, rate=None, environment="A", seed=1):
    return fit(points_of(t0, rate, seed=seed), {"environment": environment, "operation": operation})


def flat(p):
    return 1000.0 + 0 * p


def test_an_allreduce_that_loses_to_reduce_and_broadcast_is_first():
    def tree(p):
        return 100 * np.log(p)

    subjects = [
        subject("reduction", tree, flat, seed=1),
        subject("broadcast", tree, flat, seed=2),
        subject("allreduce", lambda p: 3 * tree(p), lambda p: flat(p) / 3, seed=3),
        subject("barrier", lambda p: 90 * np.log(p), seed=4),
    ]
    first, *others = find_weaknesses(subjects)
    assert first.sentence.startswith("A allreduce of ")
    assert "reduction + broadcast, which does the same" in first.sentence
    assert 1.45 < first.ratio < 1.55
    assert first.low > 1.1
    assert all("allreduce of" in other.sentence for other in others)


def test_growth_as_log_p_is_no_weakness_and_growth_as_p_is():
    assert find_weaknesses([subject("broadcast", lambda p: 35.7 + 451 * np.log(p))]) == []
    (found,) = find_weaknesses([subject("scan", lambda p: 40 * p)])
    assert found.sentence.startswith("A scan: latency grows 8")
    assert "(as p)" in found.sentence
    assert "4-fold" in found.sentence


def test_the_same_operation_of_two_libraries_is_compared_where_they_differ_most():
    slow, fast = subject("barrier", lambda p: 50 * np.log(p) + 20 * p), subject("barrier", lambda p: 60 * np.log(p), environment="B")
    sentences = [one.sentence for one in find_weaknesses([slow, fast])]
    assert any(text.startswith("A barrier: its latency at 16 ranks is 2.7") and text.endswith("that of B barrier.") for text in sentences)


def test_what_scatters_too_much_to_tell_is_no_finding():
    many = [subject("barrier", lambda p, more=more: more * np.log(p), environment=name) for name, more in (("A", 63), ("B", 60))]
    assert find_weaknesses(many) == []


def test_an_ideal_scatter_of_n_bytes_to_each_rank_is_no_weakness():
    """It sends p times the bytes of a broadcast of n; and the broadcast of an allgather has those of all ranks."""
    subjects = [
        subject("scatter", lambda p: 10 * np.log2(p), lambda p: 1000 / (p - 1), seed=1),
        subject("broadcast", lambda p: 10 * np.log2(p), lambda p: 500 + 0 * p, seed=2),
        subject("gather", lambda p: 10 * np.log2(p), lambda p: 1000 / (p - 1), seed=3),
        subject("allgather", lambda p: 15 * np.log2(p), lambda p: 1000 / (2 * p - 1), seed=4),
    ]
    assert find_weaknesses(subjects) == []


def test_a_composition_is_compared_by_the_lines_of_its_size():
    """Above 8 KiB messages begin with a handshake, of which the latency of small messages says nothing."""

    def made(operation, late, seed):
        p, n = (grid.reshape(-1) for grid in np.meshgrid([2.0, 4.0, 8.0, 16.0], 4.0 ** np.arange(1, 11), indexing="ij"))
        times = 1e-6 * (10.0 * np.log2(p) + n / 1000.0 + np.where(n > 8192, late, 0.0))
        return fit(made_points(times, n, p, 0.01, 0.0, 100, seed), {"operation": operation})

    (found,) = find_weaknesses([made("gather", 500.0, 1), made("allgather", 0.0, 2)])
    assert found.sentence.startswith("gather of 65536 bytes on 16 ranks takes 5.7")
