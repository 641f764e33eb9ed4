"""Converters of the framings of single values: Confluent's, SNIP 42's, and values without framing.

Their buffers are values of Kafka messages, not entries.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from streamnative_serdes import header
from streamnative_serdes._rewriting import Rewriter

from .converter import MessageConverter
from .wire import Buffer


class _Rewriting(MessageConverter):
    _rewriter: Rewriter

    def convert(self, buffer: memoryview) -> Buffer:
        """The value with the other framing.

        Raises:
            DecodeError: the value has another length than it says, and the schema's root is ``bytes``.
            SchemaError: no counterpart is known for the schema that the value names.
        """
        return self._rewriter.rewrite(bytes(buffer), None)[0]


class ConfluentFramingConverter(_Rewriting):
    """Converts values of Confluent's framing to SNIP 42's, as :class:`streamnative_serdes.migration.Rewriter` does.

    Args:
        versions: the version in Pulsar's registry for each schema id of Confluent's.
        bytes_roots: the ids of schemas whose root is ``bytes``: Confluent's framing leaves out their data's length.
    """

    def __init__(self, versions: Mapping[int, int], bytes_roots: Collection[int] = ()) -> None:
        self._rewriter = Rewriter("forward", dict[int | str, int](versions.items()), bytes_roots)

    def accept(self, buffer: memoryview) -> bool:
        """Whether the value begins with ``0x00`` and a schema id; that is a guess (:func:`header.confluent_id`)."""
        return header.confluent_id(buffer) is not None


class VersionFramingConverter(_Rewriting):
    """Converts values of SNIP 42's framing to Confluent's.

    Args:
        ids: the schema id in Confluent's registry for each version in Pulsar's.
        bytes_roots: the versions of schemas whose root is ``bytes``.
    """

    def __init__(self, ids: Mapping[int, int], bytes_roots: Collection[int] = ()) -> None:
        self._rewriter = Rewriter("back", dict[int | str, int](ids.items()), bytes_roots)

    def accept(self, buffer: memoryview) -> bool:
        """Whether the value begins with a schema version header."""
        return header.read(buffer) is not None


class HeaderlessConverter(MessageConverter):
    """Puts the header of one schema version in front of values that have no schema version header.

    In a chain, it comes after the converters of the other framings, because it accepts all other values.

    Args:
        version: in Pulsar's registry.
    """

    def __init__(self, version: int) -> None:
        self._header = header.pack(version)

    def accept(self, buffer: memoryview) -> bool:
        """Whether the value has no schema version header."""
        return header.read(buffer) is None

    def convert(self, buffer: memoryview) -> Buffer:
        """The value with the header."""
        return self._header + buffer
