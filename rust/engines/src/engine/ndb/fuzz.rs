//! Mutated answers of a management server.

use super::management::{answer, counted, value, Nodes};
use inrush_fuzz::{self as fuzz, Memory};

const STATUS: &[u8] = b"node status\nnodes: 4\n\
    node.2.type: NDB\nnode.2.status: STARTED\nnode.2.version: 591618\nnode.2.node_group: 0\nnode.2.address: 127.0.0.1\n\
    node.3.type: NDB\nnode.3.status: STARTED\nnode.3.version: 591618\nnode.3.node_group: 0\nnode.3.address: 127.0.0.1\n\
    node.1.type: MGM\nnode.1.status: CONNECTED\nnode.1.node_group: 0\n\
    node.10.type: API\nnode.10.status: NO_CONTACT\nnode.10.node_group: 0\n\n";
const VERSION: &[u8] = b"version\nid: 591618\nmajor: 9\nminor: 7\nstring: mysql-9.7.2 ndb-9.7.2\n\n";

/// The answer as bytes, as text, and its nodes; the room that a read has.
const MEMORY: Memory = Memory { per_byte: 64, constant: 64 << 10 };

#[test]
fn an_answer_of_the_management_survives_mutations() {
    fuzz::survives("ndb management", &[STATUS, VERSION], MEMORY, |mut replay| {
        answer(&mut replay).is_ok_and(|said| {
            value(&said, "string").is_some() || counted(&said) == Nodes { started: 2, groups: 1 }
        })
    });
}

#[test]
fn a_node_that_is_named_twice_is_one() {
    let said = "node.1.type: NDB\nnode.1.status: STARTED\n".repeat(2);
    assert_eq!(counted(&said), Nodes { started: 1, groups: 0 });
}
