"""What ran is read from the runs themselves; what was expected is right, wrong or not judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis import claims
from inrush.analysis.expected import Mark, expectation_marks
from inrush.analysis.points import Analysis
from inrush.analysis.ran import due, few, ran_said, span
from inrush.analysis.verdicts import invalid
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse, analysis_of
from inrush.plan.plan import plan_study
from inrush.report.report import write_report
from inrush.report.summary import markdown_lines, summary
from inrush.stats.record import StudyRecord
from inrush.stats.trials import Trial, Tried
from inrush.study.reading import load_study
from inrush.study.study import Known
from tests import synthetic
from tests.strategies import each_family_first
from tests.test_sentence import KEEPS_UP, SAMPLES, SPREAD, analysed, paced

#: Makespans of 4, 2 and 1 s at batches of 100, 200 and 400.
TRUTH = {("duckdb", b): 400.0 / b for b in (100, 200, 400)}


def studied(**published: Any) -> Analysis:
    claim = {"claim": "gain", "unit": "x", "source": "s", "hardware": "h", **published}
    record = synthetic.study(TRUTH, spread=0.01, resources=False, interval_s=10.0, rows=20_000)
    return analyse(replace(record, study={**record.study, "published": [claim]}))


def gain(value: float, **more: Any) -> dict[str, Any]:
    rule = {"kind": "speed_up", "of": synthetic.MAKESPAN, "along": "batch_rows", "from": 100, "to": 400}
    return {"values": {"duckdb": value}, "rule": rule, **more}


def words(analysis: Analysis) -> list[str]:
    return [mark.word for mark in expectation_marks(analysis)]


def test_a_claim_that_says_what_was_expected_marks_it_right_or_wrong() -> None:
    assert words(studied(**gain(4.0), expected=True)) == ["right"]
    assert words(studied(**gain(16.0), expected=True)) == ["wrong"]
    (mark,) = expectation_marks(studied(**gain(4.0), expected=True))
    assert mark.said.startswith("gain of duckdb: duckdb: 4.0") and "× [" in mark.because


def test_an_expectation_that_no_claim_judges_is_not_judged() -> None:
    none = [Mark("not judged", "the study gives no rule that says it in numbers")]
    assert expectation_marks(studied(**gain(4.0))) == none
    assert expectation_marks(analyse(synthetic.study(TRUTH, blocks=2))) == none
    assert words(studied(**gain(4.0, values={"mysql": 4.0}), expected=True)) == ["not judged"]


def test_an_invalid_figure_makes_no_expectation_right() -> None:
    analysis = studied(**gain(4.0), expected=True)
    late = invalid("client on time", "late", figures=[synthetic.MAKESPAN])
    broken = analysis_of(analysis.record, [replace(m, verdicts=[*m.verdicts, late]) for m in analysis.runs])
    (mark,) = expectation_marks(broken)
    assert mark.word == "not judged" and "INVALID" in mark.because and "client on time" in mark.because


def expecting(value: float, engine: str = "duckdb", **rule: Any) -> Analysis:
    record = synthetic.study(TRUTH, spread=0.01, resources=False, interval_s=10.0, rows=20_000)
    told = {"kind": "speed_up", "of": synthetic.MAKESPAN, "along": "batch_rows", **rule}
    parts = [{"claim": "larger gains", "values": {engine: value}, "rule": told}]
    return analyse(replace(record, study={**record.study, "expect": "e", "expected": parts}))


def test_a_part_of_the_expectation_is_judged_by_its_rule_from_the_smallest_to_the_largest_value() -> None:
    assert words(expecting(2, bound="at_least")) == words(expecting(2, "all", bound="at_least")) == ["right"]
    assert words(expecting(2, bound="at_most")) == words(expecting(5, bound="at_least")) == ["wrong"]
    assert words(expecting(4)) == ["right"] and words(expecting(9)) == ["wrong"], "near it without a bound"
    (mark,) = expectation_marks(expecting(2, bound="at_least"))
    assert mark.said.startswith("larger gains: duckdb: 4.0") and mark.document["word"] == "right"


def test_a_bound_within_the_interval_decides_nothing() -> None:
    for bound in ("at_least", "at_most"):
        (mark,) = expectation_marks(expecting(4.005, bound=bound))
        assert mark.word == "not judged" and mark.because.endswith("too wide to decide")


def test_what_was_not_measured_is_not_judged() -> None:
    assert words(expecting(2, bound="at_least", to=800)) == ["not judged"]
    (mark,) = expectation_marks(expecting(2, "mysql", bound="at_least"))
    assert (mark.word, mark.because) == ("not judged", "mysql: not measured")


def test_one_group_that_is_undecided_leaves_the_expectation_unjudged() -> None:
    truth = {("duckdb", 100): 4.0, ("duckdb", 400): 1.0, ("sqlite", 100): 4.0}
    record = synthetic.study(truth, spread=0.01, resources=False, interval_s=10.0, rows=20_000)
    rule = {"kind": "speed_up", "of": synthetic.MAKESPAN, "along": "batch_rows", "bound": "at_least"}
    parts = [{"claim": "c", "values": {"all": 2}, "rule": rule}]
    found = analyse(replace(record, study={**record.study, "expect": "e", "expected": parts}))
    (mark,) = expectation_marks(found)
    assert mark.word == "not judged" and "sqlite" in mark.because


def test_a_cost_and_a_rate_have_their_own_directions() -> None:
    of = {"kind": "cost", "of": synthetic.MAKESPAN, "from": 400, "to": 100}
    assert words(expecting(200, bound="at_least", **of)) == ["right"]
    assert words(expecting(200, bound="at_most", **of)) == ["wrong"]
    rate = synthetic.MAKESPAN.replace("makespan_s", "rows_per_s")
    assert words(expecting(2, bound="at_least", of=rate)) == ["right"], "a rate that rises is a gain"


@pytest.mark.parametrize(
    ("study", "words_of"), [("telemetry-quickstart", 3), ("telemetry-sustained", 2), ("pipeline-filesize", 3)]
)
def test_a_shipped_expectation_says_itself_in_numbers(study: str, words_of: int) -> None:
    assert len(load_study(study).expected) == words_of


@pytest.mark.parametrize("path", each_family_first())
def test_every_shipped_study_gives_rules_and_they_are_no_part_of_a_plan(path: Path) -> None:
    study = load_study(str(path), "xs")
    assert study.expected, path
    bare = replace(study, expected=(), expect="other")
    servers = {name: server(name) for name in study.engines}
    one, other = (plan_study(s, servers) for s in (study, bare))
    assert (one.hash, [r.plan for r in one.all_runs]) == (other.hash, [r.plan for r in other.all_runs])


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        ("claim = 'c'\nvalues = { duckdbb = 2 }\nrule = RULE }", "did you mean `duckdb`"),
        ("claim = 'c'\nvalues = {}\nrule = RULE }", "name an engine and the value"),
        ("claim = 'c'\nvalues = { all = 2 }\nrule = RULE, bound = 'least' }", "did you mean `at_least`"),
        ("claim = 'c'\nvalues = { all = 2 }\nrule = RULE, from = 200 }", "write `to` too, or neither"),
        ("claim = 'c'\nvalues = { all = 2 }", "is missing"),
        (
            "claim = 'c'\nvalues = { all = 2 }\nrule = { kind = 'at_most', of = 'writers.makespan_s', bound = 'at_most' }",
            "unknown key",
        ),
        (
            "claim = 'c'\nvalues = { all = 2 }\nrule = { kind = 'at_most', of = 'writers.makespan_s', cause = 'steal' }",
            "unknown key",
        ),
        (
            "claim = 'c'\nvalues = { all = 2 }\nrule = { kind = 'wave', of = 'writers.rows_per_s', caus = 'steal' }",
            "did you mean `cause`",
        ),
    ],
)
def test_a_mistake_in_an_expectation_says_what_to_write(tmp_path: Path, written: str, remedy: str) -> None:
    rule = "{ kind = 'speed_up', of = 'writers.makespan_s', along = 'batch_rows'"
    own = tmp_path / "own.toml"
    shipped = Path(load_study("telemetry-batch").file).read_text(encoding="utf-8")
    own.write_text(shipped + "\n[[expected]]\n" + written.replace("RULE", rule))
    with pytest.raises(UsageError, match=remedy):
        load_study(
            str(own), known=Known(engines={"duckdb": ["bulk", "multirow"], "sqlite": ["bulk", "multirow"]})
        )


def of_engines(**seconds: float) -> StudyRecord:
    """Engine -> what the smallest batch takes; the largest takes a second."""
    truth = {(e, b): s if b == 100 else 1.0 for e, s in seconds.items() for b in (100, 400)}
    return synthetic.study(truth, spread=0.01, resources=False, interval_s=10.0, rows=20_000)


def gains(record: StudyRecord, values: dict[str, float], **rule: Any) -> Analysis:
    told = {"kind": "speed_up", "of": synthetic.MAKESPAN, "along": "batch_rows", "bound": "at_least", **rule}
    part = {"claim": "c", "values": values, "rule": told}
    return analyse(replace(record, study={**record.study, "expect": "e", "expected": [part]}))


@pytest.mark.parametrize("seconds", [{"duckdb": 4.0, "sqlite": 1.5}, {"duckdb": 1.5, "sqlite": 4.0}])
def test_one_group_that_is_wrong_makes_the_expectation_wrong(seconds: dict[str, float]) -> None:
    (mark,) = expectation_marks(gains(of_engines(**seconds), {"all": 2}))
    wrong = min(seconds, key=lambda engine: seconds[engine])
    assert mark.word == "wrong" and mark.because.startswith(f"{wrong}: 1."), mark


def test_every_engine_of_a_claim_is_marked() -> None:
    record = of_engines(duckdb=4.0, sqlite=1.5)
    claim = {"claim": "gain", "unit": "x", "source": "s", "hardware": "h", **gain(4.0), "expected": True}
    both = {**claim, "values": {"duckdb": 4.0, "sqlite": 4.0}}
    study = {**record.study, "expect": "e", "published": [both]}
    found = expectation_marks(analyse(replace(record, study=study)))
    assert [(m.claim, m.word) for m in found] == [("gain of duckdb", "right"), ("gain of sqlite", "wrong")]


def test_a_machine_with_fewer_cores_than_the_claims_makes_nothing_wrong() -> None:
    """The synthetic one has 8."""
    record = of_engines(duckdb=4.0)
    assert words(gains(record, {"all": 9}, cores=8)) == ["wrong"]
    (mark,) = expectation_marks(gains(record, {"all": 9}, cores=9))
    assert mark.word == "not judged"
    assert mark.because.endswith("8 cores here, 9 there: fewer cannot contradict")
    assert words(gains(record, {"all": 2}, cores=9)) == ["right"]


def with_broken(analysis: Analysis, **point: Any) -> list[str]:
    """Words of the marks where the figure is INVALID at all points that agree."""
    late = invalid("client on time", "late", figures=[synthetic.MAKESPAN])
    runs = [
        replace(m, verdicts=[*m.verdicts, late])
        if all(dict(m.point).get(k) == v for k, v in point.items())
        else m
        for m in analysis.runs
    ]
    return words(analysis_of(analysis.record, runs))


def test_an_invalid_figure_that_the_rule_does_not_read_changes_nothing() -> None:
    between = expecting(2, bound="at_least")
    assert with_broken(between, batch_rows=200) == ["right"], "between the two ends"
    assert with_broken(between, batch_rows=100) == with_broken(between, batch_rows=400) == ["not judged"]
    two = gains(of_engines(duckdb=4.0, sqlite=4.0), {"duckdb": 2})
    assert with_broken(two, engine="sqlite") == ["right"], "of another engine"
    assert with_broken(two, engine="duckdb") == ["not judged"]
    here = expecting(1.5, kind="at_most", along="batch_rows", where={"batch_rows": 400})
    assert with_broken(here, batch_rows=100) == ["right"], "outside of its conditions"
    assert with_broken(here, batch_rows=400) == ["not judged"]


RULE = (
    "kind = 'speed_up', of = 'writers.makespan_s', along = 'ALONG', from = FROM, to = TO, where = { WHERE }"
)
#: Of a paper, and of the author's own.
PUBLISHED = "[[published]]\nclaim = 'c'\nunit = 'u'\nvalues = { all = 2 }\nsource = 's'\nhardware = 'h'\n"
EXPECTED = "[[expected]]\nclaim = 'c'\nvalues = { all = 2 }\n"


def ruled(folder: Path, head: str, along: str, ends: tuple[str, str], where: str = "", **options: Any) -> Any:
    """telemetry-batch with one more claim; its scales run fewer batches, tables and methods than the file."""
    rule = RULE.replace("ALONG", along).replace("FROM", ends[0]).replace("TO", ends[1])
    own = folder / "own.toml"
    shipped = Path(load_study("telemetry-batch").file).read_text(encoding="utf-8")
    own.write_text(f"{shipped}\n{head}rule = {{ {rule.replace('WHERE', where)} }}\n")
    return load_study(str(own), **options)


@pytest.mark.parametrize("head", [PUBLISHED, EXPECTED], ids=["published", "expected"])
@pytest.mark.parametrize(
    ("along", "ends", "where", "remedy"),
    [
        (
            "batch_rows",
            ("200", "'5 k'"),
            "",
            r'rule\.to is "5 k"; unknown value of batch_rows; choose from: ',
        ),
        ("batch_rows", ("200", "5_000"), "method = 'bulkk'", r"unknown value of method; did you mean `bulk`"),
        ("batch_rows", ("200", "5_000"), "method = 1", r"where\.method is 1; unknown value of method"),
        ("readers", ("false", "true"), "", "unknown value of readers; choose from: 0, 1"),
        ("method", ("'bulk'", "'multiraw'"), "", "unknown value of method; did you mean `multirow`"),
        ("engine", ("'duckdb'", "'sqlit'"), "", "unknown engine; did you mean `sqlite`"),
    ],
)
def test_a_rule_of_a_value_that_the_factor_cannot_have_is_refused(
    tmp_path: Path, head: str, along: str, ends: tuple[str, str], where: str, remedy: str
) -> None:
    """Such a rule would never be judged, and nobody would be told."""
    with pytest.raises(UsageError, match=remedy):
        ruled(tmp_path, head, along, ends, where)


def test_an_expectation_is_of_values_that_some_scale_or_the_command_line_runs(tmp_path: Path) -> None:
    """A paper may speak of numbers that nobody runs here: not testable. An author's own expectation may not."""
    assert ruled(tmp_path, PUBLISHED, "batch_rows", ("200", "777"), "method = 'multirow'").published
    with pytest.raises(UsageError, match="unknown value of batch_rows"):
        ruled(tmp_path, EXPECTED, "batch_rows", ("200", "777"))
    for scale in ("xs", None):
        assert ruled(
            tmp_path, EXPECTED, "batch_rows", ("200", "25_000"), "method = 'multirow'", scale=scale
        ).expected
    changed = {"scale": "xs", "overrides": ["batch_rows=[200, 777]"]}
    assert ruled(tmp_path, EXPECTED, "batch_rows", ("200", "777"), **changed).expected
    assert ruled(tmp_path, EXPECTED, "batch_rows", ("200", "5_000"), **changed).expected


