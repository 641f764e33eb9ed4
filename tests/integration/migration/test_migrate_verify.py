"""``migrate verify`` on real servers, where brokers delete what is being read, and topics may be missing."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]
from copied_topic import LIMIT, Migration
from migrations import messages, read

from streamnative_serdes.migration.verifying.side_reader import DeletedMessagesError, SideReader

pytestmark = pytest.mark.usefixtures("nothing_is_known")


def delete_before(migration: Migration, partition: int, offset: int) -> None:
    where = TopicPartition(migration.source, partition, offset)
    admin = AdminClient({"bootstrap.servers": migration.kafka})
    admin.delete_records([where])[where].result(LIMIT)


def test_samples_and_what_was_copied_so_far_are_the_same(migration: Migration) -> None:
    migration.send(messages(300, migration.ids, bad=4, damaged=False))
    migration()
    sample = migration.verify("--sample", "5", "--seed", "3")
    assert (sample["same"], sample["whole"], sample["samples"]) == (True, False, 3)
    assert migration.verify("--until", "copied")["same"]


def test_a_missing_topic_is_an_error_of_the_server(migration: Migration) -> None:
    path = migration.saved(migration.source, "missing").path
    arguments = migration.sides("verify", migration.source, "missing", "--state", str(path))
    assert "the broker does not have topic missing" in migration.run(*arguments, code=3).err


def test_messages_that_are_deleted_while_they_are_read_are_an_error(migration: Migration) -> None:
    migration.send(messages(300, migration.ids))
    migration()
    copies = {number: len(found) for number, found in read(migration.kafka, migration.target).items()}
    with SideReader({"bootstrap.servers": migration.kafka}, migration.source) as reader:
        delete_before(migration, 1, 20)
        with pytest.raises(DeletedMessagesError, match="partition 1: the broker has deleted offset 0"):
            list(reader.messages(1, 0))
    # From then on, the target begins with copies of what the source has deleted.
    found = migration.verify()
    assert found["same"]
    assert [(one["older"], one["older"] + one["copied"]) for one in found["partitions"]] == [
        (0, copies[0]),
        (20, copies[1]),
        (0, copies[2]),
    ]
