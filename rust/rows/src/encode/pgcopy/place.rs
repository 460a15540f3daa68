//! Where the cells of a block of rows go, and the writing of bytes there.

/// Where the cells of a block go.
pub trait Place {
    /// The next `width` bytes of row `row` of the block.
    unsafe fn take(&mut self, row: usize, width: usize) -> *mut u8;
    /// All rows have taken `width` bytes (called for fixed widths only).
    unsafe fn column_done(&mut self, width: usize);
    /// The next cell of the block's first row, and the distance to the next row's, if all have one distance.
    fn strided(&self) -> Option<(*mut u8, usize)>;
}

/// Every row has the same layout.
pub struct Places {
    pub base: *mut u8,
    pub stride: usize,
}

impl Place for Places {
    #[inline(always)]
    unsafe fn take(&mut self, row: usize, _width: usize) -> *mut u8 {
        self.base.add(row * self.stride)
    }

    unsafe fn column_done(&mut self, width: usize) {
        self.base = self.base.add(width);
    }

    fn strided(&self) -> Option<(*mut u8, usize)> {
        Some((self.base, self.stride))
    }
}

/// Rows differ in length.
pub struct Cursors<'a> {
    pub next: &'a mut [*mut u8],
}

impl Place for Cursors<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, row: usize, width: usize) -> *mut u8 {
        let at = *self.next.get_unchecked(row);
        *self.next.get_unchecked_mut(row) = at.add(width);
        at
    }

    unsafe fn column_done(&mut self, _width: usize) {}

    fn strided(&self) -> Option<(*mut u8, usize)> {
        None
    }
}

#[inline(always)]
pub unsafe fn put<const N: usize>(at: *mut u8, bytes: [u8; N]) {
    at.cast::<[u8; N]>().write_unaligned(bytes);
}

#[inline(always)]
pub unsafe fn put_null(place: &mut impl Place, row: usize) {
    put(place.take(row, 4), (-1i32).to_be_bytes());
}
