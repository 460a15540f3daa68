//! Strings of up to 64 bits in the forms that engines give them back in, as the numbers that they are.

/// How many bits, then their bytes from the first bit on.
pub fn bits_of_postgresql(cell: &[u8]) -> Option<u64> {
    let (count, bytes) = cell.split_at_checked(4)?;
    let count = u32::from_be_bytes(count.try_into().ok()?);
    if !(1..=64).contains(&count) || bytes.len() != count.div_ceil(8) as usize {
        return None;
    }
    number(bytes)?.checked_shr(bytes.len() as u32 * 8 - count)
}

/// Bytes, the last bit at the end.
pub fn bits_of_mysql(bytes: &[u8]) -> Option<u64> {
    number(bytes)
}

/// How many bits of the first byte are none of the string, and 1; then the bytes, the last bit at the end.
pub fn bits_of_duckdb(cell: &[u8]) -> Option<u64> {
    let (&none, bytes) = cell.split_first()?;
    let most = u64::MAX.checked_shr(64u32.checked_sub(8 * bytes.len() as u32)?)?;
    let own = most.checked_shr(none.into()).filter(|_| none < 8)?;
    let number = number(bytes)?;
    (number & !own == most & !own).then_some(number & own)
}

fn number(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_postgresql_are_as_many_as_it_says() {
        assert_eq!(bits_of_postgresql(&[0, 0, 0, 12, 0x80, 0x10]), Some(0x801));
        assert_eq!(
            bits_of_postgresql(&[0, 0, 0, 64, 255, 255, 255, 255, 255, 255, 255, 254]),
            Some(u64::MAX - 1)
        );
        for none in [&[0, 0, 0, 12, 0x80][..], &[0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[0, 0, 0, 0], &[1]]
        {
            assert_eq!(bits_of_postgresql(none), None, "{none:?}");
        }
    }

    #[test]
    fn bits_of_mysql_end_with_the_last() {
        assert_eq!(bits_of_mysql(&[0x08, 0x01]), Some(0x801));
        assert_eq!(bits_of_mysql(&[255; 8]), Some(u64::MAX));
        assert_eq!(bits_of_mysql(&[0; 9]), None);
    }

    #[test]
    fn bits_of_duckdb_are_the_number_behind_those_of_no_use() {
        let digits = |text: &str| u64::from_str_radix(text, 2).ok();
        for (cell, text) in
            [(&[2, 0xc5][..], "000101"), (&[7, 0xff], "1"), (&[0, 0x80, 1], "1000000000000001")]
        {
            assert_eq!(bits_of_duckdb(cell), digits(text), "{text}");
        }
        assert_eq!(bits_of_duckdb(&[0, 255, 255, 255, 255, 255, 255, 255, 254]), Some(u64::MAX - 1));
        for none in [&[][..], &[0], &[8, 0xff], &[2, 0x05], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]] {
            assert_eq!(bits_of_duckdb(none), None, "{none:?}");
        }
    }
}
