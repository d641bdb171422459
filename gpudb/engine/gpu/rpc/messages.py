"""Requests to workers and nannies, and their replies.

A request names its handler. On the wire it is the tuple of its fields; a reply is the tuple of its fields behind the
index of its class in `_REPLIES`. `calls` pickles the tuples, which is several times as fast as pickling the objects.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from gpudb.engine.figures import StageFigures, Wire
from gpudb.engine.sharing import SharePlace

R = TypeVar("R", covariant=True)


class Message:
    """A frozen slotted dataclass that is sent as the tuple of its fields."""

    __slots__: tuple[str, ...] = ()

    def to_wire(self) -> Wire:
        """Returns the fields."""
        return tuple([getattr(self, name) for name in self.__slots__])

    @classmethod
    def from_wire(cls, wire: Wire) -> Self:
        """Returns the message of such fields."""
        return cls(*wire)


class RpcRequest(Message, Generic[R]):
    """A call of the handler of that name, which replies with `R`."""

    __slots__ = ()
    handler: ClassVar[str]


# ---------------------------------------------------------------------------------------------- replies


class Refusal(IntEnum):
    """Why a worker does not do what it is asked for."""

    PLAN_UNKNOWN = 1
    """It does not have the plan: the request must contain the stages."""
    STATEMENT_ENDED = 2
    """The statement has ended on the worker."""
    PART_EVICTED = 3
    """It has evicted a fused part that it had bound."""


@dataclass(frozen=True, slots=True)
class Refused(Message):
    """The worker has done nothing."""

    reason: Refusal

    @classmethod
    def from_wire(cls, wire: Wire) -> Refused:
        """See `Message`."""
        return cls(Refusal(wire[0]))


@dataclass(frozen=True, slots=True)
class Failed(Message):
    """The worker has raised an error, which is pickled."""

    pickled: bytes

    @classmethod
    def of(cls, error: BaseException) -> Failed:
        """Returns the reply with an error."""
        return cls(pickle.dumps(error))

    @property
    def error(self) -> BaseException:
        """The error."""
        error: BaseException = pickle.loads(self.pickled)
        return error


@dataclass(frozen=True, slots=True)
class FetchFailed(Message):
    """The worker of a partition, another one, did not return its rows."""

    partition: int


class FastPathUse(IntFlag):
    """Which further runs of a statement a worker can answer on the fast path."""

    NEVER = 0
    BOUND = 1
    """Those with the same parameters, for which its fused parts are bound."""
    SHORT = 2
    """Those with any parameters: its stages take little time, bound or not."""


@dataclass(frozen=True, slots=True)
class RunResult(Message):
    """The figures of a statement's stages on a worker, and its partitions of the result (None: stored on the worker).

    `fast_path` says whether the worker can answer the statement on the fast path from now on. The stages that ran are
    `bound` if all their fused parts are, else `unbound`; both are empty if stages were left out.
    """

    figures: tuple[StageFigures, ...]
    results: tuple[tuple[int, bytes | None], ...]
    fast_path: FastPathUse = FastPathUse.NEVER
    bound: tuple[int, ...] = ()
    unbound: tuple[int, ...] = ()

    def to_wire(self) -> Wire:
        """See `Message`."""
        figures = tuple([each.to_wire() for each in self.figures])
        return figures, self.results, int(self.fast_path), self.bound, self.unbound

    @classmethod
    def from_wire(cls, wire: Wire) -> RunResult:
        """See `Message`."""
        figures, results, fast_path, *more = wire
        return cls(tuple([StageFigures.from_wire(each) for each in figures]), results, FastPathUse(fast_path), *more)


@dataclass(frozen=True, slots=True)
class ResultChunk(Message):
    """A chunk of a result, and the first row of the next one, 0 after the last."""

    data: bytes
    next_start: int


class IpcHandle(NamedTuple):
    """Position of a buffer in a process's GPU memory, readable by other processes of the host.

    `handle` is the driver's handle of the allocation, `start` the offset in it, and `size` the buffer's size, in bytes.
    """

    handle: bytes
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class BufferReply:
    """A buffer, which Dask sends without a copy to the host, and the metadata that decodes it.

    `place` locates the buffer for a process that can map it.
    """

    metadata: bytes
    buffer: Any
    place: IpcHandle | None = None


@dataclass(frozen=True, slots=True)
class PendingBuffer(Message):
    """A buffer that waits at the UCX server of the replying worker, under a number of the statement.

    For a process that can map it, `place` locates the buffer and `metadata` decodes it.
    """

    number: int
    metadata: bytes = b""
    place: IpcHandle | None = None

    def to_wire(self) -> Wire:
        """See `Message`."""
        return self.number, self.metadata, None if self.place is None else tuple(self.place)

    @classmethod
    def from_wire(cls, wire: Wire) -> PendingBuffer:
        """See `Message`."""
        number, metadata, place = wire
        return cls(number, metadata, None if place is None else IpcHandle(*place))


@dataclass(frozen=True, slots=True)
class MeasuredOutput(Message):
    """A stage's output, or where it waits; the milliseconds until it existed, and those of its encoding."""

    output: bytes | PendingBuffer
    waited: float
    encoded: float

    def to_wire(self) -> Wire:
        """See `Message`."""
        return encode_reply(self.output), self.waited, self.encoded

    @classmethod
    def from_wire(cls, wire: Wire) -> MeasuredOutput:
        """See `Message`."""
        output, *more = wire
        return cls(decode_reply(output), *more)


