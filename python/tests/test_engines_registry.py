"""The list of engines: one in Python, one in Rust, equal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inrush import _core
from inrush.engines import ENGINES, engine_of_url, server, title, twins
from inrush.engines.twin import Twin
from inrush.errors import UsageError

ENGINE_MOD = Path(__file__).parents[2] / "rust" / "src" / "engine" / "mod.rs"


def test_rust_and_python_list_the_same_engines() -> None:
    found = re.search(r"const KNOWN: \[Known; \d+\] = \[(.*?)\n\];", ENGINE_MOD.read_text(), re.DOTALL)
    assert found, "rust/src/engine/mod.rs lists its engines in KNOWN"
    assert re.findall(r'name: "([a-z]+)"', found[1]) == sorted(ENGINES)
    assert sorted(_core.engines()) == sorted(ENGINES)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_a_twin_of_its_name(engine: str) -> None:
    twin = server(engine)
    assert isinstance(twin, Twin) and twin.name == engine
    assert twin.methods and twin.schemes


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in ("null", "simulated")])
def test_an_engine_has_a_name_for_sentences_and_an_unknown_one_keeps_its_own(engine: str) -> None:
    assert title(engine) != engine and title(engine).lower() == engine
    assert (title("null"), title("null:text"), title("oracle")) == ("null", "null:text", "oracle")


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_compared_with_duckdb_and_those_of_duckdb_with_sqlite(engine: str) -> None:
    named = server(engine).oracle
    assert named == ("sqlite" if engine == "duckdb" else "duckdb")
    assert server(named).in_memory is not None


def test_no_scheme_means_two_engines() -> None:
    schemes = [s for engine in ENGINES for s in server(engine).schemes]
    assert len(set(schemes)) == len(schemes)


@pytest.mark.parametrize("module", sorted(set(ENGINES.values())))
def test_every_twin_of_a_module_is_listed(module: str) -> None:
    assert set(twins(module)) == {e for e, m in ENGINES.items() if m == module}


def test_a_url_names_its_engine_by_its_scheme() -> None:
    assert engine_of_url("postgresql://u@h/db") == "postgresql"
    assert engine_of_url("sqlite:///file.db") == "sqlite"
    with pytest.raises(UsageError, match="no engine speaks oracle"):
        engine_of_url("oracle://h")
    with pytest.raises(
        UsageError, match=r"/tmp/x\.db: this is no URL; .* sqlite:///tmp/x\.db or duckdb:///tmp/x\.db"
    ):
        engine_of_url("/tmp/x.db")


def test_an_unknown_engine_is_met_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean postgresql"):
        server("postgres1ql")
    with pytest.raises(UsageError, match="one of"):
        server("zzz")
    with pytest.raises(UsageError):
        server("sqlite:text")
