//! CRC-32 as zlib and the SQL of MySQL and MariaDB compute it (polynomial 0xEDB88320), eight bytes at a time.

const TABLES: [[u32; 256]; 8] = tables();

pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes")) ^ u64::from(crc);
        // The first byte has seven more behind it, so that its table is the last one.
        crc = (0..8).fold(0, |crc, k| crc ^ TABLES[7 - k][(word >> (8 * k)) as u8 as usize]);
    }
    !words.remainder().iter().fold(crc, |crc, byte| TABLES[0][(crc as u8 ^ byte) as usize] ^ crc >> 8)
}

/// Table `k`: what a byte makes of the remainder when `k` bytes of zeros follow it.
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_check_values_of_zlib() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414F_A339);
    }
}
