"""Laws of study files: every problem at once, by its key, with its remedy; and never a traceback."""

from __future__ import annotations

import math
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import InrushError, Problem, UsageError
from inrush.plan.plan import plan_study
from inrush.study.document import unknown
from inrush.study.forms import FromFactor, PerSession, Total
from inrush.study.reading import load_study, parse_study
from inrush.study.shipped import find_study, shipped_studies
from inrush.study.study import Known, Study
from inrush.study.toml import parse_toml
from tests.strategies import (
    KNOWN,
    fake_servers,
    mutated_bytes,
    mutated_tree,
    shipped_files,
    small_tree,
    workload_tree,
)

WORKLOAD = workload_tree()
MUTATIONS = 1000
#: Of one file; by default the first of them, for all of them take half a minute of CPU.
OF_A_FILE, FIRST = MUTATIONS // len(shipped_files()), 8
SHARES = [
    pytest.param(range(FIRST), id="first"),
    pytest.param(range(FIRST, OF_A_FILE), id="rest", marks=pytest.mark.slow),
]


def parsed(tree: dict[str, Any], **options: Any) -> Study:
    named = tree.get("workload") if isinstance(tree, dict) else None
    families = {path.parent.name for path in shipped_files()}
    workload = workload_tree(named) if isinstance(named, str) and named in families else WORKLOAD
    return parse_study(
        tree, workload, name="s", file="s.toml", workload_file="w.toml", known=KNOWN, **options
    )


def problems(tree: dict[str, Any], **options: Any) -> dict[str, Problem]:
    with pytest.raises(UsageError) as caught:
        parsed(tree, **options)
    return {p.key: p for p in caught.value.problems}


# --- what is valid ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, "xs", "s", "full"])
@pytest.mark.parametrize("path", shipped_files(), ids=lambda p: p.stem)
def test_every_shipped_study_is_valid_in_every_scale(path: Path, scale: str | None) -> None:
    study = load_study(str(path), scale, known=KNOWN)
    assert study.question.endswith("?")
    assert study.name == f"{path.parent.name}-{path.stem}"


def test_a_study_is_found_by_its_last_word_its_name_and_its_path() -> None:
    path = find_study("telemetry-batch").path
    assert find_study("batch").path == find_study("telemetry/batch").path == path
    assert find_study(str(path)).name == "telemetry-batch"
    with pytest.raises(UsageError, match=r"did you mean `batch`"):
        find_study("bacth")
    with pytest.raises(UsageError, match="no such file"):
        find_study("nowhere/mine.toml")
    assert {"telemetry-quickstart", "telemetry-mixed"} <= {s.name for s in shipped_studies()}


def test_the_four_forms_are_what_they_say() -> None:
    study = parsed(small_tree())
    assert study.roles["writers"].batch_rows == FromFactor("batch_rows")
    assert study.roles["writers"].rows == Total(5000)
    tree = small_tree()
    tree["roles"]["writers"]["rows"] = {"per_session": "@batch_rows"}
    assert parsed(tree).roles["writers"].rows == PerSession(FromFactor("batch_rows"))


def test_a_scale_replaces_values_and_the_command_line_replaces_those() -> None:
    tree = small_tree(scale={"xs": {"factors": {"batch_rows": [10]}, "rows": {"writers": {"total": 50}}}})
    study = parsed(tree, scale="xs")
    assert study.factors == {"batch_rows": (10,)}
    assert study.roles["writers"].rows == Total(50)
    study = parsed(tree, scale="xs", overrides=["batch_rows=[5, 25]", "repeats.count=2", "ports=40"])
    assert study.factors == {"batch_rows": (5, 25)}
    assert study.repeats.count == 2
    assert study.workload.tables["port_errors"].series == 40
    assert study.overrides == ("batch_rows=[5, 25]", "repeats.count=2", "ports=40")


def test_engines_of_the_command_line_replace_those_of_the_file() -> None:
    assert parsed(small_tree(), engines=["postgresql"]).engines == ("postgresql",)


# --- what is not -----------------------------------------------------------------------------------------


