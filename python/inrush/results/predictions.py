"""Claims on disk: frozen before the run that they are about, scored after it, never changed.

<id>.json          the claim with its hash, written once
<id>.score.json    what came of it; that of a valid run is never written again
scoreboard.html    all of them
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from inrush.errors import ResultUnreadable, UsageError
from inrush.results.store import Doc, Store, read_json, write_json

#: Version of the documents; docs/results.md.
PREDICTION_SCHEMA = 1


class Predictions:
    """All claims below one folder of results."""

    def __init__(self, store: Store) -> None:
        self.path = store.predictions_path

    @property
    def board_path(self) -> Path:
        return self.path / "scoreboard.html"

    def freeze(self, document: Mapping[str, Any]) -> Claim:
        """Writes a claim under its hash. Raises UsageError where the same was claimed before."""
        sha256 = digest(document)
        claim = Claim(self.path / f"{document['id']}.json")
        if claim.path.exists():
            raise UsageError(f"{claim.path}: this claim exists; claims are never changed, make another one")
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(claim.path, {**document, "sha256": sha256})
        return claim

    def all(self) -> list[Claim]:
        """Oldest first. Raises ResultUnreadable where one was changed: a board without it would be a lie."""
        if not self.path.is_dir():
            return []
        found = [Claim(p) for p in self.path.glob("*.json") if not p.name.endswith(".score.json")]
        return sorted(found, key=lambda c: (c.created_unix_ns, c.id))

    def scores(self, model_version: int, of_rows: bool = False) -> list[Doc]:
        """What came of the claims of one version of the model: errors of another say nothing of it.

        of_rows: of claims about tables that grow, or of all others; neither says how wrong the other is.
        """
        return [
            s
            for c in self.counted()
            if c.doc["model_version"] == model_version
            and (c.doc.get("kind") == "rows") == of_rows
            and (s := c.score)
        ]

    def counted(self) -> list[Claim]:
        """All, but of those that one run has scored for the same figure at the same load the first: a claim that was made
        again says nothing new of the model."""
        found, seen = [], set[str]()
        for c in self.all():
            if c.score and c.score.get("run_ids"):
                forecast = c.doc.get("forecast", {})
                of = json.dumps(
                    [c.score.get("run_ids"), c.doc.get("figure"), c.doc.get("group"), forecast.get("x")],
                    sort_keys=True,
                )
                if of in seen:
                    continue
                seen.add(of)
            found.append(c)
        return found

    def proofs(self) -> set[str]:
        """Ids of results that hold nothing but the value that a claim was about.

        Results of a whole study that were attached to a claim are not among them: they can be continued.
        """
        found = set[str]()
        for c in self.all():
            results = str((c.score or {}).get("results", ""))
            path = self.path.parent / results / "study.json"
            if not results or not path.is_file():
                continue
            overrides = (read_json(path).get("call") or {}).get("overrides", ())
            one = [o.partition("=")[2] for o in overrides if o.partition("=")[0] == c.doc["along"]]
            if one and "," not in one[-1]:
                found.add(results)
        return found

    def find(self, spec: str) -> Claim:
        """By path, id, or the unique beginning of an id or of a hash; `latest`."""
        path = Path(spec)
        if path.suffix == ".json" and path.is_file():
            return Claim(path)
        if (self.path / f"{spec}.json").is_file():
            return Claim(self.path / f"{spec}.json")
        claims = self.all()
        if spec == "latest":
            if not claims:
                raise UsageError("latest: no claim was made yet; `inrush predict --claim` makes one")
            return claims[-1]
        found = [c for c in claims if c.id.startswith(spec) or (len(spec) >= 6 and c.sha256.startswith(spec))]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{spec}: more than one prediction begins so ({', '.join(c.id for c in found)}); name one"
            )
        raise UsageError(f"{spec}: no such prediction in {self.path}; `inrush scoreboard` lists them")


@dataclass(frozen=True)
class Claim:
    """One prediction as it was frozen, and its score once there is one."""

    path: Path

    @cached_property
    def doc(self) -> Doc:
        """Raises ResultUnreadable where it is not what was frozen."""
        found = read_json(self.path)
        body = {k: v for k, v in found.items() if k != "sha256"}
        if found.get("sha256") != digest(body):
            raise ResultUnreadable(
                f"{self.path}: the hash does not fit the claim: it was changed after it was frozen and proves nothing; "
                "restore the file or predict anew"
            )
        if found.get("schema") != PREDICTION_SCHEMA:
            raise ResultUnreadable(
                f"{self.path}: schema is {found.get('schema')!r}, and this inrush reads {PREDICTION_SCHEMA} alone; predict anew"
            )
        return found

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def sha256(self) -> str:
        return str(self.doc["sha256"])

    @property
    def created_unix_ns(self) -> int:
        return int(self.doc["created_unix_ns"])

    @property
    def score_path(self) -> Path:
        return self.path.with_name(f"{self.id}.score.json")

    @property
    def score(self) -> Doc | None:
        return read_json(self.score_path) if self.score_path.is_file() else None

    @property
    def scored(self) -> bool:
        """Whether a valid run has decided; an invalid one leaves the claim open."""
        return self.score is not None and self.score.get("verdict") != "invalid"

    def write_score(self, document: Mapping[str, Any]) -> None:
        """Once. Raises UsageError for a second score: the first valid run that was to prove a claim is the one that counts."""
        if self.scored:
            raise UsageError(f"{self.score_path}: {self.id} has its score; predict anew to try again")
        write_json(self.score_path, document)


def digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of the claim, free of the order of its keys and of blanks."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
