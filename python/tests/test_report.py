"""The page says what was found, escapes what it is given, and opens offline in a real browser."""

from __future__ import annotations

import html
import os
import shlex
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.answer import answer
from inrush.analysis.verdicts import Outcome, by_guard
from inrush.guards.analyse import analyse
from inrush.report.conditions import facts_by_engine
from inrush.report.report import closing_lines, write_report
from inrush.report.time_lines import columns
from inrush.run.call import StudyCall
from inrush.stats.record import Absent, StudyRecord
from tests import synthetic
from tests.test_steal_free import ran as lost_to_the_host

TRUTH = {
    (e, b): s * m
    for e, m in (("duckdb", 1), ("sqlite", 2))
    for b, s in ((200, 3.0), (1000, 2.0), (5000, 1.5))
}
NASTY = '</script><script>window.evil=1</script> & "quotes" <b>'


@pytest.fixture(scope="module")
def record() -> StudyRecord:
    published = [{"claim": "insert", "unit": "ms", "values": {"clickhouse": 55}, "source": "elsewhere",
                  "hardware": "2 × Xeon 8280", "beside": "writers.makespan_s"}]  # fmt: skip
    stopped = Absent({"engine": "sqlite", "batch_rows": 100}, "stopped", "makespan 95 s is above 90 s")
    doc = {"published": published, "title": f"Batch {NASTY}", "expect": f"Larger {NASTY}", "plan_hash": "ab" * 32,
           "command": "inrush run telemetry/batch --scale s"}  # fmt: skip
    return synthetic.study(TRUTH, absent=[stopped], doc=doc, reader_ns=[10**6, 10**7, 10**8] * 40)


