"""What dispatch keeps in mind; what it is for is tested by the simulation."""

from steppe.control import Order
from steppe.control.server.dispatch import LEFT, Dispatch
from steppe.control.server.journal import Journal


def test_of_branches_that_rewinds_have_left_the_newest_are_kept_at_hand():
    journal = Journal(":memory:")
    dispatch = Dispatch(journal, lambda message: None, lambda seq: None)
    for k in range(LEFT + 3):
        order = Order("restart", "main", {}, f"key {k}", "anna", "steer", b"restart", "after", None)
        dispatch.accepted(journal.accept(order, 100, 0.0).seq)
    left = [f"main@{k}" for k in range(4, LEFT + 4)]
    for each in (dispatch, Dispatch(journal, lambda message: None, lambda seq: None)):
        assert [branch.name for branch in each.left.values()] == left
        assert [branch.name for branch in each.open.values()] == ["main"]
        assert each.branch(1).name == "main@1"
