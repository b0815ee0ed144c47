"""Figures of a run and their rates."""

from notify_streams.local.demo.progress import Figure, Progress


def test_a_rate_is_that_of_the_last_three_seconds() -> None:
    figure = Figure("mails", "the log")
    assert figure.rate(now=100.0) == 0
    for second in range(1, 11):
        figure.set(10 * second)
        rate = figure.rate(now=100.0 + second)
    assert rate == 10
    for second in range(11, 15):
        rate = figure.rate(now=100.0 + second)
    assert rate == 0


def test_the_sentence_names_what_has_been_counted() -> None:
    progress = Progress()
    assert progress.sentence() == "Starting the system."
    progress.stage = "Waiting until all is final"
    progress.published.set(1510)
    progress.mails.add()
    assert progress.sentence() == "Waiting until all is final: 1,510 published, 1 mails."
