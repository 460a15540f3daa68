"""Claims: from sealed runs to a frozen document, to the run that proves or rejects it, to the board."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.commands.prove import score_lines
from inrush.errors import ResultUnreadable, UsageError
from inrush.guards.analyse import analyse, analysis_of
from inrush.model.forecast import MODEL_VERSION, Refused
from inrush.predict.board import board_document, board_lines
from inrush.predict.claims import archive_of, claim, forecast_of
from inrush.predict.proof import observed, score_document
from inrush.predict.proving import last_of_each, proving_call
from inrush.predict.training import chosen, pause_of_call, trainings
from inrush.report.scoreboard import scoreboard_page
from inrush.results.predictions import Predictions, digest
from inrush.results.store import Store, write_json
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic
from tests.terminal import Inrush

CALL = {
    "study": "telemetry-quickstart",
    "scale": "xs",
    "overrides": [],
    "targets": ["sqlite"],
    "start": [],
    "seed": None,
    "best": {},
}
#: One writer takes 1 s of 8 cores for 0.5 s: the client's 0.3 and the server's 0.8 cores of the synthetic run.
RATES = {1: 50_000.0, 2: 98_000.0, 4: 190_000.0}


def load_runs(
    rates: dict[int, float], begun_unix_ns: int = 0, blocks: int = 3, seed: int = 1
) -> list[RunRecord]:
    """Writers on one engine, 50,000 rows, at given rows a second; busy cores in proportion to the rate."""
    rng = np.random.default_rng(seed)
    found = []
    for block in range(blocks + 1):
        for n, rate in rates.items():
            makespan_s = 50_000 / rate * float(np.exp(rng.normal(0, 0.01)))
            found.append(
                synthetic.run("sqlite", {"writers": n}, block, n, makespan_s=makespan_s, writers=n, client_cores=0.2 * n,
                              doc={"begun_unix_ns": begun_unix_ns})
            )  # fmt: skip
    return found


def load_study(rates: dict[int, float] | None = None, **how: Any) -> Analysis:
    """Of RATES without more words: the same one for all, which nobody changes."""
    return analysed(rates or RATES, **how) if rates or how else usual_study()


@cache
def usual_study() -> Analysis:
    return analysed(RATES)


def analysed(rates: dict[int, float], **how: Any) -> Analysis:
    doc = {
        **synthetic.STUDY,
        "id": "trained",
        "call": CALL,
        "answer": {"kind": "scaling", "of": "writers.makespan_s", "along": "writers"},
    }
    return analyse(StudyRecord(doc, load_runs(rates, **how)))


def the_claim(to: float = 8) -> dict[str, Any]:
    """The claim of `load_study()`, a document of the caller's own."""
    document: dict[str, Any] = json.loads(claim_text(to))
    return document


@cache
def claim_text(to: float) -> str:
    """Two seconds of CPU each: made once."""
    analysis = load_study()
    (training,) = trainings(analysis)
    return json.dumps(claim(analysis, training, forecast_of(training, to), created_unix_ns=1000))


def frozen(folder: Path, document: dict[str, Any]) -> Predictions:
    kept = Predictions(Store(folder))
    kept.freeze(document)
    return kept


# Training.


def test_writers_are_a_load_and_their_makespan_is_predicted_as_a_rate() -> None:
    (found,) = trainings(load_study())
    assert (found.kind, found.figure, found.along) == ("load", "writers.rows_per_s", "writers")
    assert {r.x for r in found.runs} == {1, 2, 4} and len(found.runs) == 9  # the pilot enters nothing
    assert {p.name for p in found.parts} == {"cores", "disk"}
    assert all(r.busy["cores"] > 0.8 for r in found.runs)


def test_a_rate_that_falls_with_larger_batches_is_no_cost_of_batches_and_rows() -> None:
    falling = {("sqlite", b): s for b, s in ((100, 2.0), (200, 2.2), (500, 2.5))}
    (found,) = trainings(analyse(synthetic.study(falling, spread=0.01)))
    assert found.kind == "batch"
    with pytest.raises(Refused, match="falls as batches grow"):
        forecast_of(found, 2000)


