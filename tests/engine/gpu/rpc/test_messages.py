"""Messages between the coordinator and workers: what is decoded equals what was sent, and every request has a handler."""

from __future__ import annotations

import asyncio
import gc
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
from distributed import Security

from gpudb.engine.figures import ExchangeFigures, KernelFigures, NarrowedScan, OperatorFigures, StageFigures
from gpudb.engine.gpu.cluster.launcher import NannyHandlers
from gpudb.engine.gpu.rpc import messages
from gpudb.engine.gpu.rpc.calls import wrap_handler
from gpudb.engine.gpu.rpc.errors import PartitionLost, encode_error
from gpudb.engine.gpu.rpc.messages import (
    AliveRequest,
    BufferRequest,
    CacheAction,
    CachedBytes,
    CacheRequest,
    ChunkRequest,
    CopiedRequest,
    DeviceInfo,
    DeviceRequest,
    EndRequest,
    Failed,
    FetchFailed,
    Heartbeat,
    IpcHandle,
    KillRequest,
    MeasuredOutput,
    Message,
    OutputRequest,
    PendingBuffer,
    Ping,
    Refusal,
    Refused,
    ResultChunk,
    RpcRequest,
    RunRequest,
    RunResult,
    decode_reply,
    encode_reply,
)
from gpudb.engine.gpu.worker.worker import StageWorker
from gpudb.errors import SqlError

FIGURES = StageFigures(
    2,
    1,
    rows=10,
    bytes=80,
    spilled=0,
    milliseconds=1.5,
    host=("aggregates",),
    started=1.5,
    compiling=0.5,
    loading=0.75,
    kernels=(KernelFigures("t", 8, 1, 0, 0.5, passed=3), KernelFigures("u", 0, 0, 0, 0.0, declined="texts")),
    narrowed=(NarrowedScan(0, "k from 1 to 9", 1, 2, 300, compared=True),),
    operators=(OperatorFigures(0, 100, 10, 0, 0, 0.25),),
    exchanges=(ExchangeFigures(1, 0, 1, 2.5, 10, 800, 0.5, 0.25, 1.5, "tcp"),),
)
REPLIES: list[Message] = [
    RunResult((FIGURES, FIGURES._replace(stage=3, kernels=())), ((0, b"rows"), (1, None)), True, (1, 2), (3,)),
    RunResult((), ()),
    *(Refused(each) for each in Refusal),
    Failed(b"pickled"),
    FetchFailed(3),
    ResultChunk(b"rows", 65536),
    PendingBuffer(7),
    PendingBuffer(7, b"layout", IpcHandle(b"handle", 16, 4096)),
    MeasuredOutput(b"rows", 1.5, 0.25),
    MeasuredOutput(PendingBuffer(7, b"layout", IpcHandle(b"handle", 16, 4096)), 1.5, 0.25),
    CachedBytes(12),
    DeviceInfo(((16384, "k", "plain", 1, 80, 2, False),), (("DEVICE_KIND", "cpu", "Kind of device"),)),
    Heartbeat(1, 2, 3, 4, (5, 6), "ucx://here:1", ("/tmp/entry",), has_stray=True),
]
REQUESTS: list[RpcRequest[Any]] = [
    RunRequest(1, b"digest", (0, 2), ("tcp://here:1",), b"parameters", True, b"stages", 2, ("",), True, (4,)),
    OutputRequest(1, 2, (0, 1), 3, by_ucx=True, near=True),
    CopiedRequest(1, 2),
    BufferRequest(1, 2),
    ChunkRequest(1, 0, 65536),
    EndRequest(1, 0.3),
    CacheRequest(b"table", 0, 2, CacheAction.PIN),
    DeviceRequest(),
    Ping(9, (7, 8), ("tcp://here:1",)),
    KillRequest("tcp://here:1"),
    AliveRequest("tcp://here:1"),
]


def _sent(wire: Any) -> Any:
    """As it arrives: the wire form is made of what every serialiser knows, and lists may have taken tuples' places."""
    return msgpack.unpackb(msgpack.packb(wire), use_list=False)


@pytest.mark.parametrize("reply", REPLIES, ids=lambda each: type(each).__name__)
def test_replies_arrive_as_they_were_sent(reply: Message) -> None:
    assert decode_reply(_sent(encode_reply(reply))) == reply
    assert decode_reply(pickle.loads(pickle.dumps(encode_reply(reply)))) == reply


def test_plain_replies_stay_as_they_are() -> None:
    for reply in (True, None, b"rows", 3):
        assert decode_reply(_sent(encode_reply(reply))) == reply


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_requests_reach_their_handler_as_they_were_sent(request_: RpcRequest[Any]) -> None:
    assert type(request_).from_wire(_sent(request_.to_wire())) == request_

    async def handler(received: Any) -> bytes:
        assert received == request_
        return b"handled"

    async def handled() -> Any:
        return await wrap_handler(type(request_), handler)(pickle.dumps(request_.to_wire()))

    assert asyncio.run(handled()) == b"handled"


def test_every_reply_and_request_is_among_these() -> None:
    assert {type(each) for each in REPLIES} == set(messages._REPLIES)
    kinds = {each for each in vars(messages).values() if isinstance(each, type) and issubclass(each, RpcRequest)}
    assert {type(each) for each in REQUESTS} == kinds - {RpcRequest}


def test_every_request_has_a_handler_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "freeze", lambda: None)
    nanny, worker = SimpleNamespace(handlers={}), SimpleNamespace(
        handlers={}, address="tcp://127.0.0.1:1", local_directory=str(tmp_path), connection_args={}, security=Security()
    )  # fmt: skip

    async def set_up() -> None:
        plugin = StageWorker(2**30, 2**20, 2**20, secret=b"secret")
        await plugin.setup(worker)
        plugin.teardown(worker)

    asyncio.run(set_up())
    NannyHandlers().setup(nanny)
    handlers = [each.handler for each in REQUESTS if not isinstance(each, BufferRequest)]
    assert sorted(handlers) == sorted([*worker.handlers, *nanny.handlers])
    assert BufferRequest.handler not in handlers, "which UCX servers have"


def test_errors_arrive_with_their_codes() -> None:
    error = encode_error(SqlError.of("disk_full", "no room"), 1)
    assert isinstance(error, Failed)
    received = decode_reply(_sent(encode_reply(error))).error
    assert (received.sqlstate, str(received)) == ("53100", "no room")
    assert encode_error(PartitionLost(3), 1) == FetchFailed(3)
    unexpected = encode_error(ZeroDivisionError("by zero"), 0)
    assert isinstance(unexpected, Failed)
    assert unexpected.error.sqlstate == "XX000"  # type: ignore[attr-defined]
