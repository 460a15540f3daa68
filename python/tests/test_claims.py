"""Published claims against known curves: confirmed where ours agree, contradicted where they do not, else not testable."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.claims import RULES, Judged, Status, effect, judged_claims, missing_ends
from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import invalid
from inrush.analysis.wording import times
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.report.export import write_claims
from inrush.stats.quantity import says_nothing, show_interval
from inrush.stats.stats import Interval, log_t
from inrush.study import claims
from inrush.study.reading import load_study
from inrush.study.shipped import shipped_studies
from tests import synthetic

ROOT = Path(__file__).parents[2]
#: Name in the published table -> engine, value, study and a word of its claim there.
INAM = {
    ("clickhouse", 9): ("telemetry-writers", "speed-up"),
    ("mysql", 5): ("telemetry-writers", "speed-up"),
    ("influxdb", 3): ("telemetry-writers", "speed-up"),
    ("clickhouse", 0.055): ("telemetry-writers", "200,000 rows"),
    ("clickhouse", 25_000): ("telemetry-batch", "best batch"),
    ("mysql", 1_000): ("telemetry-batch", "best batch"),
    ("influxdb", 30_000): ("telemetry-batch", "best batch"),
    ("all", 5): ("telemetry-batch", "price of one reader"),
    ("clickhouse", 2.3): ("telemetry-mixed", "32 readers"),
    ("all", 50_000): ("telemetry-keepup", "required rate"),
}


def analysis(cores: int = 64, **published: Any) -> Analysis:
    """Makespans of 4, 2 and 1 s at batches of 100, 200 and 400, with 2 % noise; duckdb and nothing else."""
    truth = {("duckdb", b): 400.0 / b for b in (100, 200, 400)}
    record = synthetic.study(truth, seed=3, spread=0.02, resources=False, interval_s=10.0, rows=20_000)
    claim = {"claim": "c", "unit": "x", "source": "s", "hardware": "h", **published}
    runs = [replace(run, env={**run.env, "cpu_logical": cores}) for run in record.runs]
    return analyse(replace(record, study={**record.study, "published": [claim]}, runs=runs))


def judged(values: Mapping[str, float], rule: Mapping[str, Any], cores: int = 64) -> Judged:
    (found,) = judged_claims(
        analysis(cores, values=values, rule={"of": "writers.makespan_s", "cores": 56, **rule})
    )
    return found


def speed_up(
    value: float, first: int = 100, last: int = 400, cores: int = 64, engine: str = "duckdb"
) -> Status:
    rule = {"kind": "speed_up", "along": "batch_rows", "from": first, "to": last}
    return judged({engine: value}, rule, cores).status


def test_a_speed_up_within_a_quarter_of_the_claim_confirms_it() -> None:
    assert speed_up(4.0) is speed_up(4.8) is Status.CONFIRMED
    assert speed_up(9.0) is speed_up(2.0) is Status.CONTRADICTED


def test_a_smaller_machine_confirms_but_never_contradicts() -> None:
    assert speed_up(4.0, cores=2) is Status.CONFIRMED
    assert speed_up(9.0, cores=2) is Status.NOT_TESTABLE


def test_what_was_not_measured_is_not_testable() -> None:
    assert speed_up(4.0, last=800) is Status.NOT_TESTABLE
    assert speed_up(4.0, engine="mysql") is Status.NOT_TESTABLE


def test_a_cost_is_confirmed_from_half_to_twice_its_size() -> None:
    rule = {"kind": "cost", "along": "batch_rows", "from": 200, "to": 100}
    assert judged({"all": 100}, rule).status is Status.CONFIRMED
    assert judged({"all": 5}, rule).status is Status.CONTRADICTED


def test_a_saving_is_a_negative_cost_and_confirmed_from_half_to_twice_its_size() -> None:
    """Twice the batch saves 50 %: makespans of 4, 2 and 1 s."""
    rule = {"kind": "cost", "along": "batch_rows", "from": 100, "to": 200}
    status = {value: judged({"all": value}, rule).status for value in (-50, -26, -95, -20, 50)}
    confirmed, contradicted = Status.CONFIRMED, Status.CONTRADICTED
    assert status == {
        -50: confirmed, -26: confirmed, -95: confirmed, -20: contradicted, 50: contradicted,
    }  # fmt: skip
    assert judged({"all": -50}, rule).because.startswith("duckdb: -49.4 % [-50.")


def test_a_bound_of_a_cost_is_in_percent_of_the_figure_at_from() -> None:
    """Half the batch costs 100 %: a ratio of 2."""
    rule = {"kind": "cost", "along": "batch_rows", "from": 200, "to": 100}
    least = {v: judged({"all": v}, {**rule, "bound": "at_least"}).status for v in (80, 120, 180)}
    assert least == {80: Status.CONFIRMED, 120: Status.CONTRADICTED, 180: Status.CONTRADICTED}
    most = {v: judged({"all": v}, {**rule, "bound": "at_most"}).status for v in (80, 120, 180)}
    assert most == {80: Status.CONTRADICTED, 120: Status.CONFIRMED, 180: Status.CONFIRMED}
    saved = {**rule, "from": 100, "to": 200}
    assert judged({"all": -40}, {**saved, "bound": "at_most"}).status is Status.CONFIRMED
    assert judged({"all": -60}, {**saved, "bound": "at_most"}).status is Status.CONTRADICTED
    assert judged({"all": -40}, {**saved, "bound": "at_least"}).status is Status.CONTRADICTED


@pytest.mark.parametrize(
    ("value", "low", "high", "holds"),
    [
        (2.26, 0.63, 8.14, None),  # met by 9× within a quarter, and by no gain at all
        (9.0, 0.9, 90.0, None),
        (9.0, 7.0, 11.0, True),
        (6.0, 5.0, 7.5, None),
        (6.0, 5.5, 7.0, False),
    ],
)
def test_an_interval_too_wide_to_tell_confirms_nothing(
    value: float, low: float, high: float, holds: bool | None
) -> None:
    claimed = 9.0
    found = effect(Interval(value, low, high, 0.95, 3), claimed / 1.25, claimed * 1.25, "noise")
    assert found.holds is holds


def test_where_no_value_can_be_told_from_another_none_is_the_best() -> None:
    truth = {("duckdb", b): 1.0 for b in (100, 200, 400)}
    record = synthetic.study(truth, seed=3, spread=0.3, resources=False, interval_s=10.0, rows=20_000)
    claim = {"claim": "c", "unit": "x", "source": "s", "hardware": "h", "values": {"duckdb": 200},
             "rule": {"kind": "best", "of": "writers.makespan_s", "along": "batch_rows"}}  # fmt: skip
    (found,) = judged_claims(analyse(replace(record, study={**record.study, "published": [claim]})))
    assert found.status is Status.NOT_TESTABLE
    assert "none of 100, 200, 400 can be distinguished from another" in found.because


def test_the_best_is_confirmed_if_it_is_among_those_that_cannot_be_told_apart() -> None:
    rule = {"kind": "best", "along": "batch_rows"}
    found = [judged({"duckdb": b}, rule).status for b in (400, 100, 25_000)]
    assert found == [Status.CONFIRMED, Status.CONTRADICTED, Status.NOT_TESTABLE]


@pytest.mark.parametrize(
    ("alike", "value", "status"),
    [
        ((5_000, 25_000, 30_000), 30_000, Status.NOT_TESTABLE),
        ((25_000, 30_000), 25_000, Status.CONFIRMED),
        ((25_000, 30_000), 1_000, Status.CONTRADICTED),
    ],
)
def test_a_best_that_far_smaller_sizes_equal_is_not_confirmed(
    alike: tuple[int, ...], value: int, status: Status
) -> None:
    """Of four sizes three were alike, and the largest was called confirmed."""
    truth = {("duckdb", b): 1.0 if b in alike else 3.0 for b in (1_000, 5_000, 25_000, 30_000)}
    record = synthetic.study(truth, seed=3, spread=0.02, resources=False, interval_s=10.0, rows=20_000)
    claim = {"claim": "c", "unit": "x", "source": "s", "hardware": "h", "values": {"duckdb": value},
             "rule": {"kind": "best", "of": "writers.makespan_s", "along": "batch_rows"}}  # fmt: skip
    (found,) = judged_claims(analyse(replace(record, study={**record.study, "published": [claim]})))
    assert found.status is status, found.because


def test_a_limit_is_confirmed_by_a_point_that_stays_below_it() -> None:
    rule = {"kind": "at_most", "where": {"batch_rows": 400}}
    assert judged({"duckdb": 1.5}, rule).status is Status.CONFIRMED
    assert judged({"duckdb": 0.055}, rule).status is Status.CONTRADICTED
    assert judged({"duckdb": 0.055}, rule, cores=2).status is Status.NOT_TESTABLE
    assert (
        judged({"duckdb": 9.0}, {"kind": "at_most", "where": {"batch_rows": 7}}).status is Status.NOT_TESTABLE
    )


def test_a_limit_names_engine_and_group() -> None:
    found = judged({"duckdb": 9.0}, {"kind": "at_most"})
    assert found.because.startswith("duckdb, batch_rows 100: ")


def test_two_runs_have_no_interval_however_near_they_lie() -> None:
    near, far = log_t([3.0, 3.3]), log_t([0.3, 30.0])
    assert show_interval(near, "writers.makespan_s") == "3.15 s (2 runs: too few for an interval)"
    assert show_interval(far, "writers.makespan_s") == "3.00 s (2 runs: too few for an interval)"
    assert not says_nothing(Interval(1.0, 0.1, 10.1, 0.95, 3))
    assert says_nothing(Interval(1.0, 0.1, 9.9, 0.95, 2))
    assert times(far) == "3.00× (2 runs: too few for an interval)"


def test_the_exported_table_has_a_line_for_every_claim(tmp_path: Path) -> None:
    found = analysis(values={"duckdb": 4, "mysql": 5},
                     rule={"kind": "speed_up", "of": "writers.makespan_s", "along": "batch_rows", "from": 100, "to": 400})  # fmt: skip
    lines = write_claims(found, tmp_path / "claims.csv").read_text().splitlines()
    assert lines[0] == "claim,engine,value,unit,status,because,source"
    assert lines[1].startswith("c,duckdb,4,x,confirmed,")
    assert lines[2] == "c,mysql,5,x,not testable here,mysql was not measured,s"


def test_every_published_row_of_the_monitor_is_a_claim_with_a_rule() -> None:
    shipped = {s.name for s in shipped_studies()}
    for (engine, value), (study, word) in INAM.items():
        assert study in shipped
        claims = [p for p in load_study(study).published if word in p.claim and p.values.get(engine) == value]
        assert len(claims) == 1 and claims[0].rule, (engine, value)


def test_every_published_extraction_of_the_archive_stands_beside_ours_with_its_hardware() -> None:
    """Seconds and rows of the paper give the rows a second that the study has; those after clustering too."""
    lines = (ROOT / "python/benches/published/extractions.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    published = load_study("archive-extract").published
    for row in rows:
        clustered = row["system"].endswith("_clustered")
        engine, kind = (
            row["system"].removesuffix("_clustered"),
            "long" if row["rows"] == "10023508" else "short",
        )
        figure = f"{'clustered_' * clustered}{kind}_{row['cache']}.rows_per_s".replace(
            "clustered_long", "clustered"
        )
        (claim,) = (
            p for p in published
            if p.beside == figure and p.where == {"row_order": row["load_order"]} and engine in p.values
        )  # fmt: skip
        assert claim.values[engine] == round(int(row["rows"]) / float(row["seconds"])), row
        assert f"{float(row['seconds']):g} s" in claim.about or f" {float(row['seconds']):g}" in claim.about
        assert "i7-5820" in claim.hardware and "24 GB" in claim.hardware and "5.7.18" in claim.source


def test_every_published_size_and_load_of_the_archive_stands_beside_ours() -> None:
    lines = (ROOT / "python/benches/published/archives.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    published = load_study("archive-load").published
    total = 4_082_099_171
    for row in rows:
        engine = row["system"].split("_")[0]
        layout = "pk_two" if "2_indexes" in row["system"] else "pk"
        where = {"row_order": row["load_order"], "layout": layout}
        step = "cluster" if row["cluster_hours"] else "load"
        hours = float(row["cluster_hours"] or row["load_hours"])
        mine = [p for p in published if p.where == where and engine in p.values]
        sizes = [p.values[engine] for p in mine if p.beside == f"{step}.after_bytes / load.rows"]
        speeds = [
            p.values[engine]
            for p in mine
            if p.unit == "rows/s" and (step == "cluster") == ("cluster" in p.beside)
        ]
        assert sizes == [pytest.approx(float(row["total_gb"]) * 1e9 / total, abs=0.06)], row
        assert speeds == [pytest.approx(total / hours / 3600, abs=1)], row


def test_rules_of_files_and_rules_of_figures_are_the_same() -> None:
    assert set(claims.RULES) == set(RULES)


def test_a_rule_that_names_nothing_is_refused(tmp_path: Path) -> None:
    text = next(s.path for s in shipped_studies() if s.name == "telemetry-batch").read_text()
    study = tmp_path / "s.toml"
    study.write_text(text.replace('along = "readers", from = 0', 'along = "nobody", from = 0'))
    with pytest.raises(UsageError, match="nobody"):
        load_study(str(study))


@pytest.mark.parametrize("beside", ["answers", "writers.speed", "cost of nothing", "writers.rows / rows"])
def test_a_claim_that_stands_beside_no_figure_is_refused(beside: str, tmp_path: Path) -> None:
    """A word that names nothing left the claim alone on the page, without a message."""
    text = next(s.path for s in shipped_studies() if s.name == "telemetry-batch").read_text()
    study = tmp_path / "s.toml"
    assert 'beside = "answer"' in text
    study.write_text(text.replace('beside = "answer"', f'beside = "{beside}"'))
    with pytest.raises(UsageError, match="beside"):
        load_study(str(study))
    study.write_text(text.replace('beside = "answer"', 'beside = "writers.makespan_s / writers.rows"'))
    assert load_study(str(study)).published


def test_a_factor_with_one_value_is_said_to_have_one() -> None:
    """`-P readers=4` leaves nothing to compare; the sentence named None twice."""
    analysis = synthetic.trial({("duckdb", 200): 3.0, ("sqlite", 200): 2.0}, blocks=3)
    rule = {"kind": "cost", "of": synthetic.MAKESPAN, "along": "readers"}
    assert missing_ends(analysis, "duckdb", rule).because == (
        "duckdb: readers has one value here, so nothing can be compared"
    )


def test_values_that_were_not_measured_are_said_as_people_read_them() -> None:
    analysis = synthetic.trial({("duckdb", 200): 3.0}, blocks=3)
    of_bytes = {
        "kind": "speed_up",
        "of": synthetic.MAKESPAN,
        "along": "file_bytes",
        "from": 100_000_000,
        "to": 10**9,
    }
    assert (
        "file_bytes 100 MB and 1 GB were not each measured"
        in missing_ends(analysis, "duckdb", of_bytes).because
    )
    of_rows = {**of_bytes, "along": "batch_rows", "from": 200, "to": 20_000}
    assert "batch_rows 200 and 20,000 were not each" in missing_ends(analysis, "duckdb", of_rows).because


def test_values_of_a_claim_have_no_exponent() -> None:
    found = judged({"duckdb": 25_000_000}, {"kind": "best", "along": "batch_rows"})
    assert "batch_rows 25,000,000 was not measured" in found.because


def test_an_invalid_figure_neither_confirms_nor_contradicts_a_claim() -> None:
    """At one point of three: a claim about the other two is judged."""
    rule = {"kind": "speed_up", "of": "writers.makespan_s", "along": "batch_rows", "cores": 56}
    whole = analysis(values={"duckdb": 2.0}, rule={**rule, "from": 100, "to": 200})
    broken = whole.points[-1]
    assert dict(broken)["batch_rows"] == 400
    for ends, value, status in (
        ((100, 200), 2.0, Status.CONFIRMED),
        ((200, 400), 2.0, Status.NOT_TESTABLE),
        ((200, 400), 9.0, Status.NOT_TESTABLE),
    ):
        found = analysis(values={"duckdb": value}, rule={**rule, "from": ends[0], "to": ends[1]})
        found.__dict__["study_verdicts"] = [
            invalid("g", "so", figures=["writers.makespan_s"], points=[broken])
        ]
        (one,) = judged_claims(found)
        assert one.status is status, ends
        assert (one.because == "writers.makespan_s is INVALID at duckdb, batch_rows 400 (g)") is (
            ends[1] == 400
        )
