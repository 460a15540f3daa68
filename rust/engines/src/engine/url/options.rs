//! What stands behind the `?` of an address, option by option. Problems name options and never repeat a value.

use std::time::Duration;

use crate::engine::socket::CONNECT;

/// A longer wait for a connection is as good as none.
const CONNECT_MOST_S: u64 = 3_600;

/// Options that were not asked for yet, those that were, and what is wrong with them.
pub struct Options {
    left: Vec<(String, String)>,
    /// See [`super::Url::guarded`].
    guarded: bool,
    known: Vec<&'static str>,
    pub problems: Vec<String>,
}

impl Options {
    pub(super) fn new(left: Vec<(String, String)>, guarded: bool) -> Options {
        Options { left, guarded, known: Vec::new(), problems: Vec::new() }
    }

    /// An option by any of its names, with the one that was used; the last one counts.
    fn taken(&mut self, names: &[&'static str]) -> Option<(&'static str, String)> {
        self.known.extend(names.first());
        let of = |name: &str| names.iter().find(|known| **known == name).copied();
        let found = self.left.extract_if(.., |(name, _)| of(name).is_some()).last();
        found.and_then(|(name, value)| Some((of(&name)?, value)))
    }

    pub fn text(&mut self, names: &[&'static str]) -> Option<String> {
        self.taken(names).map(|(_, value)| value)
    }

    pub fn word<T: Copy>(&mut self, names: &[&'static str], words: &[(&str, T)]) -> Option<T> {
        let (name, value) = self.taken(names).filter(|(_, value)| !value.is_empty())?;
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&value));
        if found.is_none() {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.problems.push(format!("{name} is not one of {}", words.join(", ")));
        }
        found.map(|(_, of)| *of)
    }

    pub fn truth(&mut self, names: &[&'static str]) -> Option<bool> {
        let (name, value) = self.taken(names)?;
        match value.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => {
                self.problems.push(format!("{name} is true or false"));
                None
            }
        }
    }

    pub fn number(&mut self, names: &[&'static str]) -> Option<u64> {
        let (name, value) = self.taken(names)?;
        let number = value.parse().ok();
        if number.is_none() {
            self.problems.push(format!("{name} is a whole number"));
        }
        number
    }

    /// The limit of connecting and logging in; none, and 0, is our own.
    pub fn connect_limit(&mut self, in_s: &[&'static str], in_ms: &[&'static str]) -> Duration {
        let seconds = self.number(in_s).map(|s| Duration::from_secs(s.min(CONNECT_MOST_S)));
        let ms = if in_ms.is_empty() { None } else { self.number(in_ms) };
        let ms = ms.map(|ms| Duration::from_millis(ms.min(CONNECT_MOST_S * 1_000)));
        seconds.or(ms).filter(|limit| !limit.is_zero()).unwrap_or(CONNECT)
    }

    /// Those that change nothing of what inrush does, whatever they say.
    pub fn without_effect(&mut self, names: &[&'static str]) {
        self.left.retain(|(name, _)| !names.contains(&name.as_str()));
    }

    /// One that inrush does as it does, so that only these words are true; `why` they are the only ones.
    pub fn only(&mut self, names: &[&'static str], words: &[&str], why: &str) {
        let Some((name, value)) = self.taken(names) else { return };
        if !words.iter().any(|word| word.eq_ignore_ascii_case(&value)) {
            self.problems.push(format!("{name}: {why}; leave it out, or write {name}={}", words[0]));
        }
    }

    /// All problems. `remedy` stands behind the options that are known.
    pub fn end(mut self, remedy: &str) -> Vec<String> {
        let known = self.known.join(", ");
        for (name, _) in &self.left {
            let problem = match self.guarded || !is_name(name) {
                // A piece of a password with an & in it, perhaps.
                true => format!("an option is not known, and not named since it may be part of a password, where & is %26; known are {known}{remedy}"),
                false => format!("option {name} is not known; known are {known}{remedy}"),
            };
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        self.problems
    }
}

fn is_name(name: &str) -> bool {
    const MOST: usize = 60;
    (1..=MOST).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}
