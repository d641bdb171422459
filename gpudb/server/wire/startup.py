"""Start-up of a connection to its first ReadyForQuery: encryption, parameters, a session.

SSLRequest → S (then TLS) or N      GSSENCRequest → N      CancelRequest → cancel, close
StartupMessage → [NegotiateProtocolVersion] → authentication (`login`) → ParameterStatus… BackendKeyData
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass

from gpudb.errors import SqlError
from gpudb.server.wire import messages, replies
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.messages import ProtocolViolation, Startup
from gpudb.server.wire.stream import Stream
from gpudb.session.interfaces import DatabaseInterface, Network, SessionInterface

_CONNECTION_PARAMETERS = frozenset({"user", "database", "replication", "options"})
_OPTION = re.compile(r"(?:-c\s*|--)([\w.\-]+)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cancel:
    """A cancel request, the only message of its connection."""

    process_id: int
    key: int


def read_startup(stream: Stream, tls: ssl.SSLContext | None) -> Startup | Cancel:
    """Reads start-up packets until a StartupMessage or a CancelRequest; answers the others."""
    offered: set[int] = set()
    while True:
        length = int.from_bytes(stream.read_plain(4), "big")
        if not 8 <= length <= messages.SMALL_MESSAGE:
            raise ProtocolViolation("invalid length of startup packet", fatal=True)
        packet = messages.parse_startup(stream.read_plain(length - 4))
        if packet.code == messages.CANCEL_REQUEST:
            return Cancel(*messages.parse_cancel(packet.rest))
        if packet.code not in (messages.SSL_REQUEST, messages.GSSENC_REQUEST) or packet.code in offered:
            return packet
        offered.add(packet.code)
        encrypt = packet.code == messages.SSL_REQUEST and tls is not None
        stream.send(b"S" if encrypt else b"N")
        stream.flush()
        if encrypt and tls is not None:
            stream.encrypt(tls)


def read_parameters(stream: Stream, packet: Startup) -> dict[str, str]:
    """Returns the parameters of a StartupMessage; negotiates 3.0 with clients of a newer minor version."""
    major, minor = packet.code >> 16, packet.code & 0xFFFF
    if major != 3:
        message = f"unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"
        raise SqlError.of("feature_not_supported", message)
    parameters = messages.parse_parameters(packet.rest)
    unknown = [name for name in parameters if name.startswith("_pq_.")]
    if minor or unknown:
        stream.send(replies.negotiate_protocol_version(unknown))
    if not parameters.get("user"):
        message = "no PostgreSQL user name specified in startup packet"
        raise SqlError.of("invalid_authorization_specification", message)
    if parameters.get("replication", "false").lower() not in ("false", "off", "no", "0"):
        raise SqlError.of("feature_not_supported", "replication connections are not supported")
    return parameters


def extract_settings(parameters: dict[str, str]) -> dict[str, str]:
    """Returns the settings among start-up parameters, those of `options` (`-c name=value`) first; 42601."""
    settings: dict[str, str] = {}
    words = re.findall(r"(?:\\.|\S)+", parameters.get("options", ""), re.DOTALL)
    words = [re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL) for word in words]
    while words:
        word = words.pop(0)
        if word == "-c" and words:
            word += words.pop(0)
        option = _OPTION.fullmatch(word)
        if option is None:
            message = f"invalid command-line argument for server process: {word}"
            raise SqlError.of("syntax_error", message)
        settings[option.group(1).replace("-", "_")] = option.group(2)
    for name, value in parameters.items():
        if name not in _CONNECTION_PARAMETERS and not name.startswith("_pq_."):
            settings[name] = value
    return settings


def read_password_message(stream: Stream) -> bytes:
    """Sends what is buffered and returns the client's next message of SASL; 08P01 for any other."""
    stream.flush()
    kind = stream.read_bytes(1)
    if kind != b"p":
        raise ProtocolViolation(f"expected SASL response, got message type {kind[0]}", fatal=True)
    length = int.from_bytes(stream.read_bytes(4), "big")
    if not 4 <= length <= messages.PASSWORD_MESSAGE:
        raise ProtocolViolation("invalid message length", fatal=True)
    return stream.read_bytes(length - 4)


def describe_request(stream: Stream, parameters: dict[str, str], host: str) -> ConnectionRequest:
    """Returns what rules of connections decide by."""
    user = parameters["user"]
    database = parameters.get("database") or user
    return ConnectionRequest(user, database, host, stream.is_encrypted, stream.get_common_name())


def open_session(database: DatabaseInterface, parameters: dict[str, str], host: str) -> SessionInterface:
    """Opens the session of an authenticated client; 3D000 for a database that does not exist."""
    name = parameters.get("database") or parameters["user"]
    return database.session(parameters["user"], extract_settings(parameters), host, name)


def describe_network(stream: Stream) -> Network:
    """Returns what a session shows of its connection; without ports and address if the client has gone already."""
    try:
        client, server = stream.connection.getpeername(), stream.connection.getsockname()
    except OSError:
        return Network()
    cipher = stream.connection.cipher() if isinstance(stream.connection, ssl.SSLSocket) else None
    name, _, bits = cipher or (None, None, None)
    version = stream.connection.version() if isinstance(stream.connection, ssl.SSLSocket) else None
    return Network(client[1], server[0], server[1], version, name, bits)


def build_greeting(session: SessionInterface, key: int) -> bytes:
    """Sends what precedes a new session's first ReadyForQuery."""
    reports = b"".join(replies.parameter_status(name, value) for name, value in session.reports().items())
    return reports + replies.backend_key_data(session.process_id, key)
