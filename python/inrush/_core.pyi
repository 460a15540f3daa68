"""The border: a plan in, tables out. Built from rust/core/src/python.rs."""

from collections.abc import Mapping, Sequence
from typing import Any, final

__all__ = [
    "ArrowStream",
    "Control",
    "CoreFailure",
    "Load",
    "Run",
    "ask_load_server",
    "build_profile",
    "calibrate",
    "check_plan",
    "check_table",
    "control",
    "date_format",
    "engines",
    "file_digest",
    "file_rows",
    "generate",
    "generators",
    "max_depth",
    "read_address",
    "read_files",
    "read_table",
    "rounded_values",
    "sample_files",
    "self_signed",
    "start",
    "start_load",
    "types",
    "version",
]

class CoreFailure(Exception):
    """args: (kind, message); kind is one of plan, target, statement, io, interrupted, deadline."""

@final
class Run:
    def poll(self, timeout_s: float) -> list[str]:
        """Events since the last call, as JSON objects with key `event`; waits up to timeout_s for one.

        segment  {index, label, kind, phase, t_ns}
        progress {t_ns, segment, label, phase, repetition, share (0…1 or null), roles: {name: {rows, rows_per_s, ops_per_s,
                  p99_ms, errors, backlog}}, client_cpu (busy cores), left_s (or null)}
        paused   {index, action}
        barrier  {index, point, needs_ns, zero_ns}
        began    {index, repetition, t_ns, first_late_ns, last_late_ns}
        finished {ended_by}
        failed   {kind, message}
        Raises KeyboardInterrupt on Ctrl-C (main thread only); the run goes on until `stop`.
        """

    def resume(
        self,
        processes: Mapping[str, Sequence[int]] | None = None,
        threads: Mapping[int, str] | None = None,
    ) -> None:
        """Goes on after a `paused`. processes: role -> the server's processes now; those that are new are watched too.
        threads: what theirs are, where their names do not say it."""

    def start_at(self, at_ns: int, others_json: str | None = None) -> None:
        """Goes on after a `barrier`; where sessions start, at that instant of CLOCK_MONOTONIC.

        others_json: what the other processes have `written` (border/events.py) in the segment that is over, as a list.
        Raises ValueError of one that is none."""

    def stop(self) -> None:
        """Asks for an orderly end: sessions finish their call, tables are written."""

    def done(self) -> bool: ...

def start(plan_json: str, parts_dir: str) -> Run: ...

@final
class Load:
    def poll(self, timeout_s: float) -> list[str]:
        """Events of one end of a load since the last call, as JSON objects; waits up to timeout_s for one.

        listening {address, resumed_files, resumed_rows}                                            (server)
        progress, finished {seconds, bytes, shards: [{name, rows, rows_of_others, commits}]}        (server)
        progress, finished {seconds, bytes, rows_sent, rows_stored, rows_before, rejected, files_done, files,
                 rows_of_others, bytes_of_others: sent, and in the ledger already}              (client);
                 finished has `sums` too: of all rows, in the order of the plan's items; null where they are not known
        note {text}
        failed {kind, message}
        """

    def stop(self) -> None:
        """Asks for an orderly end: what was acknowledged is stored."""

    def done(self) -> bool: ...

def start_load(plan_json: str) -> Load:
    """One end of a load: `LoadPlan` of rust/load/src, role `client` or `server`."""

def ask_load_server(link_json: str, question_json: str) -> str:
    """A question to a load server. link: `LinkPlan` of rust/load/src/link.rs. Raises CoreFailure.

    {"ask": "targets"} -> {"engine", "shards": [url], "coordinator": url or null}
    {"ask": "scan", "shard": place, "scan": `ScanPlan` of readback.rs} -> as of `read_table`
    {"ask": "statement", "shard": place or null (the coordinator), "statement", "limit_s"} -> rows, [[…]]
    """

def file_digest(path: str, sizes: Sequence[int] = ...) -> tuple[str, int, list[tuple[int, str, bool]]]:
    """128 bits over what a file holds, as 32 hexadecimal digits, and its length in bytes. Raises CoreFailure.

    sizes: ascending; the starts of the file that have one of them and end with a line or before its end: size, digest, and
    whether they end with it."""

