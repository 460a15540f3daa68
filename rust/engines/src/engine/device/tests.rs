use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use super::place::Place;
use super::*;
use inrush_rows::clock::Clock;
use inrush_rows::plan::{Directives, IoOrder, OpKind, OpPlan, RunPlan, Target, IO_BLOCK};

const FILE: u64 = 256 * IO_BLOCK;

fn io(does: IoKind, order: IoOrder, blocks: u64) -> IoPlan {
    IoPlan { does, order, record_bytes: blocks * IO_BLOCK, file_bytes: FILE }
}

fn device(path: &Path, direct: &str, calls: &[IoPlan]) -> Device {
    let options = [("direct".to_owned(), direct.to_owned())].into();
    let url = format!("device://{}", path.display());
    let target = Target { engine: "device".into(), url, options, faults: Vec::new(), shards: None };
    let mut plan = RunPlan::of_target(target, Vec::new());
    plan.seed = 7;
    plan.operations = calls.iter().enumerate().map(|(k, io)| operation(k, *io)).collect();
    let stop = Arc::new(AtomicBool::new(false));
    Device::new(&Context { plan: Arc::new(plan), clock: Clock::start(), stop }).unwrap()
}

fn operation(k: usize, io: IoPlan) -> OpPlan {
    OpPlan {
        name: format!("record/{k}"),
        kind: OpKind::Execute,
        table: None,
        does: None,
        text: String::new(),
        directives: Some(Directives { io: Some(Box::new(io)), ..Directives::default() }),
        method: String::new(),
        params: Vec::new(),
        range: None,
        dump: None,
        keys: Vec::new(),
        members: Vec::new(),
        holds: Vec::new(),
        deadline_ns: 0,
    }
}

fn asked(device: &Device, action: FileAction) -> Result<Answer, Error> {
    let directives = Some(Directives { file: Some(action), ..Directives::default() });
    device.ask(&Statement { directives, ..Statement::default() }, 0)
}

fn laid_out(device: &Device) -> Result<Answer, Error> {
    asked(device, FileAction::LayOut { bytes: FILE })
}

fn called(session: &mut dyn Session, ticket: Ticket) -> (Done, Option<String>) {
    let mut done = Vec::new();
    assert!(matches!(session.submit(ticket, 0, Work::Params(&[])), Submit::Queued));
    session.poll(0, &mut done);
    assert_eq!((done.len(), done[0].ticket), (1, ticket));
    (done[0], session.failure(ticket))
}

/// Blocks of the file by their places.
fn blocks_of(path: &Path) -> Vec<Vec<u8>> {
    let all = std::fs::read(path).unwrap();
    all.chunks(IO_BLOCK as usize).map(<[u8]>::to_vec).collect()
}

#[test]
fn every_block_of_a_laid_out_file_names_its_own_place_and_is_no_hole() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    laid_out(&device(&path, "false", &[])).unwrap();
    let blocks = blocks_of(&path);
    assert_eq!(blocks.len() as u64 * IO_BLOCK, FILE);
    for (k, block) in blocks.iter().enumerate() {
        assert_eq!(block[..8], (k as u64 * IO_BLOCK).to_le_bytes());
        assert!(block[16..].chunks(8).filter(|word| *word != [0; 8]).count() > 500, "block {k} is empty");
    }
    let different: BTreeSet<_> = blocks.iter().collect();
    assert_eq!(different.len(), blocks.len());
    let found = std::fs::metadata(&path).unwrap();
    assert!(found.blocks() * 512 >= FILE, "{} of {FILE} bytes are on the disk", found.blocks() * 512);
}

