"""Lines of stacked panels: few enough to be told apart, nothing lost in their sum, and one colour for one meaning."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.report.draw import themes
from inrush.report.panel_lines import COLOURS, MOST_LINES, OTHERS, legible, lines_of, names, others_said
from inrush.report.steps import MOST_STEPS, by_kind, in_rows, shared_said
from inrush.report.time_lines import panel_charts
from inrush.report.timeline import MOST_POINTS, Panel


def panel(title: str, lines: dict[str, list[tuple[float, float]]]) -> Panel:
    return Panel(title, [{"t": t, "y": y, "series": name} for name, of in lines.items() for t, y in of])


def many(n: int, prefix: str = "load_") -> dict[str, list[tuple[float, float]]]:
    """One after the other, each a second long; a later one is larger."""
    return {f"{prefix}{k:02}": [(float(k), 10.0 + k), (k + 1.0, 0.0)] for k in range(n)}


def done(of: Panel) -> float:
    """What all lines come to: rates by their times."""
    return sum(
        float(sum(v * (b - a) for v, a, b in zip(y, t, t[1:], strict=False)))
        for t, y in lines_of(of).values()
    )


def test_the_largest_lines_stay_and_the_others_are_one_sum_with_their_names_in_the_caption() -> None:
    before = panel("disk MB/s", many(9, "sd"))
    (after,) = legible([before])
    assert names([after]) == ["sd04", "sd05", "sd06", "sd07", "sd08", OTHERS]
    assert done(after) == pytest.approx(done(before)) == sum(10 + k for k in range(9))
    assert others_said([after]) == " Others in disk MB/s: sd00, sd01, sd02, sd03."


def test_a_caption_names_some_of_many_and_says_how_many_more_there_are() -> None:
    (after,) = legible([panel("busy cores", many(40, "c"))])
    assert others_said([after]).endswith("c05 and 29 more.")


def test_lines_that_overlap_are_added_at_every_moment() -> None:
    lines = {f"n{k}": [(0.0, 1.0), (2.0, 1.0)] for k in range(8)}
    lines["late"] = [(1.0, 0.5), (2.0, 0.5)]
    (after,) = legible([panel("busy cores", lines)])
    (held,) = [line for name, line in lines_of(after).items() if name == OTHERS]
    assert [*zip(*held, strict=True)] == [(0.0, 3.0), (1.0, 3.5), (2.0, 3.5)]


def test_a_sum_of_many_moments_is_as_fine_as_a_line_and_adds_up_to_the_same() -> None:
    before = panel("rows/s", many(2000))
    (after,) = legible([before])
    t, _ = lines_of(after)[OTHERS]
    assert len(t) == MOST_POINTS + 1
    assert done(after) == pytest.approx(done(before), rel=1e-6)


def test_few_lines_are_drawn_as_they_are() -> None:
    before = [panel("rows/s", many(MOST_LINES)), panel("busy cores", many(2, "c"))]
    assert legible(before) == before
    assert others_said(before) == ""


def test_a_figure_has_no_more_names_than_a_theme_has_colours() -> None:
    found = legible([panel(f"panel {k}", many(6, f"p{k}_")) for k in range(5)])
    assert len(names(found)) <= COLOURS
    assert all(names([p])[-1] == OTHERS for p in found)
    for theme in themes().values():
        colours = theme["range"]["category"]
        assert len(set(colours[:COLOURS])) == COLOURS
        assert theme["style"]["step"]["color"] not in colours, "a bar of a step has no colour of a line"


def test_a_name_has_one_colour_in_all_panels_and_a_legend_only_its_own_names() -> None:
    held = [panel("rows/s", many(2)), panel("busy cores", {"client": [(0, 1)], "load_00": [(0, 1)]})]
    colours = [chart.to_dict()["encoding"]["color"] for chart in panel_charts(held)]
    assert [c["scale"]["domain"] for c in colours] == 2 * [["load_00", "load_01", "client"]]
    assert [c["legend"]["values"] for c in colours] == [["load_00", "load_01"], ["client", "load_00"]]


def test_throughput_of_many_steps_is_a_line_for_each_kind() -> None:
    kinds = {**{f"load_{k:02}": "load" for k in range(54)}, "again": "read"}
    lines = {**many(54), "again": [(60.0, 5.0), (61.0, 0.0)], "mixed.writers": [(62.0, 7.0), (63.0, 0.0)]}
    before = [panel("rows/s", lines), panel("busy cores", many(3, "load_"))]
    rate, cores = by_kind(before, kinds)
    assert names([rate]) == ["again", "mixed.writers", "load, 54 steps"]
    assert done(rate) == pytest.approx(done(before[0]))
    assert cores == before[1], "cores are of processes, whatever their names"


def bars(*steps: tuple[str, str, float]) -> list[dict[str, Any]]:
    return [{"step": step, "do": do, "s": s, "length": f"{s:g} s"} for step, do, s in steps]


def test_each_of_few_steps_has_a_row_with_its_words() -> None:
    found = in_rows(bars(("load", "load", 2.0), ("again", "read", 1.0)))
    assert [(b["row"], b["words"]) for b in found] == [
        ("load", "load (load), 2 s"),
        ("again", "again (read), 1 s"),
    ]
    assert shared_said(found) == ""


def test_the_shorter_of_many_steps_share_a_row_for_each_kind_that_says_how_long_they_took() -> None:
    steps = [(f"load_{k:02}", "load", 10.0 + k) for k in range(30)]
    found = in_rows(bars(*steps, ("index", "statement", 1.0), ("settle", "settle", 2.0)))
    rows = list(dict.fromkeys(b["row"] for b in found))
    assert len(rows) == MOST_STEPS + 3 and rows[0] == "others load"
    words = [b["words"] for b in found if b["words"]]
    assert len(words) == len(rows), "a row has its words once"
    assert words[0] == "18 other steps (load), 333 s together"
    assert words[-2:] == ["index (statement), 1 s", "settle (settle), 2 s"], "the only one of its kind"
    assert "each of them" in shared_said(found)


def test_the_axis_of_time_ends_with_what_was_measured() -> None:
    held = [
        panel("rows/s", {"a": [(0.0, 1.0), (39.7, 2.0)]}),
        panel("busy cores", {"b": [(1.0, 1.0), (40.1, 2.0)]}),
    ]

    def spans(until: float = 0.0) -> list[Any]:
        return [chart.to_dict()["encoding"]["x"]["scale"] for chart in panel_charts(held, until=until)]

    assert spans() == 2 * [{"domain": [0.0, 40.1], "nice": False}]
    assert spans(41.5) == 2 * [{"domain": [0.0, 41.5], "nice": False}], "that of the bars above them"
