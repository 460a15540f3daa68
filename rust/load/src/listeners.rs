//! The clients of an import, and what they are told: what is stored, and the failure that ends the load.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::Mutex;

use super::frame::{self, Ack, Message, Refused};
use super::wire::{Writer, ALIVE};
use inrush_rows::lock::Unpoisoned;

/// Messages to the thread that writes to a client.
#[derive(Debug, Clone)]
pub enum Reply {
    Ack(Ack),
    Refused(Refused),
    Failed(String),
}

/// All clients that must learn of a failure, and the first failure.
#[derive(Default)]
pub struct Listeners {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// By number.
    clients: HashMap<u64, Sender<Reply>>,
    failure: Option<String>,
}

impl Listeners {
    /// Sends the first failure to all clients; the load ends with it.
    pub fn fail(&self, message: &str) {
        let mut state = self.state.lock().unpoisoned();
        if state.failure.is_none() {
            state.failure = Some(message.to_owned());
            state.clients.values().for_each(|client| drop(client.send(Reply::Failed(message.to_owned()))));
        }
    }

    /// A client's number among those that hear of a failure; the failure when there was one.
    pub fn enter(&self, replies: &Sender<Reply>) -> Result<u64, String> {
        let mut state = self.state.lock().unpoisoned();
        if let Some(message) = &state.failure {
            return Err(message.clone());
        }
        state.next += 1;
        let number = state.next;
        state.clients.insert(number, replies.clone());
        Ok(number)
    }

    pub fn leave(&self, number: u64) {
        self.state.lock().unpoisoned().clients.remove(&number);
    }
}

/// Acknowledgements as they come, several in a frame, and a word now and then; ends with the last chunk or a failure.
pub fn acknowledge(listeners: &Receiver<Reply>, out: &mut Writer) {
    loop {
        let first = match listeners.recv_timeout(ALIVE) {
            Ok(first) => first,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                if frame::send_message(out, &Message::Alive).is_err() {
                    return;
                }
                continue;
            }
        };
        let (mut acks, mut refused, mut failed) = (Vec::new(), Vec::new(), None);
        for next in std::iter::once(first).chain(listeners.try_iter()) {
            match next {
                Reply::Ack(ack) => acks.push(ack),
                Reply::Refused(rows) => refused.push(rows),
                Reply::Failed(message) => failed = Some(message),
            }
        }
        // A client that has gone asks the ledger when it comes again.
        if !acks.is_empty() && frame::send_message(out, &Message::Acked { acks }).is_err() {
            return;
        }
        if !refused.is_empty() && frame::send_message(out, &Message::Refused { refused }).is_err() {
            return;
        }
        if let Some(message) = failed {
            let _ = frame::send_message(out, &Message::Failed { message });
            return;
        }
    }
}