#[test]
fn a_write_lands_at_its_place_and_nowhere_else_and_a_read_finds_it() {
    for order in [IoOrder::Sequential, IoOrder::Random] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let write = io(IoKind::Write, order, 4);
        let device = device(&path, "false", &[write]);
        laid_out(&device).unwrap();
        let before = blocks_of(&path);
        let mut session = device.open(&[0]).unwrap();
        let place = Place::new(&write, 7, "record/0").unwrap();
        // The first records hold what they held: the file was laid out in pieces of the same bytes.
        let tickets = 10..20;
        for ticket in tickets.clone() {
            let (done, why) = called(&mut *session, ticket);
            let ended = (done.outcome, done.rows, done.bytes, why);
            assert_eq!(ended, (Outcome::Ok, 1, 4 * IO_BLOCK, None));
        }
        let after = blocks_of(&path);
        let changed: BTreeSet<u64> =
            (0..after.len()).filter(|&k| before[k] != after[k]).map(|k| k as u64).collect();
        let expected: BTreeSet<u64> = tickets
            .flat_map(|ticket| (0..4).map(move |k| (ticket, k)))
            .map(|(ticket, k)| place.offset(ticket) / IO_BLOCK + k)
            .filter(|&block| block >= 4)
            .collect();
        assert_eq!(changed, expected, "{order:?}");
        for &block in &changed {
            assert_eq!(after[block as usize][..8], (block * IO_BLOCK).to_le_bytes());
            assert_eq!(after[block as usize][16..], before[(block % 4) as usize][16..]);
        }
    }
}

#[test]
fn direct_calls_write_and_read_or_the_filesystem_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let calls = [IoKind::Write, IoKind::Read].map(|does| io(does, IoOrder::Random, 1));
    let device = device(&path, "true", &calls[..]);
    match laid_out(&device) {
        Ok(_) => {
            let mut session = device.open(&[0, 1]).unwrap();
            for ticket in 0..100 {
                assert_eq!(called(&mut *session, ticket).0.outcome, Outcome::Ok);
            }
        }
        Err(refusal) => {
            assert!(refusal.to_string().contains("no direct I/O"), "{refusal}");
            assert!(refusal.to_string().contains(&*path.to_string_lossy()));
        }
    }
}

#[test]
fn random_places_are_spread_over_the_whole_file_and_the_same_for_the_same_seed() {
    let plan = IoPlan { file_bytes: 1000 * IO_BLOCK + 77, ..io(IoKind::Read, IoOrder::Random, 1) };
    let place = |seed, name| Place::new(&plan, seed, name).unwrap();
    let mut counts = [0u32; 1000];
    for call in 0..100_000 {
        let offset = place(7, "a").offset(call);
        assert_eq!(offset % IO_BLOCK, 0);
        counts[(offset / IO_BLOCK) as usize] += 1;
    }
    // Chi-square of 999 degrees of freedom: 999 ± 6 standard deviations of 44.7.
    let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0).sum();
    assert!((730.0..1270.0).contains(&chi), "{chi}");
    let offsets = |seed, name| (0..1000).map(|k| place(seed, name).offset(k)).collect::<Vec<_>>();
    assert_eq!(offsets(7, "a"), offsets(7, "a"));
    assert_ne!(offsets(7, "a"), offsets(8, "a"));
    assert_ne!(offsets(7, "a"), offsets(7, "b"));
}

#[test]
fn sequential_calls_follow_one_another_and_begin_again_at_the_last_whole_record() {
    let plan = IoPlan { file_bytes: 10 * IO_BLOCK, ..io(IoKind::Read, IoOrder::Sequential, 3) };
    let place = Place::new(&plan, 7, "a").unwrap();
    let found: Vec<u64> = (0..5).map(|call| place.offset(call) / IO_BLOCK).collect();
    assert_eq!(found, [0, 3, 6, 0, 3]);
}

#[test]
fn a_record_that_comes_short_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let device = device(&path, "false", &[io(IoKind::Read, IoOrder::Sequential, 4)]);
    laid_out(&device).unwrap();
    let mut session = device.open(&[0]).unwrap();
    assert_eq!(called(&mut *session, 1).0.outcome, Outcome::Ok);
    File::options().write(true).open(&path).unwrap().set_len(6 * IO_BLOCK).unwrap();
    for (ticket, bytes) in [(1, 2 * IO_BLOCK), (2, 0)] {
        let (done, why) = called(&mut *session, ticket);
        assert_eq!((done.outcome, done.rows, done.bytes), (Outcome::Wrong, 0, 0));
        let why = why.unwrap();
        assert!(why.contains(&format!("{bytes} bytes came")), "{why}");
        assert!(why.contains(&*path.to_string_lossy()), "{why}");
    }
}

