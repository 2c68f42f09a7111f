//! Networks: an address with the number of its bits that count.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A network, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Net {
    address: IpAddr,
    bits: u8,
}

impl Net {
    /// Whether an address lies in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        Net::new(address, self.bits.min(most(address))) == Some(*self)
    }

    /// Whether it is one of IPv4.
    pub(super) fn is_v4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// How many bits count: the more, the nearer.
    pub(in crate::mac) fn bits(&self) -> u8 {
        self.bits
    }

    /// Bits that do not count are zero. None if it has fewer bits than are said to count.
    fn new(address: IpAddr, bits: u8) -> Option<Net> {
        let shift = u32::from(most(address).checked_sub(bits)?);
        let address = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(shift).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(shift).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Some(Net { address, bits })
    }
}

fn most(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl FromStr for Net {
    type Err = ();

    fn from_str(text: &str) -> Result<Net, ()> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let bits = bits.map_or(Ok(most(address)), str::parse).map_err(|_| ())?;
        Net::new(address, bits).ok_or(())
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bits == most(self.address) {
            write!(f, "{}", self.address)
        } else {
            write!(f, "{}/{}", self.address, self.bits)
        }
    }
}

impl Serialize for Net {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_shown_without_what_does_not_count() {
        for (text, shown) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("1.2.3.4", "1.2.3.4"),
            ("1.2.3.4/32", "1.2.3.4"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("fd00::1/64", "fd00::/64"),
            ("::1", "::1"),
        ] {
            assert_eq!(text.parse::<Net>().unwrap().to_string(), shown);
        }
        for text in ["", "10", "10.0.0.0/33", "10.0.0.0/", "::/129", "x/8"] {
            assert!(text.parse::<Net>().is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_lie_in_networks_of_their_own_kind() {
        let net: Net = "192.168.64.0/22".parse().unwrap();
        let is_in = |address: &str| net.contains(address.parse().unwrap());
        assert!(is_in("192.168.64.5") && is_in("192.168.67.255"));
        assert!(!is_in("192.168.68.0") && !is_in("::1") && !is_in("fd00::192.168.64.5"));
        let all: Net = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("8.8.8.8".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
    }
}
