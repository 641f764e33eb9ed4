"""The charts of the README: bars on a transparent background, as SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

# Two greys, and two colours that are readable on white and on GitHub's dark background.
GREY, LIGHT, COLOURS = "#7d8590", "#b1bac4", {"serialize": "#2f81f7", "deserialize": "#2da44e"}
# The same input gives the same file: ids have a fixed salt, and letters are drawn as paths, independent of fonts.
STYLE: Any = {
    "svg.hashsalt": "streamnative-serdes", "svg.fonttype": "path", "font.size": 11, "font.family": "DejaVu Sans",
}  # fmt: skip


class Bars(NamedTuple):
    """Some bars: where they are, how long, what stands beside each, and the name in the legend."""

    places: Sequence[float]
    lengths: Sequence[float]
    texts: Sequence[str]
    colour: Any
    label: str | None = None


def svg(title: str, ticks: Sequence[float], names: Sequence[str], bars: Sequence[Bars], thickness: float) -> str:
    """A chart with a name at each tick. With a legend, a dashed line at 1 is what the bars are compared with."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.3), layout="constrained")
        axes: Any = figure.add_subplot()
        for each in bars:
            drawn = axes.barh(each.places, each.lengths, height=thickness, color=each.colour, label=each.label)
            axes.bar_label(drawn, each.texts, padding=4, color=GREY, fontweight="bold")
        axes.set_yticks(ticks, names)
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.tick_params(colors=GREY, length=0)
        axes.spines[:].set_visible(False)
        axes.xaxis.set_visible(False)
        if bars[0].label:
            axes.axvline(1, color=GREY, linewidth=1, linestyle="--")
            axes.legend(frameon=False, labelcolor=GREY, loc="lower right")
        axes.set_title(title, color=GREY, fontsize=11, loc="left", pad=12)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
