"""An administrator's script: register, look up, list, compare, delete."""

import json

from confluent_kafka.schema_registry import Schema

FIRST = Schema('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}', "AVRO")
SECOND = Schema('{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":0}]}', "AVRO")


def run(client, brokers, topic):
    subject = f"{topic}-value"
    first, again = (client.register_schema(subject, FIRST) for _ in range(2))
    second = client.register_schema_full_response(subject, SECOND)
    found, latest = client.lookup_schema(subject, FIRST), client.get_latest_version(subject)
    versions = client.get_versions(subject)
    return [
        first == again == found.schema_id,
        [found.version, latest.version],
        versions,
        second.schema_id == latest.schema_id,
        json.loads(latest.schema.schema_str) == json.loads(SECOND.schema_str),
        client.get_version(subject, versions[0]).schema.schema_type,
        client.test_compatibility(subject, FIRST),
        client.delete_subject(subject),
    ]


READ = [True, [1, 2], [1, 2], True, True, "AVRO", True, [1, 2]]