@dataclass(frozen=True, slots=True)
class CachedBytes(Message):
    """The bytes that a table takes in a worker's cache, or took there before it was evicted."""

    bytes: int


DeviceFacts = Sequence[tuple[str, str, str]]
"""Facts of a device: name, value and description."""


@dataclass(frozen=True, slots=True)
class DeviceInfo(Message):
    """A worker's cached columns, by the fields of `CachedColumnInfo`, and the facts of its device."""

    columns: tuple[Wire, ...]
    facts: DeviceFacts


@dataclass(frozen=True, slots=True)
class Heartbeat(Message):
    """What a worker holds: its statements, and bytes of results, of cached columns, and of the process.

    `memory_space` has the bytes for tables' columns and for statements. `ucx_address` is empty without a UCX server;
    `endpoints` are those of the fast-path server. With `has_stray` an ended statement still computes.
    `finished` has a pair for each statement: its number, and the stages that it has finished, each once a partition.
    """

    statements: int
    results: int
    resident: int
    memory: int
    memory_space: tuple[int, int]
    ucx_address: str = ""
    endpoints: tuple[str, ...] = ()
    has_stray: bool = False
    finished: tuple[tuple[int, int], ...] = ()


RunReply = RunResult | Refused | Failed | FetchFailed
_REPLIES: tuple[type[Message], ...] = (
    Refused, Failed, FetchFailed, RunResult, ResultChunk, PendingBuffer, CachedBytes, DeviceInfo, Heartbeat,
    MeasuredOutput,
)  # fmt: skip
_INDICES = {each: index for index, each in enumerate(_REPLIES)}


def encode_reply(reply: Any) -> Any:
    """Encodes a reply; plain values other than tuples are unchanged."""
    return (_INDICES[type(reply)], reply.to_wire()) if isinstance(reply, Message) else reply


def decode_reply(wire: Any) -> Any:
    """Decodes a reply."""
    return _REPLIES[wire[0]].from_wire(wire[1]) if isinstance(wire, tuple) else wire


# ---------------------------------------------------------------------------------------------- requests to workers


class CacheAction(StrEnum):
    """What to do with a table's columns."""

    LOAD = "load"
    PIN = "pin"
    UNPIN = "unpin"
    EVICT = "evict"


