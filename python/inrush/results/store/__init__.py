"""Results on disk: the only module that knows their paths.

    results/<study id>/study.json              what was asked and planned; says `running` until it is done
    results/<study id>/<run>/plan.json env.json    written before the run
                             parts/<table>.arrows  appended by the core while it runs
                             <table>.parquet       when sealed
                             run.json              last, by rename: a run without it never happened
    results/<study id>/aside/<run>.<n>          half-written runs, kept for the curious, counted by nobody

A run that is sealed is never written again.
"""

from __future__ import annotations

from inrush.results.store.files import Doc, check_schema, read_json, whole_batches, write_json
from inrush.results.store.folders import RESULTS_VARIABLE, Store, StudyFolder
from inrush.results.store.reading import Results, SealedRun
from inrush.results.store.sealing import OpenRun

__all__ = [
    "RESULTS_VARIABLE",
    "Doc",
    "OpenRun",
    "Results",
    "SealedRun",
    "Store",
    "StudyFolder",
    "check_schema",
    "read_json",
    "whole_batches",
    "write_json",
]
