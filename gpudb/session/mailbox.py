"""LISTEN and NOTIFY: a session's channels, what its transaction sends, and what others have sent to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gpudb.errors import SqlError

MAX_WAITING = 100_000
"""Notifications that wait for one session at most; a sender beyond it fails."""
MAX_PAYLOAD = 7999
"""Bytes of a payload at most, as in PostgreSQL."""
_MAX_CHANNEL = 63


class Notification(NamedTuple):
    """A notification: the process ID of the session that sent it, its channel and its payload."""

    process_id: int
    channel: str
    payload: str


class Mailbox:
    """A session's channels and notifications.

    LISTEN, UNLISTEN and NOTIFY take effect when the transaction commits. `inbox` has what arrived and was not yet
    taken; `on_arrival` is called after something has arrived, by the thread of the session that sent it. `has_changes`
    is whether the transaction has said any of the three: an attribute, since every transaction's end reads it.
    """

    __slots__ = ("_changes", "_queued", "channels", "has_changes", "inbox", "on_arrival")

    def __init__(self) -> None:
        self.channels: dict[str, None] = {}
        self.inbox: deque[Notification] = deque()
        self.on_arrival: Callable[[], None] | None = None
        self._changes: list[tuple[str | None, bool]] = []
        self._queued: dict[tuple[str, str], None] = {}
        self.has_changes = False

    def listen(self, channel: str) -> None:
        """Listens to a channel from the transaction's end on."""
        self._changes.append((channel, True))
        self.has_changes = True

    def unlisten(self, channel: str | None) -> None:
        """Stops listening to a channel, None for all, at the transaction's end."""
        self._changes.append((channel, False))
        self.has_changes = True

    def notify(self, channel: str, payload: str) -> None:
        """Sends a notification at the transaction's end, equal ones once; 22023 for what is empty or too long."""
        if not channel:
            raise SqlError.of("invalid_parameter_value", "channel name cannot be empty")
        if len(channel.encode()) > _MAX_CHANNEL:
            raise SqlError.of("invalid_parameter_value", "channel name too long")
        if len(payload.encode()) > MAX_PAYLOAD:
            raise SqlError.of("invalid_parameter_value", "payload string too long")
        self._queued[channel, payload] = None
        self.has_changes = True

    def mark(self) -> tuple[int, int]:
        """Returns a mark for `rollback_to`."""
        return len(self._queued), len(self._changes)

    def rollback_to(self, mark: tuple[int, int]) -> None:
        """Forgets what the transaction has said since a mark."""
        queued, changes = mark
        self._queued = dict.fromkeys(list(self._queued)[:queued])
        del self._changes[changes:]

    def check_room(self, mailboxes: Iterable[Mailbox]) -> None:
        """54000 if a session that listens has too many notifications waiting: it does not take them."""
        for mailbox in mailboxes if self._queued else ():
            if len(mailbox.inbox) + len(self._queued) > MAX_WAITING and mailbox.channels:
                raise SqlError.of("program_limit_exceeded", "too many notifications in the NOTIFY queue")

    def commit(self, process_id: int, mailboxes: Iterable[Mailbox]) -> list[Notification]:
        """Puts into effect what the transaction has said; returns its notifications, which those that listen get."""
        for channel, listens in self._changes:
            if listens and channel is not None:
                self.channels[channel] = None
            elif channel is None:
                self.channels.clear()
            else:
                self.channels.pop(channel, None)
        sent = [Notification(process_id, channel, payload) for channel, payload in self._queued]
        self.forget()
        for mailbox in mailboxes if sent else ():
            mailbox.receive(sent, wakes=mailbox is not self)
        return sent

    def receive(self, sent: Iterable[Notification], *, wakes: bool = True) -> None:
        """Takes in what others have sent to channels that the session listens to."""
        heard = [each for each in sent if each.channel in self.channels]
        self.inbox.extend(heard)
        if heard and wakes and self.on_arrival is not None:
            self.on_arrival()

    def forget(self) -> None:
        """Forgets what the transaction has said."""
        self._changes.clear()
        self._queued.clear()
        self.has_changes = False
