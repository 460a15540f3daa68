"""The live page as a browser loads it: one frame, which its script fills from the events. Pure but for reading assets."""

from __future__ import annotations

from importlib import resources

from inrush.report.draw import asset


def own_asset(name: str) -> str:
    return resources.files("inrush.report.live").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def live_page() -> str:
    return own_asset("live.html")


def live_script() -> str:
    return own_asset("live.js")


def live_style() -> str:
    """That of the report, and what only this page has."""
    return asset("report.css") + own_asset("live.css")


LOGIN_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>inrush</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body { font: 16px/1.5 sans-serif; margin: 4rem auto; max-width: 24rem; padding: 0 1rem; }
input, button { font: inherit; padding: .3rem .6rem; }</style></head>
<body><h1>inrush</h1><form method="post" action="/login"><p><label for="token">Token</label><br>
<input id="token" name="token" type="password" autocomplete="off" autofocus> <button>Show</button></p><p><!--why--></p></form>
</body></html>
"""
