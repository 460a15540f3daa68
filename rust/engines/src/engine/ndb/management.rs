//! What a management server says of its cluster, in lines of `name: value`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use super::address::Address;
use crate::engine::socket::{dial, Endpoint, CONNECT};
use inrush_rows::error::{Error, TargetFault};

/// More than a cluster of 255 nodes says.
const MOST_BYTES: u64 = 1 << 20;

/// `mysql-9.7.2 ndb-9.7.2`.
pub fn version(address: &Address) -> Result<String, Error> {
    let said = asked(address, "get version")?;
    Ok(value(&said, "string").unwrap_or_default().to_owned())
}

/// Data nodes that are started, and groups of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    pub started: u64,
    pub groups: u64,
}

pub fn nodes(address: &Address) -> Result<Nodes, Error> {
    Ok(counted(&asked(address, "get status")?))
}

/// In one pass: what comes may be long, and a node is one however often it is named.
pub(super) fn counted(said: &str) -> Nodes {
    let mut nodes = BTreeMap::<&str, [Option<&str>; 3]>::new();
    for line in said.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let Some((number, what)) = name.strip_prefix("node.").and_then(|of| of.split_once('.')) else {
            continue;
        };
        if let Some(at) = ["type", "status", "node_group"].iter().position(|known| *known == what) {
            nodes.entry(number).or_default()[at].get_or_insert(value);
        }
    }
    let started =
        || nodes.values().filter(|[of, status, _]| (*of, *status) == (Some("NDB"), Some("STARTED")));
    let groups: BTreeSet<_> = started().filter_map(|[_, _, group]| *group).collect();
    Nodes { started: started().count() as u64, groups: groups.len() as u64 }
}

pub(super) fn value<'s>(said: &'s str, name: &str) -> Option<&'s str> {
    said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// A connection to the first management server that takes one; else why the first of all does not. The client library would
/// try for seconds, and not say it.
pub fn reached(address: &Address) -> Result<TcpStream, Error> {
    let mut why = None;
    for (host, port) in address.servers() {
        match dial(&Endpoint::new(host, port, address.to_string())) {
            Ok((socket, _)) => return Ok(socket),
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.expect("an address names a management server"))
}

fn asked(address: &Address, command: &str) -> Result<String, Error> {
    let lost = |e: std::io::Error| Error::Target {
        target: address.to_string(),
        class: TargetFault::Unreachable,
        message: format!("the management server did not answer `{command}`: {e}"),
    };
    let mut socket = reached(address)?;
    socket.set_read_timeout(Some(CONNECT)).map_err(lost)?;
    socket.write_all(format!("{command}\n\n").as_bytes()).map_err(lost)?;
    answer(&mut socket).map_err(lost)
}

/// All that comes up to the empty line that ends an answer, or to the end of the connection.
pub(super) fn answer(from: &mut impl Read) -> std::io::Result<String> {
    let (mut said, mut part) = (Vec::new(), [0u8; 4096]);
    let until = Instant::now() + CONNECT;
    while !said.ends_with(b"\n\n") && (said.len() as u64) < MOST_BYTES {
        if Instant::now() > until {
            return Err(std::io::Error::new(ErrorKind::TimedOut, "its answer does not end"));
        }
        match from.read(&mut part)? {
            0 => break,
            count => said.extend_from_slice(&part[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_nodes_that_are_started_are_counted_with_their_groups() {
        let node = |number: u32, kind: &str, status: &str, group: u32| {
            format!(
                "node.{number}.type: {kind}\nnode.{number}.status: {status}\nnode.{number}.node_group: {group}\n"
            )
        };
        let said = [
            "node status\nnodes: 6\n".to_owned(),
            node(1, "NDB", "STARTED", 0),
            node(2, "NDB", "STARTED", 0),
            node(3, "NDB", "STARTED", 1),
            node(4, "NDB", "NO_CONTACT", 1),
            node(100, "MGM", "CONNECTED", 0),
            node(111, "API", "NO_CONTACT", 0),
        ];
        assert_eq!(counted(&said.concat()), Nodes { started: 3, groups: 2 });
        assert_eq!(counted(""), Nodes::default());
    }
}
