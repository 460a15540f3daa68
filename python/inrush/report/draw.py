"""Figures drawn without a browser, and the one script that draws them in a page offline."""

from __future__ import annotations

import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

import vl_convert

from inrush.errors import UsageError
from inrush.report.charts import WIDTH, Figure

FORMATS = ("png", "svg", "pdf")
PAPER = {"light": "#ffffff", "dark": "#19212a"}


def render(figure: Figure, format: str, theme: str = "light") -> bytes:
    """PNG (twice the resolution), SVG or PDF of a figure, titled, on the page's colours."""
    # Translucent bands come out grey on a transparent page.
    spec = {"title": figure.title, "background": PAPER[theme], **figure.spec, "config": themes()[theme]}
    if spec.get("width") == "container":
        spec["width"] = WIDTH
    if format == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=2))
    if format == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    if format == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec))
    raise UsageError(f"figures cannot be written as {format}; formats are {', '.join(FORMATS)}")


def themes() -> dict[str, Any]:
    """`light` and `dark`: Vega-Lite configurations, the only place with colours of charts."""
    found: dict[str, Any] = json.loads(asset("themes.json"))
    return found


def asset(name: str) -> str:
    return resources.files("inrush.report").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script that sets `window.vegaEmbed` and fetches nothing.

    It takes seconds to bundle, so it is kept in the cache folder under its versions.
    """
    kept = (
        cache_folder() / f"vega-{vl_convert.get_vega_version()}-{vl_convert.get_vegalite_versions()[-1]}.js"
    )
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    bundled = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    if "</script" in bundled.lower():
        bundled = bundled.replace("</script", "<\\/script")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        half = kept.with_name(f"{kept.name}.{os.getpid()}")
        half.write_text(bundled, encoding="utf-8")
        half.replace(kept)
    except OSError:
        return bundled  # a cache that cannot be written costs seconds, nothing else
    return bundled


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inrush"