def test_batches_volumes_and_offered_rates_are_told_from_what_runs_did() -> None:
    batch = trainings(analyse(synthetic.study({("sqlite", b): 2 + 200 / b for b in (100, 1000, 10_000)})))
    assert [(t.kind, t.figure) for t in batch] == [("batch", "writers.rows_per_s")]
    runs = [
        synthetic.run("sqlite", {"rows": rows}, block, i, rows=rows, makespan_s=0.5 + rows / 50_000)
        for block in (1, 2)
        for i, rows in enumerate((10_000, 20_000, 50_000))
    ]
    doc = {**synthetic.STUDY, "answer": {"kind": "curve", "of": "writers.makespan_s", "along": "rows"}}
    (volume,) = trainings(analyse(StudyRecord(doc, runs)))
    assert (volume.kind, volume.curve_kind) == ("volume", "time")
    assert forecast_of(volume, 100_000).median == pytest.approx(2.5, rel=0.01)
    offered = replace(volume, kind="offered", figure="writers.latency_p99_s", along="offered_per_s")
    assert offered.curve_kind == "latency"


def test_a_batch_claim_says_from_where_on_a_larger_batch_gains_little() -> None:
    # 2 s for the rows and 0.2 ms a batch: 95 % from 19 times their ratio, 50,000 rows in 2 s and b batches.
    analysis = analyse(
        synthetic.study({("sqlite", b): 2 + 50_000 * 2e-4 / b for b in (10, 50, 250)}, spread=0.001)
    )
    (training,) = trainings(analysis)
    made = forecast_of(training, 1000)
    assert made.model == "batch cost"
    assert made.parameters["best_rows"] == pytest.approx(19 * 2e-4 / (2 / 50_000), rel=0.1)


def test_groups_are_chosen_by_their_factors_and_what_cannot_be_continued_is_said() -> None:
    found = trainings(
        analyse(synthetic.study({(e, b): 2.0 for e in ("sqlite", "duckdb") for b in (100, 1000)}))
    )
    assert len(found) == 2 and len(chosen(found, ["engine=duckdb"])) == 1
    with pytest.raises(UsageError, match="no group agrees"):
        chosen(found, ["engine=oracle"])
    with pytest.raises(UsageError, match="continues a factor"):
        trainings(load_study(), along="colour")
    with pytest.raises(UsageError, match="two numbers"):
        trainings(load_study({4: 1e5}), along="engine")


def test_invalid_runs_train_nothing_and_waves_are_refused() -> None:
    held = load_study()
    broken = [replace(m.run, env={**m.run.env, "core_build_profile": "debug"}) for m in held.runs]
    with pytest.raises(UsageError, match="Invalid runs train nothing, here: release build"):
        trainings(analyse(StudyRecord(held.study, broken)))
    (training,) = trainings(held)
    assert training.left_out == 0
    some = [run if n % 2 else m.run for n, (m, run) in enumerate(zip(held.runs, broken, strict=True))]
    (left,) = trainings(analyse(StudyRecord(held.study, some)))
    assert left.left_out > 0 and left.left_out + len(left.runs) == len(training.runs)
    with pytest.raises(Refused, match="swings"):
        forecast_of(replace(training, waves="writers: throughput swings by ±30 %"), 8)


def test_a_figure_without_two_numbers_is_not_refused_for_what_is_invalid_elsewhere() -> None:
    held = load_study({4: 1e5})
    late = Verdict("client on time", Outcome.INVALID, "Step fill: late", figures=("fill.rows_per_s",))
    runs = [replace(m, verdicts=[late]) for m in held.runs]
    with pytest.raises(UsageError, match=r"a prediction needs two, better three\.$"):
        trainings(synthetic.analysis_with(runs, held.study), along="engine")


