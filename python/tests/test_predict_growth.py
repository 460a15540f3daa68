"""Steps of a study as trainings of growing tables: what is read from a run, and a claim from its command to its score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inrush.analysis.points import Analysis
from inrush.commands.predict import targets
from inrush.engines import server
from inrush.engines.base.pages import Pages, bytes_of
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.predict.claims import forecast_of
from inrush.predict.growth import here, page_read_s
from inrush.predict.training import Training, trainings
from inrush.results.predictions import Predictions
from inrush.results.store import Store
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from tests import synthetic
from tests.steps import WORKLOAD
from tests.terminal import Inrush

KEY = 'identity = ["id", "time"]'
STUDY = """
schema = 1
title = "Growth"
question = "What does an archive take?"
expect = "Bytes in proportion."
workload = "work.toml"
kind = "steps"
engines = ["sqlite"]
row_order = "random"
layout = "pk"
factors.rows = [1_000, 2_000, 4_000]
repeats = { count = 1, seed = 1, pilot = false }
answer = { kind = "curve", of = "load.duration_s", along = "rows" }
[options.sqlite]
"pragma.cache_size" = "-64"
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = "@rows" }
batch_rows = 200
[[steps]]
name = "chill"
do = "cold"
[[steps]]
name = "cold"
do = "read"
operation = "one"
calls = 5
[[steps]]
name = "warm"
do = "read"
operation = "one"
calls = 5
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the study, and the folder of its files beside them."""
    folder = tmp_path_factory.mktemp("growth")
    (folder / "work.toml").write_text(WORKLOAD.replace(KEY, f'{KEY}\nlayouts = {{ pk = ["identity"] }}'))
    (folder / "growth.toml").write_text(STUDY)
    return folder


def analysis_of(root: Path) -> Analysis:
    return analyse(study_record(Store(root).find(None)))


def training(analysis: Analysis, figure: str) -> Training:
    (found,) = trainings(analysis, "rows", figure)
    return found


@pytest.mark.slow
def test_a_claim_about_bytes_is_frozen_proven_by_its_own_run_and_scored(
    inrush: Inrush, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    done = inrush("run", "growth.toml")
    assert done.code in (0, 3), done.err
    analysis = analysis_of(inrush.store.root)

    # What the runs recorded of where rows go.
    load = training(analysis, "load.duration_s")
    assert load.kind == "rows" and load.growth is not None and load.growth.what == "load"
    store = load.growth.store
    assert (store.batch_rows, store.cache_bytes) == (200, 64 * 1024)
    assert analysis.runs[0].run.labels["indexes"] == {"events": [["id", "time"]]}
    assert store.memory_bytes and store.memory_bytes > 1e8 and store.read_s and store.read_s < 1
    read = training(analysis, "warm.latency_p50_s")
    assert read.growth is not None and read.growth.what == "read"
    assert sorted({n for n, _ in read.growth.cold}) == [1000, 2000, 4000]
    cold = training(analysis, "cold.latency_p50_s")
    assert cold.growth is not None and cold.growth.cold == ()
    rate = training(analysis, "load.rows_per_s")
    assert rate.growth is not None and rate.growth.what == "rate"
    made = forecast_of(training(analysis, "load.grown_bytes"), 16_000)
    assert made.model == "proportion"

    said = inrush("predict", "--to", "rows=16_000", "--of", "load.after_bytes", "--claim", "--json")
    assert said.code == 0, said.err
    (claimed,) = said.json["claims"]
    assert (claimed["along"], claimed["kind"], claimed["forecast"]["x"]) == ("rows", "rows", 16_000)
    proven = inrush("prove", claimed["id"], "--json")
    assert proven.code == 0, proven.err
    assert proven.json["verdict"] == "confirmed" and proven.json["error"] < 0.15
    assert proven.json["skill"]

    # It calibrates other claims about tables that grow, and nothing else.
    kept = Predictions(Store(inrush.store.root))
    version = claimed["model_version"]
    assert len(kept.scores(version, of_rows=True)) == 1 and kept.scores(version) == []


def test_the_factor_may_stand_in_the_target() -> None:
    assert targets(["rows=3_200_000", "rows=6e6"], None) == ([3.2e6, 6e6], "rows")
    assert targets(["16", "32"], "writers") == ([16, 32], "writers")
    with pytest.raises(UsageError, match="--to rows=1: continues rows, and writers was named before"):
        targets(["rows=1"], "writers")
    with pytest.raises(UsageError, match="'many' is no number"):
        targets(["rows=many"], None)


@pytest.mark.parametrize(
    ("engine", "settings", "page", "cache"),
    [
        ("sqlite", {"page_size": "4096", "cache_size": "-500"}, 4096, 512_000),
        ("sqlite", {"page_size": "8192", "cache_size": "100"}, 8192, 819_200),
        ("sqlite", {}, 4096, 2_048_000),
        ("postgresql", {"shared_buffers": "65536 8kB"}, 8192, 512 << 20),
        ("postgresql", {}, 8192, 128 << 20),
        ("mysql", {"innodb_buffer_pool_size": "536870912"}, 16_384, 512 << 20),
        ("mariadb", {"innodb_page_size": "4096"}, 4096, 128 << 20),
    ],
)
def test_pages_and_caches_are_what_an_engines_settings_say(
    engine: str, settings: dict[str, str], page: int, cache: int
) -> None:
    pages = server(engine).pages
    assert isinstance(pages, Pages)
    assert (pages.page_of(settings), pages.cache_of(settings)) == (page, cache)


def test_an_engine_goes_round_the_kernel_where_its_setting_says_so() -> None:
    pages = server("mysql").pages
    assert pages is not None
    assert pages.goes_round_kernel({"innodb_flush_method": "O_DIRECT"})
    assert not pages.goes_round_kernel({"innodb_flush_method": "fsync"})
    assert server("duckdb").pages is None and server("timescaledb").pages is None


def test_a_size_that_is_none_is_as_shipped() -> None:
    assert [bytes_of(v, 7) for v in (None, "auto", "12 MB", "16 8kB", "42")] == [
        7,
        7,
        12 << 20,
        16 * 8192,
        42,
    ]


def test_a_page_costs_what_the_probe_of_the_next_larger_one_says_if_that_was_direct() -> None:
    env = {"disk_direct": True, "disk_read_16k_s": 2e-4, "disk_read_8k_s": 1e-4}
    assert [page_read_s(env, page) for page in (4096, 8192, 16_384, 65_536)] == [1e-4, 1e-4, 2e-4, 2e-4]
    assert page_read_s({**env, "disk_direct": False}, 8192) is None
    assert page_read_s({}, 8192) is None


def test_the_memory_of_this_machine_is_not_that_of_a_server_elsewhere() -> None:
    facts = {"mem_available_bytes": 8e9}
    base = synthetic.run("postgresql", {})

    def at(url: str) -> RunRecord:
        target = {**base.plan["target"], "engine": "postgresql", "url": url}
        return replace(base, env=facts, plan={**base.plan, "target": target, "watch": {}})

    assert here(at("postgresql://u@127.0.0.1:5432/db")) == facts
    assert here(at("postgresql://u@db.example:5432/db")) == {}
