"""Two results of different hosts: what differs is named, and figures stand per core, per GHz and in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.hosts import HostClock, clock_of, host_differences, on_other_hosts
from inrush.analysis.per_core import CoreBase, compared_rate, core_base, costs, cycles, engine_costs, per_core
from inrush.analysis.points import Analysis
from inrush.cli.results import clocks_of
from inrush.errors import UsageError
from inrush.guards.analyse import analyse, analysis_of
from inrush.report.comparison import compare_document, compare_lines
from inrush.report.other_hosts import host_comparison, interval_document
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.stats import Interval, welch_ratio
from tests import synthetic

RATE, USED, COST = "writers.rows_per_s", "server.busy_cores", "server.cpu_us_per_row"
FIXED = {"cpu_lowest_hz": 2.5e9, "cpu_highest_hz": 2.5e9, "cpu_turbo": False, "cpu_hz": 2.5e9}
FASTER = {
    "cpu_model": "Other 1",
    "cpu_logical": 16,
    "cpu_lowest_hz": 3e9,
    "cpu_highest_hz": 3e9,
    "cpu_turbo": False,
}
RATES, CORES = (100_000.0, 104_000.0, 99_000.0, 101_000.0), (2.0, 2.1, 1.9, 2.0)
#: Of the other host.
OTHER_RATES, OTHER_CORES = (300_000.0, 310_000.0, 290_000.0, 305_000.0), (4.0, 4.2, 3.9, 4.1)


def made(
    env: Mapping[str, Any],
    rates: tuple[float, ...],
    cores: tuple[float, ...],
    engine: str = "postgresql",
    **more: Any,
) -> Analysis:
    """A study by the figures of its runs: a rate, the cores that the server used, and its CPU time per row."""
    runs = [
        synthetic.figured(
            engine, {"batch_rows": 100}, 1 + k, 0,
            {RATE: rate, **({USED: busy, COST: busy / (rate or 1.0) * 1e6} if cores else {"x.y": 1.0})},
        )
        for k, (rate, busy) in enumerate(zip(rates, cores or rates, strict=True))
    ]  # fmt: skip
    plan = {"target": {"engine": engine, "url": f"{engine}://db.example/t"}, "segments": []}
    env = {**synthetic.ENV, **env}
    runs = [
        replace(m, run=replace(m.run, plan=plan, env=env, summary={**m.run.summary, **more})) for m in runs
    ]
    doc = {**synthetic.STUDY, "answer": {**synthetic.STUDY["answer"], "of": RATE}}
    return analysis_of(StudyRecord(doc, [m.run for m in runs]), runs)


HERE, THERE = made(FIXED, RATES, CORES), made(FASTER, OTHER_RATES, OTHER_CORES)
POINT = HERE.points[0]


def differences(a: Analysis, b: Analysis) -> dict[str, tuple[str, str]]:
    return {d.fact: (d.a, d.b) for d in host_differences(a, b, (clock_of(a), clock_of(b)))}


def test_hosts_are_told_apart_by_processor_cores_and_memory_and_not_by_a_kernel_or_a_missing_fact() -> None:
    def other(**env: Any) -> bool:
        return on_other_hosts(HERE, made({**FIXED, **env}, RATES, CORES))

    assert not other() and not other(kernel="6.2.0") and not other(data_filesystem="xfs")
    assert other(cpu_model="Other 1") and other(cpu_logical=4) and other(mem_total_bytes=2**30)
    assert not other(mem_total_bytes=synthetic.ENV["mem_total_bytes"] * 0.995)
    assert not other(cpu_model=None) and not other(cpu_physical=4)


def test_with_hyper_threads_the_cores_without_them_are_the_hosts() -> None:
    """Switching them off makes no other host."""
    a, b = ({"cpu_logical": n, "cpu_physical": 8} for n in (16, 8))
    assert not on_other_hosts(made(a, RATES, CORES), made(b, RATES, CORES))


def test_what_differs_is_one_line_each_and_nothing_that_is_equal() -> None:
    found = differences(HERE, made({**FASTER, "kernel": "6.2.0", "cpu_governor": "powersave"}, RATES, CORES))
    assert found == {
        "processor": ("Imaginary 9000", "Other 1"),
        "clock": ("2.50 GHz, fixed", "3.00 GHz, fixed"),
        "cores": ("8", "16"),
        "frequency policy": ("none", "powersave"),
        "kernel": ("6.1.0", "6.2.0"),
    }


def test_memory_and_a_disk_that_was_measured_differ_by_more_than_looks_do() -> None:
    assert "memory" not in differences(HERE, made({**FIXED, "mem_total_bytes": 16.1 * 2**30}, RATES, CORES))
    much = differences(
        HERE, made({**FIXED, "mem_total_bytes": 64 * 2**30, "disk_fsync_per_s": 500.0}, RATES, CORES)
    )
    assert much == {"memory": ("17.2 GB", "68.7 GB"), "fsyncs a second": ("2,000", "500")}
    assert not differences(HERE, made({**FIXED, "disk_fsync_per_s": 1900.0}, RATES, CORES))


def with_settings(**held: str) -> Analysis:
    rows = [{"segment": 1, "name": name, "value": value} for name, value in held.items()]
    run = synthetic.run("duckdb", {"batch_rows": 100}, more={"settings": rows})
    return analyse(StudyRecord(synthetic.STUDY, [run]))


def test_settings_that_differ_are_named_with_their_engine_and_paths_are_not() -> None:
    x = with_settings(version="15.1", shared_buffers="1GB", fsync="on", data_directory="/a")
    y = with_settings(version="16.2", shared_buffers="8GB", fsync="on", data_directory="/b")
    assert differences(x, y) == {
        "duckdb: version": ("15.1", "16.2"),
        "duckdb: shared_buffers": ("1GB", "8GB"),
    }


def test_the_client_alone_is_compared_by_its_calibration() -> None:
    def calibrated(makespan_s: float) -> Analysis:
        run = synthetic.run("null", makespan_s=makespan_s)
        return replace(HERE, record=replace(HERE.record, calibrations={"p": run}))

    ((fact, (x, y)),) = differences(calibrated(1.0), calibrated(2.0)).items()
    assert fact == "writers on the null engine, a second of CPU time"
    assert float(x.replace(",", "")) == pytest.approx(2 * float(y.replace(",", "")), rel=0.2)
    assert not differences(calibrated(1.0), calibrated(1.05))


def worker(host: str, **more: Any) -> dict[str, Any]:
    machine = {"cpu_model": "Other 1", "kernel": "6.1.0", **FIXED, **more.pop("machine", {})}
    return {"host": host, "cores": 4, "rows_per_cpu_s": 1e6, "machine": machine, **more}


def fleet(*workers: Mapping[str, Any]) -> Analysis:
    return made(FIXED, RATES, CORES, clients={"count": len(workers), "workers": list(workers)})


def test_fleets_differ_by_their_hosts_and_a_fleet_on_a_host_like_this_one_is_none() -> None:
    two, three = fleet(worker("a"), worker("b")), fleet(*(worker(h, rows_per_cpu_s=2e6) for h in "abc"))
    assert on_other_hosts(two, three) and on_other_hosts(HERE, two) and not on_other_hosts(two, two)
    assert differences(two, three) == {
        "hosts of the fleet": ("2", "3"),
        "cores of the fleet's hosts": ("8", "12"),
        "rows that a core of the fleet's hosts makes a second": ("1,000,000", "2,000,000"),
    }
    here = worker("here", machine={"cpu_model": "Imaginary 9000"})
    assert not on_other_hosts(HERE, fleet(here, here))
    assert not on_other_hosts(HERE, fleet({"host": "here", "cores": 8}))
    assert on_other_hosts(HERE, fleet({"host": "elsewhere", "cores": 2}))


@pytest.mark.parametrize(
    "env, said",
    [
        ({}, "not known: no frequency policy is recorded"),
        ({"cpu_hz": 2.3e9}, "not known: no frequency policy is recorded; 2.30 GHz is only what is stated"),
        (
            {**FIXED, "cpu_lowest_hz": 8e8, "cpu_governor": "powersave"},
            "varies: 0.80 GHz to 2.50 GHz (powersave)",
        ),
        ({**FIXED, "cpu_turbo": True}, "varies: 2.50 GHz is in the range of turbo"),
        ({**FIXED, "cpu_base_hz": 2.1e9}, "varies: 2.50 GHz is in the range of turbo"),
        ({**FIXED, "cpu_hz": 2.1e9}, "varies: 2.10 GHz was seen, and 2.50 GHz is all that its policy allows"),
    ],
)
def test_a_clock_that_is_not_fixed_is_not_known(env: Mapping[str, Any], said: str) -> None:
    assert clock_of(made(env, RATES, CORES)) == HostClock(None, said)


def test_a_clock_is_known_where_the_policy_leaves_no_choice_or_the_user_states_it() -> None:
    assert clock_of(HERE) == HostClock(2.5e9, "2.50 GHz, fixed")
    assert clock_of(made({**FIXED, "cpu_turbo": True, "cpu_base_hz": 2.5e9}, RATES, CORES)).hz == 2.5e9
    assert clock_of(made({}, RATES, CORES), 2.6).hz == 2.6e9


def test_a_clock_must_be_that_of_all_runs_and_of_all_hosts() -> None:
    faster = made({**FIXED, "cpu_lowest_hz": 3e9, "cpu_highest_hz": 3e9, "cpu_hz": 3e9}, RATES, CORES)
    both = replace(HERE, runs=[*HERE.runs, *faster.runs])
    assert clock_of(both) == HostClock(None, "varies: 2.50 GHz or 3.00 GHz in its runs")
    assert clock_of(fleet(worker("a"))).hz == 2.5e9
    assert clock_of(fleet(worker("a"), {"host": "b", "cores": 4})).hz is None


KNOWN = (HostClock(2.5e9, ""), HostClock(3e9, ""))


def test_a_rate_per_core_used_is_that_of_a_second_of_cpu_time_with_the_interval_of_its_runs() -> None:
    (found,) = per_core(HERE, THERE, RATE, KNOWN)
    assert found.base == "cores used (CPU per row of server)" and not found.broken
    wanted = welch_ratio(
        [r / c for r, c in zip(OTHER_RATES, OTHER_CORES, strict=True)], [r / c for r, c in zip(RATES, CORES, strict=True)]
    )  # fmt: skip
    assert found.per_core is not None and found.per_core.low == pytest.approx(wanted.low)
    assert found.per_core.high == pytest.approx(wanted.high) and found.ratio == welch_ratio(
        OTHER_RATES, RATES
    )
    assert found.per_core_ghz == found.per_core.scaled(2.5 / 3)
    assert 1.4 < wanted.value < 1.6


def test_pauses_between_repetitions_are_in_no_rate_per_core_used() -> None:
    """Busy cores are of whole segments: as many of them say nothing of the cores that a rate took."""
    halved = tuple(c / 2 for c in OTHER_CORES)
    a = replace(HERE, runs=[replace(m, figures={**m.figures, USED: 1.0}) for m in HERE.runs])
    assert next(per_core(a, made(FASTER, OTHER_RATES, halved), RATE, KNOWN)).per_core == next(
        per_core(HERE, made(FASTER, OTHER_RATES, halved), RATE, KNOWN)
    ).per_core  # fmt: skip


@pytest.mark.parametrize(
    "asked, rate",
    [
        ("writers.makespan_s", RATE),
        (RATE, RATE),
        ("writers.bytes_per_s", RATE),
        ("readers.latency_p99_s", None),
    ],
)
def test_a_figure_is_compared_by_the_rate_of_its_role(asked: str, rate: str | None) -> None:
    assert compared_rate(HERE, THERE, asked) == rate


def test_threads_of_a_role_are_not_the_engine() -> None:
    assert engine_costs("writers", "row", embedded=True) == [
        "writers.engine_cpu_us_per_row",
        "engine.cpu_us_per_row",
        "writers.client_process_cpu_us_per_row",
        "client.cpu_us_per_row",
    ]
    assert "server.cpu_us_per_op" in engine_costs("readers", "op", embedded=False)


def test_a_clock_that_is_not_known_leaves_the_ratio_per_ghz_out() -> None:
    for clocks in ((KNOWN[0], HostClock(None, "")), (HostClock(None, ""), KNOWN[1])):
        (found,) = per_core(HERE, THERE, RATE, clocks)
        assert found.per_core is not None and found.per_core_ghz is None
        (cost,) = cycles(HERE, THERE, RATE, clocks)
        assert cost.cycles_ratio is None and None in cost.cycles and any(cost.cycles)


def test_a_rate_per_core_of_the_host_is_one_where_cores_used_are_not_known() -> None:
    a, b = (
        made(FIXED, RATES, (), "duckdb"),
        made({**FASTER, "cgroup_cpu_cores": 4.0}, OTHER_RATES, (), "duckdb"),
    )
    (found,) = per_core(a, b, RATE, KNOWN)
    assert found.base == "cores of the host (8 and 4)"
    assert found.per_core == welch_ratio(OTHER_RATES, RATES).scaled(2)


def test_a_server_elsewhere_that_was_not_watched_has_no_rate_per_core() -> None:
    a, b = made(FIXED, RATES, ()), made(FASTER, OTHER_RATES, ())
    (found,) = per_core(a, b, RATE, KNOWN)
    assert found.per_core is None and "were not watched" in found.base
    assert found.ratio == welch_ratio(OTHER_RATES, RATES)


def paced(run: RunRecord) -> RunRecord:
    role = synthetic.role_plan("writers", kind="constant")
    return replace(
        run, plan={**run.plan, "segments": [{"kind": "drive", "phase": "measure", "roles": [role]}]}
    )


def test_a_rate_that_was_set_is_none_of_the_hosts_cores() -> None:
    a, b = made(FIXED, RATES, (), "duckdb"), made(FASTER, OTHER_RATES, (), "duckdb")
    a = replace(a, runs=[replace(m, run=paced(m.run)) for m in a.runs])
    assert core_base(a, b, RATE, POINT_OF_DUCKDB) == CoreBase(
        "no figure per core: the rate was set, and the cores that it took were not watched"
    )


POINT_OF_DUCKDB = made(FIXED, RATES, (), "duckdb").points[0]


def test_a_cost_in_cycles_is_its_time_times_the_clock() -> None:
    (found,) = cycles(HERE, THERE, RATE, KNOWN)
    assert found.figure == COST and found.cost_us[0] == pytest.approx(19.8, rel=0.01)
    assert found.cycles == (pytest.approx(found.cost_us[0] * 2500), pytest.approx(found.cost_us[1] * 3000))
    assert found.cycles_ratio == found.ratio.scaled(3 / 2.5)


def test_costs_are_of_wholes_and_of_the_unit_of_the_rate() -> None:
    figures = {USED: 1.0, COST: 1.0, "server.cpu_us_per_op": 1.0, "server/node_1.busy_cores": 1.0,
               "server/node_1.cpu_us_per_row": 1.0, "writers.client_cpu_us_per_row": 1.0}  # fmt: skip
    run = synthetic.figured("postgresql", {}, 1, 0, figures)
    one = analysis_of(StudyRecord(synthetic.STUDY, [run.run]), [run])
    assert costs(one, one, RATE) == [COST] and costs(one, one, "writers.ops_per_s") == [
        "server.cpu_us_per_op"
    ]


def test_a_run_in_which_nothing_was_done_leaves_no_ratio() -> None:
    assert not list(per_core(made(FIXED, (0.0, 5.0), (1.0, 1.0)), THERE, RATE, KNOWN))


def test_figures_that_a_guard_makes_invalid_are_said_to_be() -> None:
    record = synthetic.study({("duckdb", 100): 2.0}, blocks=3, spread=0.01, env=FIXED)
    broken = [replace(r, env={**r.env, "core_build_profile": "debug"}) for r in record.runs]
    a, b = analyse(record), analyse(replace(record, runs=broken))
    (found,) = per_core(a, b, RATE, KNOWN)
    assert found.broken
    assert any(f"INVALID: {found.broken}" in line for line in compare_lines(a, b, (2.5, 3.0)))


@pytest.mark.parametrize("rates, cores", [((100_000.0,) * 4, OTHER_CORES), (OTHER_RATES, (20.0,) * 4)])
def test_an_order_that_lateness_turns_round_is_invalid(
    rates: tuple[float, ...], cores: tuple[float, ...]
) -> None:
    """The rate itself, and the rate per core alone."""
    late = made(FASTER, OTHER_RATES, OTHER_CORES)
    late.__dict__["on_time"] = made(FASTER, rates, cores)
    (found,) = per_core(HERE, late, RATE, KNOWN)
    assert found.broken == "other with clients on time"
    late.__dict__["on_time"] = made(FASTER, tuple(0.9 * v for v in OTHER_RATES), OTHER_CORES)
    (found,) = per_core(HERE, late, RATE, KNOWN)
    assert not found.broken


def test_on_one_host_a_comparison_is_what_it_was() -> None:
    """Word for word, with a clock recorded or not."""
    for env in ({}, FIXED):
        assert compare_lines(
            made({}, RATES, CORES), made({**env, "kernel": "6.2.0"}, OTHER_RATES, OTHER_CORES)
        ) == [
            "rate of writers, synthetic-1 / synthetic-1",
            "point                       synthetic-1   synthetic-1   ratio",
            "postgresql, batch_rows 100  101 k rows/s  301 k rows/s  2.98 [2.85, 3.12]  more",
            "! kernel differs: 6.1.0 and 6.2.0",
            "! run one after the other, not in turns: the ratio contains changes of the machine between them",
        ]


def test_a_comparison_of_two_hosts_says_what_differs_once_and_figures_per_core_and_ghz() -> None:
    text = "\n".join(compare_lines(HERE, THERE))
    assert "cpu_model differs" not in text and text.count("Other 1") == 1
    assert "per core: cores used (CPU per row of server)" in text and "no ratio per GHz" not in text
    (row,) = (line for line in text.splitlines()[3:] if line.startswith("postgresql"))
    assert "2.98 [" in row and "1.47 [" in row and "1.23 [" in row and row.count(" more") == 3
    assert "server.cpu_us_per_row" not in text and "\nrate of writers, " in text
    assert any(line.startswith("CPU per row of server ") for line in text.splitlines())


def test_a_clock_that_is_not_known_is_said_with_what_to_do() -> None:
    text = "\n".join(compare_lines(HERE, made({"cpu_model": "Other 1"}, OTHER_RATES, OTHER_CORES)))
    assert "! no ratio per GHz" in text and "`--ghz A,B`" in text and "clock not known" in text
    assert "no frequency policy is recorded" in text


def test_a_stated_clock_gives_figures_per_ghz_even_on_one_host() -> None:
    assert host_comparison(HERE, HERE, RATE, None) is None
    found = host_comparison(HERE, HERE, RATE, (2.0, 3.0))
    assert found is not None and found.per_core[0].per_core_ghz is not None
    assert found.per_core[0].per_core_ghz.value == pytest.approx(2 / 3)


def test_the_document_holds_what_the_text_says() -> None:
    document = compare_document(HERE, THERE)
    (point,) = document["points"]
    assert point["said"] == "more" and point["ratio"]["value"] == pytest.approx(2.98, rel=0.01)
    hosts = document["hosts"]
    assert {d["fact"] for d in hosts["differs"]} == {"processor", "clock", "cores"}
    assert hosts["clocks"]["b"]["hz"] == 3e9
    (of_core,) = hosts["per_core"]
    assert of_core["per_core_ghz"]["value"] == pytest.approx(of_core["per_core"]["value"] * 2.5 / 3)
    (cost,) = hosts["costs"]
    assert cost["cycles"]["a"] == pytest.approx(cost["us"]["a"] * 2500)
    assert compare_document(HERE, HERE)["hosts"] is None


@pytest.mark.parametrize("text", ["2.6", "2.6,x", "2600,3100", "0,3", "1,2,3", "-1,2", "nan,2"])
def test_a_clock_that_is_no_pair_of_ghz_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="two numbers of GHz"):
        clocks_of(text)


def test_clocks_are_a_pair_of_ghz() -> None:
    assert clocks_of("2.6,3.1") == (2.6, 3.1)


@pytest.mark.parametrize(("runs", "bounds"), [(2, set()), (3, {"low", "high"})])
def test_a_document_has_no_bounds_of_fewer_than_three_runs(runs: int, bounds: set[str]) -> None:
    found = interval_document(Interval(1.0, 0.5, 2.0, 0.95, runs))
    assert found is not None and found.keys() == {"value", "n", *bounds}
    assert interval_document(None) is None
