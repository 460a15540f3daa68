"""`inrush predict`: what a load that was not tried will give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inrush.commands.printing import show, show_json
from inrush.errors import UsageError


def predict_curve(path: Path, to: Sequence[float], of: str | None, level: float, as_json: bool) -> None:
    """Continues a curve of the user's own."""
    from inrush.model.curve import forecast
    from inrush.predict.curve_file import read_curve

    if not to:
        raise UsageError("say where to predict: --to N")
    if of not in (None, "rate", "time"):
        raise UsageError(f"--of {of}: a curve is of a rate or of a time")
    if not 0.5 <= level < 1:
        raise UsageError(f"--level {level:g}: write a share from 0.5 to below 1")
    found = read_curve(path)
    time = found.is_time if of is None else of == "time"
    forecasts = [forecast(found.curve, n, time, level=level) for n in to]
    points = [f.document() for f in forecasts]
    if as_json:
        show_json({**points[0], "of": "time" if time else "rate", "points": points})
        return
    show(forecast_lines(points, found.x_name, found.y_name))


def forecast_lines(points: Sequence[dict[str, Any]], x_name: str, y_name: str) -> list[str]:
    """Forecasts as people read them: a line each, then why."""
    from inrush.stats.quantity import digits
    from inrush.text import columns

    rows = [
        [f"{p['x']:g}", digits(p["median"]), f"[{digits(p['lo'])}, {digits(p['hi'])}]", p["model"],
         ", ".join(f"{k} {digits(v)}" for k, v in p["baselines"].items() if k != p["model"])]
        for p in points
    ]  # fmt: skip
    header = (x_name, y_name, f"{points[0]['level']:.0%} interval", "model", "others would say")
    reasons = list(dict.fromkeys(why for p in points for why in p["why"]))
    return [*columns(rows, header, right=(0, 1)), *(f"  {why}" for why in reasons)]