def test_the_size_on_disk_is_predicted_as_a_cost_of_rows() -> None:
    runs = [
        synthetic.run("sqlite", {"rows": rows}, block, i, rows=rows, makespan_s=2.0,
                      more={"sizes": [{"segment": 4, "name": "file", "value": str(8192 + 120 * rows)}]})
        for block in (1, 2)
        for i, rows in enumerate((10_000, 20_000, 50_000))
    ]  # fmt: skip
    doc = {**synthetic.STUDY, "answer": {"kind": "curve", "of": "writers.makespan_s", "along": "rows"}}
    (found,) = trainings(analyse(StudyRecord(doc, runs)), figure="stored.bytes")
    assert forecast_of(found, 1e6).median == pytest.approx(8192 + 120e6, rel=1e-3)


# Claims.


def test_a_claim_says_what_it_was_trained_on_and_by_which_model() -> None:
    found = the_claim()
    assert found["along"] == "writers" and found["forecast"]["x"] == 8
    assert len(found["train_run_ids"]) == 9 and [p["x"] for p in found["training"]] == [1, 2, 4]
    assert found["forecast"]["lo"] < found["forecast"]["median"] < found["forecast"]["hi"]
    assert set(found["forecast"]["baselines"]) == {"linear", "hard bound", "usl"}
    json.dumps(found, allow_nan=False)


def test_what_has_been_measured_is_not_predicted() -> None:
    with pytest.raises(UsageError, match="has been measured"):
        the_claim(4)


def test_the_latest_claim_of_none_says_how_one_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no claim was made yet"):
        Predictions(Store(tmp_path)).find("latest")


def test_a_frozen_claim_is_never_changed_unseen(tmp_path: Path) -> None:
    document = the_claim()
    kept = frozen(tmp_path, document)
    held = kept.find(document["id"])
    assert held.doc["sha256"] == digest(document) == kept.find(held.sha256[:8]).sha256
    with pytest.raises(UsageError, match="never changed"):
        kept.freeze(document)
    write_json(held.path, {**held.doc, "forecast": {**held.doc["forecast"], "hi": 1e12}})
    with pytest.raises(ResultUnreadable, match="changed after it was frozen"):
        _ = kept.find(document["id"]).doc
    with pytest.raises(UsageError, match="no such prediction"):
        Predictions(Store(tmp_path / "empty")).find("nothing")
    with pytest.raises(ResultUnreadable):
        kept.all()


def test_a_claim_of_another_schema_is_refused(tmp_path: Path) -> None:
    document = {**the_claim(), "schema": 2}
    with pytest.raises(ResultUnreadable, match="schema is 2, and this inrush reads 1 alone; predict anew"):
        _ = frozen(tmp_path, document).find(document["id"]).doc


def test_the_hash_is_free_of_the_order_of_keys() -> None:
    document = the_claim()
    assert digest(dict(reversed(document.items()))) == digest(document)


# Proofs.


def proven(tmp_path: Path, rate: float, begun_unix_ns: int = 2000, **how: Any) -> dict[str, Any]:
    document = the_claim()
    # Narrow enough to be confirmed: the small study's own interval goes from no gain to proportion.
    median = document["forecast"]["median"]
    document["forecast"] |= {"lo": median / 1.3, "hi": median * 1.3}
    held = frozen(tmp_path, document).all()[0]
    analysis = load_study({8: rate}, begun_unix_ns=begun_unix_ns, **how)
    return score_document(held.doc, observed(analysis, held.doc), "proof", 3000)


def test_a_run_inside_the_interval_confirms_and_one_far_outside_rejects(tmp_path: Path) -> None:
    good = proven(tmp_path / "a", 360_000)
    assert good["verdict"] == "confirmed" and good["inside"]
    assert good["observed"] == pytest.approx(360_000, rel=0.02) and len(good["run_ids"]) == 3
    assert good["skill"]["linear"] < 1
    bad = proven(tmp_path / "b", 20_000)
    assert bad["verdict"] == "rejected" and bad["log_error"] < -2


