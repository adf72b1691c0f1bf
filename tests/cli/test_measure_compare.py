"""`steppe measure compare` as a script uses it."""

import json

import numpy as np
import pytest
from msgspec.structs import replace

from steppe.errors import Exit
from steppe.measure import Document, write_document
from tests.measure.made import series_of


def measured(times):
    return Document(made="2026-01-01", series=[series_of("files", "read", "cold", 8, times, 1, True)])


@pytest.mark.parametrize(("limit", "code"), [("10%", Exit.FAILURE), ("60%", Exit.DONE), ("-1", Exit.MISTAKE), ("much", Exit.MISTAKE)])
def test_a_command_fails_when_something_is_slower(call, tmp_path, limit, code):
    random = np.random.default_rng(1)
    for name, median in (("a", 1e-5), ("b", 1.5e-5)):
        write_document(measured(median * np.exp(0.02 * random.standard_normal(60))), tmp_path / f"{name}.json")
    found, said, wrong = call("measure", "compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--fail-if-slower", limit)
    assert found == code
    if code == Exit.MISTAKE:
        assert f'--fail-if-slower "{limit}" must be a percentage of 0 or more, as 10%.' in wrong
    else:
        assert ("1 of 1 series are slower by more than 10%." in said) == (code == Exit.FAILURE)


def test_a_file_without_series_is_refused(call, tmp_path):
    path = tmp_path / "fit.json"
    path.write_text(json.dumps({"schema": "steppe.measure/1", "made": "2026-01-01"}))
    code, _, wrong = call("measure", "compare", str(path), str(path))
    assert code == Exit.MISTAKE
    assert "holds no measured series." in wrong


def test_a_file_without_single_samples_is_refused(call, tmp_path):
    """The data in a report of many series has none."""
    document, path = measured(np.full(30, 1e-5)), tmp_path / "a.json"
    document.series[0] = replace(document.series[0], samples="")
    write_document(document, path)
    code, _, wrong = call("measure", "compare", str(path), str(path))
    assert code == Exit.MISTAKE
    assert "holds no samples, from which the intervals are computed. Give the file that --json wrote." in wrong
