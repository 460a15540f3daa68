use std::collections::HashSet;

use super::*;
use proptest::prelude::*;

fn plan(files: u64, profile: ChunkProfile, run_rows: u64) -> ChunksPlan {
    ChunksPlan { files, profile, run_rows }
}

fn files(of: u64, rows: u64, profile: ChunkProfile, run_rows: u64) -> ChunkFiles {
    ChunkFiles::new(11, rows, &plan(of, profile, run_rows)).unwrap_or_else(|e| panic!("{e}"))
}

/// Each row has another key, which leads back to it, and is what `fill` says in any pieces.
fn check(files: &ChunkFiles) -> Result<(), TestCaseError> {
    let rows: Vec<u64> = (0..files.rows()).collect();
    let mut packed = vec![0; rows.len()];
    for (rows, out) in rows.chunks(700).zip(packed.chunks_mut(700)) {
        files.fill(ChunkPart::Key, rows, out);
    }
    let (low, high) = files.bounds(ChunkPart::Key);
    for (&row, &packed) in rows.iter().zip(&packed) {
        let key = files.key_of(row);
        prop_assert_eq!((key.packed() as i64, Key::of_packed(packed as u64)), (packed, key));
        prop_assert_eq!(files.row_of(key), Some(row), "{:?}", key);
        prop_assert!((low..=high).contains(&packed));
        // The other source of the pair is of another run, or of no row.
        let other = Key { source: ((key.source - 1) ^ 1) + 1, ..key };
        prop_assert!(files.row_of(other).is_none_or(|found| files.run(found) != files.run(row)));
    }
    let different: HashSet<i64> = packed.iter().copied().collect();
    prop_assert_eq!(different.len(), rows.len());
    Ok(())
}

proptest! {
    #[test]
    fn rows_and_keys_lead_to_one_another(
        of in prop_oneof![Just(1u64), Just(7), Just(100), Just(1_000), 1u64..300],
        rows in 0u64..6_000, run_rows in prop_oneof![Just(1u64), 1u64..20, 1u64..2_000, Just(u64::MAX)],
        survey: bool, key: u64,
    ) {
        let profile = if survey { ChunkProfile::Survey } else { ChunkProfile::Equal };
        check(&ChunkFiles::new(key, rows, &plan(of, profile, run_rows)).unwrap())?;
    }

    #[test]
    fn rows_in_any_sequence_are_what_they_are_alone(picked in prop::collection::vec(0u64..5_000, 0..99)) {
        let files = files(40, 5_000, ChunkProfile::Survey, 9);
        use ChunkPart::*;
        for part in [Scan, Letter, Frame, Source, File, ChunkId, Key] {
            let mut out = vec![0; picked.len()];
            files.fill(part, &picked, &mut out);
            for (&row, &value) in picked.iter().zip(&out) {
                let (key, run) = (files.key_of(row), files.run(row));
                let expected = match part {
                    Scan => key.scan,
                    Letter => key.letter,
                    Frame => key.frame,
                    Source => key.source,
                    File => run.file as u64,
                    ChunkId => files.chunk[run.file] as u64,
                    Key => key.packed(),
                };
                prop_assert_eq!(value as u64, expected, "{:?} of row {}", part, row);
                let (low, high) = files.bounds(part);
                prop_assert!((low..=high).contains(&value));
            }
        }
    }
}

/// The load of 2017, whole.
fn whole() -> ChunkFiles {
    files(106_892, 7_337_642_955, ChunkProfile::Survey, 3_700)
}

#[test]
fn the_whole_survey_leads_back_from_any_key() {
    let files = whole();
    assert_eq!((files.rows(), files.first_rows().len()), (7_337_642_955, 106_893));
    assert!(files.bounds(ChunkPart::Source).1 < 16_000, "{:?}", files.bounds(ChunkPart::Source));
    for at in 0..20_000u64 {
        let row = hash(5, at) % files.rows();
        assert_eq!(files.row_of(files.key_of(row)), Some(row));
    }
}

