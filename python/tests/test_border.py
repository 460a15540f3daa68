"""The types of `inrush.border` are those of the core: a field or a kind that one side alone knows fails here.

The core refuses what it does not know, and says what it would have taken. So it is asked for the fields of every object
of an example, and for the words of every choice, by a field and a word that nothing has.
"""

from __future__ import annotations

import copy
import json
import re
import time
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pyarrow as pa
import pytest
from typing_extensions import NotRequired, is_typeddict

from inrush import _core
from inrush.border import events, labels, load, operation, pipeline, plan, segment, statement, table, tables
from inrush.border.statement import Directives, run_statement
from inrush.results.schema import SCHEMAS
from inrush.workload import TYPES

WHOLE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "border.json").read_text(encoding="utf-8")
)
SURPRISE = "surprise"
#: Annotations are texts; those of documents that the core takes as they are stand for anything.
NAMES: dict[str, Any] = {
    **vars(events), **vars(labels), **vars(pipeline), **vars(load), **vars(table), **vars(operation), **vars(segment),
    **vars(statement),
    **vars(plan),
    "NotRequired": NotRequired, "RunLabels": object, "Json": object, "Generator": object,
}  # fmt: skip
Where = tuple[str | int, ...]


def test_both_halves_have_the_one_version_of_a_plan() -> None:
    """`rust/core/tests/border.rs` reads the same file, and no plan of another version."""
    assert WHOLE["version"] == plan.PLAN_VERSION


# --- the types of this side


def hints(of: Any) -> dict[str, Any]:
    return typing.get_type_hints(of, NAMES, NAMES, include_extras=True)


def optional(of: Any) -> set[str]:
    return {k for k, hint in hints(of).items() if get_origin(hint) is NotRequired or not of.__total__}


def bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is NotRequired else hint


def members(hint: Any) -> tuple[Any, ...]:
    """Of a union; of anything else itself."""
    return get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def choices(hint: Any) -> set[str]:
    return set(get_args(hint)) if get_origin(hint) is Literal else set()


def tags(of: Sequence[Any]) -> dict[str, set[str]]:
    """Fields that tell the types of a union apart -> their words. A single type has none."""
    each = [{k: choices(bare(h)) for k, h in hints(t).items() if choices(bare(h))} for t in of]
    shared = set.intersection(*map(set, each)) if len(each) > 1 else set()
    return {key: set().union(*(words[key] for words in each)) for key in shared}


class Met:
    """What an example has of the types of this side."""

    def __init__(self) -> None:
        #: Type -> where an object of it is, by its fields.
        self.objects: dict[Any, dict[frozenset[str], Where]] = {}
        #: (where, the words of the choice) of every word.
        self.words: list[tuple[Where, frozenset[str], str]] = []

    def look(self, value: Any, hint: Any, at: Where = ()) -> Met:
        """Notes what `value` is made of. Fails where it is not of its type."""
        hint = bare(hint)
        kinds = [t for t in members(hint) if is_typeddict(t)]
        if kinds and isinstance(value, dict):
            by = tags(kinds)
            for key, words in by.items():
                self.words.append(((*at, key), frozenset(words), value[key]))
            fitting = [t for t in kinds if all(value[k] in choices(bare(hints(t)[k])) for k in by)]
            assert len(fitting) == 1, (at, value)
            self.object(value, fitting[0], at, set(by))
        elif choices(hint):
            self.words.append((at, frozenset(choices(hint)), value))
            assert value in choices(hint), at
        elif get_origin(hint) is not None and not isinstance(value, str) and len(members(hint)) == 1:
            inner = get_args(hint)[-1]
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in pairs:
                self.look(item, inner, (*at, key))
        elif hint is not object:
            allowed = tuple(get_origin(t) or t for t in members(hint) if not is_typeddict(t))
            assert isinstance(value, (*allowed, *((int,) if float in allowed else ()))), (at, value, hint)
            assert not isinstance(value, bool) or bool in allowed, at
        return self

    def object(self, value: Mapping[str, Any], of: Any, at: Where, known: set[str]) -> None:
        fields = hints(of)
        assert set(value) <= set(fields), (at, of.__name__, set(value) - set(fields))
        assert set(fields) - optional(of) <= set(value), (at, of.__name__, "lacks a field")
        self.objects.setdefault(of, {}).setdefault(frozenset(value), at)
        for key, item in value.items():
            if key not in known and len(choices(bare(fields[key]))) != 1:
                self.look(item, fields[key], (*at, key))

    def lacking(self, hint: Any) -> set[str]:
        """Types, fields and words below `hint` that the example has not."""
        found, left, seen = set(), [hint], set()
        while left:
            one = bare(left.pop())
            if choices(one):
                had = {word for _, words, word in self.words if words >= choices(one)}
                # The only word of a type that is in no union is written by every object of it.
                found |= {f"the word {word}" for word in choices(one) - had if len(choices(one)) > 1}
            elif is_typeddict(one) and one not in seen:
                seen.add(one)
                had = set().union(*self.objects.get(one, {frozenset(): ()}))
                found |= {f"{one.__name__}.{key}" for key in set(hints(one)) - had}
                left += hints(one).values()
            elif not is_typeddict(one):
                left += get_args(one)
        return found


