//! Numbers and texts of MySQL's protocol, off the front of a packet.

/// Reads little-endian numbers off the front; `None` past the end.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// A number of the protocol's own width.
    #[inline]
    pub fn length(&mut self) -> Option<u64> {
        let wide = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &byte| n << 8 | byte as u64);
        match self.u8()? {
            n @ 0..=0xfa => Some(n as u64),
            0xfc => self.take(2).map(wide),
            0xfd => self.take(3).map(wide),
            0xfe => self.take(8).map(wide),
            _ => None,
        }
    }

    /// Bytes behind their length.
    #[inline]
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).ok()?)
    }

    #[inline]
    pub fn until_nul(&mut self) -> Option<String> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Some(text)
    }
}
