//! Addresses of hosts and networks as PostgreSQL's `inet` writes them: `10.0.0.1`, `10.0.0.0/8`, `2001:db8::1`.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use super::{Binary, Counted, Forms, Spelled};

pub struct Inet;

impl Spelled for Inet {
    const FORMS: Forms = Forms {
        longest: "1000:1000:1000:1000:1000:1000:1000:1000/100".len(),
        zero: "0.0.0.0",
        push,
        counted: Some(Counted { what: "an address of IPv4, as 10.0.0.1", number, write }),
        postgresql: Binary { name: "inet", oid: 869, width: None, push: push_cell },
    };
    type Cell = Cell;

    fn cell(text: &[u8]) -> Option<Cell> {
        let (address, bits) = address(text)?;
        let mut cell = Cell { bytes: [0; 20], used: 8 };
        match address {
            IpAddr::V4(four) => {
                cell.bytes[..4].copy_from_slice(&[FOUR, bits, 0, 4]);
                cell.bytes[4..8].copy_from_slice(&four.octets());
            }
            IpAddr::V6(six) => {
                cell.bytes[..4].copy_from_slice(&[SIX, bits, 0, 16]);
                cell.bytes[4..].copy_from_slice(&six.octets());
                cell.used = 20;
            }
        }
        Some(cell)
    }

    fn cell_bytes(text: &[u8]) -> usize {
        if text.contains(&b':') {
            20
        } else {
            8
        }
    }
}

/// Family, bits of the network, 0 for an `inet`, bytes of the address; then these.
pub struct Cell {
    bytes: [u8; 20],
    used: usize,
}

impl AsRef<[u8]> for Cell {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

const FOUR: u8 = 2;
const SIX: u8 = 3;

fn push(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (address, bits) = address(text)?;
    push_address(address, bits, out);
    Some(())
}

fn push_cell(cell: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (address, bits) = match cell {
        [FOUR, bits @ ..=32, 0, 4, four @ ..] => (<[u8; 4]>::try_from(four).ok()?.into(), *bits),
        [SIX, bits @ ..=128, 0, 16, six @ ..] => (<[u8; 16]>::try_from(six).ok()?.into(), *bits),
        _ => return None,
    };
    push_address(address, bits, out);
    Some(())
}

/// An address, and the bits that its network has of it: all of them where the text says none.
fn address(text: &[u8]) -> Option<(IpAddr, u8)> {
    let text = std::str::from_utf8(text).ok()?;
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let most = all_bits(address);
    let bits = match bits {
        Some(bits) if bits.bytes().all(|b| b.is_ascii_digit()) => bits.parse().ok()?,
        Some(_) => return None,
        None => most,
    };
    (bits <= most).then_some((address, bits))
}

fn all_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() {
        32
    } else {
        128
    }
}

fn push_address(address: IpAddr, bits: u8, out: &mut Vec<u8>) {
    let written = match address {
        // The last 32 bits behind zeros are written as an address of IPv4.
        IpAddr::V6(six) if matches!(six.segments(), [0, 0, 0, 0, 0, 0, 1..=u16::MAX, _]) => {
            let [.., a, b, c, d] = six.octets();
            write!(out, "::{}", Ipv4Addr::new(a, b, c, d))
        }
        other => write!(out, "{other}"),
    };
    let written =
        written.and_then(|()| if bits < all_bits(address) { write!(out, "/{bits}") } else { Ok(()) });
    written.expect("a buffer in memory takes everything");
}

fn number(text: &[u8]) -> Option<i64> {
    match address(text)? {
        (IpAddr::V4(four), 32) => Some(u32::from(four).into()),
        _ => None,
    }
}

fn write(number: i64, out: &mut Vec<u8>) {
    push_address(IpAddr::V4(Ipv4Addr::from(number as u32)), 32, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv6Addr;

    fn form(text: &str) -> Option<String> {
        let mut out = Vec::new();
        push(text.as_bytes(), &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    /// As PostgreSQL 15 gives each of them back.
    #[test]
    fn an_address_has_the_form_that_postgresql_gives_it() {
        for (text, one) in [
            ("10.1.2.3", "10.1.2.3"),
            ("10.1.2.3/32", "10.1.2.3"),
            ("10.1.2.3/8", "10.1.2.3/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("1:0:0:2:0:0:0:3/64", "1:0:0:2::3/64"),
            ("::1/128", "::1"),
            ("::", "::"),
            ("::2", "::2"),
            ("::1.2.3.4", "::1.2.3.4"),
            ("::1:2", "::0.1.0.2"),
            ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
            ("::ffff:0:0", "::ffff:0.0.0.0"),
        ] {
            assert_eq!(form(text).as_deref(), Some(one), "{text}");
        }
    }

    /// `inet_send` of PostgreSQL: written here once more, as encoder and decoder could be wrong alike.
    #[test]
    fn a_cell_has_the_bytes_of_the_binary_protocol() {
        let cell = |text: &str| Inet::cell(text.as_bytes()).unwrap().as_ref().to_vec();
        assert_eq!(cell("10.0.0.0/8"), [2, 8, 0, 4, 10, 0, 0, 0]);
        assert_eq!(cell("10.1.2.3"), [2, 32, 0, 4, 10, 1, 2, 3]);
        let six = [3, 64, 0, 16, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(cell("2001:db8::1/64"), six);
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            "10",
            "10.1.2",
            "10.1.2.256",
            "10.1.2.3/33",
            "10.1.2.3/",
            "10.1.2.3/+8",
            "::1/129",
            "host",
            "1::2::3",
            "fe80::1%eth0",
        ] {
            assert_eq!(form(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(six: u128, zeros in 0u32..128, four: u32, bits in 0u8..=32) {
            for (address, bits) in [(IpAddr::from(Ipv6Addr::from(six >> zeros)), 4 * bits), (Ipv4Addr::from(four).into(), bits)] {
                let mut text = Vec::new();
                push_address(address, bits, &mut text);
                prop_assert!(text.len() <= Inet::FORMS.longest);
                prop_assert_eq!(super::address(&text), Some((address, bits)));
                prop_assert_eq!(Inet::cell_bytes(&text), Inet::cell(&text).unwrap().as_ref().len());
            }
        }
    }
}