def test_every_problem_is_reported_at_once_with_file_key_value_and_remedy() -> None:
    tree = small_tree(engines=["duckbd"], kind="fixed")
    tree["factors"]["offered_per_s"] = [100, 200, -5]
    tree["roles"]["writers"] |= {
        "table": "port_error",
        "sesions": 2,
        "schedule": {"mode": "poisson", "rate_per_s": "@offered_per_s"},
    }
    tree["repeats"]["count"] = 0
    found = problems(tree)
    assert {"engines[0]", "kind", "roles.writers.table", "roles.writers.sesions", "repeats.count"} <= set(
        found
    )
    assert found["engines[0]"].remedy == "unknown engine; did you mean `duckdb`?"
    assert "`port_errors`" in found["roles.writers.table"].remedy
    assert "`sessions`" in found["roles.writers.sesions"].remedy
    assert str(found["repeats.count"]) == "s.toml: repeats.count is 0; write a whole number from 1 to 1,000"
    assert (
        str(found["factors.offered_per_s[2]"])
        == "s.toml: factors.offered_per_s[2] is -5; write a number above 0"
    )


@pytest.mark.parametrize(
    ("change", "key", "remedy"),
    [
        ({"title": 3}, "title", "in quotes"),
        ({"schema": 2}, "schema", "reads schema 1"),
        ({"quesion": "?"}, "quesion", "`question`"),
        ({"factors": {"batch_rows": [200, 200]}}, "factors.batch_rows[1]", "twice"),
        ({"factors": {"batch_rows": [200], "idle": [1]}}, "factors.idle", "nothing uses it"),
        ({"factors": {"batch_rows": ["many"]}}, "factors.batch_rows[0]", "whole number"),
        ({"layout": "pk_tim"}, "layout", "`pk_time`"),
        ({"method": "bluk"}, "method", "`bulk`"),
        ({"stop": [{"along": "batch", "above": {"writers.makespan_s": 1}}]}, "stop[0].along", "`batch_rows`"),
        ({"stop": [{"along": "batch_rows", "above": {"writers.makespan": 1}}]}, "stop[0].above.writers.makespan", "`makespan_s`"),
        ({"accept": {"writer.errors": 0}}, "accept.writer.errors", "`writers`"),
        ({"answer": {"kind": "best", "of": "writers.makespan_s"}}, "answer", "along"),
        ({"schedule": {"mode": "poisson"}}, "schedule", "needs rate_per_s"),
        ({"schedule": {"mode": "closed", "rate_per_s": 5}}, "schedule.rate_per_s", "no rate"),
        ({"schedule": {"mode": "constant", "rate_per_s": 1e-7}}, "schedule.rate_per_s", "between 1e-06 and 1,000,000,000"),
        ({"schedule": {"mode": "poisson", "rate_per_s": 2e9}}, "schedule.rate_per_s", "between 1e-06 and 1,000,000,000"),
        ({"kind": "timed"}, "schedule", "needs measure_s"),
        ({"sizes": {"portz": 3}}, "sizes.portz", "`ports`"),
        ({"options": {"sqlit": {"synchronous": "FULL"}}}, "options.sqlit", "`sqlite`"),
        ({"options": {"sqlite": {"shards": "db://h/a db://me:secret@h/b"}}}, "options.sqlite.shards", "password"),
        ({"options": {"sqlite": {"shards": "db://h/a?password=secret"}}}, "options.sqlite.shards", "password"),
        ({"scale": {"xs": {"repeats": {"count": 0}}}}, "scale.xs.repeats.count", "from 1"),
        ({"scale": {"xs": {"repeets": {}}}}, "scale.xs.repeets", "`repeats`"),
        ({"engines": []}, "engines", "at least 1"),
        ({"roles": {}}, "roles", "at least one role"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_by_its_key_with_the_way_out(
    change: dict[str, Any], key: str, remedy: str
) -> None:
    found = problems(small_tree(**change))
    assert key in found, sorted(found)
    assert remedy in found[key].remedy


@pytest.mark.parametrize(
    ("change", "key", "remedy"),
    [
        ({"rows": 5}, "roles.writers.rows", "{ total = N }"),
        ({"rows": {"total": 5, "per_session": 5}}, "roles.writers.rows", "or { age_s"),
        ({"batch_rows": {"best_of": "x"}}, "roles.writers.batch_rows.otherwise", "missing"),
        ({"batch_rows": "@batch"}, "roles.writers.batch_rows", "`batch_rows`"),
        ({"operations": {"insert": 1}}, "roles.writers", "or operations"),
        ({"operation": "pe_alert"}, "roles.writers.rows", "only a role that inserts"),
        ({"until": "readers"}, "roles.writers.until", "when its rows are in"),
        ({"calls": 5}, "roles.writers.calls", "not calls"),
        ({"sessions": -1}, "roles.writers.sessions", "from 0"),
    ],
)
def test_a_mistake_in_a_role_is_named_too(change: dict[str, Any], key: str, remedy: str) -> None:
    tree = small_tree()
    tree["roles"]["writers"] |= change
    found = problems(tree)
    assert key in found, sorted(found)
    assert remedy in found[key].remedy
    if change.get("batch_rows") == "@batch":
        assert found[key].value == '"@batch"', "what its author wrote"


def test_an_unknown_workload_is_refused_with_the_nearest_family(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        (find_study("batch").path.read_text()).replace('workload = "telemetry"', 'workload = "telemetri"')
    )
    with pytest.raises(
        UsageError, match=r'mine.toml: workload is "telemetri"; unknown workload; did you mean `telemetry`'
    ):
        load_study(str(file))


def test_roles_that_wait_for_each_other_are_refused() -> None:
    tree = small_tree()
    tree["roles"]["others"] = {"operation": "pc_top", "until": "readers"}
    tree["roles"]["readers"]["until"] = "others"
    assert "its own end" in problems(tree)["roles.readers"].remedy


@pytest.mark.parametrize(
    ("override", "remedy"),
    [
        ("batch_row=5", "`batch_rows`"),
        ("repeats.cuont=5", "`count`"),
        ("factors.batch=5", "`batch_rows`"),
        ("nonsense", "key=value"),
        ("titel=x", "unknown key"),
        ("repeats.count=many", "whole number"),
    ],
)
def test_an_unknown_or_mistyped_override_is_refused(override: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(small_tree(), overrides=[override])
    assert any(remedy in p.remedy for p in caught.value.problems), caught.value


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("20,200", (20, 200)),
        ("20, 200", (20, 200)),
        ("[20, 200]", (20, 200)),
        ("20,", (20,)),
        ("1_000,2_000", (1000, 2000)),
        ("20", (20,)),
    ],
)
def test_values_between_commas_are_a_list(written: str, read: tuple[int, ...]) -> None:
    assert parsed(small_tree(), overrides=[f"batch_rows={written}"]).factors == {"batch_rows": read}


def test_words_between_commas_are_a_list_where_the_study_has_one_and_a_text_elsewhere() -> None:
    changed = parsed(small_tree(), overrides=["engines=sqlite,duckdb", "title=Rows, and more rows"])
    assert changed.engines == ("sqlite", "duckdb") and changed.title == "Rows, and more rows"


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("repeats.count=many", '-P repeats.count=many: repeats.count is "many"; write a whole number'),
        ("batch_rows=1,000", "-P: batch_rows=1,000; read as 1 and 000; write 1_000 for one number"),
        ("engines=duckbd", '-P engines=duckbd: engines[0] is "duckbd"; unknown engine; did you mean'),
        (
            "engines=sqlite,duckbd",
            '-P engines=sqlite,duckbd: engines[1] is "duckbd"; unknown engine; did you',
        ),
    ],
)
def test_a_refused_override_says_what_was_read(override: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(small_tree(), overrides=[override])
    assert any(str(p).startswith(says) for p in caught.value.problems), caught.value


def test_a_problem_of_the_file_itself_names_the_file_beside_an_override() -> None:
    found = problems(small_tree(kind="fixed"), overrides=["repeats.count=2"])
    assert found["kind"].file == "s.toml"


def test_an_unknown_scale_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(UsageError, match="choose from: full, s, xs"):
        load_study("batch", scale="huge")


# --- workloads -------------------------------------------------------------------------------------------

CATALOGUE = {
    "sequence": {"types": ["i64"], "params": {"start": {"type": "integer", "required": True, "about": "first value"}}},
}  # fmt: skip


def workload_problems(change: dict[str, Any], catalogue: Any = None) -> dict[str, Problem]:
    table = {"columns": [{"name": "id", "type": "i64", "gen": "sequence", "start": 1}], "identity": ["id"]}
    tree = {
        "schema": 1,
        "epoch": "2026-01-01T00:00:00Z",
        "tables": {"t": table | change.pop("table", {})},
        "operations": {"insert": {"kind": "insert"}, **change.pop("operations", {})},
    } | change
    study = small_tree(
        factors={},
        stop=[],
        roles={"writers": {"operation": "insert", "table": "t", "batch_rows": 5, "rows": {"total": 9}}},
    )
    try:
        parse_study(
            study, tree, name="s", file="s.toml", workload_file="w.toml", known=Known(generators=catalogue)
        )
    except UsageError as invalid:
        return {p.key: p for p in invalid.problems}
    return {}


@pytest.mark.parametrize(
    ("change", "key", "remedy"),
    [
        ({"epoch": "yesterday"}, "epoch", "with its zone"),
        ({"table": {"identity": ["idd"]}}, "tables.t.identity[0]", "`id`"),
        ({"table": {"layouts": {"pk": ["nope"]}}}, "tables.t.layouts.pk[0]", "unknown column"),
        ({"table": {"columns": [{"name": "id", "type": "int64", "gen": "sequence"}]}}, "tables.t.columns[0].type", "`i64`"),
        ({"table": {"columns": [{"name": "Id", "type": "i64", "gen": "sequence"}]}}, "tables.t.columns[0].name", "lower case"),
        ({"table": {"source": "files"}}, "tables.t", "files ="),
        ({"operations": {"q": {"kind": "query"}}}, "operations.q", "sql.default"),
        ({"operations": {"q": {"kind": "query", "sql": {"default": "SELECT :x FROM {t}"}}}}, "operations.q.sql.default", "unknown parameter"),
        ({"operations": {"q": {"kind": "query", "sql": {"default": "SELECT 1 FROM {tt}"}}}}, "operations.q.sql.default", "unknown table"),
        ({"operations": {"q": {"kind": "query", "sql": {"default": "SELECT 1", "postgres": "SELECT 2"}}}}, "operations.q.sql.postgres", "`postgresql`"),
        ({"operations": {"p": {"kind": "together"}}}, "operations.p", "members"),
        ({"operations": {"p": {"kind": "together", "members": ["p"]}}}, "operations.p.members", "are queries"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_workload_is_named_by_its_file_and_key(
    change: dict[str, Any], key: str, remedy: str
) -> None:
    found = workload_problems(change)
    assert key in found, sorted(found)
    assert found[key].file == "w.toml"
    assert remedy in found[key].remedy


def test_generators_are_checked_against_the_catalogue_of_the_core() -> None:
    def column(**entries: Any) -> dict[str, Any]:
        return {"table": {"columns": [{"name": "id", "type": "i64", **entries}]}}

    assert workload_problems(column(gen="sequence", start=1), CATALOGUE) == {}
    found = workload_problems(column(gen="sequense", start=1), CATALOGUE)
    assert "`sequence`" in found["tables.t.columns[0].gen"].remedy
    found = workload_problems(column(gen="sequence", statr=1), CATALOGUE)
    assert "`start`" in found["tables.t.columns[0].statr"].remedy
    assert "needs `start`: first value" in found["tables.t.columns[0]"].remedy
    found = workload_problems(
        column(gen="sequence", start=1) | {},
        CATALOGUE | {"sequence": {**CATALOGUE["sequence"], "types": ["u64"]}},
    )
    assert "the column is i64" in found["tables.t.columns[0].gen"].remedy


# --- a thousand mutations --------------------------------------------------------------------------------


def outcome(run: Callable[..., None], *args: Any) -> str:
    """`valid` or the kind of refusal; anything but an InrushError is the bug we look for."""
    try:
        run(*args)
    except UsageError as invalid:
        assert invalid.problems
        assert all(p.remedy for p in invalid.problems)
        assert str(invalid).strip()
        return "invalid"
    except InrushError:
        return "refused"
    return "valid"


def plan_if_small(study: Study) -> None:
    points = math.prod(len(values) for values in study.factors.values()) * len(study.engines)
    if points * study.repeats.count <= 500:
        plan_study(study, fake_servers())


def use_bytes(raw: bytes) -> None:
    plan_if_small(parsed(parse_toml(raw, "s.toml")))


def use_study(tree: dict[str, Any]) -> None:
    plan_if_small(parsed(tree))


def use_workload(tree: dict[str, Any]) -> None:
    plan_if_small(
        parse_study(small_tree(), tree, name="s", file="s.toml", workload_file="w.toml", known=KNOWN)
    )


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("path", shipped_files(), ids=lambda p: p.stem)
def test_mutated_bytes_of_a_study_never_give_a_traceback(path: Path, share: range) -> None:
    raw = path.read_bytes()
    seeds = [random.Random(f"{path.stem}-bytes-{n}") for n in share]
    assert "invalid" in {outcome(use_bytes, mutated_bytes(raw, rng)) for rng in seeds}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("path", shipped_files(), ids=lambda p: p.stem)
def test_mutated_values_of_a_study_never_give_a_traceback(path: Path, share: range) -> None:
    tree = parse_toml(path.read_bytes(), str(path))
    seeds = [random.Random(f"{path.stem}-tree-{n}") for n in share]
    assert "invalid" in {outcome(use_study, mutated_tree(tree, rng)) for rng in seeds}


@pytest.mark.slow
def test_some_mutations_are_valid_studies() -> None:
    """Else the others were refused before they were looked at."""
    batch = next(path for path in shipped_files() if path.stem == "batch")
    tree = parse_toml(batch.read_bytes(), "s.toml")
    seeds = (random.Random(f"valid-{n}") for n in range(MUTATIONS))
    assert "valid" in (outcome(use_study, mutated_tree(tree, rng)) for rng in seeds)


@pytest.mark.parametrize(
    "share",
    [range(50), pytest.param(range(50, MUTATIONS // 4), marks=pytest.mark.slow)],
    ids=["first", "rest"],
)
def test_mutated_workloads_never_give_a_traceback(share: range) -> None:
    seeds = [random.Random(f"workload-{n}") for n in share]
    assert {outcome(use_workload, mutated_tree(WORKLOAD, rng)) for rng in seeds} >= {"invalid", "valid"}


def test_an_unknown_name_is_answered_with_every_name_once() -> None:
    names = [f"k{n:02}" for n in range(20)]
    assert unknown("key", "zzz", [*names, "k00"]) == f"unknown key; choose from: {', '.join(names)}"
    assert unknown("column", "zzz", (f"c{n:03}" for n in range(50))).endswith(", c039 and 10 more")


def test_of_a_value_that_is_wrong_nothing_is_said_of_what_stands_in_for_it() -> None:
    with pytest.raises(UsageError) as refused:
        load_study("telemetry-batch", "xs", ["readers=nan"])
    assert [(p.value, p.remedy) for p in refused.value.problems] == [("nan", "write a finite number")]


def test_values_that_are_wrong_for_one_reason_are_one_line_in_the_order_of_the_points() -> None:
    each = [Problem("f", "depth", v, "say 1") for v in ("16", "128", "16")]
    whole = UsageError([*each, Problem("f", "depth", "4", "say 2"), Problem("f", "refill", "", "say 1")])
    assert str(whole).splitlines() == [
        "f: depth is 16, 128; say 1",
        "f: depth is 4; say 2",
        "f: refill; say 1",
    ]
    assert len(whole.problems) == 5


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 20_000) + " = 1",
        "[" + " . ".join(['"a b"'] * 20_000) + "]",
        "x = { " + ".".join(["'a'"] * 20_000) + " = 1 }",
        ".".join(['"' + "a" * 300 + '"'] * 2_000) + " = 1",
        ".".join(["'" + "." * 300 + "'"] * 2_000) + " = 1",
    ],
    ids=["key", "table", "inline", "long parts", "long parts of dots"],
)
def test_a_key_of_many_parts_is_refused_before_it_takes_memory(text: str) -> None:
    """20,000 parts took 1.7 GB: every prefix of the key is kept."""
    tracemalloc.start()
    with pytest.raises(UsageError, match=r"line 2.*more than 64 parts"):
        parse_toml(f"schema = 1\n{text}\n".encode(), "a.toml")
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()


def test_many_dots_in_values_are_no_key() -> None:
    numbers = ", ".join(["0.25"] * 1000)
    assert parse_toml(f"a.b = [{numbers}]\nc = '{'. ' * 500}'".encode(), "a.toml")["a"]["b"][999] == 0.25
