"""One thread renews a token before it expires, while the others keep using it; no thread waits twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from scripted_registry import Clock
from waiting import HANG_SECONDS, until

from streamnative_serdes._auth.tokens import _NEXT, Renewed, Token
from streamnative_serdes._http.api_request import TransientFailure
from streamnative_serdes.errors import AuthenticationError

LIFETIME = 100.0


class Issuer:
    """``fetch`` returns a new token each time, after the ``faults``; it waits while ``open`` is not set."""

    def __init__(self, clock: Clock) -> None:
        self.faults: list[TransientFailure | Exception] = []
        self.deadlines: list[float] = []
        self.open = threading.Event()
        self.open.set()
        self._clock = clock

    def fetch(self, deadline: float) -> Token | TransientFailure:
        self.deadlines.append(deadline)
        number = len(self.deadlines)
        assert self.open.wait(HANG_SECONDS)
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return fault
        return Token(f"token {number}", self._clock() + LIFETIME)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def issuer(clock: Clock) -> Issuer:
    return Issuer(clock)


@pytest.fixture
def renewed(issuer: Issuer, clock: Clock) -> Renewed:
    return Renewed(issuer.fetch, clock)


@pytest.fixture
def ask(renewed: Renewed, clock: Clock) -> Callable[[], object]:
    """Return the token's text, or the error."""

    def text() -> object:
        token = renewed.token(clock() + HANG_SECONDS)
        return token.text if isinstance(token, Token) else token

    return text


def test_a_token_is_kept_for_four_fifths_of_its_lifetime(ask: Callable[[], object], clock: Clock) -> None:
    assert ask() == "token 1"
    clock.now += 0.79 * LIFETIME
    assert ask() == "token 1"
    clock.now += 0.02 * LIFETIME
    assert ask() == "token 2"
    clock.now += 5 * LIFETIME
    assert ask() == "token 3"


def test_while_one_thread_renews_the_others_use_the_old_token(
    ask: Callable[[], object], issuer: Issuer, clock: Clock
) -> None:
    ask()
    clock.now += 0.9 * LIFETIME
    issuer.open.clear()
    with ThreadPoolExecutor(1) as pool:
        renewing = pool.submit(ask)
        until(lambda: len(issuer.deadlines) == 2, "the other thread asks")
        assert [ask() for _ in range(5)] == ["token 1"] * 5
        issuer.open.set()
        assert renewing.result(HANG_SECONDS) == "token 2"
    assert ask() == "token 2"
    assert len(issuer.deadlines) == 2


def test_a_renewal_takes_at_most_half_of_the_remaining_lifetime(
    ask: Callable[[], object], issuer: Issuer, clock: Clock
) -> None:
    ask()
    clock.now += 0.9 * LIFETIME
    ask()
    assert issuer.deadlines[1] == pytest.approx(clock.now + 0.05 * LIFETIME)


@pytest.mark.parametrize("fault", [TransientFailure("down"), AuthenticationError("invalid_client")])
def test_a_renewal_that_fails_is_tried_again_later_and_the_old_token_goes_on(
    ask: Callable[[], object],
    issuer: Issuer,
    clock: Clock,
    fault: TransientFailure | Exception,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ask()
    clock.now += 0.9 * LIFETIME
    issuer.faults = [fault]
    assert [ask() for _ in range(5)] == ["token 1"] * 5
    assert len(issuer.deadlines) == 2
    assert "cannot renew the token" in caplog.text
    clock.now += 0.03 * LIFETIME
    assert ask() == "token 3"


def test_a_token_that_expires_while_its_renewal_fails_is_not_returned(
    ask: Callable[[], object], issuer: Issuer, clock: Clock
) -> None:
    ask()
    clock.now += LIFETIME - 0.01
    issuer.faults = [TransientFailure("down")]
    clock.step = 0.004  # at each look
    assert ask() == "token 3"
    assert issuer.deadlines[1] - clock.now > 0.9  # a second, even if less was left


@pytest.mark.parametrize("fault", [TransientFailure("down"), AuthenticationError("invalid_client")])
def test_waiting_threads_take_the_one_answer_of_the_issuer_and_do_not_each_ask(
    ask: Callable[[], object], renewed: Renewed, issuer: Issuer, fault: TransientFailure | Exception
) -> None:
    issuer.faults = [fault]
    issuer.open.clear()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask) for _ in range(8)]
        until(lambda: renewed._flights.waiting(_NEXT) == 7, "one asks, the others wait")
        issuer.open.set()
        outcomes = [future.exception(HANG_SECONDS) or future.result() for future in asked]
    assert len(issuer.deadlines) == 1
    assert [str(outcome) for outcome in outcomes] == [str(fault)] * 8
    errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert len({id(error) for error in errors}) == len(errors)  # each thread has its own error
    assert ask() == "token 2"


def test_waiting_threads_share_one_token(ask: Callable[[], object], renewed: Renewed, issuer: Issuer) -> None:
    issuer.open.clear()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask) for _ in range(8)]
        until(lambda: renewed._flights.waiting(_NEXT) == 7, "one asks, the others wait")
        issuer.open.set()
        assert [future.result(HANG_SECONDS) for future in asked] == ["token 1"] * 8
    assert len(issuer.deadlines) == 1


@pytest.mark.parametrize("fault", [TransientFailure("down"), AuthenticationError("invalid_client")])
def test_a_token_that_is_rejected_while_its_renewal_fails_is_not_given_out_again(
    ask: Callable[[], object], renewed: Renewed, issuer: Issuer, clock: Clock, fault: TransientFailure | Exception
) -> None:
    """The registry no longer accepts it, for example after a change of keys, while the issuer refuses a new one."""
    assert ask() == "token 1"
    clock.now += 0.9 * LIFETIME
    issuer.faults = [fault]
    issuer.open.clear()
    with ThreadPoolExecutor(1) as pool:
        renewing = pool.submit(ask)
        until(lambda: len(issuer.deadlines) == 2, "the other thread asks")
        assert ask() == "token 1"
        renewed.reject("token 1")
        issuer.open.set()
        assert renewing.result(HANG_SECONDS) == "token 3"
    assert ask() == "token 3"
    assert len(issuer.deadlines) == 3


def test_a_rejected_token_is_replaced_unless_another_thread_replaced_it(
    ask: Callable[[], object], renewed: Renewed
) -> None:
    assert ask() == "token 1"
    renewed.reject("token 1")
    assert ask() == "token 2"
    renewed.reject("token 1")
    assert ask() == "token 2"


def test_a_token_without_a_lifetime_is_used_only_by_its_request(clock: Clock) -> None:
    renewed = Renewed(lambda _: Token("brief", clock()), clock)
    token = renewed.token(clock() + 1)
    assert isinstance(token, Token)
    assert token.text == "brief"
    assert "brief" not in repr(token)


def test_a_thread_waits_for_the_request_of_another_thread_until_its_own_deadline(issuer: Issuer) -> None:
    import time

    renewed = Renewed(issuer.fetch, time.monotonic)
    issuer.open.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(renewed.token, time.monotonic() + HANG_SECONDS)
        until(lambda: issuer.deadlines, "the first asks")
        outcome = renewed.token(time.monotonic() + 0.05)
        assert isinstance(outcome, TransientFailure)
        assert "another thread that is making the same request" in outcome.text
        issuer.open.set()
        assert isinstance(first.result(HANG_SECONDS), Token)
