//! Who is let in, and what a wrong address says.

use super::*;

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn passwords_of_every_kind_let_in_and_wrong_ones_do_not() {
    let (name, url) = server();
    let ctx = context(numbers("none", "BIGINT"), json!([]), 1, 1);
    let engine = build(&ctx).expect("a server");
    let plugin = if name == "mysql" { "caching_sha2_password" } else { "mysql_native_password" };
    let named = match name {
        "mysql" => "IDENTIFIED WITH caching_sha2_password BY 's3cr:t@é'".to_owned(),
        _ => "IDENTIFIED BY 's3cr:t@é'".to_owned(),
    };
    let create = format!(
        "DROP USER IF EXISTS inrush_pw@'127.0.0.1'; CREATE USER inrush_pw@'127.0.0.1' {named}; \
         GRANT SELECT ON inrush_wire_test.* TO inrush_pw@'127.0.0.1'"
    );
    engine.control(&create, NO_LIMIT).expect("created");
    let address = url.rsplit('@').next().expect("an address");
    let place = address.split('/').next().expect("host and port");
    let at = |password: &str| {
        let url = format!("{name}://inrush_pw:{password}@{place}/inrush_wire_test");
        build(&servers::context(name, &url, numbers("none", "BIGINT"), json!([]), 1, 1))
    };
    // First the whole exchange, which a new user needs, then the short one.
    for _ in 0..2 {
        let user = at("s3cr:t%40%C3%A9").unwrap_or_else(|e| panic!("{plugin}: {e}"));
        let whom = user.control("SELECT CURRENT_USER()", NO_LIMIT).expect("answered");
        assert_eq!(whom.rows, [[Value::Text("inrush_pw@127.0.0.1".into())]]);
    }
    let Err(Error::Target { class, message, .. }) = at("wrong") else { panic!("it was let in") };
    assert_eq!(class, TargetFault::Auth);
    assert!(
        message.contains("Access denied") && message.contains("MYSQL_PWD") && !message.contains("wrong"),
        "{message}"
    );
    engine.control("DROP USER inrush_pw@'127.0.0.1'", NO_LIMIT).expect("dropped");
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn a_wrong_address_says_what_is_wrong() {
    let (name, url) = server();
    let fault = |engine: &str, url: &str| match build(&servers::context(
        engine,
        url,
        numbers("none", "BIGINT"),
        json!([]),
        1,
        1,
    )) {
        Err(Error::Target { class, message, .. }) => (class, message),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{url} took us in"),
    };
    let (class, message) = fault(name, &servers::with_database(&url, "inrush_not_there"));
    assert_eq!(class, TargetFault::MissingDatabase, "{message}");
    let other = if name == "mysql" { "mariadb" } else { "mysql" };
    let (_, message) = fault(other, &url.replacen(name, other, 1));
    assert!(message.contains(&format!("name it {name}://")), "{message}");

    let free =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number").port();
    let (class, message) = fault(name, &format!("{name}://root@127.0.0.1:{free}/"));
    assert_eq!(class, TargetFault::Unreachable);
    assert!(message.contains("nothing listens on port"), "{message}");

    let http = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = http.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        let (mut stream, _) = http.accept().expect("a caller");
        let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let (_, message) = fault(name, &format!("{name}://root@127.0.0.1:{port}/"));
    assert!(message.contains("does not speak MySQL"), "{message}");
}
