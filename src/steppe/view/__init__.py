"""Pictures: arrays in, image files out."""

from steppe.view.box_plot import draw_box
from steppe.view.colour import Colours, choose_colours, class_colours, class_shades, picture_colours
from steppe.view.film import Encoder, Scene, Size
from steppe.view.image import levels, png
from steppe.view.plot import LinePlot, MapPlot, ScenarioBand, degrees, draw_run, quantiles
from steppe.view.span import Span, extremes, fit_of, following, levels_of, scale_of
from steppe.view.timeline_plot import draw_timeline

__all__ = [
    "Colours",
    "Encoder",
    "LinePlot",
    "MapPlot",
    "ScenarioBand",
    "Scene",
    "Size",
    "Span",
    "choose_colours",
    "class_colours",
    "class_shades",
    "degrees",
    "draw_box",
    "draw_run",
    "draw_timeline",
    "extremes",
    "fit_of",
    "following",
    "levels",
    "levels_of",
    "picture_colours",
    "png",
    "quantiles",
    "scale_of",
]
