//! While the clock runs, rows are made in the buffers that are there.

mod rows_common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rows_common::{every_kind, made, telemetry};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        System.dealloc(at, layout)
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn filling_allocates_nothing_from_the_first_batch_on() {
    for table in telemetry().iter().chain([&every_kind(1), &every_kind(7)]) {
        let gen = made(table, 1);
        let mut columns = gen.columns(5000);
        let before = ALLOCATIONS.get();
        for (first, rows) in [(0, 5000), (5000, 5000), (10_000, 17), (50_000, 5000)] {
            gen.fill(first, rows, &mut columns);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{}", table.name);
    }
}
