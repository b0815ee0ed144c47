"""APNs on a port of its own: HTTP/2 over TLS, by ALPN."""

import asyncio
import ssl
import uuid

import msgspec

from notify_streams.providers.simulator.apple import Gate, Key, refusal, token_of
from notify_streams.providers.simulator.asking import Kit, Told, event_of, kept, wait
from notify_streams.providers.simulator.followed import answering as followed
from notify_streams.providers.simulator.http2 import Outcome, Request, Response, Session

PROVIDER = "apns"
_HEADERS = ("apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id", "apns-id")
_STREAMS_AT_FIRST = 1  # "APNs allows only one stream until you post a request with a valid authentication token"
_STREAMS = 1000
# What Apple says where only a status was told.
_BY_STATUS = {
    400: "BadDeviceToken",
    403: "InvalidProviderToken",
    404: "BadPath",
    405: "MethodNotAllowed",
    410: "Unregistered",
    413: "PayloadTooLarge",
    429: "TooManyRequests",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}


class Apns:
    """The server while it listens."""

    def __init__(self, server: asyncio.Server, sessions: set[Session]) -> None:
        self._server = server
        self._sessions = sessions

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def go_away(self, reason: str = "Shutdown") -> None:
        """Say good-bye on every connection; what is under way is still answered."""
        for session in self._sessions:
            session.go_away(reason=reason)

    async def stop(self) -> None:
        """No more connections; those that there are end."""
        self._server.close()
        for session in list(self._sessions):
            session.abort()
        await asyncio.sleep(0)


async def start(kit: Kit, key: Key, certificate: str, host: str, port: int) -> Apns:
    """Listen. `certificate` is a PEM file with the server's certificate and its key."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    tls.set_alpn_protocols(["h2"])
    gate = Gate(key)
    sessions: set[Session] = set()

    async def answering(request: Request, session: Session) -> Outcome:
        refused = gate.refused(request, kit.clock())
        if refused is not None:
            return refused
        session.let(_STREAMS)
        with followed():
            return await _taken(kit, request)

    def session() -> Session:
        return Session(answering, streams=_STREAMS_AT_FIRST, sessions=sessions)

    return Apns(await asyncio.get_running_loop().create_server(session, host, port, ssl=tls), sessions)


async def _taken(kit: Kit, request: Request) -> Outcome:
    to = token_of(request)
    told = kit.script.next(PROVIDER, to)
    outcome = _outcome(kit, told, request.headers.get("apns-id") or str(uuid.uuid4()))
    kit.log.add(
        provider=PROVIDER,
        event=event_of(told),
        to=to,
        answer=_in_words(outcome),
        delivery_id=request.headers.get("apns-id", ""),
        identity=request.headers.get("apns-collapse-id", ""),
        content=request.body,
        headers=kept(request.headers, *_HEADERS),
    )
    await wait(told)
    return outcome


def _outcome(kit: Kit, told: Told | None, apns_id: str) -> Outcome:
    if told is None or told.kind == "accept":
        return Response(200, {"apns-id": apns_id})
    if told.kind != "refuse":
        return "reset" if told.kind == "reset" else "drop"
    if told.body:
        return Response(told.status, {"apns-id": apns_id, **told.headers}, told.body.encode())
    since = {"timestamp": round(kit.clock() * 1000)} if told.status == 410 else {}
    plain = refusal(told.status, _BY_STATUS.get(told.status, "Unknown"), **since)
    return msgspec.structs.replace(plain, headers={"apns-id": apns_id, **plain.headers, **told.headers})


def _in_words(outcome: Outcome) -> str:
    if not isinstance(outcome, Response):
        return outcome
    try:
        reason = msgspec.json.decode(outcome.body or b"{}").get("reason", "")
    except (msgspec.DecodeError, AttributeError):
        reason = ""
    return f"{outcome.status} {reason}".rstrip()