# --- what the core says


def changed(document: Any, at: Where, value: Any) -> Any:
    """A copy with another value there; without the field where the value is `...`."""
    if not at:
        return value
    found = copy.deepcopy(document)
    inner = found
    for key in at[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return found


def expected(message: str, what: str) -> set[str]:
    """The names that the core would have taken."""
    refused = rf"(?:unknown {what}|probe into) `{SURPRISE}`[,:] "
    found = re.search(rf"{refused}(?:there are no fields|(?:expected|probes fill) (?P<names>.*))", message)
    assert found, message
    return set(re.findall(r"`([^`]*)`", found["names"] or ""))


def of_plan(document: Any) -> str:
    return "\n".join(_core.check_plan(json.dumps(document)))


def failing(call: Callable[[str], object]) -> Callable[[Any], str]:
    def refusal(document: Any) -> str:
        with pytest.raises(_core.CoreFailure) as failed:
            call(json.dumps(document))
        return str(failed.value.args[1])

    return refusal


SHARD: dict[str, Any] = {
    "name": "shard 0", "plan": {**WHOLE, "segments": []}, "connections": 1, "flush_rows": 1, "patience_ns": 1, "rows_per_s": 2.5, "refused_most": 3,
    "raw": {"a": 0},
    "ledger": {"read": "SELECT", "insert": "INSERT", "import": "'x'"},
}  # fmt: skip
IMPORT: dict[str, Any] = {
    "import": "x", "key": [["a", "integer"]], "rule": {"kind": "hash_partitions"}, "shards": [SHARD],
    "replicas": [{**SHARD, "name": "replica"}],
}  # fmt: skip
TARGET: dict[str, Any] = WHOLE["target"]
SERVER: dict[str, Any] = {
    "role": "server", "listen": "127.0.0.1:0", "token": "t", "tls": {"certificate": "c", "key": "k"},
    "load": {**IMPORT, "rule": {"kind": "distributed", "hash": "value", "weights": [1]}},
    "serves": {"shards": [TARGET], "coordinator": TARGET},
}  # fmt: skip
CLIENT: dict[str, Any] = {
    "role": "client", "link": {"server": "h:1", "token": "t", "tls": {"ca": "f"}}, "import": "x", "setup": IMPORT, "silence_ns": 1,
    "tables": [WHOLE["tables"][1]], "files": [{"number": 0, "table": 0, "path": "f", "reject_path": "r", "stamp": {"bytes": 1, "mtime_ns": 2, "ctime_ns": 3, "inode": 4}}], "parallel": 1, "chunk_rows": 1, "items": [{"kind": "rows"}],
    "reject_limit": 0, "bytes_per_s": 1.5, "reader_bytes_per_s": 1.5, "file_by_file": True,
}  # fmt: skip
SCAN: dict[str, Any] = {
    "target": TARGET, "table": WHOLE["tables"][0], "statement": "SELECT", "items": [{"kind": "rows"}]
}  # fmt: skip
FILES: dict[str, Any] = {
    "tables": [WHOLE["tables"][1]], "columns": ["a"], "items": [{"kind": "rows"}], "without": {"a.csv": [1]}
}  # fmt: skip

#: Example, its type and how the core refuses it.
DOCUMENTS: dict[str, tuple[dict[str, Any], Any, Callable[[Any], str]]] = {
    "plan": (WHOLE, plan.RunPlan, of_plan),
    "load server": (SERVER, load.LoadPlan, failing(_core.start_load)),
    "load client": (CLIENT, load.LoadPlan, failing(_core.start_load)),
    "scan": (SCAN, load.ScanPlan, failing(_core.read_table)),
    "files": (FILES, load.FilesPlan, failing(_core.read_files)),
}
#: Types that stand in plans of loads too: the core is asked for them by the plan of a run. The client does not read `setup`.
OF_RUNS = frozenset(Met().look(WHOLE, plan.RunPlan).objects)


def each_object(name: str) -> Iterator[tuple[Any, Where]]:
    document, of, _ = DOCUMENTS[name]
    for kind, by_fields in Met().look(document, of).objects.items():
        at = max(by_fields.items(), key=lambda found: len(found[0]))[1]
        if name == "plan" or (kind not in OF_RUNS and "setup" not in at):
            yield kind, at


def test_the_example_has_every_field_and_every_word_of_a_plan() -> None:
    assert Met().look(WHOLE, plan.RunPlan).lacking(plan.RunPlan) == set()


def test_an_example_that_lacks_a_field_or_a_word_is_found_out() -> None:
    without = changed(WHOLE, ("segments", 0, "statements", 1), "SELECT 1")
    for at in [(k, "repeat", "fresh", 1) for k in range(1, 5)]:
        without = changed(without, ("segments", *at), "SELECT 1")
    without = changed(without, ("tables", 1, "source", "required"), ...)
    assert Met().look(without, plan.RunPlan).lacking(plan.RunPlan) == {
        "the word each_row", "FileRows.required"
    }  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_fields_are_those_of_the_core(name: str) -> None:
    document, _, refusal = DOCUMENTS[name]
    for of, at in each_object(name):
        taken = expected(refusal(changed(document, (*at, SURPRISE), 1)), "field")
        # The field that tells the types of a union apart is not among those of one of them.
        mine = {key for key, hint in hints(of).items() if key in taken or not choices(bare(hint))}
        assert mine == taken, (of.__name__, at)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_words_are_those_of_the_core(name: str) -> None:
    document, of, refusal = DOCUMENTS[name]
    asked = set()
    for at, words, _ in Met().look(document, of).words:
        if words in asked or (
            name != "plan" and any(key in ("plan", "table", "tables", "setup") for key in at)
        ):
            continue
        asked.add(words)
        assert expected(refusal(changed(document, at, SURPRISE)), "variant") == words, at
    assert asked


def test_the_core_does_not_miss_what_may_be_left_out() -> None:
    """Some exclude one another, so that no object has all of them."""
    for of, by_fields in Met().look(WHOLE, plan.RunPlan).objects.items():
        left = optional(of)
        for fields, at in by_fields.items():
            for key in left & fields:
                said = of_plan(changed(WHOLE, (*at, key), ...))
                assert "missing field" not in said, (of.__name__, key, said)
            left -= fields
        assert not left, (of.__name__, left)


def test_types_of_columns_are_those_of_the_core() -> None:
    said = of_plan(changed(WHOLE, ("tables", 0, "columns", 0, "type"), SURPRISE))
    assert expected(said, "variant") == set(TYPES)


# --- statements


def test_a_query_for_statements_runs_each_of_them_outside_a_run_too() -> None:
    asked: list[str] = []

    def ask(text: str, directives: Directives | None) -> list[list[str | None]]:
        asked.append(text if directives is None else f"{text} on {directives['on']}")
        return [["DROP a"], [None], ["DROP b"]] if text == "SELECT" else []

    run_statement("DROP c", ask)
    run_statement({"text": "SELECT", "repeat": "each_row"}, ask)
    run_statement({"text": "SHOW", "directives": {"on": "db"}}, ask)
    assert asked == ["DROP c", "SELECT", "DROP a", "DROP b", "SHOW on db"]
    with pytest.raises(ValueError, match="only a run asks until there are no rows: SELECT"):
        run_statement({"text": "SELECT", "repeat": "until_no_rows"}, ask)


# --- events


def run_of(engine: str, url: str = "") -> dict[str, Any]:
    """A run on an engine that stores nothing: 1.5 s of calls, and a pause."""
    role = {
        "name": "readers", "operations": [{"operation": "query", "weight": 1}], "sessions": 1, "depth": 1,
        "schedule": {"kind": "constant", "rate_per_s": 100.0}, "work": {"kind": "endless"},
        "until": {"kind": "time", "ns": 1_500_000_000},
    }  # fmt: skip
    drive = {"kind": "drive", "label": "measure", "phase": "measure", "roles": [role], "limit_ns": 10**10}
    query = {"name": "query", "kind": "query", "text": "", "method": "", "params": []}
    return {
        **WHOLE, "target": {"engine": engine, "url": url, "options": {}}, "tables": [], "operations": [query],
        "segments": [drive, {"kind": "pause", "label": "pause", "action": "none"}],
        "record": {"interval_ns": 100_000_000, "flush_ns": 100_000_000},
        "watch": {"every_ns": 0, "processes": {}},
    }  # fmt: skip


def said_by(document: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    folder.mkdir()
    found: list[dict[str, Any]] = []
    run = _core.start(json.dumps(document), str(folder))
    while not run.done():
        found += map(json.loads, run.poll(0.1))
        match found[-1]["event"] if found else "":
            case "paused":
                run.resume()
            case "barrier":
                run.start_at(time.monotonic_ns() + 10_000_000)
    return [*found, *map(json.loads, run.poll(0.0))]


def test_events_are_of_their_types(tmp_path: Path) -> None:
    """With all their fields: an event has no field that may be left out."""
    said = said_by(run_of("null"), tmp_path / "null")
    said += said_by(run_of("sqlite", f"sqlite://{tmp_path}/nowhere/x"), tmp_path / "sqlite")
    met = Met()
    for event in said:
        met.look(event, events.Event)
    missed = {
        "Note",
        "Ended",
        "Alive",
        "FilesMade",
        "Failing",
    }  # a note needs a machine that stalls; Python says the others
    assert {of.__name__ for of in met.objects} >= {
        t.__name__ for t in get_args(events.Event) if t.__name__ not in missed
    }


# --- tables


def arrow(hint: Any) -> set[str]:
    """Arrow types that a value of a row may come from."""
    whole = {"uint8", "uint16", "uint32", "uint64"}
    of_hint = {int: whole, str: {"string"}, float: {"double"}, bool: {"bool"}}
    if get_origin(hint) is Sequence or get_origin(hint) is types.GenericAlias:
        return {f"list<item: {name}>" for name in whole}
    return set().union(*(of_hint.get(t, set()) for t in members(hint)))


def without_nullability(kind: object) -> str:
    return str(kind).replace(" not null", "")


@pytest.mark.parametrize("name", tables.ROWS)
def test_rows_have_the_columns_of_their_table(name: str) -> None:
    fields = typing.get_type_hints(tables.ROWS[name], vars(tables))
    columns = {field.name: without_nullability(field.type) for field in SCHEMAS[name]}
    assert set(fields) == set(columns)
    assert [c for c, kind in columns.items() if kind not in arrow(fields[c])] == []


def test_every_table_has_a_type_and_is_what_the_core_writes(tmp_path: Path) -> None:
    assert set(tables.ROWS) == set(SCHEMAS)
    said_by(run_of("null"), tmp_path / "null")
    written = {path.stem: pa.ipc.open_stream(path).schema for path in (tmp_path / "null").glob("*.arrows")}
    assert set(written) == set(SCHEMAS)
    for name, schema in written.items():
        mine = [(field.name, without_nullability(field.type)) for field in SCHEMAS[name]]
        assert [(field.name, without_nullability(field.type)) for field in schema] == mine, name
