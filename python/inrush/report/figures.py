"""The report's figures as Vega-Lite specs, from aggregates alone. Pure.

No spec holds operations: its size grows with points, runs and intervals. The same spec is drawn in
the page (colours from the page's theme) and written as PNG, SVG or PDF (`render`).
"""

from __future__ import annotations

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis
from inrush.report.charts import Figure, judged
from inrush.report.curves import boxes, by_rate, curves, rates, scaling
from inrush.report.drawn import shown_points
from inrush.report.footprint import capacity_figures, footprint_figures
from inrush.report.heat import heat_maps
from inrush.report.latency import percentiles
from inrush.report.load_series import load_series
from inrush.report.machine import machine_lines
from inrush.report.pipeline import pipeline_figures
from inrush.report.published import beside_published
from inrush.report.size_curves import size_curves
from inrush.report.steps import step_lines
from inrush.report.time_lines import sample_lines, time_lines
from inrush.report.waves import wave_figures


def figures(analysis: Analysis, answer: Answer | None) -> list[Figure]:
    """All figures that the study's tables can carry: rates first; times of a fixed job, which say the same, last."""
    if answer is None:
        return []
    rated = by_rate(analysis, answer)
    found = [
        *step_lines(analysis, answer),
        *rates(analysis, answer),
        *capacity_figures(analysis, answer),
        *pipeline_figures(analysis, answer),
        *load_series(analysis),
        *footprint_figures(analysis, answer),
        *scaling(analysis, answer),
        *([] if rated else curves(analysis, answer)),
        *boxes(analysis, rated or answer),
        *percentiles(analysis, answer),
        *sample_lines(analysis, answer),
        *time_lines(analysis, answer),
        *machine_lines(analysis, answer),
        *wave_figures(analysis, answer),
        *heat_maps(analysis, answer, shown_points(analysis, answer)),
        *size_curves(analysis, answer, shown_points(analysis, answer)),
        *(curves(analysis, answer) if rated else []),
        *beside_published(analysis, answer),
    ]
    return [judged(f, analysis) for f in found]
