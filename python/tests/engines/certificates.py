"""Certificates for tests of TLS, made by openssl."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from inrush.engines.servers import life

#: The name in every certificate; 127.0.0.1 is not in it.
HOST = "localhost"


def make_certificate(folder: Path, name: str, signed_by: str | None = None) -> Path:
    """`name.crt`, and `name.key` beside it, owned as servers want theirs; signed by another's, or by itself."""
    signing = ["-CA", f"{signed_by}.crt", "-CAkey", f"{signed_by}.key"] if signed_by else []
    if signed_by:
        signing += ["-addext", "basicConstraints=critical,CA:FALSE"]
    asked = ["-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}"]
    asked += ["-addext", f"subjectAltName=DNS:{HOST}", "-keyout", f"{name}.key", "-out", f"{name}.crt"]
    subprocess.run(["openssl", "req", "-x509", *asked, *signing], cwd=folder, check=True, capture_output=True)
    key, user = folder / f"{name}.key", life.servant()
    key.chmod(0o600)
    if user.uid is not None and user.gid is not None:
        os.chown(key, user.uid, user.gid)
    return folder / f"{name}.crt"
