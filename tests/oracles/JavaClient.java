// Pulsar's Java client, driven over stdin and stdout: it produces and consumes messages, and reports them.
//
// Compiled at run time by Janino, which ships with pyspark: so no lambdas and no diamonds, and generics are not checked.
//
// Requests and responses are one line of JSON each. Requests:
//
//     {"do": "produce", "topic": ..., "as": schema, "values": [...]}
//     {"do": "consume", "topic": ..., "as": schema, "count": n}
//
// A schema is one of
//
//     "User"                             Schema.AVRO of a class at the end of this file; values are its fields
//     "JSON User"                        Schema.JSON of it
//     "STRING", "INT8", ...              the constant of Schema; values only of STRING
//     "PROTOBUF_NATIVE CLASS"            Schema.PROTOBUF_NATIVE of a class; no values
//     "AUTO_CONSUME"                     to consume only
//     "KAFKA JSON {...}"                 what Pulsar's Kafka Connect adaptor, and so Debezium, registers for JSON with
//                                        this Avro schema; values are text
//     {"encoding": ..., "key": schema, "value": schema}      Schema.KeyValue; values are null or [key, value]
//
// To produce nothing registers the schema.
//
// Response: {"ok": [one per message]}, or {"error": text}. A consumed message has
//
//     data       its bytes, base64; null if it has none (a tombstone)
//     key        getKeyBytes(), base64; null if there is none
//     version    its schema version in Pulsar's metadata; -1 if there is none
//     type       type of the schema with which it was read; null for null
//     value      the value read: the fields of an object, [key, value], or base64
//     error      instead of type and value: the exceptions, from the outermost to the cause

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.schema.Field;
import org.apache.pulsar.client.api.schema.GenericObject;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

public class JavaClient {
    private static final int PATIENCE_SECONDS = 20;
    private static final String JSON = "JSON ";
    private static final String KAFKA_JSON = "KAFKA JSON ";
    private static final String PROTOBUF_NATIVE = "PROTOBUF_NATIVE ";

    private final PulsarClient client;
    private final ObjectMapper json = new ObjectMapper();

