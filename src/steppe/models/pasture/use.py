"""What stock and kangaroos eat and tread down (APSIM 6.1 graz, its swapped bounds put right), and which part of it is what."""

from steppe.models.pasture.curves import clamp
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.parameters import Parameters
from steppe.models.pasture.state import State


def intakes(s: State, p: Parameters, d: Derived, month: float, standing: float) -> tuple[float, float]:
    """(stock, kangaroos): what they eat [kg ha-1 d-1], less when little stands or much was eaten, in proportion when there is not enough.

    The kangaroos' intake is our judgement.
    """
    utilised = min(1.0, s.grazing_eaten / s.grazing_growth) if s.grazing_growth > 0.01 else 0.0
    offered = standing * d.offer
    stock = clamp(min(offered, p.intake_at_rest + p.intake_slope * utilised), 0.0, 1.0) * season_intake(d, month)
    kangaroos = min(1.0, offered) * d.kangaroo_intake
    wanted = stock + kangaroos
    if wanted > standing:
        part = standing / wanted
        return stock * part, kangaroos * part
    return stock, kangaroos


def season_intake(d: Derived, month: float) -> float:
    """Unrestricted intake of the season that the month lies in [kg ha-1 d-1]."""
    if month < 3.0 or month > 11.0:
        return d.summer_intake
    if month < 6.0:
        return d.autumn_intake
    if month < 9.0:
        return d.winter_intake
    return d.spring_intake


def diet(green: float, dead: float, eaten: float) -> tuple[float, float]:
    """(green, dead) of what is eaten [kg ha-1 d-1]: green is taken first where there is more than a tenth of it."""
    standing = green + dead
    if standing <= 0.0:
        return 0.0, 0.0
    # With x = (green / standing - 0.1) / 0.9 the share is competition(x, 19) = 19 x / (18 x + 1); below a tenth it is green / standing.
    above = green - 0.1 * standing
    share = 19.0 * above / (18.0 * above + 0.9 * standing) if above > 0.0 else green / standing
    from_dead = min(dead, eaten - min(green, share * eaten, eaten))
    from_green = min(green, eaten - from_dead)
    return from_green, from_dead


def leaf_and_stem(leaf: float, stem: float, taken: float, share: float) -> tuple[float, float]:
    """(leaf, stem) of what is taken from the two pools: leaf by its share while there is any, the rest stem, more leaf when stem ends."""
    from_stem = min(stem, taken - min(leaf, share * taken))
    return taken - from_stem, from_stem


def leaf_share(leaf: float, stem: float, d: Derived) -> float:
    """Share of leaf in what is taken from a pool of leaf and stem, competition(leaf / both, factor): stock prefer leaf."""
    both = leaf + stem
    return d.leaf_factor * leaf / (leaf * (d.leaf_factor - 1.0) + both) if both > 0.0 else 0.0
