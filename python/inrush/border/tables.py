"""Rows of the tables of a run: the border out. `docs/results.md` says what each column means.

`results/schema.py` has the same columns for Arrow; a test holds the two together, and with what the core writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict


class Where(TypedDict):
    """What a row is of."""

    segment: int
    repetition: int
    role: str


class SegmentRow(TypedDict):
    segment: int
    kind: str
    label: str
    phase: str
    start_ns: int
    end_ns: int
    ended_by: str
    client_cpu_ns: int
    #: Empty where it belongs to none.
    step: str


class RepetitionRow(Where):
    start_ns: int
    end_ns: int
    rows: int
    bytes: int
    ops: int
    ok: int
    errors: int
    wrong: int
    late: int
    unsent: int
    sessions: int
    cpu_ns: int
    unseen: int
    #: None where the kernel does not count it.
    queued_ns: int | None


class SampleRow(Where):
    sample: int
    due_ns: int
    collected_ns: int
    sent_ns: int
    done_ns: int
    rows: int
    missing: int
    seen_ns: int
    sent_on_time_ns: int
    done_on_time_ns: int


class FileRow(Where):
    file: int
    pipeline: int
    due_ns: int
    start_ns: int
    sent_ns: int
    end_ns: int
    bytes: int
    rows: int
    rejected: int
    #: 0: not known.
    runs: int


class IntervalRow(Where):
    op: str
    t_ns: int
    dt_ns: int
    rows: int
    bytes: int
    ops: int
    errors: int
    late: int
    in_flight: int
    backlog: int
    cum_rows: int


class SendRow(Where):
    t_ns: int
    dt_ns: int
    ops: int
    sends: int
    bytes: int


class HistRow(Where):
    op: str
    kind: str
    t_ns: int
    dt_ns: int
    grouping_power: int
    bucket: Sequence[int]
    count: Sequence[int]
    n: int
    min_ns: int
    max_ns: int
    sum_ns: int


class FailureRow(Where):
    op: str
    outcome: str
    count: int
    first_message: str
    first_ns: int


class SessionRow(Where):
    session: int
    cpu_ns: int
    busy_ns: int
    ops: int
    rows: int


class ResourceRow(TypedDict):
    role: str
    t_ns: int
    metric: str
    device: str
    value: float


class ProbeRow(TypedDict):
    segment: int
    t_ns: int
    name: str
    value: str


class ProofRow(TypedDict):
    segment: int
    repetition: int
    table: str
    item: str
    expected: str
    found: str
    holds: bool


class AnswerRow(TypedDict):
    segment: int
    op: str
    params: str
    row: int
    col: int
    name: str
    value: str | None


class StepRow(TypedDict):
    segment: int
    step: str
    statement: int
    text: str
    start_ns: int
    end_ns: int
    ended_by: str
    rows: int
    message: str


#: Table -> its rows.
ROWS: Mapping[str, type] = {
    "segments": SegmentRow,
    "repetitions": RepetitionRow,
    "samples": SampleRow,
    "files": FileRow,
    "intervals": IntervalRow,
    "sends": SendRow,
    "hist": HistRow,
    "failures": FailureRow,
    "sessions": SessionRow,
    "resources": ResourceRow,
    "counters": ProbeRow,
    "sizes": ProbeRow,
    "settings": ProbeRow,
    "proofs": ProofRow,
    "answers": AnswerRow,
    "steps": StepRow,
}