@dataclass(frozen=True, slots=True)
class RunRequest(RpcRequest[RunReply]):
    """Runs the stages of these partitions; each of the `peers` has as many partitions as there are `chunks`.

    The worker gets the pickled `stages` of a plan once, and knows them by `digest` from then on. With `measure`
    operators are computed one by one. All workers have bound the fused parts of `bound` stages, whose build sides are
    left out. With `share` the result stays in the worker's memory, and the reply has pickled `SharedPart`s. With
    `measure_exchanges` the figures have the exchanges between workers.
    """

    handler: ClassVar[str] = "gpudb_run"
    statement: int
    digest: bytes
    partitions: tuple[int, ...]
    peers: tuple[str, ...]
    parameters: bytes
    short: bool
    stages: bytes = b""
    chunks: int = 1
    ucx_addresses: tuple[str, ...] = ()
    measure: bool = False
    bound: tuple[int, ...] = ()
    share: SharePlace = SharePlace.NONE
    measure_exchanges: bool = False


@dataclass(frozen=True, slots=True)
class OutputRequest(RpcRequest["bytes | PendingBuffer | MeasuredOutput"]):
    """Asks for a stage's output of some producing partitions, for one consuming partition.

    With `by_ucx` the worker can fetch a buffer over UCX; with `near` it is on the same host and can map it. The reply
    is measured if `measured`.
    """

    handler: ClassVar[str] = "gpudb_part"
    statement: int
    stage: int
    producers: tuple[int, ...]
    consumer: int
    by_ucx: bool = False
    near: bool = False
    measured: bool = False


@dataclass(frozen=True, slots=True)
class CopiedRequest(RpcRequest[bool]):
    """Says that a pending buffer has been copied; the reply is whether it was still there."""

    handler: ClassVar[str] = "gpudb_copied"
    statement: int
    number: int


@dataclass(frozen=True, slots=True)
class BufferRequest(RpcRequest["bytes | BufferReply"]):
    """Fetches a pending buffer from a worker's UCX server."""

    handler: ClassVar[str] = "gpudb_buffer"
    statement: int
    number: int


@dataclass(frozen=True, slots=True)
class ChunkRequest(RpcRequest["ResultChunk | Refused"]):
    """Fetches a chunk of a stored partition of the result from row `start` on."""

    handler: ClassVar[str] = "gpudb_rows"
    statement: int
    partition: int
    start: int


@dataclass(frozen=True, slots=True)
class EndRequest(RpcRequest[bool]):
    """Ends a statement; the reply is whether it still computes after `patience` seconds."""

    handler: ClassVar[str] = "gpudb_drop"
    statement: int
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class CacheRequest(RpcRequest["CachedBytes | Failed"]):
    """Loads, pins or evicts a partition of a pickled table."""

    handler: ClassVar[str] = "gpudb_hold"
    table: bytes
    index: int
    count: int
    action: CacheAction


@dataclass(frozen=True, slots=True)
class DeviceRequest(RpcRequest[DeviceInfo]):
    """Asks for the cached columns and the facts of the device."""

    handler: ClassVar[str] = "gpudb_device_info"


@dataclass(frozen=True, slots=True)
class Ping(RpcRequest[Heartbeat]):
    """Asks for a heartbeat; ends statements up to number `upto` that are not `live`, and forgets other `peers`."""

    handler: ClassVar[str] = "gpudb_ping"
    upto: int
    live: tuple[int, ...]
    peers: tuple[str, ...]


# ---------------------------------------------------------------------------------------------- requests to nannies


@dataclass(frozen=True, slots=True)
class KillRequest(RpcRequest[None]):
    """Kills the worker at an address; its nanny starts another."""

    handler: ClassVar[str] = "gpudb_end"
    address: str


@dataclass(frozen=True, slots=True)
class AliveRequest(RpcRequest[bool]):
    """Asks whether the process of the worker at an address is able to run."""

    handler: ClassVar[str] = "gpudb_alive"
    address: str
