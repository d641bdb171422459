"""LISTEN, NOTIFY and UNLISTEN."""

from __future__ import annotations

from typing import Any

from gpudb.session.context import Context
from gpudb.session.results import Result


def listen(context: Context) -> Result:
    """LISTEN channel."""
    node: Any = context.statement.node
    context.session.mailbox.listen(node.conditionname)
    return Result("LISTEN")


def notify(context: Context) -> Result:
    """NOTIFY channel [, payload]."""
    node: Any = context.statement.node
    context.session.mailbox.notify(node.conditionname, node.payload)
    return Result("NOTIFY")


def unlisten(context: Context) -> Result:
    """UNLISTEN channel, or *."""
    node: Any = context.statement.node
    context.session.mailbox.unlisten(node.conditionname or None)
    return Result("UNLISTEN")
