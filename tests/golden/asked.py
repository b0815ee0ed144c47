"""A full and a minimal value of what is asked and told: commands, addresses, receipts, and the profiles they change."""

from typing import Any

import msgspec

from schemas import (
    commands,
)
from schemas.addresses import (
    AddressChange,
    AddressGoneV1,
    AddressState,
    ClaimAddressV1,
    Held,
    LiftSuppressionV1,
    Owner,
    ReleaseAddressV1,
    ShowAddressV1,
    SuppressAddressV1,
)
from schemas.commands import (
    CancelV1,
    CommandResultV1,
    DropAddressV1,
    EraseUserV1,
    FieldError,
    MarkAddressV1,
    PatchPreferencesV1,
    Preferences,
    PutEndpointV1,
    RemoveEndpointV1,
    VerifyEndpointV1,
)
from schemas.profiles import Address, Applied, ProfileV1, Removed
from schemas.receipts import InboundV1, ReceiptV1
from tests.golden.parts import DELIVERY, ENDPOINT, ID, LATER, NOW, QUIET

ASKED: dict[str, tuple[Any, Any, msgspec.json.Decoder[Any]]] = {
    "patch-preferences.v1": (
        PatchPreferencesV1(
            command_id="c-1",
            if_match=7,
            by="user",
            patch=Preferences(
                version=7,
                locale="fr",
                zone=None,
                channels={"email": True, "push": None},
                categories={"social": {"email": False}, "orders": None},
                quiet_hours=(QUIET,),
                digest={"email": {"social": "daily"}},
                digest_at="08:00",
            ),
        ),
        PatchPreferencesV1(command_id="c-1", patch=Preferences()),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "put-endpoint.v1": (
        PutEndpointV1(
            command_id="c-1",
            if_match=7,
            by="user",
            channel="push",
            endpoint_id="phone",
            content=Address("t0ken"),
            verified=True,
            platform="ios",
            suppressed="bounce",
            suppressed_until=LATER,
            at=NOW,
        ),
        PutEndpointV1(command_id="c-1", channel="email", endpoint_id="home", content=Address("a@b.example")),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "remove-endpoint.v1": (
        RemoveEndpointV1(command_id="c-1", if_match=7, by="op", channel="email", endpoint_id="home", at=NOW),
        RemoveEndpointV1(command_id="c-1", channel="email", endpoint_id="home"),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "verify-endpoint.v1": (
        VerifyEndpointV1(
            command_id="c-1", if_match=7, by="user", channel="sms", endpoint_id="phone", address_key="0a" * 16
        ),
        VerifyEndpointV1(command_id="c-1", channel="sms", endpoint_id="phone", address_key="0a" * 16),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "mark-address.v1": (
        MarkAddressV1(
            command_id="c-1",
            if_match=7,
            by="registry",
            channel="email",
            address_key="0a" * 16,
            suppressed="mailbox_full",
            suppressed_until=LATER,
        ),
        MarkAddressV1(command_id="c-1", channel="email", address_key="0a" * 16),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "drop-address.v1": (
        DropAddressV1(command_id="c-1", if_match=7, by="registry", channel="push", address_key="0a" * 16, at=NOW),
        DropAddressV1(command_id="c-1", channel="push", address_key="0a" * 16),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "claim-address.v1": (
        ClaimAddressV1(
            channel="push",
            at=NOW,
            by="user",
            command_id="c-1",
            user_id="änn",
            endpoint_id="phone",
            content=Address("t0ken"),
            if_match=7,
            verified=True,
            platform="ios",
        ),
        ClaimAddressV1(
            channel="push", at=NOW, command_id="c-1", user_id="ann", endpoint_id="phone", content=Address("t0ken")
        ),
        msgspec.json.Decoder(AddressChange),
    ),
    "release-address.v1": (
        ReleaseAddressV1(
            channel="push",
            at=NOW,
            by="user",
            command_id="c-1",
            user_id="änn",
            endpoint_id="phone",
            if_match=7,
            quiet=True,
        ),
        ReleaseAddressV1(channel="push", at=NOW, command_id="c-1", user_id="ann", endpoint_id="phone"),
        msgspec.json.Decoder(AddressChange),
    ),
    "address-gone.v1": (
        AddressGoneV1(channel="push", at=NOW, by="sender-push", since=NOW - 1, provider="apns", delivery_id=DELIVERY),
        AddressGoneV1(channel="push", at=NOW),
        msgspec.json.Decoder(AddressChange),
    ),
    "suppress-address.v1": (
        SuppressAddressV1(
            channel="email",
            at=NOW,
            by="receipts",
            reason="bounce",
            until=LATER,
            provider="ses",
            delivery_id=DELIVERY,
            command_id="c-1",
            content=Address("Ann@Example.com"),
        ),
        SuppressAddressV1(channel="email", at=NOW, reason="complaint"),
        msgspec.json.Decoder(AddressChange),
    ),
    "lift-suppression.v1": (
        LiftSuppressionV1(channel="email", at=NOW, by="ops", only="bounce", command_id="c-1"),
        LiftSuppressionV1(channel="email", at=NOW),
        msgspec.json.Decoder(AddressChange),
    ),
    "show-address.v1": (
        ShowAddressV1(channel="email", at=NOW, by="ops", command_id="c-1"),
        ShowAddressV1(channel="email", at=NOW, command_id="c-1"),
        msgspec.json.Decoder(AddressChange),
    ),
    "receipt.v1": (
        ReceiptV1(
            receipt_id="ses/e-1",
            delivery_id=DELIVERY,
            notification_id=ID,
            user_id="änn",
            channel="email",
            provider="ses",
            state="bounced",
            at=NOW,
            received_at=NOW + 9,
            permanent=True,
            provider_message_id="m-1",
            detail="Permanent/General",
        ),
        ReceiptV1(
            receipt_id="e-1",
            delivery_id=DELIVERY,
            notification_id=ID,
            user_id="ann",
            channel="sms",
            provider="twilio",
            state="delivered",
            at=NOW,
            received_at=NOW,
        ),
        msgspec.json.Decoder(ReceiptV1 | InboundV1),
    ),
    "inbound.v1": (
        InboundV1(
            inbound_id="SM1",
            channel="sms",
            provider="twilio",
            address_key="0a" * 16,
            at=NOW,
            received_at=NOW + 9,
            text="bus stop?",
        ),
        InboundV1(inbound_id="SM1", channel="sms", provider="twilio", address_key="0a" * 16, at=NOW, received_at=NOW),
        msgspec.json.Decoder(ReceiptV1 | InboundV1),
    ),
    "cancel.v1": (
        CancelV1(
            command_id="c-1",
            if_match=7,
            by="op",
            notification_id=ID,
            source="/s",
            collapse_key="c",
            reason="read",
            channels=("email",),
        ),
        CancelV1(command_id="c-1"),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "erase-user.v1": (
        EraseUserV1(command_id="c-1", if_match=7, by="op"),
        EraseUserV1(command_id="c-1"),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "command-result.v1": (
        CommandResultV1(
            command_id="c-1",
            user_id="ann",
            status="invalid",
            version=7,
            errors=(FieldError("/zone", "none"),),
            profile=ProfileV1(version=7),
            address=AddressState("sms", (Owner("ann", "phone", NOW),), (Held("opt_out", None, NOW),), (1, 3)),
        ),
        CommandResultV1(command_id="c-1", user_id="ann", status="applied", version=8),
        msgspec.json.Decoder(CommandResultV1),
    ),
    "profile.v1": (
        ProfileV1(
            version=7,
            locale="fr",
            zone="Europe/Paris",
            channels={"email": False},
            categories={"social": {"push": True}},
            quiet_hours=(QUIET,),
            digest={"email": {"social": "hourly"}},
            digest_at="24:00",
            endpoints=(ENDPOINT,),
            erased=True,
            applied=(Applied(1, 41, "applied", 7),),
            removed=(Removed("sms", "phone", NOW),),
        ),
        ProfileV1(),
        msgspec.json.Decoder(ProfileV1),
    ),
}
