"""What a load did, and what may be said of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.border import plan as border
from inrush.load import proof, readback
from inrush.load.input import Input
from inrush.load.look import begun_of, look
from inrush.load.moved import moved_columns
from inrush.load.spool import seen
from inrush.plan import ends
from inrush.plan.ledger import rows_in_ledger

if TYPE_CHECKING:
    from inrush.load.remote import RemoteShards
    from inrush.load.shards import Shards

Doc = dict[str, Any]


@dataclass(frozen=True)
class Loaded:
    """What a load did."""

    import_id: str
    #: By this command: not what another one stored at the same time.
    rows_stored: int
    rows_before: int
    rows_meanwhile: int
    rejected: int
    #: Behind the rows that this command stored or rejected.
    bytes: int
    #: Of the whole command.
    seconds: float
    files: int
    shards: tuple[Doc, ...]
    rejects: Path | None
    #: Rows of the import by the ledger, all shards.
    rows_in_ledger: int
    #: The same of the replicas; None without.
    rows_on_replicas: int | None = None
    #: `proven`, `counted`, `nothing` (all rows were rejected), `missing` or `different`, and why.
    verdict: str = "counted"
    why: str = ""
    #: Column -> how it was compared with the table.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: By `--verify`: the table was read back and is what the files are; None: it was not read.
    verified: bool | None = None
    #: Seconds of the whole, by part: `times.PARTS` and `rest_s`; and of these the digests and the reading back: `digest_s`,
    #: `verify_s`.
    costs: Mapping[str, float] = field(default_factory=dict)
    #: What most rows were rejected for.
    reason: str = ""
    #: Rows of the import that were replaced or skipped by their key, by which option.
    merged: int = 0
    #: What to see to: rows that may be there twice, sequences that stand lower than their rows.
    warned: tuple[str, ...] = ()
    merging: str | None = None

    @property
    def proven(self) -> bool:
        """The table holds what was read and not rejected, by sums of every column."""
        return self.verdict == "proven"

    def document(self) -> Doc:
        return {
            "import": self.import_id,
            "rows_stored": self.rows_stored,
            "rows_stored_before": self.rows_before,
            "rows_stored_meanwhile": self.rows_meanwhile,
            "rows_merged": self.merged,
            "rows_rejected": self.rejected,
            "rejected_for": self.reason,
            "rows_in_ledger": self.rows_in_ledger,
            "rows_on_replicas": self.rows_on_replicas,
            "proven": self.proven,
            "verdict": self.verdict,
            "why": self.why,
            "columns": dict(self.columns),
            "verified": self.verified,
            "costs": dict(self.costs),
            "warned": list(self.warned),
            "bytes": self.bytes,
            "seconds": self.seconds,
            "files": self.files,
            "shards": list(self.shards),
            "rejects": str(self.rejects) if self.rejects else None,
        }


def good_rows(counts: Doc) -> int:
    """Rows of the files that are stored, whoever stored them."""
    return int(counts["rows_stored"] + counts["rows_before"] + counts["rows_of_others"])


def with_meanwhile(counts: Doc, rows_then: int) -> Doc:
    """The client's counts, with what others stored since this command began in `rows_of_others`, and none of their bytes. Pure.

    rows_then: of the import, by its ledger, when this command began. A client meets rows of others when it begins a file, and when
    it sends them.
    """
    others = counts["rows_before"] + counts["rows_of_others"]
    before = min(others, rows_then)
    size = counts["bytes"] - counts["bytes_of_others"]
    return {
        **counts,
        "rows_before": before,
        "rows_of_others": others - before,
        "bytes": size,
        "bytes_of_others": 0,
    }


def rows_by_ledger(
    shards: Shards | RemoteShards, places: Sequence[border.Target], load: str, name: str
) -> list[int]:
    """Of each place, the rows of an import by its ledger."""
    return [int(shards.ask(place, rows_in_ledger(load, name))[0][0]) for place in places]


def checked(
    wanted: ends.Wanted,
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    counts: Doc,
    in_ledger: Sequence[int],
    on_replicas: Sequence[int] | None,
) -> proof.LoadVerdict:
    """The tables beside their ledgers and the client's own sums. in_ledger: rows of each shard; on_replicas: its copies."""
    begun = begun_of(wanted)
    looked = look(
        begun.ledgers,
        begun.of,
        readback.summed(wanted, shards, targets, begun.proof, wanted.target_table),
        readback.summed(wanted, shards, targets, begun.proof, wanted.replica_table)
        if wanted.replica_table
        else None,
        begun.count_only,
    )
    names = [name for name, _ in targets]
    by_rows = "" if on_replicas is None else proof.astray(names, in_ledger, on_replicas, "rows in the ledger")
    found = proof.judge(
        proof.LoadEvidence(
            rows_read=good_rows(counts),
            rows_in_ledger=sum(in_ledger),
            rows_on_replicas=None if on_replicas is None else sum(on_replicas),
            copies_missing=by_rows,
            astray=looked.astray,
            transactional=shards.loading.transactional,
            shards=looked.shards,
            imports=looked.imports,
            unfinished=looked.unfinished,
            uncompared=looked.uncompared,
            merged=looked.merged,
            unknown=looked.unknown,
            items=begun.proof.items,
            of_client=counts["sums"],
            of_ledger=looked.of_ledger,
            expected=looked.expected,
            found=looked.found,
            weak=begun.weak,
            changed=changed(begun.inputs),
        )
    )
    found = replace(found, merged=looked.merged_own)
    # The files of other imports are not here to be read again.
    if not found.moved or looked.imports > 1:
        return found
    tables = {"the table": wanted.target_table, "the replicas": wanted.replica_table}
    return proof.with_moved(found, moved_columns(wanted, shards, targets, tables[found.moved[0]]))


def changed(inputs: Sequence[Input]) -> str:
    """The first file that is not as it was when it was looked at."""
    for source in inputs:
        try:
            now = seen(source.at)
        except OSError:
            return source.shown
        if source.stamp.differs(now):
            return source.shown
    return ""
