//! The block devices on which files lie.

use std::os::unix::fs::MetadataExt;

use super::Name;

/// The block device below `dir`. Where the file system hides it (overlay, tmpfs, btrfs), the source of
/// its mount; else every disk of the machine, and a note.
pub fn devices_under(dir: &str, notes: &mut Vec<String>) -> Vec<Name> {
    let dev = match std::fs::metadata(dir) {
        Ok(meta) => meta.dev(),
        Err(e) => {
            notes.push(format!("the device of {dir} is not watched: {e}"));
            return Vec::new();
        }
    };
    if let Some(name) = device_named(dev) {
        if let Ok(file) = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")) {
            notes.push(format!("{dir} lies on {name}, a loop over {}: its disk works too", file.trim_end()));
        }
        return vec![name];
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if let Some(name) = mount_source(&mounts, dev).and_then(|s| std::fs::metadata(s).ok()) {
        if let Some(name) = device_named(name.rdev()) {
            return vec![name];
        }
    }
    let disks = disks_of_the_machine();
    notes.push(format!(
        "the file system of {dir} has no block device of its own: all {} disks of the machine are watched",
        disks.len()
    ));
    disks
}

fn device_named(dev: u64) -> Option<Name> {
    let (major, minor) = (libc::major(dev), libc::minor(dev));
    let path = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(path.file_name()?.to_str()?.into())
}

/// The source of the mount with device number `dev`, where it is a path.
fn mount_source(mountinfo: &str, dev: u64) -> Option<String> {
    let wanted = format!("{}:{}", libc::major(dev), libc::minor(dev));
    mountinfo.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let matches = place.split(' ').nth(2) == Some(wanted.as_str());
        let source = kind.split(' ').nth(1)?;
        (matches && source.starts_with('/')).then(|| source.to_string())
    })
}

/// Whole disks that are neither loops nor memory.
fn disks_of_the_machine() -> Vec<Name> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
    let real = names.filter(|n| !["loop", "ram", "zram", "sr", "fd"].iter().any(|p| n.starts_with(p)));
    real.map(Name::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_device_is_found_by_the_source_of_its_mount() {
        let mountinfo =
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n40 27 0:44 / /data rw shared:1 - btrfs /dev/vdb1 rw\n\
                         41 27 0:45 / /tmp rw - tmpfs tmpfs rw\n";
        assert_eq!(mount_source(mountinfo, libc::makedev(0, 44)), Some("/dev/vdb1".into()));
        assert_eq!(mount_source(mountinfo, libc::makedev(0, 45)), None);
    }
}
