// Sends messages of topics of type EXTERNAL (PIP-420) with a real client of Pulsar: the id of each message's schema is in
// its metadata, as the client writes it. Client 4.1.1 writes the bare id, 4.2.4 puts a magic byte in front of it.
//
// The schema is a test's: it returns what it is given as EncodeData. Its payloads are Avro of the schemas that
// __init__.py names, their ids are of Kafka's form (0x00 and an int32, 0x01 and a GUID), and one is of another form.
//
// Both clients have faults, which the golden entries have too: a batch has the id of its first message, whatever ids the
// others have; and chunks after the first one have other bytes of a buffer for an id (4.2.4), or are not sent at all (4.1.1).
//
// Arguments: the address of a broker 4.2, and a prefix for the names of topics.

package org.example;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.EncodeData;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

public class Send {
    /** What the external schema encodes an object to: a datum and the id of its schema. */
    record Encoded(byte[] datum, byte[] id) {
    }

    static class External implements Schema<Encoded> {
        @Override
        public byte[] encode(Encoded message) {
            return message.datum;
        }

        @Override
        public EncodeData encode(String topic, Encoded message) {
            return new EncodeData(message.datum, message.id);
        }

        @Override
        public SchemaInfo getSchemaInfo() {
            return SchemaInfo.builder().name("External").type(SchemaType.EXTERNAL).schema(new byte[0])
                .properties(Map.of()).build();
        }

        @Override
        public Schema<Encoded> clone() {
            return this;
        }
    }

    private static final byte[] ID_1 = hex("0000000001");
    private static final byte[] ID_2 = hex("0000000002");
    private static final byte[] GUID = hex("01897917622336186f9674180ca802d4d1");
    private static final byte[] OTHER = "urn:7".getBytes(StandardCharsets.UTF_8);
    private static final Encoded FIRST = new Encoded(hex("02"), ID_1); // {"a": 1}
    private static final Encoded SECOND = new Encoded(hex("040674776f"), ID_2); // {"a": 2, "b": "two"}
    private static final Encoded THIRD = new Encoded(hex("06"), GUID); // {"a": 3}
    private static PulsarClient client;
    private static String prefix;

    public static void main(String[] args) throws Exception {
        prefix = args[1];
        try (PulsarClient own = PulsarClient.builder().serviceUrl(args[0]).build()) {
            client = own;
            one("ids", new External(), FIRST, SECOND, THIRD, new Encoded(hex("08"), null));
            one("other", new External(), new Encoded(hex("0a"), OTHER));
            one("null", new External(), new Encoded[] {null});
            batch("batch", CompressionType.NONE, FIRST, new Encoded(hex("04"), ID_1), new Encoded(hex("06"), ID_1));
            batch("compressed", CompressionType.ZSTD, FIRST, new Encoded(hex("04"), ID_1));
            batch("two ids", CompressionType.NONE, FIRST, SECOND, THIRD);
            batch("null first", CompressionType.NONE, null, FIRST);
            for (KeyValueEncodingType type : KeyValueEncodingType.values()) {
                Schema<KeyValue<Encoded, Encoded>> pair = Schema.KeyValue(new External(), new External(), type);
                one(type.name().toLowerCase(), pair, new KeyValue<>(FIRST, SECOND), new KeyValue<>(THIRD, null),
                    new KeyValue<>(null, FIRST), new KeyValue<>(SECOND, new Encoded(hex("08"), null)));
            }
            Schema<KeyValue<String, Encoded>> named = Schema.KeyValue(Schema.STRING, new External(),
                KeyValueEncodingType.SEPARATED);
            one("string key", named, new KeyValue<>("k", FIRST));
            chunks();
        }
    }

    @SafeVarargs
    private static <T> void one(String topic, Schema<T> schema, T... values) throws Exception {
        try (Producer<T> producer = builder(topic, schema).enableBatching(false).create()) {
            for (T value : values) {
                try {
                    producer.newMessage().value(value).send();
                } catch (RuntimeException error) {
                    System.err.println(topic + ": not sent: " + error); // INLINE does not encode null
                }
            }
        }
    }

    private static void batch(String topic, CompressionType type, Encoded... values) throws Exception {
        ProducerBuilder<Encoded> builder = builder(topic, new External()).compressionType(type);
        try (Producer<Encoded> producer = builder.batchingMaxPublishDelay(1, TimeUnit.HOURS).create()) {
            for (Encoded value : values) {
                producer.newMessage().value(value).sendAsync();
            }
            producer.flush();
        }
    }

    private static void chunks() throws Exception {
        byte[] text = new byte[25]; // {"a": 1, "b": 22 characters}, in chunks of 10 bytes
        text[0] = 2;
        text[1] = 46;
        Arrays.fill(text, 2, 25, (byte) 'x');
        ProducerBuilder<Encoded> builder = builder("chunks", new External()).enableBatching(false);
        builder.enableChunking(true).chunkMaxMessageSize(10).sendTimeout(5, TimeUnit.SECONDS);
        try (Producer<Encoded> producer = builder.create()) {
            producer.newMessage().value(new Encoded(text, ID_2)).send();
        } catch (PulsarClientException.TimeoutException error) {
            System.err.println("chunks: not sent: " + error); // by 4.1.1: the broker gets the first chunk alone
        }
    }

    private static <T> ProducerBuilder<T> builder(String topic, Schema<T> schema) {
        return client.newProducer(schema).topic(prefix + topic.replace(' ', '-')).producerName("p");
    }

    private static byte[] hex(String text) {
        return HexFormat.of().parseHex(text);
    }
}
