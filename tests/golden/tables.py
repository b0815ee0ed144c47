"""A full and a minimal value of every table's value, by the name of its golden file, and the program's own decoders."""

from typing import Any

import msgspec

from schemas import (
    addresses,
    commands,
    decisions,
    deliveries,
    inbox,
    notifications,
    outcomes,
    profiles,
    receipts,
    stops,
    timers,
    user_state,
)
from schemas.addresses import AddressState, Held, Lifted, Owner
from schemas.content import Actor
from schemas.inbox import InboxDone, InboxEntry, InboxGroup, InboxHeader, InboxMember
from schemas.stops import Gate, GateStop
from schemas.timers import Entry, Place
from schemas.user_state import Latest, Pending, Stopped, UserState, Window
from schemas.words import Reason
from tests.golden.parts import DELIVERY, ID, LATER, NOW, PAYLOAD

# Table values: msgpack in RocksDB and on changelogs.
TABLE: dict[str, tuple[Any, Any, msgspec.msgpack.Decoder[Any]]] = {
    "user-state": (
        UserState(
            seen=bytes(range(50)),
            pending={b"0123456789\x01": Pending(2, LATER, b"orig", NOW, 7, LATER, "decide/1/email")},
            charged=bytes(range(32)),
            stopped={b"0123456789": Stopped(LATER, Reason.READ, ("email",), NOW)},
            older=(497_222, 497_223),
            latest={b"0123456789": Latest(ID, NOW, LATER, (DELIVERY,), NOW)},
        ),
        UserState(),
        msgspec.msgpack.Decoder(UserState),
    ),
    "window": (
        Window(3, "email", "digest/social", "low", Reason.DIGEST, "shop", NOW, LATER, 1, 17, LATER + 1, 2**20, "/s"),
        Window(0, "inapp", "", "high", Reason.DIGEST, "", 0, 0),
        msgspec.msgpack.Decoder(Window),
    ),
    "timer-entry": (
        Entry("änn".encode(), "retry/1", 2, "deliveries.email.high", bytes(PAYLOAD)),
        Entry(b"", "", 0, "", b""),
        msgspec.msgpack.Decoder(Entry),
    ),
    "timer-place": (Place(b"\x00\x01", 2**40), Place(b"", 0), msgspec.msgpack.Decoder(Place)),
    "inbox-header": (
        InboxHeader(17, 4, 3, 9, 11, LATER, 5, 2, 2**40, bytes(range(16))),
        InboxHeader(),
        msgspec.msgpack.Decoder(InboxHeader),
    ),
    "inbox-member": (
        InboxMember(17, b"item" * 4, b"row2" * 4, b"row1" * 4, LATER, b"room" * 4),
        InboxMember(1, b"", b"", b"", 0),
        msgspec.msgpack.Decoder(InboxMember),
    ),
    "inbox-group": (
        InboxGroup(b"item" * 4, NOW, LATER, 7, 5, (Actor("user-7", "Änn"), Actor("user-8")), bytes(range(8))),
        InboxGroup(b"", 0, 0),
        msgspec.msgpack.Decoder(InboxGroup),
    ),
    "inbox-done": (
        InboxDone("command-1", 17, 4, 3, "archived", b"item" * 8, 16),
        InboxDone("", 0, 0, 0),
        msgspec.msgpack.Decoder(InboxDone),
    ),
    "gate": (
        Gate(7, LATER, {b"0123456789": GateStop(LATER, Reason.READ, ("email",))}),
        Gate(),
        msgspec.msgpack.Decoder(Gate),
    ),
    "address": (
        AddressState(
            "email",
            (Owner("änn", "home", NOW),),
            (Held("mailbox_full", LATER, NOW, "ses", "Ann@Example.com"),),
            (1, 17),
            (Lifted(NOW, "opt_out"),),
        ),
        AddressState("push"),
        msgspec.msgpack.Decoder(AddressState),
    ),
    "inbox-entry": (
        InboxEntry(17, True, True, LATER, 18, 1, b"row1" * 4, b"note" * 8, 6, b"room" * 4, b"key1" * 4),
        InboxEntry(1),
        msgspec.msgpack.Decoder(InboxEntry),
    ),
}

# The decoders that the program itself uses.
OWN = {
    "notification.v1": notifications.decode_notification_or_flush,
    "flush.v1": notifications.decode_notification_or_flush,
    "stop.v1": stops.decode_stop,
    "delivery.v1": deliveries.decode_delivery,
    "outcome.v1": outcomes.decode_outcome,
    "inbox-outcomes.v1": outcomes.decode_outcome,
    "decision.v1": decisions.decode_decision,
    "catalogue.v1": decisions.decode_decision,
    "patch-preferences.v1": commands.decode_command,
    "put-endpoint.v1": commands.decode_command,
    "remove-endpoint.v1": commands.decode_command,
    "cancel.v1": commands.decode_command,
    "erase-user.v1": commands.decode_command,
    "command-result.v1": commands.decode_result,
    "profile.v1": profiles.decode_profile,
    "put-timer.v1": timers.decode_operation,
    "move-timer.v1": timers.decode_operation,
    "cancel-timer.v1": timers.decode_operation,
    "user-state": user_state.decode_user_state,
    "timer-entry": timers.decode_entry,
    "window": user_state.decode_window,
    "timer-place": timers.decode_place,
    "inbox-header": inbox.decode_header,
    "inbox-entry": inbox.decode_inbox_entry,
    "inbox-member": inbox.decode_inbox_member,
    "inbox-group": inbox.decode_inbox_group,
    "inbox-done": inbox.decode_inbox_done,
    "inbox-command.v1": inbox.decode_inbox_record,
    "inbox-sweep.v1": inbox.decode_inbox_record,
    "inbox-result.v1": inbox.decode_answer,
    "gate": stops.decode_gate,
    "address": addresses.decode_address,
    "verify-endpoint.v1": commands.decode_command,
    "mark-address.v1": commands.decode_command,
    "drop-address.v1": commands.decode_command,
    "claim-address.v1": addresses.decode_change,
    "release-address.v1": addresses.decode_change,
    "address-gone.v1": addresses.decode_change,
    "suppress-address.v1": addresses.decode_change,
    "lift-suppression.v1": addresses.decode_change,
    "show-address.v1": addresses.decode_change,
    "receipt.v1": receipts.decode_receipt,
    "inbound.v1": receipts.decode_receipt,
}
