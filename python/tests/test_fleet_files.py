"""Files of a load over a fleet: each worker makes those that its sessions load, and together they are those of one machine."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.fleet import checks, own_files
from inrush.fleet.session import BEGIN
from inrush.fleet.worker import FILES, made_by
from inrush.plan.plan import plan_study
from inrush.study.files import at_inputs, input_path
from inrush.study.study import load_study
from inrush.worker.process import SESSIONS, Process, program
from tests.needed import need_distributed

need_distributed()
LIMIT_S = 20.0
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
sizes = { files = 11 }
[tables.idx]
series = 100
period_s = 1
identity = ["k"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "k", type = "i64", gen = "permute", from = 0, to = 1_000_000 },
  { name = "part", type = "i32", gen = "uniform", from = -5, to = 155, null_share = 0.1 },
]
[operations.of_key]
kind = "query"
table = "idx"
params.k = { gen = "constant", type = "i64", value = 1 }
sql.default = "SELECT k, part FROM {table} WHERE k = :k"
"""
