use super::super::{mysql, postgresql};
use super::*;

const ADDRESSES: usize = 100_000;
/// Two halves around each character, so that a piece of the secret that is left is seen, too.
const HALVES: (&str, &str) = ("S3crLeft", "RightS3cr");

/// Where a password stands, or where one that is written wrongly ends up. `{}` is the secret.
const FORMS: [&str; 24] = [
    "{scheme}://u:{}@127.0.0.1:1/d",
    "{scheme}://:{}@127.0.0.1/d",
    "{scheme}://u:{}@[::1]:1/d",
    "{scheme}://u:{}@127.0.0.1",
    "{scheme}://u:{}@127.0.0.1:1/d?gzip=1",
    "{scheme}://127.0.0.1/d?password={}",
    "{scheme}://127.0.0.1/d?user=u&password={}",
    "{scheme}://127.0.0.1/d?password={}&user=u",
    "{scheme}://u@127.0.0.1?p%61ssword={}",
    "{scheme}://127.0.0.1/d?password=x&password={}",
    "{scheme}://127.0.0.1/d?pasword={}",
    "{scheme}://127.0.0.1/d?sslmode={}",
    "{scheme}://127.0.0.1/d?connect_timeout={}&ssl-mode={}&secure={}",
    "{scheme}://u:{}@[::1/d",
    "{scheme}://u:{}@127.0.0.1:port/d",
    "{scheme}://u:{}@%zz/d",
    "{scheme}://u:{}",
    "{scheme}:/u:{}@127.0.0.1/d",
    "{scheme}//u:{}@127.0.0.1/d",
    "{scheme}:u:{}@127.0.0.1/d",
    "nosuch://u:{}@127.0.0.1/d?key={}",
    "u:{}@127.0.0.1/d",
    " {scheme}://u:{}@127.0.0.1/d",
    "{scheme}://u:{}@127.0.0.1,127.0.0.2:{}/d",
];

fn characters() -> Vec<String> {
    let mut all: Vec<String> = (1u8..=127).map(|byte| char::from(byte).to_string()).collect();
    all.extend((0u8..=255).map(|byte| format!("%{byte:02x}")));
    all.extend((0u8..=127).map(|byte| format!("%{byte:02X}")));
    all.extend(
        [
            "%", "%%", "%4", "%zz", "ä", "é", "密", "🔑", "\u{202e}", "\u{feff}", "\r\n", "''", "\\\"",
            "://", "&&", "%25%",
        ]
        .map(String::from),
    );
    all
}

/// Nothing, or a message, of everything that reads it.
fn refusals(text: &str) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(postgresql::Address::of(text, &POSTGRESQL).err().map(|e| e.to_string()));
    said.extend(mysql::Address::parse("mysql", text).err().map(|e| e.to_string()));
    said.extend(influxdb::Address::parse(text).err().map(|e| e.to_string()));
    said
}