def test_a_claim_that_spans_what_simple_claims_say_is_not_confirmed_by_holding(tmp_path: Path) -> None:
    held = the_claim()
    for times, verdict in ((1.3, "confirmed"), (3.0, "inconclusive")):
        median = held["forecast"]["median"]
        held["forecast"] |= {"lo": median / times, "hi": median * times}
        seen = observed(load_study({8: 360_000}, begun_unix_ns=2000), held)
        found = score_document({**held, "sha256": ""}, seen, "proof", 3000)
        assert found["inside"] and found["verdict"] == verdict
        assert ("a factor of 9" in "".join(found.get("why", ()))) == (verdict == "inconclusive")
    far = observed(load_study({8: 20_000}, begun_unix_ns=2000), held)
    assert score_document({**held, "sha256": ""}, far, "proof", 3000)["verdict"] == "rejected"


def test_a_load_that_is_claimed_from_no_gain_to_proportion_is_not_confirmed_by_holding() -> None:
    """A factor of 3.9 passed: it held the rate of 4 writers and twice that, and so whatever 8 could have given."""
    held = the_claim()
    level, linear = held["training"][-1]["value"], held["forecast"]["baselines"]["linear"]
    seen = observed(load_study({8: 360_000}, begun_unix_ns=2000), held)
    for lo, hi, verdict in (
        (level * 0.99, linear * 1.01, "inconclusive"),
        (level * 1.01, linear * 1.01, "confirmed"),
        (level * 0.99, linear * 0.99, "confirmed"),
    ):
        held["forecast"] |= {"lo": lo, "hi": hi}
        found = score_document({**held, "sha256": ""}, seen, "proof", 3000)
        assert found["inside"] and found["verdict"] == verdict
        assert ("holds both what writers 4 gave" in "".join(found.get("why", ()))) == (
            verdict == "inconclusive"
        )
    assert (
        score_document({**held, "sha256": "", "kind": "volume"}, seen, "proof", 3000)["verdict"]
        == "confirmed"
    )


def test_the_line_of_a_proof_names_how_wide_the_claim_was(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim()).all()[0]
    score = score_document(
        held.doc, observed(load_study({8: 360_000}, begun_unix_ns=2000), held.doc), "proof", 3000
    )
    made = held.doc["forecast"]
    assert (
        f"claimed, a factor of {made['hi'] / made['lo']:.2g} wide: off by" in score_lines(held.doc, score)[0]
    )


def test_a_run_that_came_before_its_claim_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"before .* was frozen"):
        proven(tmp_path, 360_000, begun_unix_ns=999)


def test_an_invalid_run_leaves_a_claim_open_and_a_valid_one_decides_it_for_good(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim()).all()[0]
    held.write_score({"verdict": "invalid"})
    assert not held.scored
    held.write_score({"verdict": "rejected"})
    assert held.scored
    with pytest.raises(UsageError, match="has its score"):
        held.write_score({"verdict": "confirmed"})


def test_results_without_the_claimed_point_are_refused(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim()).all()[0]
    with pytest.raises(UsageError, match="no measured run of"):
        observed(load_study({16: 1e5}), held.doc)


def test_results_of_other_conditions_prove_nothing(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim()).all()[0]
    made = load_study({8: 360_000}, begun_unix_ns=2000)

    def called(**changes: Any) -> Analysis:
        return analyse(
            replace(made.record, study={**made.record.study, "call": {**CALL, "scale": "xs", **changes}})
        )

    observed(called(overrides=["writers=[8]", "repeats.count=5", 'engines=["sqlite"]']), held.doc)
    for other in (
        {"overrides": ["schedule.think_s=0.1"]},
        {"scale": "s"},
        {"start": ["sqlite,synchronous=OFF"]},
    ):
        with pytest.raises(UsageError, match="other conditions"):
            observed(called(**other), held.doc)
    another = analyse(replace(made.record, study={**made.record.study, "study": "another"}))
    with pytest.raises(UsageError, match="of study another"):
        observed(another, held.doc)