@pytest.fixture(scope="module")
def page(record: StudyRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(record, path)
    return path


def visible(path: Path) -> str:
    """The page without its scripts."""
    return path.read_text(encoding="utf-8").split('<script type="module">')[0]


def test_the_page_is_one_file_below_two_megabytes(page: Path) -> None:
    assert page.stat().st_size < 2_000_000
    assert [p.name for p in page.parent.iterdir()] == ["report.html"]


def test_sections_come_in_the_order_a_reader_asks(page: Path) -> None:
    text = visible(page)
    order = ["<h1>", "Which batch size stores", "written before the first run", "times worse than the best",
             "What limits these figures", "Figures", "Published beside ours", "Guards that passed", "Every point", "Stopped, unsupported", "Settings, durability", "Machine",
             "Order of runs", "Reproduce"]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_the_page_says_what_stands_beside_every_figure(page: Path) -> None:
    text = visible(page)
    for words in ("2 × Xeon 8280", "Imaginary 9000", "power loss", "duckdb 1.0", "ab" * 32, "inrush run telemetry/batch --scale s",
                  "makespan 95 s is above 90 s", "rows proven", "Points: geometric means"):  # fmt: skip
        assert words in text, words


def test_everything_given_is_escaped(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<script>window.evil" not in text
    assert "&lt;/script&gt;&lt;script&gt;window.evil" in text


def test_a_valid_page_never_says_invalid_and_an_invalid_one_says_why(page: Path, tmp_path: Path) -> None:
    assert "INVALID" not in visible(page)
    bad = tmp_path / "bad.html"
    analysis = write_report(synthetic.study(TRUTH, env={"core_build_profile": "debug"}), bad)
    text = visible(bad)
    assert not analysis.valid
    assert 'role="alert">INVALID. Release build' in text and "debug build: build it with --release" in text


def test_an_empty_study_still_gives_a_page(tmp_path: Path) -> None:
    path = tmp_path / "r" / "empty.html"
    write_report(StudyRecord({"title": "Nothing yet", "question": "?"}, []), path)
    assert "No answer: no counted run measured it." in path.read_text()


def test_what_limits_a_figure_stands_before_the_charts_and_what_passed_behind_them(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    analysis = write_report(synthetic.study(TRUTH, blocks=2), path)
    text = visible(path)
    before, charts, behind = (
        text.index("What limits these"),
        text.index("<figure"),
        text.index("Guards that passed"),
    )
    held = {guard: of[0][1].outcome for guard, of in by_guard(analysis.verdicts).items()}
    noted = [g for g, outcome in held.items() if outcome in (Outcome.NOTE, Outcome.INVALID)]
    passed = [g for g, outcome in held.items() if outcome is Outcome.PASS]
    assert "interleaved repeats" in noted and "rows proven" in passed
    assert all(before < text.index(f"<td>{html.escape(guard)}</td>") < charts for guard in noted)
    assert all(text.index(f"<td>{html.escape(guard)}</td>") > behind > charts for guard in passed)


def test_a_run_with_wrong_rows_is_listed_and_has_no_figure(tmp_path: Path) -> None:
    proof = {"table": "pe", "item": "sum_low(x)", "expected": "7", "found": "8", "holds": False}
    record = synthetic.study(TRUTH, blocks=2, more={"proofs": [proof]})
    path = tmp_path / "wrong.html"
    write_report(record, path)
    text = visible(path)
    assert "no figures" in text and "sum_low(x) is 8, expected 7" in text
    assert "<figure" not in text


def test_the_last_lines_are_what_was_found_a_row_for_each_engine_the_verdict_and_the_next_command(
    record: StudyRecord,
) -> None:
    lines = closing_lines(record)
    assert not any("\n" in line for line in lines)
    assert lines[0].startswith("DuckDB stores 3") and "; SQLite stores 1" in lines[0]
    assert "95 % intervals: DuckDB" in lines[0] and "(5 runs)" in lines[0]
    assert lines[1] == "" and lines[2].split() == [
        "engine",
        "rows/s",
        "write",
        "read",
        "idle",
        "survives",
        "verdict",
    ]
    assert [line.split()[0] for line in lines[3:5]] == ["duckdb", "sqlite"]
    assert lines[-2].startswith("valid: 30 measured runs")
    assert lines[-1].startswith("next: inrush ")


def test_the_next_command_changes_each_value_once() -> None:
    command = "inrush run batch -P repeats.count=2 -P batch_rows=[1,2]"
    detail = closing_lines(synthetic.study(TRUTH, blocks=2, doc={"command": command}))[-1]
    assert detail.startswith("next: inrush run batch -P batch_rows=[1,2] -P repeats.count=5 ")


def test_the_next_command_can_be_pasted_into_a_shell() -> None:
    overrides = ('factors.method=["bulk"]', "load={ rows = 10 }", "title=It's $HOME")
    call = StudyCall(
        "my studies/one.toml", "xs", overrides, ("sqlite:///tmp/a b.db",), ("mysql,sql_mode=A B",), 7
    )
    words = [
        "inrush", "run", "my studies/one.toml", "sqlite:///tmp/a b.db", "--scale", "xs",
        *(word for override in overrides for word in ("-P", override)), "--start", "mysql,sql_mode=A B", "--seed", "7",
    ]  # fmt: skip
    assert shlex.split(call.command()) == words
    for count in ("repeats.count=2", "repeats.count = 2"):
        again = replace(call, overrides=(count, *overrides)).command()
        detail = closing_lines(synthetic.study(TRUTH, blocks=2, doc={"command": again}))[-1]
        pasted = detail.removeprefix("next: ").partition("   (")[0]
        assert shlex.split(pasted) == [*words, "-P", "repeats.count=5"]
    plain = StudyCall("batch", "s", ("batch_rows=1000",), ("postgresql://me@here/db",)).command()
    assert plain == "inrush run batch postgresql://me@here/db --scale s -P batch_rows=1000"


def test_the_last_lines_of_an_invalid_study_begin_their_verdict_with_the_word() -> None:
    lines = closing_lines(synthetic.study(TRUTH, blocks=2, env={"core_build_profile": "debug"}))
    assert lines[0] == "INVALID: the figures of DuckDB and SQLite (release build)."
    assert lines[-2].startswith("INVALID: release build") and lines[-1] == "next: inrush doctor"


def failure(outcome: str, message: str = "no such table: t") -> dict[str, Any]:
    return {
        "segment": 2,
        "repetition": 0,
        "role": "readers",
        "op": "look",
        "outcome": outcome,
        "count": 2,
        "first_message": message,
    }


@pytest.mark.parametrize("outcome", ["wrong", "undefined", "other"])
@pytest.mark.parametrize("blocks", [2, 5])
def test_after_wrong_answers_and_errors_of_statements_these_are_looked_at_next(
    outcome: str, blocks: int
) -> None:
    record = synthetic.study(TRUTH, blocks=blocks, more={"failures": [failure(outcome)]})
    runs = len(record.runs)
    assert closing_lines(record)[-1] == (
        f"next: inrush show synthetic-1 --csv DIR   (look at the errors first: {2 * runs:,} calls, readers look {outcome}: "
        '"no such table: t"; all are in DIR/failures.csv)'
    )


def test_deadlocks_and_calls_that_took_too_long_are_no_mistakes_to_look_at() -> None:
    more = [failure("conflict"), failure("timeout")]
    line = closing_lines(synthetic.study(TRUTH, blocks=2, more={"failures": more}))[-1]
    assert line.startswith("next: ") and "errors" not in line


def test_after_wrong_rows_the_proofs_are_looked_at_next() -> None:
    proof = {"table": "t", "item": "sum_low(x)", "expected": "7", "found": "8", "holds": False}
    line = closing_lines(synthetic.study(TRUTH, blocks=2, more={"proofs": [proof]}))[-1]
    assert line.startswith("next: inrush show synthetic-1 --csv DIR   (look at the wrong rows first: ")
    assert "sum_low(x) is 8, expected 7" in line and line.endswith("all are in DIR/proofs.csv)")


@pytest.mark.parametrize(
    ("kind", "then"),
    [
        ("plan", "next: change the study: role d: its keys are 20 rows, each once; raise keys.rows; then: inrush run "),
        ("target", "next: inrush run --resume synthetic-1"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_carried_out_is_changed_and_not_made_again(kind: str, then: str) -> None:
    record = synthetic.study(TRUTH, blocks=2, doc={"status": "failed"})
    failure = {"kind": kind, "message": "plan: role d: its keys are 20 rows, each once; raise keys.rows"}
    first, *others = record.runs
    failed = replace(first, summary={**first.summary, "status": "failed", "failure": failure})
    assert closing_lines(replace(record, runs=[failed, *others]))[-1].startswith(then)


def test_an_interrupted_study_is_resumed_next() -> None:
    lines = closing_lines(synthetic.study(TRUTH, blocks=2, doc={"status": "interrupted"}))
    assert lines[-1] == "next: inrush run --resume synthetic-1"


def test_the_same_runs_give_the_same_page(record: StudyRecord, page: Path, tmp_path: Path) -> None:
    write_report(record, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_report_and_terminal_agree(record: StudyRecord, page: Path) -> None:
    text = visible(page).replace("&#x27;", "'")
    assert closing_lines(record)[0] in text
    found = answer(analyse(record))
    assert found is not None and len(found.parts) == 2
    assert all(word in text for part in found.parts for t in part.tries for word in t.word.split())
    assert analyse(record).valid


# In a real browser.

REQUIRED = "INRUSH_REQUIRE_BROWSER"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        message = "chromium and chromedriver are needed to open the report: apt-get install chromium chromium-driver"
        if os.environ.get(REQUIRED):
            pytest.fail(message)
        pytest.skip(f"NOT TESTED: {message}; {REQUIRED}=1 makes this a failure")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # selenium's own
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1200,900",
        ):
            options.add_argument(argument)
        options.binary_location = chromium
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        # The browser leaves the folder of its lock where it puts its temporary files.
        folder = tempfile.TemporaryDirectory(prefix="inrush-test-", ignore_cleanup_errors=True)
        held = webdriver.Chrome(
            options=options, service=Service(driver, env={**os.environ, "TMPDIR": folder.name})
        )
    with folder:
        yield held
        held.quit()


def wait(browser: Any, script: str, limit_s: float = 180.0) -> Any:
    """The script's value once it is true."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        found = browser.execute_async_script(f"setTimeout(() => arguments[0]({script}), 50)")
        if found:
            return found
    raise AssertionError(
        f"{script} did not become true in {limit_s} s; console: {browser.get_log('browser')}"
    )


def test_facts_of_several_disks_name_their_engines_and_those_of_the_host_none() -> None:
    disks = {"duckdb": {"data_filesystem": "xfs"}, "sqlite": {"data_filesystem": "btrfs"}}
    runs = [synthetic.run(engine, env=env) for engine, env in disks.items()]
    theirs = synthetic.run("postgresql")
    unknown = {k: v for k, v in theirs.env.items() if not k.startswith(("data_", "disk_"))}
    record = StudyRecord(synthetic.STUDY, [*runs, replace(theirs, env=unknown)])
    found = facts_by_engine(analyse(record))
    assert found["data_filesystem"] == "<code>xfs</code> (duckdb), <code>btrfs</code> (sqlite)"
    assert found["disk_fsync_per_s"].endswith(" (duckdb, sqlite)")
    assert found["cpu_model"] == "<code>Imaginary 9000</code>"


def test_the_page_opens_offline_draws_every_figure_and_changes_its_theme(browser: Any, page: Path) -> None:
    browser.get(page.as_uri())
    wait(browser, "document.documentElement.dataset.drawn === '1'")
    figures = browser.find_elements("css selector", "figure")
    assert len(figures) >= 6
    for figure in figures:
        svg = figure.find_element("css selector", "svg.marks")
        assert svg.size["width"] > 200 and len(svg.find_elements("css selector", "path, rect")) > 5
    before = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.find_element("id", "theme").click()
    wait(browser, "document.documentElement.dataset.drawn === '2'")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") != before
    assert browser.execute_script("return window.evil") is None
    requested = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert [u for u in requested if not u.startswith("data:")] == []
    assert browser.get_log("browser") == []


def test_the_page_fits_a_phone(browser: Any, page: Path) -> None:
    browser.set_window_size(500, 900)  # the narrowest window that headless chromium makes
    browser.get(page.as_uri())
    wait(browser, "document.documentElement.dataset.drawn >= '1'")
    widths = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert widths[0] <= widths[1]
    browser.set_window_size(1200, 900)


def test_a_point_without_the_headline_figure_still_has_its_row(tmp_path: Path) -> None:
    """A point that only reads has latencies and no makespan of writers."""
    reading = synthetic.run("duckdb", {"batch_rows": 7}, 1, 9, reader_ns=[10**7] * 1000)
    repetitions = [s for s in reading.rows("repetitions") if s["role"] == "readers"]
    hists = [h for h in reading.rows("hist") if h["role"] == "readers"]
    tables = {
        **reading.tables,
        "repetitions": synthetic.table("repetitions", repetitions),
        "hist": synthetic.table("hist", hists),
    }
    record = synthetic.study(TRUTH)
    path = tmp_path / "reading.html"
    write_report(replace(record, runs=[*record.runs, replace(reading, tables=tables, _rows={})]), path)
    row = next(
        line for line in visible(path).splitlines() if 'class="num">7</td>' in line and "10.0 ms" in line
    )
    assert row.count("–") >= 3


def test_rows_of_points_and_engines_are_cards_that_name_their_columns(page: Path) -> None:
    text = visible(page)
    points = text[text.index("<h2>Every point") : text.index("<h2>Stopped")]
    assert 'class="cards points"' in points and 'class="cards engines"' in text
    for column in ("engine", "batch_rows", "runs", "rate of writers [95 %]", "makespan of writers [95 %]"):
        assert points.count(f'data-label="{column}"') == len(TRUTH), column
    assert points.count("<br>[") == 2 * len(TRUTH), "an interval stands below each of both figures"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_table_of_points_fits_a_screen_and_a_phone(browser: Any, page: Path, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(page.as_uri())
        wait(browser, "document.documentElement.dataset.drawn >= '1'")
        right = browser.execute_script(
            "return [...document.querySelectorAll('.cards td, .chart svg')].map(e => e.getBoundingClientRect().right)"
        )
        assert len(right) > 20 and max(right) <= width
        heads = browser.execute_script(
            "return getComputedStyle(document.querySelector('.points thead')).display"
        )
        assert (heads == "none") == (width < 600)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("width", [390, 400])
def test_a_page_with_the_table_of_steal_is_not_wider_than_a_phone(
    browser: Any, tmp_path: Path, width: int
) -> None:
    path, run = tmp_path / "steal.html", lost_to_the_host()
    labels = {**run.labels, "factors": {"batch_rows": 50}}
    write_report(
        StudyRecord(synthetic.STUDY, [replace(run, summary={**run.summary, "labels": labels})]), path
    )
    assert "Steal: processor time that the host took" in visible(path)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(path.as_uri())
        wait(browser, "document.documentElement.dataset.drawn >= '1'")
        whole, sideways = browser.execute_script(
            """const wide = [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth);
            return [document.documentElement.scrollWidth, wide.map(e => e.closest('section').querySelector('h2').textContent)]"""
        )
        assert whole <= width and not [title for title in sideways if title.startswith("Steal")], (
            whole,
            sideways,
        )
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_legend_of_many_names_is_broken_into_lines_that_fit_its_panel() -> None:
    assert columns([]) == 1
    assert columns([{"series": "a"}, {"series": "b"}, {"series": "a"}]) == 2
    assert columns([{"series": f"a_step_of_{n:06}"} for n in range(17)]) == 4