#[test]
fn of_a_hundred_thousand_addresses_none_shows_its_password() {
    let schemes: Vec<&str> = SERVERS.into_iter().chain(FILES).chain([ADBC, "tcp", "http"]).collect();
    let characters = characters();
    let (mut readable, mut refused) = (0, 0);
    for n in 0..ADDRESSES {
        let character = &characters[n % characters.len()];
        let form = FORMS[n / characters.len() % FORMS.len()];
        let scheme = schemes[n / characters.len() / FORMS.len() % schemes.len()];
        // What is cut off may read as another address, and files are called anything.
        let cut = (form.ends_with("u:{}") || form.contains(":{}/")) && character.contains(['@', '/', ',']);
        if cut || (FILES.contains(&scheme) && form.starts_with("{scheme}:/u")) {
            continue;
        }
        let secret = match n % 5 {
            0 => format!("{character}{}{}", HALVES.0, HALVES.1),
            1 => format!("{}{}{character}", HALVES.0, HALVES.1),
            _ => format!("{}{character}{}", HALVES.0, HALVES.1),
        };
        let text = form.replace("{scheme}", scheme).replace("{}", &secret);
        let mut said = read(&text);
        let problems = said["problems"].as_array().expect("a list").len();
        let password = said.as_object_mut().and_then(|said| said.remove("password"));
        let rest = said.to_string();
        // A value of an option is no password where it is read: then it stands in `options`.
        let open = ["sslmode", "pasword"].iter().all(|name| !form.contains(name)) || problems > 0;
        if open {
            for half in [HALVES.0, HALVES.1] {
                assert!(!rest.contains(half), "{text:?}: {rest}");
            }
        }
        match problems {
            0 => {
                readable += 1;
                let shown = said["shown"].as_str().expect("a text");
                let again = read(shown);
                assert_eq!(again["problems"].as_array().map(Vec::len), Some(0), "{text:?}: {again}");
                for field in ["scheme", "user", "hosts", "database", "options", "shown"] {
                    assert_eq!(said[field], again[field], "{text:?}: {field} of {shown}");
                }
                assert!(again["password"].is_null(), "{text:?}: {again}");
                assert!(
                    password.is_some_and(|password| !password.is_null()),
                    "{text:?}: its password is nowhere"
                );
            }
            _ => refused += 1,
        }
        if n % 7 == 0 {
            for message in refusals(&text) {
                assert!(!message.contains(HALVES.0) && !message.contains(HALVES.1), "{text:?}: {message}");
            }
        }
    }
    assert!(readable > ADDRESSES / 10 && refused > ADDRESSES / 10, "{readable} readable, {refused} refused");
}

#[test]
fn an_address_says_what_it_leads_to() {
    let of = read("postgresql://me:pw@a:1,b/my%20data?connect_timeout=3&host=");
    assert_eq!(of["problems"], json!([]), "{of}");
    let of = read("postgresql://me:pw@a:1,b/my%20data?connect_timeout=3");
    assert_eq!(
        (&of["hosts"], &of["user"], &of["password"]),
        (&json!([["a", 1], ["b", 5432]]), &json!("me"), &json!("pw"))
    );
    assert_eq!((&of["database"], &of["options"]), (&json!("my data"), &json!({"connect_timeout": "3"})));
    assert_eq!(of["shown"], "postgresql://me@a:1,b/my%20data?connect_timeout=3");
    assert_eq!(
        (&of["before"], &of["behind"]),
        (&json!("postgresql://me@a:1,b"), &json!("?connect_timeout=3"))
    );
    let of = read("postgresql://me@:5433/d?host=/Run/x");
    assert_eq!((&of["hosts"], &of["socket"], &of["port"]), (&json!([]), &json!("/Run/x"), &json!(5433)));
    let of = read("mysql://localhost/d?socket=/run/my.sock");
    assert_eq!((&of["hosts"], &of["socket"]), (&json!([]), &json!("/run/my.sock")));
    assert_eq!(read("clickhouse://h?secure=true")["hosts"], json!([["h", 8443]]));
    assert_eq!(read("valkey://h")["hosts"], json!([["h", 6379]]));
    assert_eq!(read("sqlite:///home/me@work/a:b@c.db")["database"], "/home/me@work/a:b@c.db");
    assert_eq!(read("sqlite:relative.db")["database"], "relative.db");
    let of = read("adbc:db://me:pw@h/d?a=1");
    assert_eq!((&of["shown"], &of["password"]), (&json!("adbc:db://me@h/d?a=1"), &json!("pw")));
}

#[test]
fn what_is_no_address_is_refused_with_what_would_be_one() {
    for (text, says) in [
        ("nosuch://u@h", "no engine speaks nosuch://; known are adbc://"),
        ("sqlite://u:pw@h/d", "write sqlite:///folder/file"),
        ("duckdb:///x.db?password=x", "a file has no options"),
        ("adbc:db://h?private_key=x", "option private_key may be a secret"),
        ("adbc:u/pw@h", "write the driver's address as"),
        ("valkey://h/x", "is no number"),
        ("mysql://a,b/d", "several hosts"),
        ("postgresql://h/d?gzip=1&zip=2", "option gzip is not known"),
        ("postgresql://h/d?password=a&b=2", "where & is %26"),
    ] {
        let problems = read(text)["problems"].to_string();
        assert!(problems.contains(says), "{text}: {problems}");
    }
}
