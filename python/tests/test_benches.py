"""What peers print is read right: their own figures, not ours of them."""

from __future__ import annotations

import pytest

from benches.lookups import reported
from benches.rounds import Rounds
from benches.watching import iostat_figure, pidstat_figures

PIDSTAT = """\
Linux 6.1.0 (vm) \t2026-11-20 \t_x86_64_\t(2 CPU)

15:35:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
15:35:31    65534     30011   21.10    3.20    0.00    0.40   24.30     1  influxd

15:35:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
15:35:31    65534     30011      0.00   1899.27      0.00       0  influxd

Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:    65534     30011   21.10    3.20    0.00    0.40   24.30     -  influxd

Average:      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
Average:    65534     30011      0.00   1899.27      0.00       0  influxd
"""
IOSTAT = """\
Linux 6.1.0 (vm) \t2026-11-20 \t_x86_64_\t(2 CPU)

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
vda            2061.20       119.73     56601.33         0.00       3592    1698040          0

"""
PGBENCH = """\
number of transactions actually processed: 70154
latency average = 0.029 ms
initial connection time = 3.401 ms
tps = 35110.121847 (without initial connection time)
"""
SYSBENCH = """\
    transactions:                        37462  (18727.34 per sec.)
    queries:                             37462  (18727.34 per sec.)
"""


def test_pidstat_is_read_by_its_averages() -> None:
    assert pidstat_figures(PIDSTAT) == (24.30, 1899.27)


def test_iostat_is_read_by_its_sum() -> None:
    assert iostat_figure(IOSTAT, "vda") == 1_698_040


def test_a_rate_is_the_peers_own() -> None:
    assert reported(PGBENCH) == (70154, 35110.121847)
    assert reported(SYSBENCH) == (37462, 18727.34)


def test_what_tells_no_rate_has_none() -> None:
    with pytest.raises(RuntimeError, match="no rate"):
        reported("connection refused")


def test_figures_of_one_measurement_come_from_the_same_rounds() -> None:
    made = iter([(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)])
    rounds = Rounds(lambda: next(made))
    first, second = rounds.figure(0), rounds.figure(1)
    assert [first(), first()] == [1.0, 2.0]
    assert [second(), second(), second()] == [10.0, 20.0, 30.0], (
        "made rounds are told again, missing ones made"
    )
    assert first() == 3.0
