//! Blocks of addresses such as `10.0.0.0/8`, and what can be counted out of them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The addresses that share the first `length` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    family: Family,
    /// Right-aligned; the bits after `length` are zero.
    address: u128,
    length: u32,
}

/// The two kinds of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    /// How many bits an address has.
    pub(super) fn width(self) -> u32 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    fn print(self, address: u128) -> String {
        match self {
            Family::V4 => Ipv4Addr::from_bits(address as u32).to_string(),
            Family::V6 => Ipv6Addr::from_bits(address).to_string(),
        }
    }
}

impl Block {
    /// Reads `address/length`. Numbers may have leading zeros and are decimal all the same; bits of the address beyond
    /// the length are dropped.
    pub(super) fn parse(text: &str) -> Option<Block> {
        let (address, length) = text.split_once('/')?;
        let (family, address) = if address.contains(':') {
            (Family::V6, parse_v6(address)?)
        } else {
            (Family::V4, parse_v4(address)?.into())
        };
        let length = parse_decimal(length, family.width())?;
        let block = Block { family, address, length };
        Some(Block { address: address & !block.host_mask(), ..block })
    }

    pub(super) fn family(self) -> Family {
        self.family
    }

    pub(super) fn length(self) -> u32 {
        self.length
    }

    /// One bit for every bit of the address that differs within the block.
    fn host_mask(self) -> u128 {
        ones(self.family.width() - self.length)
    }

    /// The mask of the block as an address.
    pub(super) fn mask(self) -> String {
        self.family.print(ones(self.family.width()) & !self.host_mask())
    }

    /// The last number that [`Block::host`] takes.
    pub(super) fn last_host(self) -> u128 {
        self.host_mask()
    }

    /// An address of the block by number.
    pub(super) fn host(self, number: u128) -> Option<String> {
        (number <= self.host_mask()).then(|| self.family.print(self.address | number))
    }

    /// The block with `bits` more bits of length and `number` in these.
    pub(super) fn subnet(self, bits: u32, number: u128) -> Option<Block> {
        let length = self.length.checked_add(bits).filter(|length| *length <= self.family.width())?;
        let shift = self.family.width() - length;
        (number <= ones(bits)).then(|| Block {
            address: self.address | number.checked_shl(shift).unwrap_or(0),
            length,
            ..self
        })
    }

    /// The first block of `length` bits that starts after `previous`, or at the start of this one; `None` if this one
    /// ends before.
    pub(super) fn next(self, previous: Option<Block>, length: u32) -> Option<Block> {
        let end = self.address | self.host_mask();
        let Some(previous) = previous else { return Some(Block { length, ..self }) };
        let after = (previous.address | previous.host_mask()).checked_add(1)?;
        let next = Block { length, ..self };
        let address = after.checked_add(next.host_mask())? & !next.host_mask();
        (address <= end).then_some(Block { address, ..next })
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.family.print(self.address), self.length)
    }
}

/// A number of that many one bits.
fn ones(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

fn parse_v4(text: &str) -> Option<u32> {
    let parts: Vec<u32> = text.split('.').map(|part| parse_decimal(part, 255)).collect::<Option<_>>()?;
    let [a, b, c, d] = parts[..] else { return None };
    Some(a << 24 | b << 16 | c << 8 | d)
}

/// Rust refuses the leading zeros that we allow, so they are taken off first.
fn parse_v6(text: &str) -> Option<u128> {
    let plain = |group: &str| match group {
        "" => Some(String::new()),
        v4 if v4.contains('.') => parse_v4(v4).map(|v4| Ipv4Addr::from_bits(v4).to_string()),
        group => Some(group.trim_start_matches('0').to_owned())
            .map(|g| if g.is_empty() { "0".to_owned() } else { g }),
    };
    let groups: Vec<String> = text.split(':').map(plain).collect::<Option<_>>()?;
    groups.join(":").parse::<Ipv6Addr>().ok().map(Ipv6Addr::to_bits)
}

/// Digits alone, of a number that is not above the limit.
fn parse_decimal(text: &str, limit: u32) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|number| *number <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read() {
        for (text, expected) in [
            ("10.0.0.7/24", "10.0.0.0/24"),
            ("010.0.0.07/08", "10.0.0.0/8"),
            ("00000010.0.0.0/8", "10.0.0.0/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("1.2.3.4/32", "1.2.3.4/32"),
            ("FE80::00000001/064", "fe80::/64"),
            ("1:2:3:4:5:6:7::/112", "1:2:3:4:5:6:7:0/112"),
            ("::2:3:4:5:6:7:8/128", "0:2:3:4:5:6:7:8/128"),
            ("::1.2.3.04/128", "::102:304/128"),
            ("1:0:0:2:0:0:0:3/128", "1:0:0:2::3/128"),
            ("0:0:2:3:4:5:0:0/128", "::2:3:4:5:0:0/128"),
            ("1:0:2:3:4:5:6:7/128", "1:0:2:3:4:5:6:7/128"),
            ("ffff::/0", "::/0"),
        ] {
            assert_eq!(Block::parse(text).map(|b| b.to_string()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_blocks() {
        for text in [
            "",
            "/",
            "/8",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0/8",
            "256.0.0.0/8",
            "10.0.0.0/ 8",
            " 10.0.0.0/8",
            "10.0.0.0/+8",
            "10.0.0.0/-8",
            "10.0.0.0/8/8",
            "0x0a.0.0.0/8",
            "1::2::3/64",
            "fe80::1%eth0/64",
            "::/129",
            "10.0.0.0/99999999999",
            "1.2.3.4.5/8",
            "g::/8",
            ":1/8",
            "1:2:3:4::5:6:7:8/8",
            "12345::/8",
            "é/8",
        ] {
            assert_eq!(Block::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_block_ends() {
        let block = Block::parse("255.255.255.254/31").unwrap();
        let first = block.next(None, 32).unwrap();
        let second = block.next(Some(first), 32).unwrap();
        assert_eq!(
            (first.to_string(), second.to_string()),
            ("255.255.255.254/32".into(), "255.255.255.255/32".into())
        );
        assert_eq!(block.next(Some(second), 32), None);
        let all = Block::parse("::/0").unwrap();
        let halves = [all.next(None, 1).unwrap(), all.next(all.next(None, 1), 1).unwrap()];
        assert_eq!(halves.map(|h| h.to_string()), ["::/1", "8000::/1"]);
        assert_eq!(all.next(Some(halves[1]), 1), None);
    }
}
