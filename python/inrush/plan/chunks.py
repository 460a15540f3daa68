"""Where the files of a table with `chunks` begin: twin of `rust/rows/src/rows/chunk_files/profile.rs`. Pure."""

from __future__ import annotations

from inrush.workload import Chunks

#: Files that were loaded in each half hour of a run, and the tenths of MB/s that were read of them.
HALF_HOURS = (
    (3835, 26), (4215, 28), (4267, 28), (4198, 27), (4280, 28), (4045, 27), (4056, 28),
    (3855, 28), (3772, 29), (3596, 28), (3396, 28), (3147, 28), (3079, 28), (2859, 28),
    (2479, 28), (2270, 28), (2117, 27), (1959, 27), (1303, 24), (587, 17), (1041, 22),
    (1899, 27), (1622, 26), (710, 21), (364, 15), (194, 11), (741, 20), (1216, 25),
    (1565, 26), (1614, 25), (1866, 26), (2021, 26), (2342, 26), (2560, 27), (2750, 27),
    (2962, 27), (3040, 27), (3150, 27), (3336, 27), (3409, 27), (3740, 27), (1435, 10),
)  # fmt: skip


def files_between(chunks: Chunks, rows: int, first: int, end: int) -> int:
    """Files that hold the rows from `first` to before `end` of `rows`. A chunk that one of both cuts is a file on each side."""
    if (first, end) == (0, rows):
        return chunks.files
    return 1 + sum(first < row < end for row in first_rows(chunks, rows))


def first_rows(chunks: Chunks, rows: int) -> list[int]:
    """First row of each file, and the end. Integers only, as in the core."""
    files = chunks.files
    if chunks.profile == "equal":
        return [rows * file // files for file in range(files + 1)]
    all_files = sum(n for n, _ in HALF_HOURS)
    all_bytes = sum(rate for _, rate in HALF_HOURS)
    found = []
    at = files_before = bytes_before = 0
    for file in range(files + 1):
        # A place among the published files, in parts of one of ours.
        place = file * all_files
        while at + 1 < len(HALF_HOURS) and place >= (files_before + HALF_HOURS[at][0]) * files:
            files_before += HALF_HOURS[at][0]
            bytes_before += HALF_HOURS[at][1]
            at += 1
        n, rate = HALF_HOURS[at]
        of = bytes_before * n * files + (place - files_before * files) * rate
        found.append(rows * of // (all_bytes * n * files))
    return found