def test_a_proof_starts_the_server_with_the_settings_of_the_training(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim()).all()[0].doc
    started = ["sqlite,synchronous=OFF", "mysql,innodb_redo_log_capacity=1073741824"]
    call = proving_call({**held, "call": {**CALL, "start": started, "realtime": True}})
    assert call.start == ("sqlite,synchronous=OFF",) and call.realtime
    assert proving_call({**held, "call": {**CALL, "start": started}}, ["sqlite:///other.db"]).start == ()


def test_a_setting_stands_once_in_a_command_with_the_value_that_holds() -> None:
    given = ["batch_rows=[1000,5000]", "repeats.count=3", "batch_rows=[30000]", "repeats.count=1"]
    assert last_of_each(given) == ("batch_rows=[30000]", "repeats.count=1")


def test_a_knee_is_seen_where_the_curve_levels_off_and_nowhere_else(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim(16)).all()[0]
    seen = {
        rates: observed(load_study(dict(zip((8, 16), rates, strict=True)), begun_unix_ns=2000), held.doc).knee
        for rates in ((300_000, 310_000), (380_000, 740_000), (370_000, 600_000), (300_000, 250_000))
    }
    assert seen[300_000, 310_000] == pytest.approx(310 / 50, rel=0.03)
    assert seen[380_000, 740_000] is None
    assert seen[370_000, 600_000] is None
    assert seen[300_000, 250_000] == pytest.approx(300 / 50, rel=0.03)


def test_the_board_counts_a_knee_once_for_each_training(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim(16)).all()[0]
    level = load_study({8: 300_000, 16: 310_000}, begun_unix_ns=2000)
    scored = score_document(held.doc, observed(level, held.doc), "proof", 3000)
    saturation = held.doc["forecast"]["saturation"]
    assert scored["knee_log_error"] == pytest.approx(np.log(scored["knee_seen"] / saturation))
    board = [(held.doc, scored), ({**held.doc, "id": "same"}, scored), ({**held.doc, "id": "open"}, None)]
    (knee,) = board_document(board)["knees"]
    assert knee["claimed"] == saturation and knee["seen"] == pytest.approx(6.2, rel=0.03)
    assert knee["error"] == abs(knee["seen"] - saturation) / knee["seen"]
    assert "Knees: 1 seen" in "\n".join(board_lines(board))
    assert "<h2>Knees</h2>" in scoreboard_page(board, [], {}, "")


def test_an_invalid_run_scores_nothing(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim()).all()[0]
    analysis = load_study({8: 360_000}, begun_unix_ns=2000)
    runs = [replace(m.run, env={**m.run.env, "core_build_profile": "debug"}) for m in analysis.runs]
    broken = analyse(StudyRecord(analysis.study, runs))
    found = score_document(held.doc, observed(broken, held.doc), "proof", 3000)
    assert found["verdict"] == "invalid" and "debug" in found["why"][0]


def test_runs_in_which_the_figure_failed_are_not_left_out_of_a_proof(tmp_path: Path) -> None:
    """Two of three runs stored nothing: the third one is no mean."""
    held = frozen(tmp_path, the_claim()).all()[0]
    analysis = load_study({8: 360_000}, begun_unix_ns=2000)
    figure = held.doc["figure"]
    runs = [replace(m, figures={**m.figures, figure: 0.0}) if m.run.block > 1 else m for m in analysis.runs]
    found = score_document(held.doc, observed(analysis_of(analysis.record, runs), held.doc), "proof", 3000)
    assert (
        found["verdict"] == "invalid"
        and f"{figure} failed, is 0 or is missing in 2 of 3 runs" in found["why"]
    )


