//! Which hosts are this machine: what goes to them passes no network.

use std::net::IpAddr;

/// Whether a host, by name or by number (with or without brackets), is this machine.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|host: IpAddr| host.is_loopback())
}
