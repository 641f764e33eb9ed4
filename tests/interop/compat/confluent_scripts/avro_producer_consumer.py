"""Confluent's avro_producer.py and avro_consumer.py: a class with to_dict and from_dict functions, plain clients."""

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext, StringSerializer

SCHEMA = """
{"namespace": "confluent.io.examples.serialization.avro", "name": "User", "type": "record", "fields": [
  {"name": "name", "type": "string"},
  {"name": "favorite_number", "type": "int"},
  {"name": "favorite_color", "type": "string"}]}
"""


class User:
    def __init__(self, name, address, favorite_number, favorite_color):
        self.name = name
        self.favorite_number = favorite_number
        self.favorite_color = favorite_color
        self._address = address  # must not be written

    def __repr__(self):
        return f"User({self.name}, {self._address}, {self.favorite_number}, {self.favorite_color})"


def user_to_dict(user, ctx):
    return {"name": user.name, "favorite_number": user.favorite_number, "favorite_color": user.favorite_color}


def dict_to_user(obj, ctx):
    if obj is None:
        return None
    return User(obj["name"], f"in {ctx.field}", obj["favorite_number"], obj["favorite_color"])


def produce(client, brokers, topic):
    string_serializer = StringSerializer("utf_8")
    avro_serializer = AvroSerializer(client, SCHEMA, user_to_dict)
    producer = Producer({"bootstrap.servers": brokers})
    for number, name in enumerate(("Ada", "Alan", "Grace")):
        user = User(name, "secret", number, "blue")
        value = avro_serializer(user, SerializationContext(topic, MessageField.VALUE))
        producer.produce(topic, key=string_serializer(name), value=value)
    assert producer.flush(60) == 0


def consume(client, brokers, topic):
    avro_deserializer = AvroDeserializer(client, SCHEMA, dict_to_user)
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    users = []
    while len(users) < 3:
        msg = consumer.poll(60.0)
        user = avro_deserializer(msg.value(), SerializationContext(msg.topic(), MessageField.VALUE))
        users.append((msg.key(), repr(user)))
    consumer.close()
    return users


def run(client, brokers, topic):
    produce(client, brokers, topic)
    return consume(client, brokers, topic)


READ = [
    (b"Ada", "User(Ada, in value, 0, blue)"),
    (b"Alan", "User(Alan, in value, 1, blue)"),
    (b"Grace", "User(Grace, in value, 2, blue)"),
]