@pytest.mark.slow
def test_only_scored_claims_calibrate_and_nine_of_a_reach_suffice(tmp_path: Path) -> None:
    score = proven(tmp_path, 360_000)
    archive, sources = archive_of([score] * 9 + [{"verdict": "invalid", "prediction": "x"}])
    assert len(archive) == len(sources) == 9
    (training,) = trainings(load_study())
    made = forecast_of(training, 8, archive)
    assert made.calibrated and made.hi / made.median == pytest.approx(np.exp(abs(score["log_error"])))
    assert not forecast_of(training, 32, archive).calibrated


def test_errors_of_another_model_calibrate_nothing(tmp_path: Path) -> None:
    kept = Predictions(Store(tmp_path))
    for version in (MODEL_VERSION - 1, MODEL_VERSION):
        kept.freeze({**the_claim(), "id": f"v{version}", "model_version": version})
    for c in kept.all():
        c.write_score({"verdict": "confirmed", "prediction": c.id, "reach": 2.0, "log_error": 0.1})
    assert [s["prediction"] for s in kept.scores(MODEL_VERSION)] == [f"v{MODEL_VERSION}"]


def test_a_claim_that_was_made_again_and_scored_by_the_same_run_counts_once(tmp_path: Path) -> None:
    kept = Predictions(Store(tmp_path))
    for n in range(4):
        kept.freeze({**the_claim(), "id": f"c{n}"})
    for c, runs in zip(kept.all(), (["r1"], ["r1"], ["r2"], None), strict=True):
        if runs:
            score = {
                "verdict": "confirmed",
                "prediction": c.id,
                "reach": 2.0,
                "log_error": 0.1,
                "run_ids": runs,
            }
            c.write_score(score)
    assert [c.id for c in kept.counted()] == ["c0", "c2", "c3"], "one that is open is another"
    assert [s["prediction"] for s in kept.scores(MODEL_VERSION)] == ["c0", "c2"]


# The board.


def entries(tmp_path: Path) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    held = frozen(tmp_path, the_claim()).all()[0]
    return [(held.doc, proven(tmp_path / "x", 360_000)), ({**held.doc, "id": "<open>"}, None)]


def test_the_board_counts_verdicts_and_shows_every_claim(tmp_path: Path) -> None:
    found = board_document(entries(tmp_path))
    assert found["verdicts"] == {"confirmed": 1, "open": 1}
    assert found["all"]["n"] == 1 and len(found["claims"]) == 2
    errors = {b["name"]: b["median_error"] for b in found["beside"]}
    assert errors["claimed"] == found["all"]["median_error"]
    assert errors["linear"] == pytest.approx(400 / 360 - 1, abs=0.02)
    assert found["by"]["reach"].keys() == {"up to 2×"}
    detail = "\n".join(board_lines(entries(tmp_path / "y")))
    assert "1 confirmed, 1 open" in detail and "100 %" in detail


def test_the_page_is_offline_and_escapes_what_it_shows(tmp_path: Path) -> None:
    from inrush.report.scoreboard import charts

    held = entries(tmp_path)
    page = scoreboard_page(held, charts(held), {}, "")
    assert "&lt;open&gt;" in page and "<open>" not in page
    assert "https://" not in page and 'id="fig-claims"' in page
    assert "nothing claimed yet" in scoreboard_page([], [], {}, "")


# The commands.


