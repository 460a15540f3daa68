"""Constants that both halves have: each pair is read from its two sources and compared.

A number or name that stands on both sides of the border has a comment that names the other one. What follows from the
plan's types is compared in `test_border`; what stands here is written down twice.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import inrush
from inrush.analysis import claims as judged
from inrush.border.segment import ValueHash
from inrush.engines import influxdb, sqlite, valkey
from inrush.engines.base import checksum
from inrush.engines.postgresql import checksum as postgresql_checksum
from inrush.engines.questdb import http as questdb_http
from inrush.stats import stalls
from inrush.study import claims, decimals, io, keys, operations, params, samples
from inrush.study.parts import Schedule

RUST = Path(inrush.__file__).parents[2] / "rust"


def source(path: str) -> str:
    return (RUST / path).read_text(encoding="utf-8")


def constant(path: str, name: str) -> str:
    """What a constant is set to, as it is written. Raises LookupError where the file has none of that name."""
    found = re.search(rf"\bconst {name}: [^=]+= ([^;]+);", source(path))
    if found is None:
        raise LookupError(f"rust/{path} has no constant {name}: name the new place here and beside its pair")
    return found[1]


def number(text: str) -> int:
    return int(text.replace("_", ""), 0)


def texts(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


def body(path: str, item: str) -> str:
    """What stands between the braces of an item. Raises LookupError where the file has none of that name."""
    code = re.sub(r"//[^\n]*", "", source(path))
    found = re.search(rf"\b{re.escape(item)}[^{{;]*{{", code)
    if found is None:
        raise LookupError(f"rust/{path} has no {item}: name the new place here and beside its pair")
    depth, start = 1, found.end()
    for at in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return code[start:at]
    raise LookupError(f"rust/{path}: {item} does not end")


def variants(path: str, name: str) -> set[str]:
    """Variants of an enum as JSON has them: in snake case."""
    of = re.sub(r"\{[^{}]*\}", "", body(path, f"enum {name}"))
    return {
        re.sub(r"(?<!^)(?=[A-Z])", "_", variant).lower()
        for variant in re.findall(r"^\s*([A-Z]\w*)", of, re.MULTILINE)
    }


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("rows/src/rows/decimals.rs", "PRECISION_MOST", decimals.MOST),
        ("rows/src/plan/io.rs", "IO_BLOCK", io.IO_BLOCK),
        ("engines/src/engine/questdb/ilp.rs", "BINARY", questdb_http.BINARY),
        ("rows/src/plan/generator.rs", "DEFAULT_BITS", checksum.DEFAULT_FLOAT_BITS),
        ("rows/src/rows/lookup3.rs", "SEED", postgresql_checksum.HASH_SEED),
        ("drive/src/watch/heartbeat.rs", "PERIOD_NS", round(stalls.PERIOD_S * 1e9)),
        ("drive/src/watch/heartbeat.rs", "STALL_NS", round(stalls.NOTED_S * 1e9)),
    ],
)
def test_a_number_is_the_same_in_both_halves(path: str, name: str, value: int) -> None:
    assert number(constant(path, name)) == value


@pytest.mark.parametrize(
    ("path", "name", "values"),
    [
        ("engines/src/engine/influxdb.rs", "MARK", [influxdb.MARK]),
        ("rows/src/encode/line/roles.rs", "ROW_FIELD", [influxdb.ROW_FIELD]),
        ("engines/src/engine/valkey.rs", "SCHEMES", list(valkey.Valkey.schemes)),
        ("engines/src/engine/valkey.rs", "PASSWORD", [valkey.Valkey.password_variable]),
    ],
)
def test_a_name_is_the_same_in_both_halves(path: str, name: str, values: list[str]) -> None:
    assert texts(constant(path, name)) == values


def test_the_port_of_questdbs_http_is_the_same_in_both_halves() -> None:
    assert re.findall(r"\d+", constant("engines/src/engine/questdb.rs", "HTTP")) == [
        str(questdb_http.USUAL_PORT)
    ]


def test_a_session_connects_again_for_as_long_as_a_study_says_that_says_nothing() -> None:
    assert number(body("rows/src/plan/segment.rs", "fn usual_retry_ns").strip()) == Schedule.retry_s * 1e9


def test_weights_of_a_rows_sum_are_the_same_in_both_halves() -> None:
    base, divisor = (
        number(constant("rows/src/rows/row_sum.rs", f"WEIGHT_{name}")) for name in ("BASE", "DIVISOR")
    )
    assert checksum.row_weights(4) == [pow(base, k + 1, divisor) for k in range(4)]


def test_what_is_done_with_a_statements_rows_has_the_same_names_in_both_halves() -> None:
    assert set(operations.REPEATS) == variants("rows/src/plan/statement.rs", "Repeat")


def test_laws_of_keys_have_the_same_names_and_number_of_parameters_in_both_halves() -> None:
    assert set(keys.LAWS) == variants("rows/src/plan/operation.rs", "KeyLaw")
    law = body("rows/src/plan/operation.rs", "enum KeyLaw")
    fields = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): len(re.findall(r"\w+:", of))
        for name, of in re.findall(r"([A-Z]\w*) \{([^}]*)\}", law)
    }
    assert {name: len(parameters) for name, parameters in keys.LAWS.items()} == fields


#: Generator of a study -> those of the plan that it becomes; those of a plan alone.
IN_THE_PLAN = {
    "constant": {"constant"},
    "key": {"key"},
    "now_minus": {"now_minus"},
    "of_series": {"of_series", "series_at"},
    "range": {"range_key", "range_from", "range_to"},
    "seen_until": {"seen_until"},
    "uniform": {"uniform"},
}
OF_DUMPS = {"piece_from", "piece_to"}
#: Of calls by key alone.
OF_CALLS = {"changed"}


def test_a_generator_of_parameters_that_a_study_names_is_one_of_the_plan() -> None:
    assert set(params.PARAM_GENS) == set(IN_THE_PLAN)
    assert set().union(*IN_THE_PLAN.values()) | OF_DUMPS | OF_CALLS == variants(
        "rows/src/plan/operation.rs", "ParamGen"
    )


def test_a_collectors_distribution_is_the_one_that_the_plan_has_fields_for() -> None:
    fields = re.findall(r"pub (\w+):", body("rows/src/plan/segment.rs", "struct CollectPlan"))
    assert (samples.DISTRIBUTIONS, fields) == (("lognormal",), ["name", "median_ns", "sigma", "most_ns"])


def test_hashes_of_values_have_the_same_names_in_both_halves() -> None:
    assert set(ValueHash.__args__) == variants("rows/src/plan/segment.rs", "ValueHash")


def test_sqlites_declared_types_are_read_as_they_were_written() -> None:
    arms = re.findall(
        r'"([^"]+)" => LogicalType::(\w+)', body("engines/src/engine/sqlite/statement/read.rs", "fn logical")
    )
    assert len(arms) > 3
    for declared, logical in arms:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", logical).lower()
        assert sqlite.DECLARED[name] == declared


def test_every_rule_of_a_claim_has_a_function_that_judges_it() -> None:
    assert set(claims.RULES) == set(judged.RULES)


def test_a_constant_that_is_gone_is_seen() -> None:
    with pytest.raises(LookupError, match="NO_SUCH"):
        constant("rows/src/rows/decimals.rs", "NO_SUCH")
    with pytest.raises(LookupError, match="fn none"):
        body("rows/src/rows/decimals.rs", "fn none")
    assert variants("rows/src/plan/statement.rs", "Repeat") == {"each_row", "until_no_rows"}
    assert number("0x7A5B_2236") == 0x7A5B2236
