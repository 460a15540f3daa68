//! Opening a socket to a server, and what is said when that fails. Shared by all wires.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::error::{Error, TargetFault};

/// Longest time to connect and to log in.
pub const CONNECT: Duration = Duration::from_secs(10);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub host: String,
    pub port: u16,
    /// The target as people may read it: without password.
    pub target: String,
}

/// Connected without Nagle's delay: a request is sent in one piece, and its end is not to wait for an acknowledgement.
pub fn dial(place: &Place) -> Result<(TcpStream, SocketAddr), Error> {
    let addresses = (place.host.as_str(), place.port).to_socket_addrs().map_err(|e| Error::Target {
        target: place.target.clone(),
        class: TargetFault::Unreachable,
        message: format!("host {} is not known: {e}; check the URL", place.host),
    })?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|e| unreachable(place, &e))?;
                return Ok((stream, address));
            }
            Err(e) => last = e,
        }
    }
    Err(unreachable(place, &last))
}

/// The failure to connect or to log in, with its remedy.
pub fn unreachable(place: &Place, error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("nothing listens on port {}; is the server running, and is the port right?", place.port)
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("no answer within {} s; check host, port and firewall", CONNECT.as_secs())
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "the server closed the connection before login; see its log".to_owned()
        }
        _ => format!("{error}; check host and port"),
    };
    Error::Target { target: place.target.clone(), class: TargetFault::Unreachable, message }
}
