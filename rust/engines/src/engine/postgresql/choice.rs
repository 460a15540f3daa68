//! Which of the hosts that a URL names is used: the first in their order that answers and is what is asked for.

use super::connection::Connection;
use super::spelled::Wanted;
use super::{simple_query, Address};
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::rows::Value;

/// Whether it follows another server, and whether it takes no writes.
const ASK: &str = "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'standby' ELSE 'primary' END, \
                   pg_catalog.current_setting('transaction_read_only')";
const ASK_LIMIT_NS: u64 = 10_000_000_000;

/// Fails with what every one of them said.
pub fn first(addresses: Vec<Address>) -> Result<(Address, Connection), Error> {
    let mut failures = Vec::new();
    for round in 0..2 {
        for address in &addresses {
            let wanted = match (address.wanted, round) {
                (Wanted::PreferStandby, 0) => Wanted::Standby,
                (Wanted::PreferStandby, _) => Wanted::Any,
                (_, 0) => address.wanted,
                _ => continue,
            };
            match suitable(address, wanted) {
                Ok(connection) => return Ok((address.clone(), connection)),
                Err(error) => failures.push(error),
            }
        }
    }
    let last = failures.pop().ok_or_else(|| Error::Plan("target.url: it names no host".to_owned()))?;
    if failures.is_empty() || addresses.len() == 1 {
        return Err(last);
    }
    let class = match &last {
        Error::Target { class, .. } => *class,
        _ => TargetFault::Other,
    };
    failures.push(last);
    // The address stands in front of each: the last one's is the message's.
    let said: Vec<String> = failures.iter().map(Error::to_string).collect();
    let target = addresses[0].to_string();
    Err(Error::Target {
        target,
        class,
        message: format!("none of {} hosts is of use: {}", addresses.len(), said.join("; ")),
    })
}

fn suitable(address: &Address, wanted: Wanted) -> Result<Connection, Error> {
    let mut connection = Connection::open(address)?;
    if wanted == Wanted::Any {
        return Ok(connection);
    }
    let answer = simple_query(&mut connection, address, ASK, ASK_LIMIT_NS)?;
    let said = |at: usize| answer.rows.first().and_then(|row| row.get(at));
    let is = |at: usize, word: &str| matches!(said(at), Some(Value::Text(text)) if text == word);
    let (follows, read_only) = (is(0, "standby"), is(1, "on"));
    if fits(wanted, follows, read_only) {
        return Ok(connection);
    }
    connection.close();
    let what = if follows {
        "a standby"
    } else if read_only {
        "read-only"
    } else {
        "a primary that takes writes"
    };
    Err(Error::Target {
        target: address.to_string(),
        class: TargetFault::Other,
        message: format!(
            "the server is {what}, and target_session_attrs asks for another one; name its host too"
        ),
    })
}

fn fits(wanted: Wanted, follows: bool, read_only: bool) -> bool {
    match wanted {
        Wanted::Any => true,
        Wanted::ReadWrite => !follows && !read_only,
        Wanted::ReadOnly => follows || read_only,
        Wanted::Primary => !follows,
        Wanted::Standby | Wanted::PreferStandby => follows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_what_is_asked_for_or_not() {
        let of =
            |wanted: Wanted| [(false, false), (false, true), (true, true)].map(|(a, b)| fits(wanted, a, b));
        assert_eq!(of(Wanted::Any), [true, true, true]);
        assert_eq!(of(Wanted::ReadWrite), [true, false, false]);
        assert_eq!(of(Wanted::ReadOnly), [false, true, true]);
        assert_eq!(of(Wanted::Primary), [true, true, false]);
        assert_eq!(of(Wanted::Standby), [false, false, true]);
    }

    #[test]
    fn what_every_host_said_is_in_the_message() {
        let addresses =
            Address::all("postgresql://me:hidden@127.0.0.1:1,127.0.0.1:2/d", &super::super::POSTGRESQL)
                .unwrap();
        let message = first(addresses).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(
            message.contains("none of 2 hosts")
                && message.contains("on port 1")
                && message.contains("on port 2"),
            "{message}"
        );
        assert!(!message.contains("hidden"), "{message}");
    }
}