def sample_files(
    paths: Sequence[str], said_json: str, rows: int, alike: bool
) -> list[tuple[tuple[int, int, int, int], str | None, int | None, str | None] | str]:
    """What the first rows of text files hold, as the core reads them, in their order; why, for a file that cannot be read. Of
    each its stamp (`spool.Stamp`), digest where it is not long, the place of the file that stands for it, and JSON: `Sample`
    of rust/rows/src/rows/files/sample, or {"refused": why}; none of a packed or Parquet file.

    said: `Said` there. alike: a file like another one before it has no sample of its own."""

def rounded_values(floats_json: str) -> list[int]:
    """Of columns of floats, how many values of a text file have more digits than they keep: `Floats` of
    rust/rows/src/rows/files/sample. Raises CoreFailure."""

def date_format(pattern: str, texts: list[str]) -> tuple[str, list[bool]]:
    """What a pattern such as `%d.%m.%y %H:%M` makes: date, time_ms or time_us; and whether each text is of this form. Raises
    CoreFailure for one that is none."""

def read_table(scan_json: str) -> str:
    """A table read through the query path: `ScanPlan` of rust/load/src/readback.rs -> JSON {"rows", "digest", "sums"}."""

def read_files(plan_json: str) -> str:
    """The same of files that are read as they are loaded: `FilesPlan` of rust/load/src/readback.rs."""

def self_signed(hosts: list[str]) -> tuple[bytes, bytes]:
    """A certificate for these names and addresses and its private key (PKCS #8), both DER."""

def check_plan(plan_json: str) -> list[str]:
    """Everything the core would refuse, as messages; empty when it would run."""

def check_table(table_json: str, seed: int, epoch_ns: int) -> list[tuple[str, str]]:
    """All mistakes in the generators of a TablePlan, as (column, problem); the column is empty for one of the whole table.

    Raises CoreFailure for a document that is no TablePlan."""

def file_rows(table_json: str, seed: int, epoch_ns: int) -> list[int]:
    """First row of each file of a TablePlan with `chunks`, and the end: files + 1 numbers. Raises CoreFailure where its rows
    lie in no files."""

def generators() -> str:
    """JSON: kind -> {"types": [logical types], "params": {name: {"type": …, "required": bool, "about": …}}}."""

def types() -> str:
    """JSON: a list of the types of columns. Of each its `name`, how it is `written` in workloads, what others call it (`also`),
    what `many` of its values are called, what it `holds` (truth, signed, unsigned, float, time, bits, text, bytes, spelled:
    texts in one form; list) `of` what (bits, units a second, the type of the items), the `bytes` of a value, whether
    tables may be `fed` from files with it, whether it is `bound` as a parameter; of a spelled one the `longest` text
    and PostgreSQL's name of it (`postgresql`)."""

@final
class ArrowStream:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

def generate(table_json: str, seed: int, epoch_ns: int, first_row: int, rows: int) -> ArrowStream:
    """Rows of a TablePlan as Arrow record batches (u64 as uint64, times as timestamp UTC)."""

def control(target_json: str, text: str, limit_s: float, directives_json: str | None = None) -> str:
    """One statement outside a run, with `Directives` of rust/rows/src/plan/directives.rs: JSON {"names": […], "rows": [[…]]}. Raises CoreFailure."""

@final
class Control:
    """The same on a target that stays open: an embedded database is opened once for many statements, and no other process
    can write it meanwhile. Raises CoreFailure."""

    def __new__(cls, target_json: str) -> Control: ...
    def ask(self, text: str, limit_s: float, directives_json: str | None = None) -> str: ...
    def close(self) -> None: ...

def calibrate(what: str, seconds: float) -> str:
    """JSON figures of the instrument: `clock`, `pacer`, `null`, `rows`, `encode_text`, `encode_binary`."""

def build_profile() -> str:
    """`release` or `debug`."""

def read_address(text: str) -> str:
    """JSON of what an address says, without a connection: `inrush.border.address` has its fields."""

def engines() -> list[str]:
    """Names of the engines that this core was built with."""

def max_depth(engine: str) -> int | None:
    """Calls that one session of an engine can have in flight; None for an engine that this core does not know."""

def version() -> str: ...
