"""At how many rows a load outgrows the engine's cache: claimed from tables that do not, and seen in a load that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inrush.analysis.knees import knee_figures
from inrush.analysis.points import Measured
from inrush.analysis.verdicts import Outcome
from inrush.errors import UsageError
from inrush.guards.analyse import analysis_of
from inrush.guards.notes import data_larger_than_caches
from inrush.model.curve import curve
from inrush.model.forecast import Refused
from inrush.model.growth import Store
from inrush.model.knee import forecast_knee
from inrush.predict.claims import claim, forecast_of, halving_of
from inrush.predict.growth import growth_of
from inrush.predict.proof import observed, score_document
from inrush.predict.training import trainings
from inrush.results.schema import SCHEMAS
from inrush.stats.record import RunRecord, StudyRecord
from tests.synthetic import SECOND
from tests.test_predict_growth_stores import SERIES, measured

CACHE = 128 * 2**20
DIRECT = {
    "innodb_buffer_pool_size": str(CACHE),
    "innodb_flush_method": "O_DIRECT",
    "innodb_page_size": "16384",
}
STORE = Store(page_bytes=16_384, cache_bytes=CACHE, row_bytes=90, memory_bytes=CACHE, direct=True)
LOADS = (20_000, 40_000, 80_000)
#: A table of so many bytes and 90 for each row.
KNEE = (CACHE - 1e6) / 90


def sizes(noise: float = 0.0) -> Any:
    drawn = np.exp(noise * np.random.default_rng(1).normal(size=9))
    n = np.repeat(LOADS, 3)
    return curve(n, (1e6 + 90 * n) * drawn)


# --- claimed


def test_the_cache_is_full_where_the_tables_bytes_are_its_own() -> None:
    made = forecast_knee(sizes(), 4_000_000, STORE)
    assert made.median == made.saturation == pytest.approx(KNEE, rel=1e-6)
    assert made.lo < KNEE < made.hi and made.reach == pytest.approx(KNEE / 80_000)
    # The largest load alone has its fixed part in every row.
    assert made.baselines["proportion"] == pytest.approx(CACHE / (90 + 1e6 / 80_000), rel=1e-6)
    wider = forecast_knee(sizes(noise=0.02), 4_000_000, STORE)
    assert wider.hi / wider.lo > made.hi / made.lo and wider.lo < KNEE < wider.hi


@pytest.mark.parametrize(
    ("store", "to", "why"),
    [
        (Store(row_bytes=90), 4e6, "go anywhere in a tree"),
        (Store(page_bytes=16_384, cache_bytes=CACHE, row_bytes=90, memory_bytes=8e9), 4e6, "may lie in the kernel's"),
        (Store(page_bytes=16_384, cache_bytes=CACHE, memory_bytes=CACHE, direct=True), 4e6, "bytes of a row on disk are not known"),
        (STORE, 2e6, r"shows in a load of 3,\d00,000 rows or more"),
        (Store(page_bytes=16_384, cache_bytes=4_000_000, row_bytes=90, direct=True), 4e6, "what is claimed has not been measured"),
        (Store(page_bytes=16_384, cache_bytes=CACHE * 8, row_bytes=90, direct=True), 4e8, "times the largest point measured"),
    ],
)  # fmt: skip
def test_no_claim_where_nothing_would_show_it_or_it_has_been_seen(store: Store, to: float, why: str) -> None:
    with pytest.raises(Refused, match=why):
        forecast_knee(sizes(), to, store)


def test_bytes_that_no_fixed_part_explains_are_refused() -> None:
    with pytest.raises(Refused, match="misses the largest point"):
        forecast_knee(curve(LOADS, [2e6, 4e6, 16e6]), 4e6, STORE)


def small(rows: float, **figures: float) -> Measured:
    return measured(rows, "mysql", settings=DIRECT, figures=figures)


def test_small_loads_have_no_such_figure_and_train_a_claim_about_it_by_their_bytes() -> None:
    runs = [small(n) for n in (25_000, 50_000, 100_000)]
    found = growth_of(runs, "rows", "load.knee_rows")
    assert found is not None and found.what == "knee" and found.store.direct
    analysis = analysis_of(StudyRecord({"study": "s", "id": "s-1"}, [m.run for m in runs]), runs)
    (training,) = trainings(analysis, "rows", "load.knee_rows")
    made = forecast_of(training, 1e7)
    knee = (CACHE - 1e5) / 50
    assert made.median == pytest.approx(knee, rel=1e-6)
    document = claim(analysis, training, made, 1)
    assert document["figure"] == "load.knee_rows" and document["forecast"]["x"] == 1e7
    assert document["training"][-1]["value"] == pytest.approx(CACHE / (50 + 1e5 / 100_000))
    assert halving_of(training, 1e7) is None


# --- seen


def load_of(
    seconds_a_row: Any,
    *,
    files: int = 100,
    rows: int = 40_000,
    after: float = 4e8,
    gaps: Sequence[dict[str, Any]] = (),
    bytes_of: Any = None,
    by_interval: bool = False,
    settings: dict[str, str] = DIRECT,
    order: str = "random",
) -> RunRecord:
    """A load of files, one after the other. seconds a row: by the rows that the table has."""
    before = np.arange(files) * rows + rows / 2
    ends = SECOND + np.cumsum(rows * seconds_a_row(before) * 1e9).round().astype(int)
    starts = [SECOND, *ends[:-1]]
    each = [rows * 30] * files if bytes_of is None else bytes_of
    segments = [
        {"segment": 0, "kind": "probe", "label": "before", "start_ns": 0, "end_ns": 1},
        {"segment": 1, "kind": "load", "label": "load", "step": "load", "start_ns": SECOND, "end_ns": int(ends[-1])},
        {"segment": 2, "kind": "probe", "label": "load", "step": "load", "start_ns": int(ends[-1]), "end_ns": int(ends[-1]) + 1},
    ]  # fmt: skip
    held = [
        {"segment": s, "t_ns": 0, "name": 'table:"x"', "value": str(int(v))} for s, v in ((0, 0), (2, after))
    ]
    of_files = [
        {"segment": 1, "repetition": 0, "role": "load", "file": k, "pipeline": 0, "due_ns": SECOND, "start_ns": int(a),
         "sent_ns": int(b), "end_ns": int(b), "bytes": int(each[k]), "rows": rows, "rejected": 0, "runs": 0}
        for k, (a, b) in enumerate(zip(starts, ends, strict=True))
    ]  # fmt: skip
    # A file takes two intervals and is stored in the second one.
    halves = [
        {"segment": 1, "repetition": 0, "role": "load", "op": "", "t_ns": int(t), "dt_ns": int(dt), "rows": n}
        for a, b in zip(starts, ends, strict=True)
        for t, dt, n in ((a, (b - a) // 2, 0), (a + (b - a) // 2, (b - a) - (b - a) // 2, rows))
    ]
    tables = {
        "segments": segments, "sizes": held, "files": [] if by_interval else of_files, "intervals": halves,
        "settings": [{"segment": 0, "t_ns": 0, "name": k, "value": v} for k, v in settings.items()],
    }  # fmt: skip
    made = {name: pa.Table.from_pylist(rows_of, SCHEMAS[name]) for name, rows_of in tables.items()}
    table = {**SERIES, "source": {"series": 100, "events": {"order": {"by": order}}}}
    labels = {"steps": {"load": "load"}, "layout": "pk", "indexes": {"archive": [["id", "time"]]}}
    summary = {"labels": labels, "block": 1, **({"gaps": list(gaps)} if gaps else {})}
    plan = {"target": {"engine": "mysql"}, "tables": [table]}
    return RunRecord("r", plan, {}, summary, made)


def out_of_memory(n: Any) -> Any:
    """A page of 100 µs for each row that misses."""
    return 2e-5 + 1e-4 * np.maximum(0, 1 - 1.5e6 / n)


@pytest.mark.parametrize("by_interval", [False, True])
def test_a_load_that_waits_for_pages_says_from_how_many_rows_on(by_interval: bool) -> None:
    assert knee_figures(load_of(out_of_memory, by_interval=by_interval)) == {
        "load.knee_rows": pytest.approx(1.5e6, rel=0.03)
    }


def level(n: Any) -> Any:
    return np.full_like(n, 2e-5)


def test_a_load_far_beyond_the_cache_that_does_not_slow_says_so() -> None:
    assert knee_figures(load_of(level)) == {"load.level_rows": 4e6}
    assert knee_figures(load_of(level, after=CACHE * 1.5)) == {}, "it may have just begun"
    dip = np.where((np.arange(100) > 50) & (np.arange(100) < 70), 2.0, 1.0)
    assert knee_figures(load_of(lambda n: 2e-5 * dip)) == {}, "it fell, and came back"


def test_nothing_is_said_where_something_else_may_be_the_reason() -> None:
    kernel = {**DIRECT, "innodb_flush_method": "fsync"}
    assert knee_figures(load_of(out_of_memory, settings=kernel)) == {}, "pages lie in the kernel's cache"
    assert knee_figures(load_of(out_of_memory, order="key")) == {}, "rows are appended"
    early = load_of(lambda n: 2e-5 + 1e-4 * np.maximum(0, 1 - 3e5 / n))
    assert knee_figures(early) == {}, "the table has a fifth of the cache"
    assert knee_figures(load_of(out_of_memory, after=CACHE - 1)) == {}, "the table fits"
    gap = {"segment": 1, "step": "load", "from_ns": SECOND + 10, "until_ns": SECOND + 20, "why": "killed"}
    assert knee_figures(load_of(out_of_memory, gaps=[gap])) == {}, "cold caches"
    other = np.linspace(1e6, 1.2e6, 100)
    assert knee_figures(load_of(out_of_memory, bytes_of=other)) == {}, "files that differ"
    assert knee_figures(load_of(out_of_memory, files=20, rows=200_000, by_interval=True)) == {}, "too few"
    assert knee_figures(load_of(lambda n: 2e-5 + 4e-5 * np.exp(-(((n - 2e6) / 3e5) ** 2)))) == {}, (
        "it comes back"
    )


def test_data_are_held_against_the_cache_that_a_page_is_missing_from() -> None:
    def outcome(stored: float, settings: dict[str, str]) -> Outcome:
        run = load_of(level, after=stored, settings=settings)
        verdict = data_larger_than_caches(replace(run, env={"mem_total_bytes": 25e9}), {})
        assert verdict is not None
        return verdict.outcome

    assert outcome(CACHE * 3, DIRECT) is Outcome.PASS
    assert outcome(CACHE / 2, DIRECT) is Outcome.NOTE
    assert outcome(CACHE * 3, {**DIRECT, "innodb_flush_method": "fsync"}) is Outcome.NOTE, "25 GB hold it"


# --- proven


def proof_of(*figures: dict[str, float]) -> dict[str, Any]:
    """The score of a claim about 4,000,000 rows by so many runs."""
    runs = [small(n) for n in (25_000, 50_000, 100_000)]
    analysis = analysis_of(StudyRecord({"study": "s", "id": "s-1"}, [m.run for m in runs]), runs)
    (training,) = trainings(analysis, "rows", "load.knee_rows")
    made = claim(analysis, training, forecast_of(training, 1e7), 1)
    shown = [small(1e7, **{"load.rows": 1e7, **of}) for of in figures]
    for m in shown:
        m.run.summary["begun_unix_ns"] = 2
    found = analysis_of(StudyRecord({"study": "s", "id": "s-2"}, [m.run for m in shown]), shown)
    frozen = {**made, "sha256": "0"}
    return score_document(frozen, observed(found, frozen), "s-2", 3)


def test_a_load_that_does_not_slow_rejects_the_claim_and_one_that_shows_nothing_does_not() -> None:
    knee = (CACHE - 1e5) / 50
    assert proof_of(*[{"load.knee_rows": 1.02 * knee}] * 3)["verdict"] == "confirmed"
    level = proof_of(*[{"load.level_rows": 1e7}] * 3)
    assert level["verdict"] == "rejected" and level["observed"] == pytest.approx(1e7)
    nothing = proof_of(*[{"load.knee_rows": knee}] * 2, {})
    assert nothing["verdict"] == "invalid" and "neither is a rate that is level" in nothing["why"][0]


def test_what_cannot_have_a_knee_is_said_and_not_that_its_runs_are_invalid() -> None:
    runs = [measured(n, "postgresql") for n in (25_000, 50_000, 100_000)]
    analysis = analysis_of(StudyRecord({"study": "s", "id": "s-1"}, [m.run for m in runs]), runs)
    with pytest.raises(UsageError, match=r"postgresql: a load waits for pages .*go anywhere in a tree"):
        trainings(analysis, "rows", "load.knee_rows")


def test_reads_behind_added_rows_are_not_continued_along_the_rows_of_the_first_load() -> None:
    def added(rows: float) -> Measured:
        m = measured(rows)
        plan: Any = {**m.run.plan, "segments": [*m.run.plan["segments"], {"roles": [
            {"name": "more", "operations": [], "work": {"kind": "rows", "table": 0, "first_row": int(rows), "rows": 10}}
        ]}]}  # fmt: skip
        labels = {**m.run.labels, "steps": {"load": "load", "cold": "read", "more": "load", "warm": "read"}}
        return Measured(replace(m.run, plan=plan, summary={**m.run.summary, "labels": labels}), m.figures, ())

    runs = [added(n) for n in (10_000, 20_000, 40_000)]
    assert growth_of(runs, "rows", "cold.latency_p50_s") is not None
    with pytest.raises(UsageError, match="step more has added rows before it"):
        growth_of(runs, "rows", "warm.latency_p50_s")
