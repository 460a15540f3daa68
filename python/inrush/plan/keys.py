"""What the keys of an operation cover: rows of which table, how many, by which law, and how many different ones. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from inrush.border.labels import KeyCoverage
from inrush.border.plan import KeyLaw, KeyPlan
from inrush.errors import Problem
from inrush.plan.roles import ActiveRole, problem
from inrush.workload import KeyRows, Operation, Table, Workload

#: The draws that coverage is computed for: a run's number of draws is known only afterwards.
DRAWS = 1_000_000
#: Ranks of Zipf's law that are summed one by one; beyond them in bins of equal ratio.
SINGLE_RANKS, BINS = 10_000, 4_000


def planned_keys(
    workload: Workload,
    roles: Sequence[ActiveRole],
    index: Mapping[str, int],
    loaded: Callable[[str], int],
    held: Callable[[str], int],
    in_batches: Callable[[str], int],
    clients: int = 1,
) -> tuple[dict[str, KeyPlan], list[Problem]]:
    """Operation -> its keys as the core reads them, of every operation that the roles call.

    loaded, held: table -> rows before anything is measured, and with those that are written while it is. in_batches: those
    that no call by key inserts. clients: client processes, each with all sessions of the roles.
    """
    sessions: dict[str, int] = {}
    for role in roles:
        for op in asked_by(role, workload):
            sessions[op] = max(sessions.get(op, 0), role.sessions * clients)
    by_operation: dict[str, KeyPlan] = {}
    problems = [p for role in roles for p in calls_between(role, workload)]
    for name, most in sessions.items():
        keys = workload.operations[name].key_rows
        if keys is None:
            continue
        first_row = 0
        if workload.operations[name].does == "insert":
            # What is missing of it is said with what else calls by key cannot mean.
            rows: int | str = keys.rows or 1
            first_row = in_batches(keys.table)
        elif keys.table not in index:
            rows = f"nothing here reads or writes {keys.table}; keys are of rows that are asked for"
        else:
            rows = rows_of_keys(keys, loaded(keys.table), held(keys.table), most)
        if isinstance(rows, str):
            problems.append(problem(f"operations.{name}.keys", "", rows))
        else:
            by_operation[name] = {**keys_document(keys, index, rows), "first_row": first_row}
    return by_operation, problems


def added_rows(workload: Workload, roles: Sequence[ActiveRole]) -> dict[str, int]:
    """Table -> rows that its inserts by key may add, behind those that are loaded."""
    called = {name: None for role in roles for name in asked_by(role, workload)}
    found: dict[str, int] = {}
    for operation in map(workload.operations.__getitem__, called):
        if operation.does == "insert" and operation.key_rows is not None:
            table = operation.key_rows.table
            found[table] = found.get(table, 0) + (operation.key_rows.rows or 0)
    return found


def calls_between(role: ActiveRole, workload: Workload) -> list[Problem]:
    """Calls of a role are counted together: of several operations none has every number, and would leave rows out."""
    mixed = len(role.operations) > 1
    once = [name for name in role.operations if by_of(workload.operations[name]) == "each_once"]
    if not (mixed and once):
        return []
    remedy = f"{once[0]} asks for each row once, which only calls that follow one another do: give it a role of its own"
    return [problem(f"roles.{role.name}.operations", ", ".join(role.operations), remedy)]


def by_of(operation: Operation) -> str | None:
    return None if operation.key_rows is None else operation.key_rows.by


def asked_by(role: ActiveRole, workload: Workload) -> list[str]:
    """The operations that a role calls, of a page its members."""
    return [op for name in role.operations for op in workload.operations[name].members or (name,)]


def rows_of_keys(keys: KeyRows, loaded: int, table_rows: int, sessions: int) -> int | str:
    """Rows that are drawn from, or why there are none.

    loaded: rows of the table before anything is measured. table_rows: with those that are written while it is. sessions: of
    the largest role that asks.
    """
    loaded, table_rows = (loaded, table_rows) if keys.held is None else (keys.held, keys.held)
    rows = loaded if keys.rows is None else keys.rows
    if rows == 0:
        return (
            f"no row of {keys.table} is loaded before it is asked for; write load = {{ rows = N }}, or keys.rows for "
            "rows that are written meanwhile"
        )
    then = "" if keys.held is None else " then"
    if rows > table_rows:
        return f"keys of {rows:,} rows of {keys.table}, which has {table_rows:,}{then}; lower keys.rows"
    if keys.by == "own_range" and sessions > rows:
        return f"own_range gives each of {sessions:,} sessions rows of its own, and there are {rows:,}; lower sessions"
    return rows


def keys_document(keys: KeyRows, index: Mapping[str, int], rows: int) -> KeyPlan:
    return {"table": index[keys.table], "first_row": 0, "rows": rows, "by": law_of(keys)}


def law_of(keys: KeyRows) -> KeyLaw:
    if keys.by == "zipf":
        return {"kind": "zipf", "exponent": keys.exponent}
    if keys.by == "hot_set":
        draws_ppm, rows_ppm = round(keys.share_of_draws * 1e6), round(keys.share_of_rows * 1e6)
        return {"kind": "hot_set", "draws_ppm": draws_ppm, "rows_ppm": rows_ppm}
    if keys.by == "own_range":
        return {"kind": "own_range"}
    if keys.by == "each_once":
        return {"kind": "each_once"}
    return {"kind": "uniform"}


def coverage(operation: Operation, keys: KeyRows, table: Table, document: KeyPlan) -> KeyCoverage:
    """`labels.keys`: what a reader of the run must know of the keys."""
    columns = [p["gen"]["column"] for p in operation.params.values() if p["gen"]["kind"] == "key"]
    columns = list(table.identity) if operation.does else columns
    return {
        "table": keys.table,
        "columns": list(dict.fromkeys(columns)),
        "rows": document["rows"],
        "by": document["by"],
        "different_rows_per_million_draws": round(different_rows(document["by"], document["rows"])),
        "names_a_row": names_a_row(table, columns, document["rows"]),
    }


def names_a_row(table: Table, columns: list[str], rows: int) -> bool:
    """Whether the values of `columns` are of one row alone: they hold the identity, in the first sweep without its time."""
    times = {c.name for c in table.columns if c.gen is not None and c.gen["kind"] in ("sweep_time", "time")}
    identity = set(table.identity) - (times if rows <= table.series else set())
    return bool(table.identity) and identity <= set(columns)


def different_rows(by: KeyLaw, rows: int, draws: int = DRAWS) -> float:
    """Expected number of different rows in `draws` draws: Σ 1 - (1 - p)^draws over the rows.

    by: as in the plan. `own_range` is uniform when its sessions draw alike. Zipf's far ranks are summed in bins, to a
    relative error below 1e-3.
    """
    if by["kind"] == "hot_set":
        hot = min(max(-(-rows * by["rows_ppm"] // 10**6), 1), rows)
        share = by["draws_ppm"] / 1e6 if hot < rows else 1.0
        parts = [(hot, share), (rows - hot, 1.0 - share)]
        return float(sum(n * drawn(share / n, draws) for n, share in parts if n))
    if by["kind"] == "zipf":
        ranks, width = rank_bins(rows)
        weight = ranks ** -float(by["exponent"])
        p = weight / float(np.sum(weight * width))
        return float(np.sum(width * -np.expm1(draws * np.log1p(-np.minimum(p, 1 - 1e-16)))))
    if by["kind"] == "each_once":
        return float(min(rows, draws))
    return rows * drawn(1.0 / rows, draws)


def drawn(p: float, draws: int) -> float:
    """Probability that something with probability p at each draw is drawn at all."""
    return 1.0 if p >= 1.0 else float(-np.expm1(draws * np.log1p(-p)))


def rank_bins(rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(middle rank, ranks in it) of bins over ranks 1 … rows."""
    single = np.arange(1, min(rows, SINGLE_RANKS) + 1, dtype=np.float64)
    if rows <= SINGLE_RANKS:
        return single, np.ones_like(single)
    edges = np.geomspace(SINGLE_RANKS + 0.5, rows + 0.5, BINS + 1)
    return (
        np.concatenate([single, np.sqrt(edges[:-1] * edges[1:])]),
        np.concatenate([np.ones_like(single), np.diff(edges)]),
    )


def sentence(operation: str, covered: KeyCoverage) -> str:
    """For people: `inrush plan` and the report."""
    law = law_text(covered["by"])
    sentence = (
        f"{operation} draws keys ({', '.join(covered['columns'])}) from {covered['rows']:,} rows of {covered['table']} {law}: "
        f"{covered['different_rows_per_million_draws']:,} different rows in a million draws"
    )
    return (
        sentence
        if covered["names_a_row"]
        else f"{sentence}; rows share keys, so that there are fewer different keys"
    )


def law_text(by: KeyLaw) -> str:
    if by["kind"] == "zipf":
        return f"by Zipf's law (exponent {by['exponent']:g}, ranks spread over the table)"
    if by["kind"] == "hot_set":
        draws, rows = by["draws_ppm"] / 1e4, by["rows_ppm"] / 1e4
        return f"from a hot set ({draws:g} % of the draws on {rows:g} % of the rows, spread over the table)"
    if by["kind"] == "each_once":
        return "in a seeded order, each once before any comes again"
    return "uniformly" if by["kind"] == "uniform" else "uniformly, each session from a range of its own"