@pytest.mark.ci
def test_from_a_study_to_a_claim_to_its_proof_and_the_board(inrush: Inrush) -> None:
    trained = inrush(
        "run", "quickstart", "sqlite", "--scale", "xs", "-P", "batch_rows=[100,2000]", "-P", "repeats.count=2"
    )
    assert trained.code in (0, 3), trained.err
    # A prediction is shown, and nothing is kept of it.
    shown = inrush("predict", "--to", "1000", "--where", "engine=sqlite")
    assert shown.code == 0 and "--claim freezes it" in shown.out and "frozen" not in shown.out, shown.err
    (said,) = inrush("predict", "--to", "1000", "--where", "engine=sqlite", "--json").json["predictions"]
    assert said["figure"] and "sha256" not in said
    assert not (inrush.store.root / "predictions").exists() and inrush("scoreboard").code == 2
    # A claim that no run can prove is not frozen: `prove` would refuse its plan. As a prediction it may be asked for.
    assert inrush("predict", "--to", "60000", "--where", "engine=sqlite").code == 0
    beyond = inrush("predict", "--to", "60000", "--where", "engine=sqlite", "--claim")
    assert beyond.code == 2 and "batch_rows 60,000 cannot be run" in beyond.err, beyond.err
    assert "name another --to" in beyond.err and inrush("scoreboard").code == 2
    made = inrush("predict", "--to", "1000", "--where", "engine=sqlite", "--claim", "--json")
    assert made.code == 0, made.err
    held = made.json["claims"][0]
    assert made.json["lo"] < made.json["median"] < made.json["hi"]
    listed = inrush("scoreboard", "--json").json
    assert listed["verdicts"] == {"open": 1}
    result = inrush("prove", held["id"], "--json")
    assert result.json["verdict"] in ("confirmed", "rejected", "inconclusive", "invalid"), result.err
    assert result.code == (3 if result.json["verdict"] == "invalid" else 0)
    assert result.json["sha256"] == held["sha256"]
    assert (inrush.store.root / "predictions" / "scoreboard.html").is_file()
    if result.json["verdict"] != "invalid":
        again = inrush("prove", held["id"])
        assert again.code == 2 and "has a score already" in again.err
        assert "no claim is without a score" in inrush("prove", "open", "--with", "latest").err
    # The newest results are the proof's now, of one value: what was trained on is predicted from again.
    for which in ([], ["quickstart"]):
        more = inrush("predict", *which, "--to", "1500", "--where", "engine=sqlite", "--claim", "--json")
        assert more.code == 0 and more.json["claims"][0]["results"] == held["results"], more.err
    assert "scoreboard:" in inrush("scoreboard").err


def test_predicting_nothing_and_nowhere_is_refused_in_a_sentence(inrush: Inrush) -> None:
    assert "--to N" in inrush("predict").err
    assert inrush("predict", "none.csv", "--to", "4").code == 2
    (inrush.store.root.parent / "own.csv").write_text("clients,rows_per_s\n1,100\n2,190\n4,350\n")
    far = inrush("predict", str(inrush.store.root.parent / "own.csv"), "--to", "400", "--far")
    assert far.code == 2 and "--far is of results" in far.err, far.err
    assert inrush("scoreboard").code == 2
    assert inrush("predict", "--to", "4").code == 2
    own = str(inrush.store.root.parent / "own.csv")
    for words in ([own, "--to", "8"], ["--rows-per-s", "1000"], ["--for", "reads.ops_per_s=5"]):
        refused = inrush("predict", *words, "--claim")
        assert refused.code == 2 and "--claim: is about" in refused.err, refused.err
    for words, why in (
        ([], "name a claim"),
        (["latest", "--of", "x"], "name a load, --to N"),
        (["one", "two", "--to", "4"], "one study's results at most"),
        (["one", "--to", "4", "--with", "latest"], "leave out --with"),
    ):
        refused = inrush("prove", *words)
        assert refused.code == 2 and why in refused.err, refused.err
    assert issubclass(Refused, UsageError)


def test_a_session_pauses_once_for_each_batch_that_it_sends() -> None:
    def role(depth: int, **schedule: Any) -> dict[str, Any]:
        return {"name": "users", "depth": depth, "schedule": {"kind": "closed", "think_ns": 0, **schedule}}

    assert pause_of_call(role(4, think_ns=8_000_000_000)) == 2
    assert pause_of_call(role(1, delay_ns=8_000_000_000)) == 8
    assert pause_of_call(role(4, delay_ns=8_000_000_000, refill="round")) == 2
    assert pause_of_call(role(4, refill="half")) == 0
    for refill in ({}, {"refill": "half"}):
        with pytest.raises(Refused, match=r'role users waits 8\.0 s before it sends again.*refill = "round"'):
            pause_of_call(role(4, delay_ns=8_000_000_000, **refill))
