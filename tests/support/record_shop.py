"""Nested objects whose schemas refer to each other by subject and version, as Confluent's programs write them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from schemas import record

from streamnative_serdes.compat import Schema, SchemaReference, SchemaRegistryClient


@dataclass
class Label:
    city: str
    founded: int


@dataclass
class Album:
    title: str
    label: Label


@dataclass
class Buyer:
    name: str
    points: int


@dataclass
class Sale:
    album: Album
    buyer: Buyer


SALE = Sale(Album("Blue Train", Label("Los Angeles", 1939)), Buyer("Ada", 36))


def to_dict(sale: Sale, _ctx: object) -> dict[str, Any]:
    return asdict(sale)


def from_dict(read: dict[str, Any], _ctx: object) -> Sale:
    album = read["album"]
    return Sale(Album(album["title"], Label(**album["label"])), Buyer(**read["buyer"]))


def registered(client: SchemaRegistryClient) -> Schema:
    """The schema of a sale, after the types that it refers to have become version 1 of subjects with their names."""

    def put(tree: Any, *references: SchemaReference) -> SchemaReference:
        client.register_schema(tree["name"], Schema(json.dumps(tree), "AVRO", list(references)))
        return SchemaReference(f"shop.{tree['name']}", tree["name"], 1)

    label = put(record("Label", ("city", "string"), ("founded", "int"), namespace="shop"))
    album = put(record("Album", ("title", "string"), ("label", "Label"), namespace="shop"), label)
    buyer = put(record("Buyer", ("name", "string"), ("points", "int"), namespace="shop"))
    sale = record("Sale", ("album", "Album"), ("buyer", "Buyer"), namespace="shop")
    return Schema(json.dumps(sale), "AVRO", [album, buyer])
