"""Api: the peculiarities of one kind of registry. Everything else over HTTP is the same for all kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamnative_serdes._http.address import ApiRequest
from streamnative_serdes._http.reply import Expected, Reply
from streamnative_serdes.errors import SchemaRegistryError


@dataclass(frozen=True, slots=True)
class Api:
    """One kind of registry, with the texts of its errors.

    Args:
        kind: completes "is probably not ..." in errors, such as "a Pulsar registry".
        option: the option with the registry's address, as the user writes it.
        address: completes "give ..." in errors about the address.
        away: the hint for addresses that have never answered.
        expected: what should listen at the address, for hints.
        successes: the HTTP statuses of a successful response.
        passes: whether a response is a transient failure: the same request may succeed shortly.
        doubt: the hint for a transient failure that may be another one.
        bad_credentials: whether a response rejects the credentials, and does not just lack a permission.
        refusal: the typed error for any other refusal; takes the hint for rejected credentials too.
        odd: the hint for a response that this kind of registry would not send.
        token_passwords: whether a password ``token:TEXT`` is sent as a bearer token.
        mock: whether an address may be ``mock://SCOPE``.
    """

    kind: str
    option: str
    address: str
    away: str
    expected: Expected
    successes: frozenset[int]
    passes: Callable[[ApiRequest, Reply], bool]
    doubt: Callable[[Reply], str | None]
    bad_credentials: Callable[[Reply], bool]
    refusal: Callable[[ApiRequest, Reply, str], SchemaRegistryError]
    odd: Callable[[ApiRequest, Reply], str]
    token_passwords: bool
    mock: bool