/// Of all runs of a file in their order.
fn scans(files: &ChunkFiles, file: usize) -> Vec<u64> {
    let (mut row, end) = (files.first_row[file], files.first_row[file + 1]);
    let mut scans = Vec::new();
    while row < end {
        let run = files.run(row);
        assert_eq!(run.file, file);
        scans.push(run.name.scan);
        row = run.rows.end;
    }
    scans
}

#[test]
fn quiet_files_have_few_neighbouring_scans_and_files_of_the_poles_many_from_all_over() {
    // A tenth of the way, and in the half hour of the largest files.
    let small = files(1_000, 10_000_000, ChunkProfile::Survey, 550);
    for (files, quiet, pole, runs) in [(whole(), 10_689, 69_000, 95..115), (small, 100, 645, 75..110)] {
        let sorted = |file| {
            let mut scans = scans(&files, file);
            scans.sort_unstable();
            scans
        };
        let of_quiet = sorted(quiet);
        assert!((11..=14).contains(&of_quiet.len()), "{}", of_quiet.len());
        assert!(of_quiet[of_quiet.len() - 1] - of_quiet[0] < 40, "{of_quiet:?}");
        let of_pole = sorted(pole);
        assert!(runs.contains(&of_pole.len()), "{}", of_pole.len());
        let widest = of_pole.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(of_pole[of_pole.len() - 1] - of_pole[0] > 3_400 && widest < 250, "{of_pole:?}");
    }
}

#[test]
fn runs_of_a_file_stand_in_a_random_order() {
    let files = whole();
    for file in 10_000..10_020 {
        let scans = scans(&files, file);
        // Runs take the two slots in turn, and the exposures of each slot in ascending order.
        let in_turn = (0..2).all(|slot| scans.iter().skip(slot).step_by(2).is_sorted());
        assert!(!in_turn, "file {file}: {scans:?}");
    }
}

#[test]
fn keys_of_neighbouring_files_interleave() {
    let files = whole();
    let keys = |file: usize| {
        (files.first_row[file]..files.first_row[file + 1]).step_by(37).map(|row| files.key_of(row))
    };
    let mut interleaved = 0;
    for file in 1_000..1_100 {
        let span = |file: usize| (keys(file).min().unwrap(), keys(file).max().unwrap());
        let ((low, high), (next_low, next_high)) = (span(file), span(file + 1));
        interleaved += u32::from(low < next_high && next_low < high);
        let exposures =
            |file: usize| -> HashSet<_> { keys(file).map(|k| (k.scan, k.letter, k.frame)).collect() };
        let shared = exposures(file).intersection(&exposures(file + 1)).count();
        assert!((3..=9).contains(&shared), "file {file} shares {shared} exposures with the next");
    }
    assert!(interleaved >= 98, "{interleaved} of 100");
}

#[test]
fn sources_of_a_run_ascend_with_gaps() {
    let files = whole();
    let run = files.run(123_456_789);
    let sources: Vec<u64> = run.rows.clone().map(|row| files.key_of(row).source).collect();
    let gaps: HashSet<u64> = sources.windows(2).map(|pair| pair[1].checked_sub(pair[0]).unwrap()).collect();
    assert_eq!(gaps, HashSet::from([1, 2, 3]));
}

#[test]
fn what_is_no_survey_is_refused() {
    let why = |files, rows, run_rows| {
        ChunkFiles::new(1, rows, &plan(files, ChunkProfile::Equal, run_rows)).expect_err("refused")
    };
    assert!(why(0, 1, 1).contains("files is 0"));
    assert!(why(146_333, 1, 1).contains("1 to 146332"));
    assert!(why(1, MOST_ROWS + 1, 1).contains("2^40"));
    assert!(why(1, 1, 0).contains("run_rows is 0"));
    assert!(why(1, 500_000, u64::MAX).contains("give a smaller run_rows"));
    assert!(why(1, 1 << 30, 1).contains("give a greater run_rows"));
    assert!(ChunkFiles::new(1, 499_999, &plan(1, ChunkProfile::Equal, u64::MAX)).is_ok());
}
