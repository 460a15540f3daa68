//! Bytes of a block, read from the front.

/// Reads from the front; every read is `None` where not so much is there.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Bytes that were read.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(bytes)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// LEB128.
    pub fn length(&mut self) -> Option<u64> {
        let mut length = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(length);
            }
        }
        None
    }

    pub fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = usize::try_from(self.length()?).ok()?;
        self.take(bytes)
    }

    pub fn numbers<const N: usize, T>(
        &mut self,
        rows: usize,
        of: impl Fn([u8; N]) -> T + 'a,
    ) -> Option<impl Iterator<Item = T> + 'a> {
        let bytes = self.take(rows.checked_mul(N)?)?;
        Some(bytes.chunks_exact(N).map(move |b| of(b.try_into().expect("chunks of N"))))
    }

    pub fn words(&mut self, rows: usize) -> Option<impl Iterator<Item = u64> + 'a> {
        self.numbers(rows, u64::from_le_bytes)
    }
}
