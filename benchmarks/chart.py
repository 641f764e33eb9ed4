"""The chart of the README: how many messages we process while confluent-kafka processes one."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from contenders import FRAMED
from matplotlib.figure import Figure
from measure import Results
from shapes import TITLES

# One grey and two colours that are readable on white and on GitHub's dark background.
GREY, COLOURS = "#7d8590", {"serialize": "#2f81f7", "deserialize": "#2da44e"}
# The same input gives the same file: ids have a fixed salt, and letters are drawn as paths, independent of fonts.
STYLE: Any = {
    "svg.hashsalt": "streamnative-serdes",
    "svg.fonttype": "path",
    "font.size": 11,
    "font.family": "DejaVu Sans",
}
THICKNESS = 0.38


def svg(results: Results, where: dict[str, Any]) -> str:
    """Bars for each shape, on a transparent background."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.3), layout="constrained")
        axes = figure.add_subplot()
        for number, operation in enumerate(FRAMED):
            draw(axes, results, operation, (number - 0.5) * THICKNESS)
        finish(axes, results, where)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def draw(axes: Any, results: Results, operation: str, offset: float) -> None:
    times = [results.ratio(shape, operation, "confluent", "ours") or 0.0 for shape in results.sizes]
    places = [index + offset for index in range(len(times))]
    bars = axes.barh(places, times, height=THICKNESS, color=COLOURS[operation], label=operation)
    axes.bar_label(bars, [f"{value:.0f}x" for value in times], padding=4, color=GREY, fontweight="bold")


def finish(axes: Any, results: Results, where: dict[str, Any]) -> None:
    """Style the axes, the legend and the title. The dashed line at 1 is confluent-kafka."""
    axes.set_yticks(range(len(results.sizes)), [TITLES[shape] for shape in results.sizes])
    axes.invert_yaxis()
    axes.axvline(1, color=GREY, linewidth=1, linestyle="--")
    axes.margins(x=0.1)
    axes.tick_params(colors=GREY, length=0)
    axes.spines[:].set_visible(False)
    axes.xaxis.set_visible(False)
    axes.legend(frameon=False, labelcolor=GREY, loc="lower right")
    peer = f"confluent-kafka {where['versions']['confluent-kafka']}"
    title = f"Times as fast as {peer} (dashed line), on one core"
    axes.set_title(title, color=GREY, fontsize=11, loc="left", pad=12)
