"""What engines behind HTTP have in common."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from inrush.engines.instance import Target

#: Words for yes in an option of the URL, as rust/engines/src/engine/http/options.rs reads them.
YES = ("true", "1")


def tls(target: Target) -> str:
    """By the URL: these servers say nothing of the connection, and with `secure` it is encrypted or refused."""
    asked = parse_qs(urlsplit(target.url).query).get("secure", ["false"])[-1]
    return "TLS, of a version and cipher that the server does not report" if asked in YES else "none"
