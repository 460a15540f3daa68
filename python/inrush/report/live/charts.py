"""Charts of the live page: Vega-Lite specs as in the report; the page puts their rows in. Pure."""

from __future__ import annotations

from typing import Any

from inrush.report.over_time import CHARTS

Spec = dict[str, Any]

HEIGHT = 190
#: The name of the rows in every spec.
ROWS = "rows"


def specs() -> dict[str, Any]:
    """Those over time in their order, as `report/over_time` has them, and that of points."""
    return {
        "over_time": [
            {
                "name": chart.name,
                "title": chart.title,
                "each_role": chart.each_role,
                "spec": over_time(chart.unit, chart.log, chart.order),
            }
            for chart in CHARTS
            if chart.of_moment is not None
        ],
        "points": points(),
    }


def over_time(title: str, log: bool = False, sort: tuple[str, ...] = ()) -> Spec:
    """Rows of `t` (ms since 1970), `name` and `value`: a line for each name."""
    scale: Spec = {"type": "log", "nice": False} if log else {"zero": True}
    color: Spec = {"field": "name", "type": "nominal", "title": None, "legend": {"orient": "top"}}
    if sort:
        color["sort"] = list(sort)
    return {
        "data": {"name": ROWS},
        "width": "container",
        "height": HEIGHT,
        "mark": {"type": "line", "interpolate": "monotone", "strokeWidth": 1.5},
        "encoding": {
            "x": {
                "field": "t",
                "type": "temporal",
                "title": None,
                "axis": {"format": "%H:%M:%S", "labelOverlap": True},
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "title": title,
                "scale": scale,
                "axis": {"format": "~s" if not log else "~g"},
            },
            "color": color,
        },
    }


def points() -> Spec:
    """Rows of `point`, `centre`, `low` and `high`: a dot, and a rule where there is an interval."""
    y: Spec = {"field": "point", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 220}}
    x: Spec = {
        "field": "centre",
        "type": "quantitative",
        "title": None,
        "axis": {"format": "~s"},
        "scale": {"zero": True},
    }
    return {
        "data": {"name": ROWS},
        "width": "container",
        "height": HEIGHT,  # the page gives each point its room
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "opacity": 0.55},
                "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {"mark": {"type": "point", "filled": True, "size": 55}, "encoding": {"y": y, "x": x}},
        ],
    }
