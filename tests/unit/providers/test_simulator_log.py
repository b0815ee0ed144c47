"""The log that everything is counted by."""

from pathlib import Path

from notify_streams.providers.simulator.log import Log

MAIL = b"From: a@b\r\nMessage-ID: <d-1@notify.example>\r\nSubject: x\r\n\r\nMessage-ID: <body@x>\r\n"


def test_a_line_says_who_got_what_and_how_it_was_answered(tmp_path: Path) -> None:
    log = Log(tmp_path / "mails.jsonl")
    log.add(provider="smtp", event="accepted", stage="data", to="ann@example.com", answer="250 OK", content=MAIL)
    log.add(provider="smtp", event="refused", stage="rcpt", to="ben@example.com", answer="550 5.1.1 No")
    (first, second), _ = log.since(0)
    assert (first["n"], first["event"], first["delivery_id"], first["to"]) == (1, "accepted", "d-1", "ann@example.com")
    assert (first["message_id"], first["size"]) == ("<d-1@notify.example>", len(MAIL))
    assert (second["event"], second["answer"]) == ("refused", "550 5.1.1 No")
    log.close()


def test_a_restart_goes_on_and_drops_the_line_that_was_never_finished(tmp_path: Path) -> None:
    path = tmp_path / "mails.jsonl"
    log = Log(path)
    log.add(provider="smtp", event="accepted", stage="data", to="ann@example.com", answer="250 OK", content=MAIL)
    log.close()
    with path.open("ab") as file:
        file.write(b'{"n":2,"at":"2026')
    log = Log(path)
    log.add(provider="smtp", event="accepted", stage="data", to="ben@example.com", answer="250 OK", content=MAIL)
    entries, _ = log.since(0)
    assert [(e["n"], e["to"]) for e in entries] == [(1, "ann@example.com"), (2, "ben@example.com")]
    assert log.counts == {"accepted": 2}
    log.close()


def test_since_goes_on_where_it_ended(tmp_path: Path) -> None:
    log = Log(tmp_path / "mails.jsonl")
    log.add(provider="smtp", event="accepted", stage="data", to="a@x", answer="250 OK", content=MAIL)
    _, position = log.since(0)
    assert log.since(position) == ([], position)
    log.add(provider="smtp", event="accepted", stage="data", to="b@x", answer="250 OK", content=MAIL)
    assert [e["to"] for e in log.since(position)[0]] == ["b@x"]
    log.clear()
    assert log.since(0) == ([], 0)
    log.close()


def test_memory_holds_the_last_mails_only(tmp_path: Path) -> None:
    log = Log(tmp_path / "mails.jsonl")
    for _ in range(2100):
        log.add(provider="smtp", event="accepted", stage="data", to="a@x", answer="250 OK", content=MAIL)
    assert (len(log.mails), log.counts["accepted"], len(log.since(0)[0])) == (2000, 2100, 2100)
    assert log.mail(1) is None
    assert log.mail(2100) is not None
    log.close()
