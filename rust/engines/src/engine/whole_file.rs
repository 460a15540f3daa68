//! Files that are loaded as they are: a session sends their bytes, or the path for the server to read.

/// Insert methods of every engine that takes whole files: bytes through the session, and a path for the server.
pub const CLIENT_FILE: &str = "client_file";
pub const SERVER_FILE: &str = "server_file";

/// Where the path stands in the text of a `SERVER_FILE`.
const PLACE: &str = "'{path}'";

/// The statement that has the server read a file. `payload` is its path, as `inrush_drive` gives it.
///
/// escapes: a backslash begins an escape in a text of this dialect.
pub fn at_path(text: &str, payload: &[u8], escapes: bool) -> String {
    let mut path = String::from_utf8_lossy(payload).replace('\'', "''");
    if escapes {
        path = path.replace('\\', "\\\\");
    }
    text.replacen(PLACE, &format!("'{path}'"), 1)
}

#[cfg(test)]
mod tests {
    use super::at_path;

    #[test]
    fn a_path_is_a_literal_of_the_dialect() {
        let text = "COPY t FROM '{path}'";
        assert_eq!(at_path(text, b"/a b/c.tsv", false), "COPY t FROM '/a b/c.tsv'");
        assert_eq!(at_path(text, br"/it's\x", false), r"COPY t FROM '/it''s\x'");
        assert_eq!(at_path(text, br"/it's\x", true), r"COPY t FROM '/it''s\\x'");
    }
}
