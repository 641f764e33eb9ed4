"""The asyncio twins: known schemas are used at once, and answers of the registry are awaited in a thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from streamnative_serdes import _call_path
from streamnative_serdes._lifecycle import refuse_no_function
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serialization import Deserializer, SerializationContext, Serializer

from .client import SchemaRegistryClient, absent
from .schema import Schema
from .serdes import AvroDeserializer, AvroSerializer, checked_client

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _in_thread(
    method: Callable[Concatenate[SchemaRegistryClient, _P], _T],
) -> Callable[Concatenate[AsyncSchemaRegistryClient, _P], Coroutine[Any, Any, _T]]:
    """``method`` of the blocking client as a coroutine."""

    async def ask(self: AsyncSchemaRegistryClient, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await asyncio.to_thread(method, self.blocking, *args, **kwargs)

    functools.update_wrapper(ask, method)
    return ask


class AsyncSchemaRegistryClient:
    """:class:`SchemaRegistryClient`, whose methods are awaited; they run in asyncio's threads."""

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self.blocking = SchemaRegistryClient(conf)

    @staticmethod
    def new_client(conf: Mapping[str, Any]) -> AsyncSchemaRegistryClient:
        return AsyncSchemaRegistryClient(conf)

    def config(self) -> dict[str, Any]:
        """The configuration as it was given."""
        return self.blocking.config()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    register_schema = _in_thread(SchemaRegistryClient.register_schema)
    register_schema_full_response = _in_thread(SchemaRegistryClient.register_schema_full_response)
    lookup_schema = _in_thread(SchemaRegistryClient.lookup_schema)
    get_latest_version = _in_thread(SchemaRegistryClient.get_latest_version)
    get_version = _in_thread(SchemaRegistryClient.get_version)
    get_schema = _in_thread(SchemaRegistryClient.get_schema)
    get_versions = _in_thread(SchemaRegistryClient.get_versions)
    get_schema_types = _in_thread(SchemaRegistryClient.get_schema_types)
    get_subjects = _in_thread(SchemaRegistryClient.get_subjects)
    get_compatibility = _in_thread(SchemaRegistryClient.get_compatibility)
    set_compatibility = _in_thread(SchemaRegistryClient.set_compatibility)
    test_compatibility = _in_thread(SchemaRegistryClient.test_compatibility)
    delete_subject = _in_thread(SchemaRegistryClient.delete_subject)
    delete_version = _in_thread(SchemaRegistryClient.delete_version)
    clear_latest_caches = _in_thread(SchemaRegistryClient.clear_latest_caches)
    clear_caches = _in_thread(SchemaRegistryClient.clear_caches)
    aclose = _in_thread(SchemaRegistryClient.close)

    if not TYPE_CHECKING:  # as in the blocking client

        def __getattr__(self, name: str) -> Any:
            raise absent(self, name)


_S = TypeVar("_S", AvroSerializer, AvroDeserializer)


class _Async(Generic[_S]):
    """The base of both directions.

    Args:
        make: makes the blocking twin, which may ask the registry for references.
        at_once: returns the twin's result without asking the registry, or MISS.
    """

    def __init__(self, make: Callable[[], _S], at_once: Callable[[_S, Any, SerializationContext | None], Any]) -> None:
        self._make: Callable[[], _S] = make
        self._at_once: Callable[[_S, Any, SerializationContext | None], Any] = at_once
        self._blocking: _S | None = None

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        if self._blocking is None:
            made = await asyncio.to_thread(self._make)
            if self._blocking is None:  # another task of the loop may have awaited it meanwhile
                self._blocking = made
        return self

    async def _run(self, value: Any, ctx: SerializationContext | None) -> Any:
        if self._blocking is None:
            raise ConfigError("it was not awaited", hint=f"await {type(self).__name__}(client, ...)")
        found = self._at_once(self._blocking, value, ctx)
        return await asyncio.to_thread(self._blocking, value, ctx) if found is _call_path.MISS else found

    async def aclose(self) -> None:
        """Close idle connections to the registry; a later call opens new ones."""
        if self._blocking is not None:
            await asyncio.to_thread(self._blocking.close)


class AsyncAvroSerializer(_Async[AvroSerializer], Serializer):
    """:class:`AvroSerializer` for asyncio: only a topic's first message waits for the registry, the loop never does.

    ``serializer = await AsyncAvroSerializer(client, schema)``, and then ``await serializer(obj, ctx)``.
    Arguments and errors are those of AvroSerializer; errors about arguments come with the first ``await``.
    """

    def __init__(
        self,
        schema_registry_client: AsyncSchemaRegistryClient,
        schema_str: str | Schema | None = None,
        to_dict: Callable[[Any, SerializationContext], Any] | None = None,
        conf: Mapping[str, Any] | None = None,
        rule_conf: object = None,
        rule_registry: object = None,
    ) -> None:
        refuse_no_function(to_dict)
        client = checked_client(schema_registry_client, AsyncSchemaRegistryClient, schema_str).blocking
        make = functools.partial(AvroSerializer, client, schema_str, _unwrapped, conf, rule_conf, rule_registry)
        super().__init__(make, _call_path.serialize_bound)
        self._to_dict = to_dict

    async def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:  # type: ignore[override]
        if obj is None:
            return None
        # A context without a topic is left to the blocking twin, whose error names the fault.
        if self._to_dict is not None and ctx is not None and isinstance(getattr(ctx, "topic", None), str):
            obj = self._to_dict(obj, ctx)
        message: bytes | None = await self._run((obj,), ctx)  # wrapped: None from to_dict is no tombstone
        return message


class AsyncAvroDeserializer(_Async[AvroDeserializer], Deserializer):
    """:class:`AvroDeserializer` for asyncio: only a version's first message waits for the registry.

    ``deserializer = await AsyncAvroDeserializer(client)``, and then ``await deserializer(data, ctx)``.
    Arguments and errors are those of AvroDeserializer; errors about arguments come with the first ``await``.
    """

    def __init__(
        self,
        schema_registry_client: AsyncSchemaRegistryClient,
        schema_str: str | Schema | None = None,
        from_dict: Callable[[Any, SerializationContext], Any] | None = None,
        return_record_name: bool = False,
        conf: Mapping[str, Any] | None = None,
        rule_conf: object = None,
        rule_registry: object = None,
    ) -> None:
        refuse_no_function(from_dict)
        client = checked_client(schema_registry_client, AsyncSchemaRegistryClient, schema_str).blocking
        arguments = client, schema_str, None, return_record_name, conf, rule_conf, rule_registry
        super().__init__(functools.partial(AvroDeserializer, *arguments), _call_path.deserialize_bound)
        self._from_dict = from_dict

    async def __call__(self, data: bytes | None, ctx: SerializationContext | None = None) -> Any:
        if data is None:
            return None
        read = await self._run(data, ctx)
        return read if self._from_dict is None or ctx is None else self._from_dict(read, ctx)


def _unwrapped(made: tuple[Any], _ctx: object) -> Any:
    return made[0]
