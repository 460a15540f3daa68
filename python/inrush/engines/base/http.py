"""What engines behind HTTP have in common."""

from __future__ import annotations

from inrush.border import address
from inrush.engines.base.instance import Target


def tls(target: Target) -> str:
    """By the URL: these servers say nothing of the connection, and with `secure` it is encrypted or refused."""
    secure = address.read(target.url).secure
    return "TLS, of a version and cipher that the server does not report" if secure else "none"
