"""`inrush predict CURVE.csv`: files as people have them, and what is told of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from inrush.errors import UsageError
from inrush.predict.curve_file import read_curve


def written(folder: Path, text: str) -> Path:
    path = folder / "curve.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "n,rate\n1,10\n2,19\n",
        "1;10\n2;19",
        "# mine\nn\trate\n1\t10\n\n2\t19  # best\n",
        "1 10\n2 19\n",
        "\ufeffn,rate\n2,19\n1,10",
    ],
)
def test_a_curve_is_read_however_its_columns_are_parted(tmp_path: Path, text: str) -> None:
    found = read_curve(written(tmp_path, text)).curve
    assert found.x.tolist() == [1, 2] and found.y.tolist() == pytest.approx([10, 19])


@pytest.mark.parametrize(
    ("name", "is_time"),
    [("seconds", True), ("makespan_s", True), ("time (h)", True), ("p99_ms", True), ("rows_per_s", False), ("rows/s", False),
     ("MB/s", False), ("reads_m_per_s", False), ("ops", False)],
)  # fmt: skip
def test_a_columns_name_says_whether_it_holds_times(tmp_path: Path, name: str, is_time: bool) -> None:
    assert read_curve(written(tmp_path, f"n,{name}\n1,10\n2,19\n")).is_time is is_time


def test_every_bad_line_is_told_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read_curve(written(tmp_path, "n,rate\n1,ten\n2,19\n3\n"))
    assert ":2:" in str(refused.value) and ":4:" in str(refused.value)
    with pytest.raises(UsageError, match="no lines"):
        read_curve(written(tmp_path, "# nothing\n"))
    with pytest.raises(UsageError, match="two numbers"):
        read_curve(written(tmp_path, "a,b,c\n1,2,3\n"))
    with pytest.raises(UsageError, match="name a file"):
        read_curve(tmp_path / "none.csv")


def test_the_command_answers_in_json_with_what_a_program_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from inrush.commands.predict import predict_curve

    path = written(tmp_path, "data_nodes,reads_m_per_s\n2,13.94\n4,28.53\n8,55.30\n")
    predict_curve(path, [32.0], None, 0.9, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["lo"] < found["median"] < found["hi"]
    assert found["model"] == "contention" and found["calibrated"] is False
    assert found["median"] == pytest.approx(205.6, rel=0.05)
    predict_curve(path, [16.0, 32.0], "rate", 0.9, as_json=False)
    detail = capsys.readouterr().out
    assert "unknowable from throughput alone" in detail and "contention" in detail


def test_the_highest_rate_within_a_latency_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from inrush.commands.predict import PredictCall, predict

    path = written(tmp_path, "calls_per_s,p99_s\n100,0.00556\n300,0.00714\n500,0.01\n")
    predict(PredictCall(str(path), ()), [0.0125], as_json=True)
    assert json.loads(capsys.readouterr().out)["median"] == pytest.approx(600, rel=0.01)
    with pytest.raises(UsageError, match="two columns"):
        predict(PredictCall(None, ()), [0.1], as_json=True)


def test_a_lower_bound_of_the_rate_is_told_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It printed `400 [395, 405]`, whose own file had measured 0.1 s at 450."""
    from inrush.commands.predict import PredictCall, predict

    path = written(tmp_path, "rate,latency_s\n100,0.0125\n200,0.0166667\n300,0.025\n400,0.05\n450,0.1\n")
    predict(PredictCall(str(path), ()), [0.1, 0.02], as_json=False)
    first, second = capsys.readouterr().out.splitlines()[1:3]
    assert re.search(r"0\.1 +at least 450  \[4\d\d, ∞\]", first) and re.search(r"0\.02 +250  \[", second)
    predict(PredictCall(str(path), ()), [0.1, 0.02], as_json=True)
    bound, value = json.loads(capsys.readouterr().out)["points"]
    assert (bound["is_lower_bound"], bound["median"], bound["hi"]) == (True, 450, None)
    assert value["is_lower_bound"] is False and value["hi"] > value["median"]


def test_three_digits_of_a_latency_are_shown_and_its_level_is_not_rounded_to_certainty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It printed `0.03 [0.03, 0.04]` under "100 % interval"."""
    from inrush.commands.predict import PredictCall, predict

    path = written(tmp_path, "rate,latency_s\n100,0.0125\n200,0.0166667\n300,0.025\n400,0.05\n")
    predict(PredictCall(str(path), (350.0,), "latency", level=0.999), [], as_json=False)
    header, row, *_ = capsys.readouterr().out.splitlines()
    assert "99.9 % interval" in header and re.search(r"350 +0\.0333  \[0\.0\d{3}, 0\.0\d{3}\]", row)
    for level in (0.4, 0.9999999999999999, 1.0, float("nan")):
        with pytest.raises(UsageError, match="write a share from"):
            predict(PredictCall(str(path), (350.0,), "latency", level=level), [], as_json=False)
