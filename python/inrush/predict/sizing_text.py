"""The answer to a required rate as people read it. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inrush.predict.sizing import Need, Sizing
from inrush.stats.quantity import show


def sizing_lines(sizings: Sequence[Sizing], need: Need) -> list[str]:
    """The answer as people read it."""
    lines = []
    for s in sizings:
        asked = f"{need.rows_per_s:,.0f} rows/s" + (
            f" with p99 below {need.p99_s * 1e3:g} ms" if need.p99_s else ""
        )
        group = ", ".join(f"{k} {v}" for k, v in s.group.items())
        head = f"{s.engine}{f' ({group})' if group else ''}: {asked}:"
        lines.append(f"{head} {s.verdict}{'' if s.writers is None else described(s, need)}")
        lines += [f"  {why}" for why in s.why]
        lines += [f"  the run that would show it: {s.next}"] if s.next else []
        lines.append(f"  from {', '.join(s.from_results)}")
    return lines


def described(s: Sizing, need: Need) -> str:
    """What the rate needs, and how sure that is; of what is not shown, the sizes that a run would try."""
    parts = [f"{s.writers} writer{'s' * (s.writers != 1)}"]
    parts += [f"batches of {s.batch_rows:,.0f} rows"] if s.batch_rows else []
    if s.verdict != "yes":
        return f"; a run would try {', '.join(parts)}"
    parts += [f"{s.cores:.2f} cores"] if s.cores is not None else []
    stored = (
        f"{show(s.disk_bytes, 'x.bytes')} of disk in {need.days:g} day{'s' * (need.days != 1)}"
        if s.disk_bytes
        else ""
    )
    parts += [stored] if stored else []
    parts += [f"{show(s.write_bytes_per_s, 'x.bytes_per_s')} written"] if s.write_bytes_per_s else []
    parts += [f"p99 {show(s.p99_s, 'x.p99_s')}"] if s.p99_s else []
    return f": {', '.join(parts)}; {how_sure(s)}"


def how_sure(s: Sizing) -> str:
    if s.measured:
        return "measured, not predicted"
    if s.sure is None:
        return "claims of this kind and reach are not scored yet: no percentage"
    held = f"of {s.scored} such claims the interval of {s.scored_inside} held"
    return f"{percent(s.sure)} sure that it reaches the rate ({held})"


def percent(probability: float) -> str:
    """Never rounded up to what is certain."""
    return f"{min(math.floor(100 * probability), 99)} %"
