"""What `make outcomes` says of a study that comes to something else, and that its file holds what was written."""

from __future__ import annotations

import copy

from inrush.study.shipped import shipped_studies
from tests.outcomes import VARIES, differences, packed, read, settled, unpacked
from tests.test_shipped_studies import OF_SERVERS, ON_SHARDS


def test_each_shipped_study_has_an_outcome() -> None:
    studies = {case.partition(" ")[0] for case in read()}
    assert {study.name for study in shipped_studies()} - OF_SERVERS - ON_SHARDS <= studies


def test_the_file_holds_every_name_of_every_study() -> None:
    assert unpacked(packed(read())) == read()


def test_what_differs_is_named_and_what_varies_is_not() -> None:
    golden = read()["telemetry-quickstart"]
    found = copy.deepcopy(golden)
    assert list(differences(golden, found)) == []
    del found["figures"]["writers.rows_per_s"]
    found["figures"]["writers.rows_each_s"] = ""
    found["rows"]["port_data_counters"] = "0"
    found["answer"]["kind"] = "curve"
    assert list(differences(golden, found)) == [
        "answer: kind is curve and was best",
        "figures: writers.rows_each_s is new",
        "figures: writers.rows_per_s is gone",
        f"rows: port_data_counters is 0 and was {golden['rows']['port_data_counters']}",
    ]
    both = settled([golden, found])
    assert both["rows"]["port_data_counters"] == both["figures"]["writers.rows_per_s"] == VARIES
    assert list(differences(both, golden)) == list(differences(both, found)) == []
