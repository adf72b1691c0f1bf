"""Pictures of arrays: arrays go in, image files come out. It does not know where the arrays come from."""

from steppe.view.colour import Colours, choose_colours
from steppe.view.film import Encoder, Scene, Size
from steppe.view.image import levels, png
from steppe.view.plot import Map, Series, Spread, draw_run, quantiles
from steppe.view.span import Span, extremes, fit_of, following, levels_of, scale_of
from steppe.view.timeline import draw_timeline

__all__ = [
    "Colours",
    "Encoder",
    "Map",
    "Scene",
    "Series",
    "Size",
    "Span",
    "Spread",
    "choose_colours",
    "draw_run",
    "draw_timeline",
    "extremes",
    "fit_of",
    "following",
    "levels",
    "levels_of",
    "png",
    "quantiles",
    "scale_of",
]
