"""The numbers of all named sets beside their table."""

from tests.models.pasture_reference import parameters

from steppe.models import pasture
from verification.pasture.cases import table


def test_every_number_of_every_set_is_that_of_the_table(measured):
    columns = table("reference/sets.csv")
    names = list(zip(columns["kind"], columns["set"], columns["parameter"], strict=True))
    expected = dict(zip(names, map(float, columns["value"]), strict=True))
    ours = {(kind, name, one): getattr(parameters(**{kind: name}), one) for kind, name, one in names}
    differing = [name for name in names if ours[name] != expected[name]]
    written = {(kind, name, one) for kind, sets in pasture.sets().items() for name, values in sets.items() for one in values}
    measured("sets", f"of {len(names)} numbers: those that differ", len(differing), "0 (equal)")
    measured("sets", "numbers of sets that the table does not have", len(written - set(names)), "0")
    assert differing == []
    assert written <= set(names)
