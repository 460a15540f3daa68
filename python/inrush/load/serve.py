"""`inrush load-server`: waits for clients on this or other hosts and stores what they send."""

from __future__ import annotations

import hashlib
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.agent.stopping import Stopping
from inrush.border.load import ServerPlan, Serves
from inrush.errors import Interrupted, Problem, UsageError, problems_of, refuse
from inrush.load.remote import host_of, is_loopback, read_token
from inrush.machine.secret_files import self_signed, write_secret

if TYPE_CHECKING:
    from inrush.load.process import End

Doc = dict[str, Any]

#: How often signals are looked at while the server says nothing, s.
TICK_S = 0.05


@dataclass(frozen=True)
class Serving:
    """What the command line says."""

    listen: str
    into: str | None = None
    shards: tuple[str, ...] = ()
    token_file: str | None = None
    certificate: str | None = None
    certificate_key: str | None = None
    self_signed: bool = False
    hash_threads: int = 0


@dataclass(frozen=True)
class ServerAddress:
    """How a client gets there, once the server listens."""

    address: str
    token_file: Path
    fingerprint: str | None
    certificate: Path | None
    shards: tuple[str, ...]

    def lines(self) -> list[str]:
        way = f"--server {self.address} --token-file FILE"
        kind = "without TLS" if self.fingerprint is None else "TLS"
        shown = [f"listening on {self.address}, {kind}; storing into {', '.join(self.shards)}"]
        shown.append(f"the token is in {self.token_file}: clients need a copy")
        if self.fingerprint is not None:
            way += f" --fingerprint {self.fingerprint}"
            shown.append(
                f"the certificate is {self.certificate}: --ca FILE with a copy does as well as its fingerprint"
            )
        return [*shown, f"inrush load FILES --table TABLE {way}"]

    def document(self) -> Doc:
        return {
            "address": self.address,
            "token_file": str(self.token_file),
            "fingerprint": self.fingerprint,
            "certificate": None if self.certificate is None else str(self.certificate),
            "shards": list(self.shards),
        }


def serve(
    call: Serving, folder: Path, note: Callable[[str], None], ready: Callable[[ServerAddress], None]
) -> None:
    """Until Ctrl-C or SIGTERM. folder: for a token and a certificate that are made here.

    Raises UsageError before anything is opened, TargetError and CoreError afterwards.
    """
    from inrush.load.call import Call
    from inrush.load.process import End
    from inrush.load.shards import shards_of
    from inrush.targets.passwords import split_password

    host, rows = host_of("--listen", call.listen), Call((), "", into=call.into, shards=call.shards)
    refuse([*serving_problems(call), *problems_of(partial(shards_of, rows, lambda _: None))])
    shards = shards_of(rows, note)
    serves: Serves = {"shards": [target for _, target in shards.documents()]}
    if call.into and call.shards:
        url, variables, _ = split_password(call.into)
        shards.secrets = {**variables, **shards.secrets}
        serves["coordinator"] = {"engine": shards.engine, "url": url, "options": {}}
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    token_file = Path(call.token_file) if call.token_file else made_token(folder)
    files = certificate_files(call, host, folder)
    document: ServerPlan = {
        "role": "server",
        "listen": call.listen,
        "token": read_token(token_file),
        "serves": serves,
        "tls": None if files is None else {"certificate": str(files[0]), "key": str(files[1])},
        "hash_threads": call.hash_threads,
    }

    def listening(said: Doc) -> None:
        certificate = None if files is None else files[0]
        ready(
            ServerAddress(
                address=said["address"],
                token_file=token_file,
                fingerprint=None if certificate is None else fingerprint(certificate),
                certificate=certificate,
                shards=tuple(t.url for t in shards.targets),
            )
        )

    # The handlers stand before the address is printed: a program that reads it may ask for the end at once.
    with Stopping() as stopping, End(document, folder / "server.log", shards.secrets) as end:
        follow(end, stopping, listening, _noting(note))


def follow(
    end: End, stopping: Stopping, listening: Callable[[Doc], None], on_event: Callable[[Doc], None]
) -> None:
    """Until the server has finished, which it is asked for as soon as Ctrl-C or SIGTERM has come.

    Raises Interrupted at the second one, and what the server failed with.
    """
    asked = False
    while True:
        if stopping.asked and not asked:
            asked = True
            end.ask_to_end()
        if stopping.asked > 1:
            raise Interrupted("ended at once; what was acknowledged is stored")
        event = end.next(TICK_S)
        if event is None:
            continue
        if event["event"] == "finished":
            return
        if event["event"] == "listening":
            listening(event)
        else:
            end.heard(event, on_event)


def serving_problems(call: Serving) -> Iterator[Problem]:
    """What others could read or enter, and halves of a whole."""
    if (call.certificate is None) != (call.certificate_key is None):
        yield Problem.sentence("--certificate and --certificate-key belong together")
    if call.self_signed and call.certificate is not None:
        yield Problem.sentence("--self-signed makes a certificate, --certificate names one: give one of them")
    if is_loopback(host_of("--listen", call.listen)):
        return
    if call.token_file is None:
        yield Problem.sentence(
            f"--listen {call.listen}: others can reach it, so it needs a token: --token-file FILE"
        )
    if call.certificate is None and not call.self_signed:
        yield Problem.sentence(
            f"--listen {call.listen}: others can read on the way there, so it needs TLS: --certificate FILE "
            "--certificate-key FILE, or --self-signed"
        )


def made_token(folder: Path) -> Path:
    """A token of this folder's, made once."""
    path = folder / "token"
    if not path.is_file():
        write_secret(path, secrets.token_hex(16) + "\n")
    return path


def certificate_files(call: Serving, host: str, folder: Path) -> tuple[Path, Path] | None:
    """Certificate and key; made once where one that signs itself is asked for, so that its fingerprint stays."""
    if call.certificate is not None and call.certificate_key is not None:
        return Path(call.certificate), Path(call.certificate_key)
    if not call.self_signed:
        return None
    names = own_names(host)
    mark = hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]
    certificate, key = folder / f"certificate-{mark}.pem", folder / f"key-{mark}.pem"
    if not (certificate.is_file() and key.is_file()):
        made, private = self_signed(names)
        write_secret(key, private)
        certificate.write_text(made)
    return certificate, key


def own_names(host: str) -> Sequence[str]:
    """By which clients may call this host."""
    everywhere = host in ("0.0.0.0", "::")
    found = [
        socket.gethostname(),
        socket.getfqdn(),
        "localhost",
        "127.0.0.1",
        *([] if everywhere else [host]),
    ]
    return sorted(set(filter(None, found)))


def fingerprint(certificate: Path) -> str:
    """SHA-256 of the first certificate of a PEM file. Raises UsageError where there is none."""
    try:
        text = certificate.read_text()
        start = text.index("-----BEGIN CERTIFICATE-----")
        end = text.index("-----END CERTIFICATE-----", start) + len("-----END CERTIFICATE-----")
        der = ssl.PEM_cert_to_DER_cert(text[start:end])
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--certificate {certificate}: no certificate can be read there ({error})"
        ) from error
    return "sha256:" + hashlib.sha256(der).hexdigest()


def _noting(note: Callable[[str], None]) -> Callable[[Doc], None]:
    def on_progress(event: Doc) -> None:
        if event["event"] == "note":
            note(str(event["text"]))

    return on_progress