def test_a_search_has_values_that_no_file_names(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    shipped = Path(load_study("telemetry-sustained").file).read_text(encoding="utf-8")
    rule = "rule = { kind = 'at_most', of = 'writers.in_time_share', where = { rows_per_s = 12_345, readers = 0 } }"
    own.write_text(f"{shipped}\n{EXPECTED}{rule}\n")
    assert load_study(str(own)).expected
    own.write_text(f"{shipped}\n{EXPECTED}{rule.replace('readers = 0', 'readers = 3')}\n")
    with pytest.raises(UsageError, match="unknown value of readers"):
        load_study(str(own))


def test_the_terminal_and_a_document_say_what_became_of_the_expectation() -> None:
    found = expecting(2, bound="at_least")
    assert any(line.startswith("- right: larger gains: duckdb: 4.0") for line in markdown_lines(found))
    assert summary(found)["expected"][0]["claim"] == "larger gains"


def test_a_search_sustains_what_held_and_not_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = expecting(2)
    rule = {"of": synthetic.MAKESPAN, "along": "batch_rows"}

    def holds(value: float, **stood: Trial) -> bool | None:
        runs = {int(v[1:]): [Tried(trial)] for v, trial in stood.items()}
        monkeypatch.setattr(claims, "tries", lambda *_: runs)
        (found,) = claims.sustains(analysis, rule, "duckdb", value)
        return found.holds

    assert holds(200, v200=Trial.HELD, v400=Trial.FAILED) is True
    assert holds(400, v200=Trial.HELD, v400=Trial.FAILED) is False
    assert holds(300, v200=Trial.HELD, v400=Trial.FAILED) is None
    assert holds(400, v200=Trial.HELD, v400=Trial.UNDECIDED) is None
    assert holds(100, v100=Trial.FAILED, v200=Trial.HELD) is False


def test_the_report_says_what_ran_and_what_became_of_the_expectation(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    record = studied(**gain(16.0), expected=True).record
    write_report(replace(record, study={**record.study, "scale": "s"}), path)
    text = path.read_text(encoding="utf-8")
    assert "at scale s: writers: 1 session, 20,000 rows; 3 points, 5 runs each." in text
    assert '<span class="badge note">wrong</span> gain of duckdb' in text


def test_an_expectation_needs_a_claim_with_a_rule(tmp_path: Path) -> None:
    text = """
[[published]]
claim = "c"
unit = "u"
values = { all = 1 }
source = "s"
hardware = "h"
expected = true
"""
    found = load_study("telemetry-batch", scale="xs", engines=["sqlite"])
    own = tmp_path / "own.toml"
    own.write_text(Path(found.file).read_text(encoding="utf-8") + text)
    with pytest.raises(UsageError, match="give the claim a `rule`"):
        load_study(str(own), scale="xs", engines=["sqlite"])
    assert [p.claim for p in found.published if p.expected] == ["price of one reader"]


def test_what_ran_is_read_from_the_runs_and_not_from_the_file() -> None:
    runs = [
        paced(engine, readers, block, [0.1] * SAMPLES)
        for block, _ in enumerate(SPREAD, start=1)
        for readers in (0, 4)
        for engine in ("mysql", "duckdb")
    ]
    analysis = analysed(runs, {"answer": KEEPS_UP, "title": "Keeping up with 9 rows a second"})
    assert ran_said(analysis) == (
        "writers: 4 sessions, 20,000 rows/s due, 800,000 rows; readers: 0 to 4 sessions; 4 points, 3 runs each"
    )


def test_many_roles_that_did_alike_are_counted() -> None:
    assert few(["a", "b", "c", "d"]) == "a, b, c, d"
    assert few(["a", "b", "c", "d", "e"]) == "a, b and 3 others"


def test_a_paced_role_of_calls_says_their_rate_and_a_closed_one_has_none() -> None:
    calls = synthetic.run("sqlite", {}, 1, schedule="constant", lag_ns=[1000] * 50)
    assert due(calls, "writers") is None, "its plan has no batch"
    assert due(synthetic.run("sqlite"), "writers") is None
    study = {"title": "t"}
    assert ran_said(analyse(StudyRecord(study, [synthetic.run("sqlite")]))) == (
        "writers: 1 session, 50,000 rows; 1 point, 1 run"
    )
    assert ran_said(analysis_of(StudyRecord(study, []), [])) == ""


def searched(value: float, *broken: int, where: dict[str, Any] | None = None, **held: bool) -> list[Mark]:
    """A search along batch_rows whose runs hold or not; those of `broken` batches are INVALID."""
    runs = [
        synthetic.run("duckdb", {"batch_rows": int(v[1:]), "readers": readers}, block, makespan_s=1.0)
        for v in held
        for readers in (0, 4)
        for block in (1, 2, 3)
    ]
    figure = "writers.achieved_share"
    rule = {"kind": "sustains", "of": figure, "along": "batch_rows", "where": where or {"readers": 0}}
    parts = [{"claim": "holds", "values": {"duckdb": value}, "rule": rule}]
    study = {
        **synthetic.STUDY,
        "answer": None,
        "search": {"along": "batch_rows", "of": figure, "at_least": 1.0},
        "expect": "e",
        "expected": parts,
    }
    analysis = analyse(StudyRecord(study, runs))
    late = invalid("client on time", "late", figures=[figure])
    found = []
    for m in analysis.runs:
        at = dict(m.point)
        good = held[f"v{at['batch_rows']}"] and at["readers"] == 0
        verdicts = [*m.verdicts, late] if at["batch_rows"] in broken else list(m.verdicts)
        found.append(replace(m, verdicts=verdicts, figures={**m.figures, figure: 1.0 if good else 0.5}))
    return expectation_marks(analysis_of(analysis.record, found))


def test_a_search_is_judged_by_what_was_valid_of_it() -> None:
    """A value above the claim that held decides it, whatever became of one further up."""
    (mark,) = searched(200, 800, v100=True, v200=True, v400=True, v800=True)
    assert (mark.word, "holds 400" in mark.because) == ("right", True), mark
    (mark,) = searched(200, 100, v100=True, v200=True, v400=False)
    assert mark.word == "right"
    (mark,) = searched(500, 800, v100=True, v200=True, v400=False, v800=False)
    assert mark.word == "wrong"
    (mark,) = searched(500, 800, v100=True, v200=True, v400=True, v800=True)
    assert mark.word == "not judged" and "INVALID" in mark.because and "batch_rows 800" in mark.because


def test_a_search_of_one_engine_says_nothing_of_another() -> None:
    figure = "writers.achieved_share"
    runs = [
        synthetic.run(engine, {"batch_rows": batch}, block, makespan_s=1.0)
        for engine in ("duckdb", "sqlite")
        for batch in (100, 200)
        for block in (1, 2, 3)
    ]
    rule = {"kind": "sustains", "of": figure, "along": "batch_rows"}
    search = {"along": "batch_rows", "of": figure, "at_least": 1.0}
    parts = [{"claim": e, "values": {e: 200}, "rule": rule} for e in ("duckdb", "sqlite")]
    study = {**synthetic.STUDY, "answer": None, "search": search, "expect": "e", "expected": parts}
    analysis = analyse(StudyRecord(study, runs))
    found = [
        replace(m, figures={**m.figures, figure: 1.0 if dict(m.point)["engine"] == "duckdb" else 0.5})
        for m in analysis.runs
    ]
    marks = expectation_marks(analysis_of(analysis.record, found))
    assert [(m.engine, m.word) for m in marks] == [("duckdb", "right"), ("sqlite", "wrong")]


def test_what_is_invalid_of_a_whole_study_judges_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    late = invalid("pilot", "late", figures=["writers.achieved_share"])
    monkeypatch.setattr(Analysis, "study_verdicts", [late])
    (mark,) = searched(200, v100=True, v200=True)
    assert mark.word == "not judged" and "(pilot)" in mark.because


def test_a_search_is_judged_under_its_own_conditions() -> None:
    """With four readers nothing holds."""
    (mark,) = searched(200, v100=True, v200=True)
    assert mark.word == "right"
    (mark,) = searched(200, where={"readers": 4}, v100=True, v200=True)
    assert mark.word == "wrong"


def test_a_small_rate_is_not_rounded_to_nothing() -> None:
    assert span([0.4]) == "0.4" and span([0, 16]) == "0 to 16" and span([0.25, 1_234.5]) == "0.25 to 1,234"
