//! What becomes of the rows of a call of kind `extract`: compared with the generator's, or written to a file.

use super::assertion::Broken;
use super::dump::Dump;
use super::extract::Extract;
use inrush_engines::engine::extract::Sink;
use inrush_engines::engine::{Done, Ns, Ticket};
use inrush_engines::mix::Params;
use inrush_rows::error::Error;

pub enum Taken {
    Compared(Extract),
    Written(Dump),
}

impl Taken {
    /// To be called before a call is sent.
    pub fn begin(&mut self, ticket: Ticket) -> Result<(), Error> {
        match self {
            Taken::Compared(extract) => {
                extract.begin();
                Ok(())
            }
            Taken::Written(dump) => dump.open(ticket),
        }
    }

    pub fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Taken::Compared(extract) => extract,
            Taken::Written(dump) => dump,
        }
    }

    /// The call as it ended, what is still to be done with its rows included.
    pub fn closed(&mut self, done: Done) -> Done {
        match self {
            Taken::Compared(_) => done,
            Taken::Written(dump) => dump.closed(done),
        }
    }

    /// When the first row of the answer came.
    pub fn first_ns(&self) -> Option<Ns> {
        match self {
            Taken::Compared(extract) => extract.first_ns(),
            Taken::Written(dump) => dump.first_ns(),
        }
    }

    /// Whether the answer is another than what was asked for. rows: as the engine counted them.
    pub fn broken(&mut self, params: &Params, ticket: Ticket, rows: u64) -> Option<Broken> {
        match self {
            Taken::Compared(extract) => extract.broken(params, ticket, rows),
            Taken::Written(dump) => dump.broken(rows),
        }
    }

    /// Why the run cannot go on.
    pub fn failure(&mut self) -> Option<String> {
        match self {
            Taken::Compared(_) => None,
            Taken::Written(dump) => dump.failure(),
        }
    }
}
