//! Which addresses may be connected to. Names are resolved here, so that the address that was checked is the one that is
//! connected to, whatever a name server says a moment later.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::LazyLock;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;

/// What is not reachable from everywhere: the entries of IANA's registries of special-purpose addresses that are not
/// global, multicast, and the ways to write an IPv4 address in IPv6 that translators are not needed for.
static SPECIAL: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    let blocks = [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
        "::/8",
        "64:ff9b:1::/48",
        "100::/32",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/9",
        "ff00::/8",
    ];
    let parsed = blocks.map(|block| block.parse().expect("a block of addresses"));
    parsed.into()
});

/// Whether an address is public, that is, means the same host to everybody.
pub(super) fn is_public(address: IpAddr) -> bool {
    let address = match address {
        IpAddr::V6(v6) => embedded(v6).unwrap_or(address),
        IpAddr::V4(_) => address,
    };
    !SPECIAL.iter().any(|block| block.contains(&address))
}

/// The IPv4 address that a mapped or translated one (64:ff9b::/96) stands for.
fn embedded(v6: Ipv6Addr) -> Option<IpAddr> {
    let mapped = v6.to_ipv4_mapped();
    let translated = || {
        let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = v6.segments() else {
            return None;
        };
        Some((u32::from(high) << 16 | u32::from(low)).into())
    };
    mapped.or_else(translated).map(IpAddr::V4)
}

/// A name leads to no address that may be connected to.
#[derive(Debug, Error)]
#[error("its address is not public")]
pub(super) struct NotPublic;

/// The system's resolver, whose answers are sieved unless private ones are welcome.
pub(super) struct Resolver {
    pub(super) private_network: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let private_network = self.private_network;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found
                .filter(|address| private_network || is_public(address.ip()))
                .collect();
            if allowed.is_empty() {
                return Err(NotPublic.into());
            }
            let allowed: Addrs = Box::new(allowed.into_iter());
            Ok(allowed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_everybody_reaches_are_public() {
        for (address, expected) in [
            ("8.8.8.8", true),
            ("172.32.0.1", true),
            ("100.128.0.1", true),
            ("2606:4700::1111", true),
            ("64:ff9b::808:808", true),
            ("::ffff:8.8.8.8", true),
            ("127.0.0.1", false),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("172.31.255.255", false),
            ("192.168.0.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("::ffff:127.0.0.1", false),
            ("::7f00:1", false),
            ("64:ff9b::a00:1", false),
            ("64:ff9b:1::1", false),
            ("2002:7f00:1::", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            let parsed = address.parse().expect("an address");
            assert_eq!(is_public(parsed), expected, "{address}");
        }
    }
}
