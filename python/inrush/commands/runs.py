"""`inrush runs`: what has been run, and the deletion of one of it."""

from __future__ import annotations

import sys

from inrush.commands.printing import opened_store, say, show, show_json
from inrush.errors import UsageError


def runs(as_json: bool) -> None:
    from inrush.report.run_list import HEADER, study_rows
    from inrush.text import columns

    store = opened_store()
    rows = study_rows(store)
    if as_json:
        show_json([row.document() for row in rows])
    elif not rows:
        say(f"{store.root}: no results yet; `inrush run quickstart` makes some")
    else:
        show(columns([row.cells for row in rows], HEADER, right=(2,)))
        if old := [row.id for row in rows if row.verdict is None and row.status == "done"]:
            say(f"no verdict is kept of {', '.join(old)}; `inrush report ID` writes it")


def delete(spec: str, yes: bool) -> None:
    """Removes one study's folder. Raises UsageError for one that runs, and where nothing says yes."""
    from inrush.report.run_list import study_row
    from inrush.stats.quantity import show as shown

    study = opened_store().one(spec)
    row = study_row(study)
    if study.is_locked():
        raise UsageError(f"{row.id}: runs now; end it (Ctrl-C), then delete it")
    held = sum(p.lstat().st_size for p in study.path.rglob("*") if not p.is_dir() or p.is_symlink())
    about = f"{row.id} ({row.status}, {row.runs} runs, {shown(held, 'bytes')}): {row.title}"
    if not yes and not confirmed(f"delete {about}? [y/N] "):
        raise UsageError(f"{row.id}: not deleted; --yes deletes it without a question")
    study.delete()
    show([f"deleted {about}"])


def confirmed(question: str) -> bool:
    """Whether a person at a terminal says yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
