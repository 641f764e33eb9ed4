"""How the SerDes meet other clients.

- ``builders``: confluent-kafka's serializing clients make their SerDes with these.
- ``kafka_python``: the SerDes in the interface of kafka-python.
- ``kop``: the settings with which a Kafka client signs in to KoP.
"""
