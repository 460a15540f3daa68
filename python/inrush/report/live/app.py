"""The live page over HTTP: the page and what it is made of, its events, and the report once there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from inrush.report.live.access import Access
from inrush.report.live.connections import let_in
from inrush.report.live.hub import SLOW_S, Hub, place_of
from inrush.report.live.page import LOGIN_PAGE, live_page, live_script, live_style

#: Of one study; each costs a socket and what it has not read yet.
MOST_READERS = 200
#: A browser keeps the connection for events; what it reconnects after.
RETRY_MS = 1_000
MOST_LOGIN_BYTES = 4_096
#: For everyone.
LOGIN = "/login"
#: The answer to a wrong token takes so long.
WRONG_S = 1.0
#: Vega compiles the expressions of a chart. Nothing comes from elsewhere, and no text of a study is ever markup.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
#: The report is one file with its script in it.
REPORT_POLICY = POLICY.replace("script-src 'self'", "script-src 'unsafe-inline' blob:").replace(
    "connect-src 'self'", "connect-src 'none'"
)


@dataclass
class Served:
    """What the application serves."""

    hub: Hub
    access: Access
    #: The bundle that draws charts, and its colours as JSON.
    charts: str
    themes: str
    #: Set when the study has ended and its report is written.
    report: Path | None = None


def application(served: Served) -> ASGIApp:
    async def page(_: Request) -> Response:
        if served.report is not None:
            return FileResponse(served.report, headers={"Content-Security-Policy": REPORT_POLICY})
        return HTMLResponse(live_page())

    async def snapshot(_: Request) -> Response:
        return JSONResponse(served.hub.view.look())

    async def metrics(request: Request) -> Response:
        kind, body = served.hub.view.metrics(request.headers.get("accept", ""))
        return Response(body, media_type=None, headers={"Content-Type": kind})

    async def login(request: Request) -> Response:
        if request.method == "POST":
            given = parse_qs((await limited_body(request)).decode(errors="replace")).get("token", [""])[0]
        elif not (given := request.query_params.get("token", "")) or not served.access.made_for_page:
            return HTMLResponse(LOGIN_PAGE)
        if not served.access.is_token(given):
            await asyncio.sleep(WRONG_S)
            return HTMLResponse(LOGIN_PAGE.replace("<!--why-->", "That is not the token."), 403)
        found = RedirectResponse("/", 303)
        # Lax: the printed address may be opened from a page, as of a terminal in a browser. Nothing here changes anything.
        found.set_cookie(
            served.access.cookie_name, served.access.cookie, httponly=True, samesite="lax", path="/"
        )
        return found

    def text(
        kind: str, of: Callable[[], str], keep: str = "no-store"
    ) -> Callable[[Request], Awaitable[Response]]:
        async def found(_: Request) -> Response:
            return Response(of(), media_type=kind, headers={"Cache-Control": keep})

        return found

    routes = [
        Route("/", page),
        Route("/snapshot.json", snapshot),
        Route("/metrics", metrics),
        Route(LOGIN, login, methods=["GET", "POST"]),
        Route("/live.js", text("text/javascript", live_script)),
        Route("/live.css", text("text/css", live_style)),
        Route("/themes.json", text("application/json", lambda: served.themes)),
        Route("/charts.js", text("text/javascript", lambda: served.charts, "private, max-age=86400")),
        Route("/events", EventStream(served)),
    ]
    return Guarded(Starlette(routes=routes), served)


async def limited_body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_LOGIN_BYTES:
            return b""
    return body


class Guarded:
    """Lets readers in that may see the study; every answer says what a browser may do with it."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self.app, self.served = app, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        refused = self.refused(request)
        if refused is not None:
            if request.headers.get("authorization"):
                await asyncio.sleep(WRONG_S)
            await refused(scope, receive, guarded(send))
            return
        if scope["path"] != LOGIN:
            let_in(scope.get("state", {}))
        await self.app(scope, receive, guarded(send))

    def refused(self, request: Request) -> Response | None:
        # As it was asked for: of the address of a request the header `Host` is a part.
        access, path = self.served.access, request.scope["path"]
        if path == LOGIN:
            return None
        if access.allows(
            request.headers.get("authorization", ""), request.cookies.get(access.cookie_name, "")
        ):
            return None
        if path == "/" and request.method == "GET":
            return RedirectResponse(LOGIN, 303)
        return PlainTextResponse(
            "the token is missing: send it as `Authorization: Bearer TOKEN`, or open the page in a browser\n",
            401,
            headers={"WWW-Authenticate": "Bearer"},
        )


def guarded(send: Send) -> Send:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            ours = {
                "content-security-policy": POLICY,
                "cache-control": "no-store",
                "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
            }
            more = [(n.encode(), v.encode()) for n, v in ours.items() if n.encode() not in there]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


class EventStream:
    """Server-sent events, as an application of its own: each reader waits for itself, and for no longer than it may."""

    def __init__(self, served: Served) -> None:
        self.served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hub, request = self.served.hub, Request(scope)
        if hub.readers >= MOST_READERS:
            await PlainTextResponse("too many readers\n", 503)(scope, receive, send)
            return
        kind = (b"content-type", b"text/event-stream; charset=utf-8")
        await hub.enter()
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [kind]})
            await self.send_beats(request, send, gone)
        except asyncio.TimeoutError:
            pass
        finally:
            hub.leave()
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone

    async def send_beats(self, request: Request, send: Send, gone: asyncio.Future[None]) -> None:
        hub = self.served.hub
        place, number = place_of(request.headers.get("last-event-id", "")), 0
        body = f"retry: {RETRY_MS}\n\n".encode()
        while not gone.done():
            beat = await first_of(hub.after(number), gone)
            if beat is None:
                return
            place, event = beat.event(place)
            number = beat.number
            message = {"type": "http.response.body", "body": body + event, "more_body": not beat.last}
            await asyncio.wait_for(send(message), SLOW_S)
            body = b""
            if beat.last:
                return


async def first_of(wanted: Any, gone: asyncio.Future[None]) -> Any:
    """What is wanted, or None where the reader has gone before."""
    task = asyncio.ensure_future(wanted)
    await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        return task.result()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return None


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
