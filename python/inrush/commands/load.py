"""`inrush load`: files into one server or many shards, every row stored once or rejected with its reason."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inrush.commands.dates import with_dates
from inrush.commands.printing import say, show, show_json

if TYPE_CHECKING:
    from inrush.load.call import Call
    from inrush.load.check import Loaded

#: Seconds between two lines where there is no terminal.
PLAIN_EVERY_S = 5.0


def load(call: Call, as_json: bool, quiet: bool = False) -> int:
    """The exit code: `exit_code`. quiet: no progress and no notes."""
    from inrush.load.run import load as run
    from inrush.results.store import Root

    if call.dry_run:
        return dry_run(call, as_json, ignored if quiet else say)
    Root().refuse_unwritable()
    progress = Progress(len(call.files))
    note, event = (ignored, ignored) if quiet else (say, progress.event)
    try:
        done = with_dates(
            lambda dates: run(replace(call, dates=dates), Root().loads_path, note, event), call.dates
        )
    finally:
        progress.end()
    if as_json:
        show_json(done.document())
    else:
        show(lines(done))
    return exit_code(done, call.limit_said)


def dry_run(call: Call, as_json: bool, note: Callable[[str], None]) -> int:
    """1 where rows would be rejected, and no `--reject-limit` took that."""
    from inrush.load.dry_run import dry_run as look

    found = with_dates(lambda dates: look(replace(call, dates=dates), note), call.dates)
    if as_json:
        show_json(found.document())
    else:
        show(found.lines)
    return 1 if found.rejected and not call.limit_said else 0


def ignored(_: Any) -> None:
    """Takes the place of a note or an event with --quiet."""


def exit_code(done: Loaded, limit_said: bool) -> int:
    """3: the table is not what was read; 1: rows were rejected, and no `--reject-limit` took that."""
    if not is_good(done):
        return 3
    return 1 if done.rejected and not limit_said else 0


#: Words of a reason that most rows were rejected for -> what reads such files.
REMEDIES = {
    "not UTF-8": "text that is not UTF-8 is read by --encoding NAME, for instance windows-1252 or latin-1",
    "too many fields": "lines above the header are left out by --skip N, and --delimiter says what is between fields",
}


def lines(done: Loaded) -> list[str]:
    """What was done, what proves it, what to do next."""
    from inrush.stats.quantity import digits, show

    rate = done.rows_stored / done.seconds if done.seconds > 0 else 0.0
    done_with = "stored" if done.merging != "skip" else "sent"
    first = f"{rows(done.rows_stored)} {done_with} in {digits(done.seconds)} s ({show(rate, 'x.rows_per_s')}"
    first += f", {show(done.bytes / done.seconds, 'x.bytes_per_s')})" if done.bytes else ")"
    if done.rows_before:
        first += f", {done.rows_before:,} {'was' if done.rows_before == 1 else 'were'} stored before"
    shards = f" on {len(done.shards)} shards" if len(done.shards) > 1 else ""
    if done.rows_on_replicas is not None:
        shards = f" on {len(done.shards) // 2} shards, {done.rows_on_replicas:,} on their replicas"
    merged = f"{rows(done.merged)} of this import: their key was in the table, or came before, and they were left out"
    if done.merging == "update":
        merged = (
            f"{rows(done.merged)} replaced by this import: their key came again, in the table or in the files"
        )
    meanwhile = f"another inrush stored {done.rows_meanwhile:,} of these rows meanwhile"
    found = [
        first,
        *([merged] if done.merged else []),
        *([meanwhile] if done.rows_meanwhile else []),
        f"{VERDICTS[done.verdict]}: {done.why}; {rows(done.rows_in_ledger)} of this import in the ledger{shards}",
    ]
    found += [f"{column}: {how}" for column, how in done.columns.items() if NOT_EQUAL.search(how)]
    found.append(cost_line(done.costs))
    found += done.warned
    if done.rejected:
        why = f" ({done.reason})" if done.reason else ""
        found.append(f"{rows(done.rejected)} rejected{why}, each with line and reason: {done.rejects}")
        found += [remedy for words, remedy in REMEDIES.items() if words in done.reason]
    else:
        found.append("no row rejected")
    found.append(f"import {done.import_id}, {KNOWN if is_good(done) else ANEW}")
    return found


def rows(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"


#: The last words on an import that is as its files are, and on another one.
KNOWN = "recognised by the content of its files: they are not stored twice in this table"
ANEW = "whose rows stay where they are: to load its files anew, empty the table and give --again"


def is_good(done: Loaded) -> bool:
    return done.verdict in ("proven", "counted", "nothing")


def cost_line(costs: Mapping[str, float]) -> str:
    """Where the time of the whole went. Pure."""
    from inrush.stats.quantity import show

    def took(part: str) -> str:
        return show(costs[part], part)

    proof = f"the proof {took('proof_s')}"
    if costs.get("verify_s"):
        proof += f" (reading back {took('verify_s')})"
    return (
        f"of these sampling took {took('sampling_s')}, storing {took('storing_s')}, {proof}, the rest {took('rest_s')} (digests of "
        f"the files {took('digest_s')})"
    )


#: What people read first.
VERDICTS = {
    "proven": "proven", "counted": "counted, not proven", "nothing": "nothing stored", "missing": "ROWS MISSING", "different": "NOT PROVEN",
}  # fmt: skip
NOT_EQUAL = re.compile("different|not compared")


class Progress:
    """One line that is rewritten on a terminal, a plain one every few seconds elsewhere; on stderr."""

    def __init__(self, files: int) -> None:
        self.live = sys.stderr.isatty()
        self.said_s = time.monotonic()
        self.width = 0

    def event(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "note":
            say(str(event["text"]))
        elif event["event"] == "progress" and event["role"] == "client":
            line = progress_line(event)
            if self.live:
                print(f"\r{line:<{self.width}}", end="", file=sys.stderr, flush=True)
                self.width = len(line)
            elif time.monotonic() - self.said_s >= PLAIN_EVERY_S:
                self.said_s = time.monotonic()
                say(line)

    def end(self) -> None:
        if self.live and self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)


def progress_line(event: Mapping[str, Any]) -> str:
    """`3 of 10 files, 1,200,000 rows stored, 480 k rows/s, 61 MB/s, 12 rejected`. Pure."""
    from inrush.stats.quantity import digits, show

    seconds = max(float(event["seconds"]), 1e-9)
    parts = [
        f"{event['files_done']} of {event['files']} files",
        f"{rows(event['rows_stored'])} stored",
        show(event["rows_stored"] / seconds, "x.rows_per_s"),
        show(event.get("stored_bytes", event["bytes"]) / seconds, "x.bytes_per_s"),
    ]
    if event.get("left_s") is not None:
        parts.append(f"{digits(event['left_s'])} s left")
    if event["rejected"]:
        parts.append(f"{event['rejected']:,} rejected")
    return ", ".join(parts)
