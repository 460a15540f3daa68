//! The end of a buffer, written without a length check per value.

/// Spare room behind `out`, reserved ahead for a block of rows; `Vec` keeps its length until `finish`.
///
/// A check per value costs as much as the value (a counter of 15 digits is written in about
/// 5 ns), so room is reserved per block from the widths that the columns can have at most.
pub(super) struct Tail<'a> {
    out: &'a mut Vec<u8>,
    at: usize,
}

/// Every put may write this far past its value: stores are of whole words.
pub(super) const SLACK: usize = 16;

impl<'a> Tail<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Tail<'a> {
        let at = out.len();
        Tail { out, at }
    }

    /// From here, `bytes` may be put (slack included by this).
    pub(super) fn room(&mut self, bytes: usize) {
        // SAFETY: everything before `at` was written by a put.
        unsafe { self.out.set_len(self.at) };
        self.out.reserve(bytes + SLACK);
    }

    pub(super) fn finish(self) {
        // SAFETY: everything before `at` was written by a put.
        unsafe { self.out.set_len(self.at) };
    }

    /// Where the next byte goes.
    pub(super) fn len(&self) -> usize {
        self.at
    }

    /// Replaces a byte that was written.
    ///
    /// # Safety
    /// `at` is below [`Tail::len`].
    #[inline(always)]
    pub(super) unsafe fn overwrite(&mut self, at: usize, byte: u8) {
        debug_assert!(at < self.at);
        self.out.as_mut_ptr().add(at).write(byte);
    }

    /// Writes 8 bytes, keeps the first `keep`.
    ///
    /// # Safety
    /// At least `keep` bytes of room are left, and `keep <= 8`.
    #[inline(always)]
    pub(super) unsafe fn word(&mut self, bytes: u64, keep: usize) {
        debug_assert!(keep <= 8 && self.at + 8 <= self.out.capacity());
        self.out.as_mut_ptr().add(self.at).cast::<u64>().write_unaligned(bytes.to_le());
        self.at += keep;
    }

    /// # Safety
    /// One byte of room is left.
    #[inline(always)]
    pub(super) unsafe fn byte(&mut self, byte: u8) {
        debug_assert!(self.at < self.out.capacity());
        self.out.as_mut_ptr().add(self.at).write(byte);
        self.at += 1;
    }

    /// # Safety
    /// `bytes.len()` bytes of room are left.
    #[inline(always)]
    pub(super) unsafe fn bytes(&mut self, bytes: &[u8]) {
        debug_assert!(self.at + bytes.len() <= self.out.capacity());
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.out.as_mut_ptr().add(self.at), bytes.len());
        self.at += bytes.len();
    }
}
