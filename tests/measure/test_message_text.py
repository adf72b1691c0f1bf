from msgspec.structs import replace

from steppe.measure.messages.plan import BEHIND, EXCHANGE, HUGE, UNDER_WAY
from steppe.measure.records.measured import Measured, encode
from steppe.measure.records.sample import Statistics
from steppe.measure.report.sentences import comparisons


def series(variant, median, half_width=1e-7):
    parts = dict.fromkeys(("minimum", "p10", "median", "p90", "p99", "maximum"), median)
    return Measured(
        group="point-to-point",
        operation="point-to-point",
        variant=variant,
        p=2,
        bytes=1 << 20,
        block=1,
        samples=encode([median] * 30),
        statistics=Statistics(n=30, half_width=half_width, **parts),
        converged=True,
    )


def test_what_huge_pages_gain_is_told_when_the_intervals_show_it():
    (said,) = comparisons([series(UNDER_WAY, 90e-6), series(HUGE, 60e-6)])
    assert said == "Huge pages: 1048576 bytes, 64 under way, take 0.67 +- 0.00 of the time on small ones."
    assert comparisons([series(UNDER_WAY, 90e-6), series(HUGE, 60e-6, half_width=40e-6)]) == []
    assert comparisons([series(UNDER_WAY, 90e-6), series(HUGE, 88e-6)]) == []


def test_how_much_of_an_exchange_work_hides_is_told():
    (said,) = comparisons([series(EXCHANGE, 100e-6, 3e-6), series(BEHIND, 20e-6, 2e-6)])
    assert said == "Overlap: work as long as an exchange of 1048576 bytes hides 80% +- 2% of it."
    assert comparisons([series(BEHIND, 20e-6)]) == []


def test_sentences_of_one_kind_stand_together():
    ways = {UNDER_WAY: 90e-6, HUGE: 60e-6, EXCHANGE: 100e-6, BEHIND: 20e-6}
    every = [replace(series(variant, median), bytes=n) for n in (1024, 65536) for variant, median in ways.items()]
    assert [said.partition(":")[0] for said in comparisons(every)] == ["Huge pages"] * 2 + ["Overlap"] * 2


def test_nothing_is_told_of_what_work_hides_if_it_could_be_any_share():
    assert comparisons([series(EXCHANGE, 100e-6, 3e-6), series(BEHIND, 50e-6, 200e-6)]) == []
    (said,) = comparisons([series(EXCHANGE, 100e-6, 3e-6), series(BEHIND, 390e-6, 2e-6)])
    assert said.endswith("hides nothing of it, which then takes 3.9 times as long.")
