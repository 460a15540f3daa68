"""Which rows a deletion by age leaves, to the row or to the piece."""

from __future__ import annotations

from inrush.plan.retention import NS, Retained, in_pieces
from inrush.workload import Column, Table

HOUR_S = 3600.0
#: Half past an hour.
EPOCH_NS = (1_000 * 3600 + 1800) * NS
TABLE = Table("t", (Column("at", "time_ms"),), series=10, period_s=1.0)


def kept(cut_s: float) -> int:
    of = Retained("t", "delete", "before", round(cut_s * NS), first_row=-1)
    return in_pieces(of, TABLE, HOUR_S, EPOCH_NS).first_row


def test_nothing_goes_before_the_cut_has_reached_the_next_piece() -> None:
    assert kept(0) == kept(1799) == 0


def test_all_rows_of_a_piece_go_once_the_cut_has_left_it() -> None:
    assert kept(1800) == kept(1800 + 3599) == 1800 * 10
    assert kept(1800 + 3600) == (1800 + 3600) * 10
