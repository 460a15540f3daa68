//! The allocator of the unit tests: the system's, which counts what each thread holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends frees what it has behind its counters.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        System.alloc(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        System.alloc_zeroed(layout)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        System.dealloc(at, layout)
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        System.realloc(at, layout, size)
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What `work` gives, and how much more than before this thread held meanwhile, bytes.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let done = work();
    (done, usize::try_from(PEAK.get() - before).expect("the peak begins at what is held"))
}

#[test]
fn the_peak_is_what_was_held_at_once() {
    let (_, bytes) = peak(|| {
        drop(vec![0u8; 1 << 20]);
        let mut grown: Vec<u8> = Vec::with_capacity(1 << 16);
        grown.reserve_exact(1 << 18);
        grown
    });
    assert_eq!(bytes, 1 << 20);
}
