"""Results on disk: the only folder that knows their paths.

    results/<study id>/study.json              what was asked and planned; says `running` until it is done
    results/<study id>/<run>/plan.json env.json    written before the run
                             parts/<table>.arrows  appended by the core while it runs
                             <table>.parquet       when sealed
                             run.json              last, by rename: a run without it never happened
    results/<study id>/quarantine/<run>.<n>          half-written runs, kept for the curious, not counted
    results/predictions/<id>.json              claims, with their scores: `results/predictions.py` writes them

A run that is sealed is never written again.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inrush.results.store.files import Doc, check_schema, read_json, whole_batches, write_json
    from inrush.results.store.folders import FILES, Store, StudyFolder
    from inrush.results.store.reading import Results, SealedRun
    from inrush.results.store.root import RESULTS_VARIABLE, Root, sealed_runs, unsealed_runs
    from inrush.results.store.sealing import OpenRun
else:
    #: Name -> module: what reads Parquet takes a third of a second to load, and not every command reads.
    _AT = {
        **dict.fromkeys(("Doc", "check_schema", "read_json", "whole_batches", "write_json"), "files"),
        **dict.fromkeys(("FILES", "Store", "StudyFolder"), "folders"),
        **dict.fromkeys(("Results", "SealedRun"), "reading"),
        **dict.fromkeys(("RESULTS_VARIABLE", "Root", "sealed_runs", "unsealed_runs"), "root"),
        "OpenRun": "sealing",
    }

    def __getattr__(name: str) -> Any:
        if name not in _AT:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_AT[name]}"), name)


__all__ = [
    "FILES",
    "RESULTS_VARIABLE",
    "Doc",
    "OpenRun",
    "Results",
    "Root",
    "SealedRun",
    "Store",
    "StudyFolder",
    "check_schema",
    "read_json",
    "sealed_runs",
    "unsealed_runs",
    "whole_batches",
    "write_json",
]
