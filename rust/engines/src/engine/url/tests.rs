use proptest::prelude::*;

use super::*;

const FORM: &str = "db://user@host:port/database";

#[test]
fn a_url_is_taken_apart() {
    let url = Url::parse("db://me:s%40crt@db.example:5433/my%20data?a=1&b=", &["db"], FORM).unwrap();
    assert_eq!((url.user.as_str(), url.password.as_deref()), ("me", Some("s@crt")));
    assert_eq!(url.hosts, [Host { name: "db.example".into(), port: Some(5433) }]);
    assert_eq!(url.path, "my data");
    assert_eq!(url.options, [("a".into(), "1".into()), ("b".into(), String::new())]);
    assert_eq!(url.shown(), "db://me@db.example:5433/my%20data?a=1&b=");
}

#[test]
fn what_is_left_out_is_empty() {
    let url = Url::parse("other://[::1]", &["db", "other"], FORM).unwrap();
    assert_eq!((url.user.as_str(), url.password.as_deref(), url.path.as_str()), ("", None, ""));
    assert_eq!(url.hosts, [Host { name: "::1".into(), port: None }]);
    assert_eq!(url.shown(), "other://[::1]");
}

#[test]
fn several_hosts_and_a_login_among_the_options_are_read() {
    let url = Url::read("db://a:1,[::2]:3,c/d?user=me&password=s%26cret&x=1").unwrap();
    let hosts: Vec<_> = url.hosts.iter().map(|host| (host.name.as_str(), host.port)).collect();
    assert_eq!(hosts, [("a", Some(1)), ("::2", Some(3)), ("c", None)]);
    assert_eq!((url.user.as_str(), url.password.as_deref()), ("me", Some("s&cret")));
    assert_eq!(url.shown(), "db://a:1,[::2]:3,c/d?user=me&x=1");
}

#[test]
fn a_password_with_what_should_be_escaped_is_read_or_refused_with_the_escapes() {
    assert_eq!(Url::read("db://u:S3cr#x@host/db").unwrap().password.as_deref(), Some("S3cr#x"));
    assert_eq!(Url::read("db://u:S3cr@x@host/db").unwrap().password.as_deref(), Some("S3cr@x"));
    for url in [
        "db://u:S3cr/x@host/db",
        "db://u:S3cr?x@host/db",
        "db://u:S3cr#/x@h",
        "db://u:S3c:r/1@h",
        "db://u:S3cr",
        "db://u:,S3cr",
    ] {
        let problems = Url::read(url).unwrap_err().join("; ");
        for escape in ["%23", "%2F", "%3F", "%40"] {
            assert!(problems.contains(escape), "{url}: {problems}");
        }
        assert!(!problems.contains("S3c"), "{url}: {problems}");
    }
}

#[test]
fn a_wrong_url_is_refused_without_its_password() {
    let wrong = [
        "mysql://u:hidden@h/d",
        "db://u:hidden@h:port/d",
        "db://u:hid%den@h/d",
        "db://[::1",
        "db://[::1/db",
        "db://h:99999",
        "db://h:hidden",
        "db://u:hid%00den@h",
        "db:/u:hidden@h",
        "u:hidden@h",
        "hidden",
        "",
    ];
    for url in wrong {
        let message = Url::parse(url, &["db"], FORM).unwrap_err().to_string();
        assert!(message.starts_with("plan: target.url: ") && !message.contains("hid"), "{message}");
        assert!(message.ends_with(FORM), "{message}");
    }
}

#[test]
fn a_driver_gets_its_password_back() {
    for (url, with) in [("db://me@h/d?a=1", "db://me:p%40%2F@h/d?a=1"), ("db://h", "db://:p%40%2F@h")] {
        let whole = Url::read(url).unwrap().with_password("p@/");
        assert_eq!(whole, with);
        assert_eq!(Url::read(&whole).unwrap().password.as_deref(), Some("p@/"));
    }
}

proptest! {
    #[test]
    fn what_is_escaped_is_read_back(user in "[^\0]*", password in "[^\0]*", path in "[^\0]*") {
        let mut url = String::from("db://");
        escape(&user, &mut url);
        url.push(':');
        escape(&password, &mut url);
        url.push_str("@h/");
        escape(&path, &mut url);
        let read = Url::parse(&url, &["db"], FORM).unwrap();
        prop_assert_eq!((read.user, read.password, read.path), (user, Some(password), path));
    }

    #[test]
    fn what_is_shown_is_read_again_as_the_same_without_its_password(text in r"db://[a:@/?&=%4\-1,\x23x]{0,24}") {
        if let Ok(url) = Url::read(&text) {
            let again = Url::read(&url.shown());
            let without = Url { password: None, guarded: false, ..url.clone() };
            prop_assert_eq!(again.as_ref(), Ok(&without), "{}", text);
        }
    }
}

#[test]
fn a_file_that_the_url_names_has_the_password_for_its_place() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file");
    std::fs::write(&file, "# ours\nh:1:d:other:wrong\nh:*:d:u:hid\\:den:too\n").unwrap();
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    let name = file.display().to_string().replace(' ', "%20");
    let of = |login: &str, user: &str| {
        let url = Url::parse(&format!("db://{login}@h/d?passfile={name}"), &["db"], FORM).unwrap();
        assert!(url.options().end("none").is_empty(), "an engine does not see it");
        url.password_of(&["h"], 1, "d", user).map_err(|e| e.to_string())
    };
    mode(0o600);
    assert_eq!(of("u", "u"), Ok(Some("hid:den:too".into())));
    assert_eq!(of("u:own", "u"), Ok(Some("own".into())), "the one in the URL counts before it");
    let message = of("me", "me").unwrap_err();
    assert!(
        message.contains("a file: no line of it is for h:1:d:me") && !message.contains("hid"),
        "{message}"
    );
    mode(0o640);
    let message = of("u", "u").unwrap_err();
    assert!(message.contains("other users can read it; run chmod 600"), "{message}");
    std::fs::remove_file(&file).unwrap();
    assert!(of("u", "u").unwrap_err().contains("a file: No such file"));
}
