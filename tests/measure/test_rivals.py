import numpy as np
import pytest

from steppe.measure.messages.plan import ACKNOWLEDGED, ALLOCATED, COMPUTES, CREATED, NON_BLOCKING, NON_BLOCKING_BEHIND
from steppe.measure.messages.rivals import find_slower
from tests.measure.made import series_of


def times(group, operation, variant, size, median, seed=1):
    noise = np.random.default_rng(seed).standard_normal(200)
    return series_of(group, operation, variant, size, median * np.exp(0.05 * noise), 1, True, p=2)


def collective(operation, variant, size, median):
    return times("collective", operation, variant, size, median, seed=size)


def test_a_non_blocking_operation_beside_the_blocking_one_is_told_at_its_worst_size():
    series = [collective("broadcast", "", n, 1e-6) for n in (8, 64, 512)]
    series += [collective("broadcast", NON_BLOCKING, n, t) for n, t in ((8, 1.4e-6), (64, 1.8e-6), (512, 1e-6))]
    series += [collective("scan", "", 8, 2e-6), collective("scan", NON_BLOCKING, 8, 2.1e-6)]
    (found,) = find_slower(series)
    assert found.sentence.startswith("Non-blocking broadcast of 64 bytes on 2 ranks, started and waited for, takes 1.8")
    assert found.sentence.endswith("times the blocking one: 0.8 us a call to gain.")
    assert found.low < 1.8 < found.high


def test_a_series_that_was_disturbed_says_nothing():
    disturbed = series_of("collective", "scan", NON_BLOCKING, 8, np.geomspace(1e-5, 1e-2, 30), 1, False, p=2)
    assert find_slower([collective("scan", "", 8, 1e-6), disturbed]) == []


def of_passes(variant, medians):
    blocks = np.concatenate([median * np.exp(0.02 * np.random.default_rng(n).standard_normal(60)) for n, median in enumerate(medians)])
    return series_of("collective", "scan", variant, 8, blocks, 1, True, p=2, passes=[60] * len(medians))


def test_what_a_machine_did_to_both_in_a_pass_says_nothing_of_either():
    """Twice as slow in the second pass, both of them; then, only one of them in three passes of five."""
    blocking = of_passes("", [1e-6, 2e-6, 1e-6, 1e-6, 1e-6])
    (found,) = find_slower([blocking, of_passes(NON_BLOCKING, [1.4e-6, 2.8e-6, 1.4e-6, 1.4e-6, 1.4e-6])])
    assert 1.35 < found.low < found.ratio < found.high < 1.45
    assert find_slower([blocking, of_passes(NON_BLOCKING, [4e-6, 4e-6, 4e-6, 1e-6, 1e-6])]) == []


def test_what_work_hardly_hides_is_told_of_large_messages_only():
    series = [collective("scan", NON_BLOCKING, n, 2e-5) for n in (8, 65_536)]
    series += [collective("scan", NON_BLOCKING_BEHIND, n, 1.9e-5) for n in (8, 65_536)]
    (found,) = find_slower(series)
    assert found.ratio == pytest.approx(1.9, rel=0.02)
    assert "of 65536 bytes on 2 ranks: work as long as it leaves" in found.sentence
    assert find_slower([collective("scan", NON_BLOCKING, 65_536, 2e-5), collective("scan", NON_BLOCKING_BEHIND, 65_536, 1e-5)]) == []


def test_one_sided_operations_are_held_against_messages_and_each_other():
    series = [times("point-to-point", "point-to-point", ACKNOWLEDGED, 8, 1e-6)]
    series += [times("one-sided", name, CREATED, 8, t) for name, t in (("put", 1e-6), ("get", 3e-6), ("accumulate", 8e-6))]
    series += [times("one-sided", "put", CREATED + COMPUTES, 8, 0.1), times("one-sided", "get", ALLOCATED, 8, 1e-7)]
    found = [one.sentence for one in find_slower(series)]
    assert len(found) == 3
    assert found[0].startswith("Accumulate of 8 bytes on 2 ranks, memory of the process, with its flush takes 8.0")
    assert "a message with an empty answer: 7 us a call to gain." in found[0]
    slow = times("one-sided", "put", ALLOCATED, 8, 2e-4)
    assert find_slower([series[0], slow])[0].sentence.endswith(": 199 us a call to gain.")
    assert found[1].startswith("Get of 8 bytes")
    assert "2.0" in found[2]
    assert "a get and a put" in found[2]
