// Reads a topic of type EXTERNAL with a real client of Pulsar, and says what its schema is given for each message.
//
// One line for each message: the id and the datum, in hex; of a pair those of the key and of the value, null as "-".
// Arguments: the address of a broker, a topic, one of NONE, INLINE and SEPARATED, and the number of messages.

package org.example;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

public class Receive {
    static class External implements Schema<String> {
        @Override
        public byte[] encode(String message) {
            return new byte[0];
        }

        @Override
        public String decode(byte[] data) {
            return "no id: " + HexFormat.of().formatHex(data);
        }

        @Override
        public String decode(String topic, byte[] data, byte[] schemaId) {
            return HexFormat.of().formatHex(schemaId) + " " + HexFormat.of().formatHex(data);
        }

        @Override
        public String decode(String topic, ByteBuffer data, byte[] schemaId) {
            byte[] copy = new byte[data.remaining()];
            data.get(copy);
            return decode(topic, copy, schemaId);
        }

        @Override
        public boolean supportSchemaVersioning() {
            return true; // else the halves of a pair get no id
        }

        @Override
        public SchemaInfo getSchemaInfo() {
            return SchemaInfo.builder().name("External").type(SchemaType.EXTERNAL).schema(new byte[0])
                .properties(Map.of()).build();
        }

        @Override
        public Schema<String> clone() {
            return this;
        }
    }

    public static void main(String[] args) throws Exception {
        Schema<?> schema = args[2].equals("NONE") ? new External()
            : Schema.KeyValue(new External(), new External(), KeyValueEncodingType.valueOf(args[2]));
        try (PulsarClient client = PulsarClient.builder().serviceUrl(args[0]).build();
             Consumer<?> consumer = client.newConsumer(schema).topic(args[1]).subscriptionName("s")
                 .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe()) {
            for (int i = 0; i < Integer.parseInt(args[3]); i++) {
                Message<?> message = consumer.receive(20, TimeUnit.SECONDS);
                Object value = message.getValue();
                if (value instanceof KeyValue<?, ?> pair) {
                    System.out.println("read: " + shown(pair.getKey()) + " | " + shown(pair.getValue()));
                } else {
                    System.out.println("read: " + shown(value));
                }
            }
        }
    }

    private static String shown(Object value) {
        return value == null ? "-" : value.toString();
    }
}
