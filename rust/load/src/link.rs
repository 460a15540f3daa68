//! The way from a client to a load server: found, encrypted where that was asked for, the token shown.

use std::io::{self, BufReader, BufWriter};
use std::time::Instant;

use serde::Deserialize;
use serde_json::{json, Value as Json};

use super::frame::{self, Frame, Message, VERSION};
use super::tls::{self, ClientTls};
use super::wire::{self, Reader, Writer};
use inrush_engines::engine::secrets::sent_in_clear;
use inrush_engines::engine::socket::{dial, Endpoint, CONNECT};
use inrush_rows::error::{Error, TargetFault};

const SOCKET_BYTES: usize = 1 << 18;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// Host and port of the load server.
    pub server: String,
    pub token: String,
    /// Without, the rows and the token can be read on the way.
    pub tls: Option<ClientTls>,
}

/// A connection on which hello was said.
pub struct Link {
    pub reader: BufReader<Reader>,
    pub out: BufWriter<Writer>,
}

impl LinkPlan {
    pub fn connect(&self) -> Result<Link, Error> {
        let place = self.place()?;
        if self.tls.is_none() {
            sent_in_clear(&place, "the token", "use --ca FILE or --fingerprint SHA256");
        }
        let lost = |e: io::Error| unreachable_server(&self.server, &e);
        let (socket, _) = dial(&place)?;
        let (reader, writer) = match &self.tls {
            None => wire::plain(&socket).map_err(lost)?,
            Some(tls_options) => {
                let tls = tls::client(tls_options)?;
                let session = tls.session(&place)?.into();
                wire::secure(&socket, session, Instant::now() + CONNECT)
                    .map_err(|e| tls.failed(&place, &e))?
            }
        };
        reader.set_limit(None).map_err(lost)?;
        let mut out = BufWriter::with_capacity(SOCKET_BYTES, writer);
        let hello = Message::Hello { version: VERSION, token: self.token.clone() };
        frame::send_message(&mut out, &hello).map_err(lost)?;
        Ok(Link { reader: BufReader::new(reader), out })
    }

    fn place(&self) -> Result<Endpoint, Error> {
        let wrong = || Error::Plan(format!("--server {}: it is HOST:PORT", self.server));
        let (host, port) = self.server.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = port.parse().map_err(|_| wrong())?;
        Ok(Endpoint::new(host, port, format!("load server {}", self.server)))
    }

    pub fn refused(&self, message: String) -> Error {
        let target = format!("load server {}", self.server);
        Error::Target { target, class: TargetFault::Other, message }
    }
}

impl Link {
    /// The answer to `request`; what the other side refuses is an error.
    pub fn ask(&mut self, plan: &LinkPlan, request: &Message) -> Result<Message, Error> {
        // A server that refuses says why and closes: the reason may be there although not everything was sent.
        let sent = frame::send_message(&mut self.out, request);
        match frame::receive(&mut self.reader) {
            Ok(Some(Frame::Message(Message::Failed { message }))) => Err(plan.refused(message)),
            Ok(Some(Frame::Message(answer))) => {
                sent.map(|()| answer).map_err(|e| unreachable_server(&plan.server, &e))
            }
            Ok(Some(Frame::Chunk(..))) => Err(plan.refused(NO_SERVER.into())),
            Ok(None) => Err(plan.refused(CLOSED.into())),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(plan.refused(NO_SERVER.into())),
            Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => {
                Err(plan.refused(CLOSED.into()))
            }
            Err(e) => Err(unreachable_server(&plan.server, &e)),
        }
    }
}

/// A question to a load server and its answer, both JSON; `python/inrush/_core.pyi` has them.
pub fn ask(link_json: &str, question_json: &str) -> Result<String, Error> {
    let wrong = |e: serde_json::Error| Error::Plan(e.to_string());
    let plan: LinkPlan = serde_json::from_str(link_json).map_err(wrong)?;
    let question: Question = serde_json::from_str(question_json).map_err(wrong)?;
    let request = match question {
        Question::Targets => Message::Targets,
        Question::Scan { shard, scan } => Message::Scan { shard, scan },
        Question::Statement { shard, statement, limit_s } => {
            Message::Ask { shard, statement, limit_ns: (limit_s * 1e9) as u64 }
        }
    };
    let mut link = plan.connect()?;
    let answer = link.ask(&plan, &request)?;
    // A connection that ends in order is no news to the server.
    let _ = frame::send_message(&mut link.out, &Message::End);
    match answer {
        Message::Serves { engine, shards, coordinator } => {
            Ok(json!({"engine": engine, "shards": shards, "coordinator": coordinator}).to_string())
        }
        Message::Answer { rows } => Ok(rows.to_string()),
        _ => Err(plan.refused(NO_SERVER.into())),
    }
}

#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    Targets,
    /// A table of a shard, read back.
    Scan {
        shard: usize,
        scan: Json,
    },
    /// On a shard by its place, on the coordinator without.
    Statement {
        shard: Option<usize>,
        statement: String,
        limit_s: f64,
    },
}

pub const NO_SERVER: &str =
    "what listens there is no load server of inrush, or it speaks TLS: --ca FILE or --fingerprint SHA256";
const CLOSED: &str = "it closed the connection without a word; is it a load server, and of this version?";

pub fn unreachable_server(address: &str, error: &io::Error) -> Error {
    Error::Target {
        target: format!("load server {address}"),
        class: TargetFault::Unreachable,
        message: error.to_string(),
    }
}

/// As it travels, so that a plan without it has none.
pub type Setup = Option<Json>;
