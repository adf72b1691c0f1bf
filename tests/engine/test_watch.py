"""What is noticed of a thread that does not come back."""

import re
import threading
import time

from steppe.engine.watch import Watch


def test_who_takes_longer_than_is_allowed_is_overdue_and_its_place_is_known():
    watch, begun, end = Watch(0.05), threading.Event(), threading.Event()

    def hang() -> None:
        with watch.at("step 7", 2):
            begun.set()
            end.wait()

    hanging = threading.Thread(target=hang)
    assert watch.overdue() == ""
    begin = time.monotonic()
    hanging.start()
    begun.wait()
    while not (said := watch.overdue()):
        assert time.monotonic() - begin < 10
    assert time.monotonic() - begin > 0.1, "two branches may take twice as long as one"
    (seconds,) = re.findall(r"at step 7 for ([\d.]+) s", said)
    assert 0.1 <= float(seconds) <= time.monotonic() - begin + 0.01
    assert "in hang" in watch.stack()
    watch.grant(60)
    assert watch.overdue() == "", "it compiles"
    end.set()
    hanging.join()
    assert watch.overdue() == ""