    JavaClient(String serviceUrl) throws PulsarClientException {
        client = PulsarClient.builder().serviceUrl(serviceUrl).build();
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err); // output of libraries must not look like a response
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        JavaClient own = new JavaClient(args[0]);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(own.json.writeValueAsString(own.answer((Map) own.json.readValue(line, Map.class))));
        }
        own.client.close();
    }

    private Map answer(Map request) {
        Map answer = new LinkedHashMap();
        try {
            answer.put("ok", request.get("do").equals("produce") ? produce(request) : consume(request));
        } catch (Exception error) {
            answer.put("error", chain(error));
        }
        return answer;
    }

    // --- produce -----------------------------------------------------------------------------------------------------

    private List produce(Map request) throws Exception {
        Object as = request.get("as");
        Producer producer = client.newProducer(schema(as)).topic((String) request.get("topic")).create();
        List sent = new ArrayList();
        for (Iterator values = ((List) request.get("values")).iterator(); values.hasNext();) {
            sent.add(producer.newMessage().value(written(values.next(), as)).send().toString());
        }
        producer.close();
        return sent;
    }

    // What a producer with this schema takes.
    private Object written(Object value, Object as) throws Exception {
        if (value == null) {
            return null;
        }
        if (as instanceof Map) {
            Object key = written(((List) value).get(0), ((Map) as).get("key"));
            return new KeyValue(key, written(((List) value).get(1), ((Map) as).get("value")));
        }
        String name = (String) as;
        if (name.equals("STRING")) {
            return value;
        }
        if (name.startsWith(KAFKA_JSON)) {
            return ((String) value).getBytes(StandardCharsets.UTF_8);
        }
        return json.convertValue(value, pojo(name));
    }

    // --- consume -----------------------------------------------------------------------------------------------------

    private List consume(Map request) throws Exception {
        Consumer consumer = client.newConsumer(schema(request.get("as")))
            .topic(new String[] {(String) request.get("topic")})
            .subscriptionName(UUID.randomUUID().toString())
            .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
            .subscribe();
        List seen = new ArrayList();
        for (int left = ((Number) request.get("count")).intValue(); left > 0; left--) {
            Message message = consumer.receive(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (message == null) {
                throw new IllegalStateException("no message came after " + seen.size());
            }
            seen.add(shown(message));
        }
        consumer.close();
        return seen;
    }

    private static Schema schema(Object as) throws Exception {
        if (as instanceof Map) {
            KeyValueEncodingType encoding = KeyValueEncodingType.valueOf((String) ((Map) as).get("encoding"));
            return Schema.KeyValue(schema(((Map) as).get("key")), schema(((Map) as).get("value")), encoding);
        }
        String name = (String) as;
        if (name.equals("AUTO_CONSUME")) {
            return Schema.AUTO_CONSUME();
        }
        if (name.equals(name.toUpperCase())) {
            return (Schema) Schema.class.getField(name).get(null);
        }
        if (name.startsWith(PROTOBUF_NATIVE)) {
            return Schema.PROTOBUF_NATIVE((Class) Class.forName(name.substring(PROTOBUF_NATIVE.length())));
        }
        if (name.startsWith(KAFKA_JSON)) {
            return new KafkaJson(name.substring(KAFKA_JSON.length()));
        }
        if (name.startsWith(JSON)) {
            return Schema.JSON(pojo(name));
        }
        return Schema.AVRO(pojo(name));
    }

    private static Class pojo(String name) throws ClassNotFoundException {
        return Class.forName(name.startsWith(JSON) ? name.substring(JSON.length()) : name);
    }

    private Map shown(Message message) {
        Map shown = new LinkedHashMap();
        shown.put("data", base64(message.getData()));
        shown.put("key", message.hasKey() ? base64(message.getKeyBytes()) : null);
        shown.put("version", Long.valueOf(version(message.getSchemaVersion())));
        try {
            Object value = message.getValue();
            shown.put("type", type(value));
            shown.put("value", value(value));
        } catch (RuntimeException error) {
            shown.put("error", chain(error));
        }
        return shown;
    }

    private static long version(byte[] bytes) {
        return bytes == null || bytes.length == 0 ? -1 : java.nio.ByteBuffer.wrap(bytes).getLong();
    }

    private static String type(Object value) {
        if (value instanceof GenericObject) {
            return ((GenericObject) value).getSchemaType().name();
        }
        if (value == null || value instanceof KeyValue) {
            return value == null ? null : "KEY_VALUE";
        }
        return value instanceof byte[] ? "BYTES" : "AVRO";
    }

    private Object value(Object value) {
        if (value instanceof byte[]) {
            return base64((byte[]) value);
        }
        if (value instanceof KeyValue) {
            return Arrays.asList(new Object[] {value(((KeyValue) value).getKey()), value(((KeyValue) value).getValue())});
        }
        if (value == null || value instanceof String) {
            return value;
        }
        if (!(value instanceof GenericObject)) {
            return json.convertValue(value, Map.class);
        }
        if (!type(value).equals("AVRO") && !type(value).equals("JSON")) {
            return value(((GenericObject) value).getNativeObject());
        }
        Map fields = new LinkedHashMap();
        for (Iterator names = ((GenericRecord) value).getFields().iterator(); names.hasNext();) {
            String name = ((Field) names.next()).getName();
            fields.put(name, ((GenericRecord) value).getField(name));
        }
        return fields;
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    private static String chain(Throwable error) {
        StringBuilder text = new StringBuilder(error.toString());
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
            text.append("; by ").append(cause);
        }
        return text.toString();
    }
}

// As KafkaSchemaWrappedSchema of Pulsar's Kafka Connect adaptor, with the JsonConverter.
class KafkaJson implements Schema {
    private final SchemaInfo info;

    KafkaJson(String avro) {
        Map properties = new LinkedHashMap();
        properties.put("__AVRO_READ_OFFSET__", "0");
        info = SchemaInfo.builder().name("KafKaJson").type(SchemaType.JSON)
            .schema(avro.getBytes(StandardCharsets.UTF_8)).properties(properties).build();
    }

    public byte[] encode(Object message) {
        return (byte[]) message;
    }

    public Object decode(byte[] bytes, byte[] schemaVersion) {
        return bytes;
    }

    public SchemaInfo getSchemaInfo() {
        return info;
    }

    public Schema clone() {
        return this;
    }
}

// Outside the class, so that the names of their records have no namespace.

class User {
    public String name;
    public int age;
}

class UserWithEmail {
    public String name;
    public int age;
    public String email;
}

class Person {
    public Long age;
    public String name;
}

class Point {
    public int x;
    public int y;
}

class Key {
    public int id;
}
