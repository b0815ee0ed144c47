"""What SES says later of a mail, as SNS posts it.

"Examples of event data that Amazon SES publishes to Amazon SNS"; "HTTP/HTTPS notification JSON format" and "HTTP/HTTPS
subscription confirmation JSON format" (Amazon SNS). Pure: ids and time are arguments.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import msgspec
import orjson
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from notify_streams.providers.ses.signature import Version, signed

Word = Literal["delivered", "bounced", "full", "blocked", "delayed", "complained", "opened"]

WORDS: Mapping[str, Word] = {word: word for word in get_args(Word)}
ACCOUNT = "123456789012"


class Mail(msgspec.Struct, frozen=True):
    """A mail that SES has taken. `at` in seconds."""

    message_id: str
    source: str
    to: str
    subject: str
    tags: dict[str, str]
    at: float


class Topic(msgspec.Struct, frozen=True):
    """Where SES publishes, and with what SNS signs."""

    arn: str
    key: RSAPrivateKey
    certificate_url: str
    version: Version = "2"


def event(word: Word, mail: Mail, *, event_id: str, at: float) -> dict[str, Any]:
    """The event record. `at` in seconds; `event_id` becomes the feedback id."""
    when, person = _instant(at), {"emailAddress": mail.to}
    match word:
        case "delivered":
            body = {"timestamp": when, "processingTimeMillis": max(round((at - mail.at) * 1000), 0)}
            said = {
                "recipients": [mail.to],
                "smtpResponse": "250 2.6.0 Message received",
                "reportingMTA": "mta.example",
            }
            return _record("Delivery", "delivery", {**body, **said}, mail)
        case "bounced" | "full" | "blocked":
            return _record("Bounce", "bounce", _bounce(word, person, event_id, when), mail)
        case "delayed":
            delayed = {**person, "status": "4.4.1", "diagnosticCode": "smtp; 451 4.4.1 Try again later"}
            body = {
                "timestamp": when,
                "delayType": "TransientCommunicationFailure",
                "expirationTime": _instant(at + 50_400),
            }
            return _record("DeliveryDelay", "deliveryDelay", {**body, "delayedRecipients": [delayed]}, mail)
        case "complained":
            body = {"complainedRecipients": [person], "timestamp": when, "feedbackId": event_id}
            return _record("Complaint", "complaint", {**body, "complaintFeedbackType": "abuse"}, mail)
        case "opened":
            body = {"timestamp": when, "ipAddress": "192.0.2.1", "userAgent": "Mozilla/5.0"}
            return _record("Open", "open", body, mail)


def notification(record: dict[str, Any], topic: Topic, *, message_id: str, at: float) -> dict[str, str]:
    """The record as SNS posts it, signed."""
    message = {
        "Type": "Notification",
        "MessageId": message_id,
        "TopicArn": topic.arn,
        "Subject": "Amazon SES Email Event Notification",
        "Message": orjson.dumps(record).decode() + "\n",
        "Timestamp": _instant(at),
    }
    return _with_signature(message, topic)


def confirmation(topic: Topic, *, message_id: str, token: str, subscribe_url: str, at: float) -> dict[str, str]:
    """What SNS posts first to a new subscriber, signed: nothing more comes until `subscribe_url` was fetched."""
    message = {
        "Type": "SubscriptionConfirmation",
        "MessageId": message_id,
        "Token": token,
        "TopicArn": topic.arn,
        "Message": f"You have chosen to subscribe to the topic {topic.arn}.\nTo confirm, visit the SubscribeURL.",
        "SubscribeURL": subscribe_url,
        "Timestamp": _instant(at),
    }
    return _with_signature(message, topic)


def headers(message: dict[str, str]) -> dict[str, str]:
    """What SNS sends along."""
    return {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": message["Type"],
        "x-amz-sns-message-id": message["MessageId"],
        "x-amz-sns-topic-arn": message["TopicArn"],
    }


def _bounce(word: Literal["bounced", "full", "blocked"], person: dict[str, str], event_id: str, when: str) -> Any:
    kind, kind_of_it, status, text = {
        "bounced": ("Permanent", "General", "5.1.1", "550 5.1.1 user unknown"),
        "full": ("Transient", "MailboxFull", "5.2.2", "552 5.2.2 mailbox full"),
        "blocked": ("Transient", "General", "5.7.1", "554 5.7.1 blocked"),
    }[word]
    one = {**person, "action": "failed", "status": status, "diagnosticCode": f"smtp; {text}"}
    return {
        "bounceType": kind,
        "bounceSubType": kind_of_it,
        "bouncedRecipients": [one],
        "timestamp": when,
        "feedbackId": event_id,
        "reportingMTA": "dsn; mta.example",
    }


def _record(name: str, key: str, body: Any, mail: Mail) -> dict[str, Any]:
    about = {
        "timestamp": _instant(mail.at),
        "messageId": mail.message_id,
        "source": mail.source,
        "sendingAccountId": ACCOUNT,
        "destination": [mail.to],
        "headersTruncated": False,
        "commonHeaders": {"from": [mail.source], "to": [mail.to], "subject": mail.subject},
        "tags": {name: [value] for name, value in mail.tags.items()},
    }
    return {"eventType": name, key: body, "mail": about}


def _with_signature(message: dict[str, str], topic: Topic) -> dict[str, str]:
    seal = {"SignatureVersion": topic.version, "Signature": signed(topic.key, message, topic.version)}
    return {**message, **seal, "SigningCertURL": topic.certificate_url}


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
