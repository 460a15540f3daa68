"""`inrush prove` and `inrush scoreboard`: claims are run, scored once, and shown together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from inrush.commands.printing import opened_store, say, show, show_json
from inrush.commands.running import INVALID
from inrush.errors import Interrupted, UsageError
from inrush.text import percent, signed_percent
from inrush.times import Times

if TYPE_CHECKING:
    from inrush.commands.predict import PredictCall
    from inrush.results.predictions import Claim, Predictions
    from inrush.results.store import Store
    from inrush.run.call import StudyCall

#: In place of names: every claim that no valid run has decided.
OPEN = "open"


def prove(
    specs: Sequence[str],
    results: str | None,
    targets: Sequence[str],
    data: Path | None,
    input_folder: Path | None,
    as_json: bool,
    live: bool = False,
    live_address: str | None = None,
    wanted: PredictCall | None = None,
) -> None:
    """Scores claims by results that exist, or by the runs that they are about; with `live` a page shows each study of these.

    wanted: the claims are made first, as `inrush predict --claim` makes them.
    """
    from inrush.guards.analyse import analyse
    from inrush.predict.proof import observed, score_document
    from inrush.results.predictions import Predictions
    from inrush.stats.measures import study_record

    store = opened_store()
    store.refuse_unwritable()
    kept = Predictions(store)
    claims = named_claims(kept, specs) if wanted is None else made_claims(store, kept, wanted, as_json)
    documents = []
    runs = Runs(store, targets, data, input_folder, live, live_address)
    for c in claims:
        found = store.find(results if results is not None else runs.of(c))
        try:
            seen = observed(analyse(study_record(found)), c.doc)
        except UsageError as e:
            if list(specs) != [OPEN]:
                raise
            say(f"{c.id}: {e}")
            continue
        document = score_document(c.doc, seen, found.path.name, time.time_ns())
        c.write_score(document)
        documents.append(document)
        if not as_json:
            show(score_lines(c.doc, document))
    if not documents:
        raise UsageError(
            "no claim is without a score; `inrush scoreboard` shows the scores, `inrush predict --claim` makes one"
            if not claims
            else "no claim was scored; the lines above say why"
        )
    write_board(kept)
    if as_json:
        show_json(documents[0] if len(documents) == 1 else documents)
    if any(d["verdict"] == "invalid" for d in documents):
        raise typer.Exit(INVALID)


def made_claims(store: Store, kept: Predictions, wanted: PredictCall, as_json: bool) -> list[Claim]:
    """Claims about what was not measured, frozen before their runs begin. Raises Refused where nothing can be claimed."""
    from inrush.commands.predict import claim_lines, frozen, predictions, refuse_level, refuse_nothing

    refuse_level(wanted.level)
    documents, refused = predictions(store, kept, wanted)
    claims, unprovable = frozen(store, kept, documents)
    refuse_nothing(claims, [*refused, *unprovable])
    for c in claims if not as_json else ():
        show(claim_lines(c.doc)[:-1])  # what comes next is its proof
    return claims


def named_claims(kept: Predictions, specs: Sequence[str]) -> list[Claim]:
    """Claims by name, or all without a valid score. Raises UsageError for one that has it."""
    if list(specs) == [OPEN]:
        return [c for c in kept.all() if not c.scored]
    claims = [kept.find(spec) for spec in specs]
    for c in claims:
        if c.scored:
            raise UsageError(
                f"{c.id}: has a score already ({(c.score or {})['verdict']}), and a claim is scored once; make another one by inrush predict --claim"
            )
    return claims


class Runs:
    """Runs what claims are about; claims of several figures of one load share its runs."""

    def __init__(
        self,
        store: Store,
        targets: Sequence[str],
        data: Path | None,
        input_folder: Path | None = None,
        live: bool = False,
        live_address: str | None = None,
    ) -> None:
        self.store, self.targets, self.data, self.input = store, targets, data, input_folder
        self.live, self.live_address = live, live_address
        self._made: list[tuple[StudyCall, str]] = []

    def of(self, c: Claim) -> str:
        """The path of the results."""
        from dataclasses import replace

        from inrush.predict.proving import proving_call

        call = proving_call(c.doc, self.targets)
        if self.data is not None:
            there = str(self.data.absolute())
            on = dict.fromkeys(call.storages, there)
            call = replace(call, storages=on) if on else replace(call, data=there)
        if self.input is not None:
            call = replace(call, input=str(self.input.resolve()))
        made = next((path for same, path in self._made if same == call), None)
        if made is None:
            made = self._run(c, call)
            self._made.append((call, made))
        return made

    def _run(self, c: Claim, call: StudyCall) -> str:
        from inrush.commands.running import PARTS, begin, execute, report, shown_live

        times = Times(PARTS)
        with shown_live(self.live, self.live_address, False) as page:
            with times.part("planning_s"):
                prepared, folder = begin(self.store, call, [*self.targets, *call.targets][:1])
            try:
                outcome = execute(prepared, folder, self.store.instances_path, times, page=page)
            except Interrupted as e:
                raise Interrupted(
                    f"{e}\n{c.id} has no score yet; when these runs are complete: inrush prove {c.id} --with {folder.path.name}"
                ) from e
            report(self.store, outcome, times)
        return str(outcome.path)


def score_lines(doc: dict[str, Any], score: dict[str, Any]) -> list[str]:
    from inrush.commands.predict import proving
    from inrush.stats.quantity import show as shown

    made, figure, command = doc["forecast"], doc["figure"], proving(doc)
    if score["verdict"] == "invalid":
        return [
            f"invalid: {doc['id']}: {'; '.join(score['why'])}",
            f"  the claim has no score and stays open; its runs are kept as {score['results']}",
            f"  next: {command}" + ("" if "--with" in command else "   (runs it again)"),
        ]
    skills = ", ".join(f"{k} {signed_percent(v)}" for k, v in score["skill"].items())
    seen, claimed = score["bottleneck_seen"], made["bottleneck"]
    named = f"; bottleneck {seen}, claimed {claimed}" if seen and claimed else ""
    return [
        f"{score['verdict']}: {doc['id']}: {shown(score['observed'], figure)} observed, {shown(made['median'], figure)} "
        f"[{shown(made['lo'], figure)}, {shown(made['hi'], figure)}] claimed, a factor of {made['hi'] / made['lo']:.2g} wide: off by {percent(score['error'], 1)}{named}{kept_up(score)}",
        *(f"  {why}" for why in score.get("why", ())),
        f"  skill over {skills}" if skills else "  no simpler claim to compare with",
        f"  the score stands; the claim keeps it, its runs are kept as {score['results']}",
        "  next: inrush scoreboard",
    ]


def kept_up(score: dict[str, Any]) -> str:
    if "kept_up" not in score:
        return ""
    seen = "every sample in time" if score["kept_up"] else "not every sample in time"
    return f"; {seen}, as claimed" if score["kept_up_hit"] else f"; {seen}, not as claimed"


def scoreboard(html: Path | None, as_json: bool) -> None:
    """All claims ever scored."""
    from inrush.predict.board import board_document, board_lines
    from inrush.results.predictions import Predictions

    kept = Predictions(opened_store())
    entries = [(c.doc, c.score) for c in kept.counted()]
    if as_json:
        show_json(board_document(entries))
        return
    if not entries:
        raise UsageError(
            f"{kept.path}: nothing was claimed yet; `inrush predict RESULTS --to N --claim` makes a claim"
        )
    show(board_lines(entries))
    say(f"scoreboard: {write_board(kept, html)}")


def write_board(kept: Any, html: Path | None = None) -> Path:
    from inrush.report.scoreboard import write_scoreboard

    path: Path = html or kept.board_path
    write_scoreboard([(c.doc, c.score) for c in kept.counted()], path)
    return path
