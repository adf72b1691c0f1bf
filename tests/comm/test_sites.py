"""The sites of a world: their names and ranks."""

from steppe.comm import Sites, World, find_sites
from steppe.testing import run_threads


def test_every_rank_learns_the_sites_and_their_ranks() -> None:
    def rank(world: World) -> Sites:
        return find_sites(world, ["here", "Čeřenec", "here", "Čeřenec"][world.rank])

    for found in run_threads(4, rank):
        assert found == Sites(("here", "Čeřenec"), (0, 1, 0, 1))
        assert str(found) == "here (ranks 0, 2), Čeřenec (ranks 1, 3)"
        assert [found.leads(each) for each in range(4)] == [True, True, False, False]


def test_a_world_without_the_bridge_is_one_site() -> None:
    assert run_threads(3, find_sites) == [Sites(("1",), (0, 0, 0))] * 3
