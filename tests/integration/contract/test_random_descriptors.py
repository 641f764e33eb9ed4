"""Random damage to PROTOBUF_NATIVE descriptors with a fixed seed: LocalRegistry accepts what Pulsar accepts.

It also refuses a few that only protobuf-java takes (``ACCEPTED_BY_JAVA``).
"""

from __future__ import annotations

import base64
import json
import random
from collections import Counter

from contract import Case, Player, register
from contract.descriptor_tables import ACCEPTED

DAMAGED = 400
STEPS = (-2, -1, 1, 2, 5)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """One byte is changed, removed or added, or some bytes are repeated."""
    at, what = rng.randrange(len(data)), rng.random()
    if what < 0.5:
        return data[:at] + bytes([(data[at] + rng.choice(STEPS)) % 256]) + data[at + 1 :]
    if what < 0.7:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if what < 0.8:
        return data[:at] + data[at + 1 :]
    if what < 0.9:
        return data[:at] + bytes([rng.randrange(256)]) + data[at:]
    start = rng.randrange(len(data))
    return data[:at] + data[start : start + rng.randrange(6)] + data[at:]


def test_local_registry_accepts_no_damaged_descriptor_that_pulsar_refuses(local: Player, real: Player) -> None:
    rng, statuses = random.Random(21), Counter[int]()
    samples = [schema for schema in ACCEPTED.values() if len(schema["fileDescriptorSet"]) < 1_000]
    for number in range(DAMAGED):
        schema = dict(rng.choice(samples))
        data = damaged(base64.b64decode(schema["fileDescriptorSet"]), rng)
        schema["fileDescriptorSet"] = base64.b64encode(data).decode()
        case = Case(f"damaged descriptor {number}", register(json.dumps(schema), "PROTOBUF_NATIVE"))
        ours, theirs = (player.play(case)[0].status for player in (local, real))
        assert ours in (theirs, 422), f"{ours} and {theirs}: {data!r}"
        statuses[ours] += ours == theirs
    assert min(statuses[200], statuses[422]) > DAMAGED // 20
    assert statuses.total() > DAMAGED * 0.9