#[test]
fn a_block_that_was_not_written_there_is_wrong() {
    for strange in [0, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let device = device(&path, "false", &[io(IoKind::Read, IoOrder::Sequential, 4)]);
        laid_out(&device).unwrap();
        let mut session = device.open(&[0]).unwrap();
        let at = (4 + strange) * IO_BLOCK;
        File::options().write(true).open(&path).unwrap().write_all_at(&[1], at + 8).unwrap();
        assert_eq!(called(&mut *session, 0).0.outcome, Outcome::Ok);
        let (done, why) = called(&mut *session, 1);
        assert_eq!(done.outcome, Outcome::Wrong);
        assert!(why.unwrap().contains(&format!("the block at {at}")));
    }
}

#[test]
fn a_file_of_another_run_is_not_taken_for_this_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0; FILE as usize]).unwrap();
    let device = device(&path, "false", &[io(IoKind::Read, IoOrder::Sequential, 1)]);
    assert_eq!(called(&mut *device.open(&[0]).unwrap(), 0).0.outcome, Outcome::Wrong);
    std::fs::write(&path, vec![0; FILE as usize - 1]).unwrap();
    let refusal = device.open(&[0]).err().expect("it is too short").to_string();
    assert!(refusal.contains("was not laid out"), "{refusal}");
}

#[test]
fn a_file_that_is_removed_meanwhile_is_an_error_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let device = device(&path, "false", &[io(IoKind::Read, IoOrder::Random, 1)]);
    laid_out(&device).unwrap();
    let mut session = device.open(&[0]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let ended: Vec<_> = (0..LOOKED_AFTER).map(|ticket| called(&mut *session, ticket)).collect();
    let failed: Vec<_> = ended.iter().filter(|(done, _)| done.outcome != Outcome::Ok).collect();
    assert_eq!((failed.len(), failed[0].0.outcome), (1, Outcome::Other));
    let path = path.to_string_lossy();
    let why = failed[0].1.clone().unwrap();
    assert!(why.contains(&*path) && why.contains("removed"), "{why}");
    for error in [asked(&device, FileAction::Size {}).err(), device.open(&[0]).err()] {
        assert!(error.expect("there is no file").to_string().contains(&*path));
    }
}

#[test]
fn a_full_disk_is_an_error_with_the_path_and_nothing_of_the_file_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    // A link, so that what is removed is the link.
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let error = laid_out(&device(&path, "false", &[])).expect_err("the disk is full").to_string();
    assert!(error.contains("No space left") && error.contains(&*path.to_string_lossy()), "{error}");
    assert!(std::fs::symlink_metadata(&path).is_err());
    assert!(Path::new("/dev/full").exists());
}

#[test]
fn laying_out_ends_at_its_limit_and_when_the_run_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let device = device(&path, "false", &[]);
    let directives =
        Some(Directives { file: Some(FileAction::LayOut { bytes: FILE }), ..Directives::default() });
    let statement = Statement { directives, ..Statement::default() };
    let late = device.ask(&statement, 1).expect_err("a nanosecond is not enough");
    assert!(matches!(late, Error::Deadline { .. }), "{late}");
    assert!(!path.exists());
    device.ctx.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(laid_out(&device), Err(Error::Interrupted)));
}

#[test]
fn what_makes_no_sense_is_refused_before_a_file_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for (record, of_file, why) in
        [(4095, FILE, "multiples of 4096"), (0, FILE, "multiples"), (FILE * 2, FILE, "less than")]
    {
        let plan =
            IoPlan { record_bytes: record, file_bytes: of_file, ..io(IoKind::Read, IoOrder::Random, 1) };
        let refusal = device(&path, "false", &[plan]).open(&[0]).err().expect("it is refused").to_string();
        assert!(refusal.contains(why), "{refusal}");
    }
    let mut plan = (*device(&path, "true", &[]).ctx.plan).clone();
    let refusal = |plan: &RunPlan| {
        let stop = Arc::new(AtomicBool::new(false));
        let ctx = Context { plan: Arc::new(plan.clone()), clock: Clock::start(), stop };
        Device::new(&ctx).err().expect("it is refused").to_string()
    };
    plan.target.options.insert("direct".into(), "perhaps".into());
    assert!(refusal(&plan).contains("true or false"));
    plan.target.url = "device://file".into();
    assert!(refusal(&plan).contains("whole path"));
    assert!(!path.exists());
}
