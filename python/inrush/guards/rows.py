"""Are the rows there, once and unchanged? The guard over a run's proofs. Pure."""

from __future__ import annotations

from inrush.analysis.run_facts import is_instrument
from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.border.pipeline import AnySegment, clients_of, each_role, roles_of
from inrush.border.tables import SegmentRow
from inrush.guards.guard import About, Guard
from inrush.results.unanswered import Unanswered, unanswered
from inrush.stats.figure_names import role_figures
from inrush.stats.files import rejected_rows
from inrush.stats.measures import writing_roles
from inrush.stats.paced import paced_roles
from inrush.stats.record import RunRecord
from inrush.text import counted, percent

#: Of a fixed volume, what may be without an answer: the work left out is about as much of the makespan.
MISSING_SHARE = 0.05
#: Outcomes of an answer that breaks a promise: the column `wrong` of `repetitions` counts both.
WRONG = ("wrong", "missing")
LOOK = "look for lost, doubled or changed rows"

#: Name of the guard.
REJECTED = "rows rejected"
#: What a run's failure says where more rows were rejected than its workload takes.
MORE_THAN_LIMIT = "and the workload's reject_limit takes"


def rows_proven(run: RunRecord, figures: Figures) -> Verdict | None:
    """Counts, checksums and read-back of what was loaded, against the generator."""
    name, proofs = "rows proven", run.rows("proofs")
    wrong = [p for p in proofs if not p["holds"]]
    if wrong:
        # Calls that failed do not explain it where their inserts may be missing.
        p, hint = wrong[0], LOOK if unanswered(proofs) else suspects(run)
        return invalid(
            name,
            f"{len(wrong)} of {len(proofs)} proofs fail, first {p['table']}: {p['item']} is {p['found']}, "
            f"expected {p['expected']}. This run has no figures; {hint}",
            hides=True,
            size=len(wrong),
        )
    proven = {p["table"] for p in proofs}
    unproven = {table: roles for table, roles in written_tables(run).items() if table not in proven}
    wrote = any(figures.get(f"{role}.rows") for role in writing_roles(run.plan))
    if proofs and unproven and wrote and not is_instrument(run.engine):
        return invalid(
            name,
            f"Rows of {', '.join(unproven)} were written and never counted or read back: unverified. Keep the proof segments",
            figures=[f for roles in unproven.values() for role in roles for f in role_figures(figures, role)],
        )
    if found := unanswered(proofs):
        return rows_of_unanswered(run, figures, found)
    if proofs:
        return passed(
            name,
            f"{counted(len(proofs), 'figure')} of {counted(len(proven), 'table')} agree with the generator",
        )
    if is_instrument(run.engine) or not wrote:
        return None
    return invalid(
        name, "Rows were written and never counted or read back: unverified. Keep the proof segments"
    )


def written_tables(run: RunRecord) -> dict[str, list[str]]:
    """Table that rows are put into while it is measured -> the roles that do."""
    names, writers = [t["name"] for t in run.plan.get("tables", ())], writing_roles(run.plan)
    writers_of: dict[str, list[str]] = {}
    for _, role in each_role(run.plan, "measure"):
        if role["work"]["kind"] == "rows" and role["name"] in writers:
            writers_of.setdefault(names[role["work"]["table"]], []).append(role["name"])
    return writers_of


def cut_load(run: RunRecord) -> SegmentRow | None:
    """The first load that was cut after which it is not known which rows are there.

    Answers are judged by how many rows were sent. They are the first ones of the table where one process has sent them. Of
    several each has its calls in turn, and stops somewhere else; and rows that a later load adds do not follow on those of
    one that was cut.
    """
    each = [tables_filled(segment) for segment in run.plan.get("segments", ())]
    for segment in run.rows("segments"):
        at = segment["segment"]
        if segment["ended_by"] == "limit" and at < len(each) and each[at]:
            later = {table for tables in each[at + 1 :] for table in tables}
            if clients_of(run.plan) > 1 or each[at] & later:
                return segment
    return None


def tables_filled(segment: AnySegment) -> set[int]:
    return {role["work"]["table"] for role in roles_of(segment) if role["work"]["kind"] == "rows"}


def rows_of_unanswered(run: RunRecord, figures: Figures, found: Unanswered) -> Verdict:
    """Every acknowledged row is there, and of the inserts that lost their connection each whole or not at all.

    Figures count what was acknowledged. Alone the makespan of a closed role stands for its whole volume, of which the
    inserts without an answer are a part.
    """
    name, many = "rows proven", len(found.inserts)
    stored = f"{found.stored} {'was' if found.stored == 1 else 'were'} stored"
    parts = f", {found.in_part} in part" if found.in_part else ""
    sentence = (
        f"All {found.acknowledged:,} acknowledged rows are there; of {counted(many, 'insert')} without an answer "
        f"{stored}{parts}"
    )
    closed = {role for role in writing_roles(run.plan) if role not in paced_roles(run)}
    failed = {
        r: share for r in sorted(closed) if (share := figures.get(f"{r}.failed_share", 0.0)) > MISSING_SHARE
    }
    lacking = list(failed)
    if not lacking:
        return noted(name, sentence, size=many)
    return invalid(
        name,
        f"{sentence}. The makespan of {', '.join(lacking)} does not cover the whole volume: more than {percent(MISSING_SHARE)} of "
        "the inserts have no answer",
        figures=[f"{role}.makespan_s" for role in lacking],
        size=max(failed.values()),
    )


def rows_rejected(run: RunRecord, _: Figures) -> Verdict | None:
    """Of runs fed from files: what did not fit its columns is in no figure, and must be known of.

    A table of which no row was stored measured no database.
    """
    found = rejected_rows(run)
    if not found:
        return None
    for table, (rejected, of) in found.items():
        if 0 < rejected == of:
            first = run.rejects.get(table)
            return invalid(
                REJECTED,
                f"{table}: all {of:,} rows rejected{f', the first is {first}' if first else ''}. This run stored nothing and has "
                "no figures; give the column another type, or repair the files",
                hides=True,
                size=1.0,
            )
    lost = [
        f"{table}: {rejected:,} of {of:,} rows rejected"
        for table, (rejected, of) in found.items()
        if rejected
    ]
    if lost:
        return noted(
            REJECTED,
            f"{', '.join(lost)}: they did not fit their columns, were not stored and are in no figure; the reject file says why",
            size=max(rejected / of for rejected, of in found.values() if rejected),
        )
    return passed(REJECTED, "Every row of the files was stored")


def suspects(run: RunRecord) -> str:
    """Why rows are not as they should be, if calls failed; else where to look."""
    failed = [f for f in run.rows("failures") if f["outcome"] not in WRONG]
    if not failed:
        return LOOK
    calls = counted(sum(f["count"] for f in failed), "call")
    first = f"{failed[0]['op']} {failed[0]['outcome']}, {failed[0]['first_message']}"
    return f"{calls} failed and their rows were not sent again: {first}"


GUARDS = (
    Guard(
        About.ROWS, "rows proven", rows_proven, "No rows were written, or the engine keeps none", of_run=True
    ),
    Guard(About.ROWS, REJECTED, rows_rejected, "No rows came from files", of_run=True),
)
