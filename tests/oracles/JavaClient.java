// Pulsar's Java client, driven over stdin and stdout: it produces and consumes messages, and reports them.
//
// Compiled at run time by Janino, which ships with pyspark: so no lambdas and no diamonds, and generics are not checked.
//
// Requests and responses are one line of JSON each. Requests:
//
//     {"do": "produce", "topic": ..., "as": schema, "values": [...]}
//     {"do": "consume", "topic": ..., "as": schema, "count": n}
//     {"do": "receive", "topic": ..., "as": schema, "count": n}        like consume, but see AnyType.shown
//
// A schema is one of
//
//     "User"                             Schema.AVRO of a class at the end of this file; values are its fields
//     "JSON User"                        Schema.JSON of it
//     "INT64", "PROTOBUF", ...           that of Pulsar; values are text, see AnyType.value
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
        if (AnyType.NAMES.contains(name)) {
            return AnyType.value(name, (String) value);
        }
        if (name.startsWith(KAFKA_JSON)) {
            return ((String) value).getBytes(StandardCharsets.UTF_8);
        }
        return json.convertValue(value, pojo(name));
    }

    // --- consume -----------------------------------------------------------------------------------------------------

    private List consume(Map request) throws Exception {
        boolean any = request.get("do").equals("receive");
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
            seen.add(any ? AnyType.shown(message) : shown(message));
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
        if (AnyType.NAMES.contains(name)) {
            return AnyType.schema(name);
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

    static long version(byte[] bytes) {
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

    static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    static String chain(Throwable error) {
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

// Messages of each of Pulsar's types.

class AnyType {
    static final List NAMES = Arrays.asList(new Object[] {"BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE",
        "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME",
        "PROTOBUF_NATIVE", "PROTOBUF"});

    // Messages of PROTOBUF_NATIVE and PROTOBUF are google.protobuf.Timestamp.
    static Schema schema(String type) throws Exception {
        if (type.equals("PROTOBUF_NATIVE")) {
            return Schema.PROTOBUF_NATIVE(com.google.protobuf.Timestamp.class);
        }
        if (type.equals("PROTOBUF")) {
            return Schema.PROTOBUF(com.google.protobuf.Timestamp.class);
        }
        return (Schema) Schema.class.getField(type.equals("BOOLEAN") ? "BOOL" : type).get(null);
    }

    // Numbers as text; BYTES in base64; milliseconds since 1970 for DATE, TIME and TIMESTAMP; days for LOCAL_DATE; nanoseconds
    // for LOCAL_TIME; seconds and nanoseconds for INSTANT and protobuf's Timestamp; days and nanoseconds for LOCAL_DATE_TIME.
    static Object value(String type, String text) {
        String[] parts = text.split(" ");
        if (type.equals("STRING")) {
            return text;
        } else if (type.equals("BYTES")) {
            return Base64.getDecoder().decode(text);
        } else if (type.equals("BOOLEAN")) {
            return Boolean.valueOf(text);
        } else if (type.equals("FLOAT")) {
            return Float.valueOf(text);
        } else if (type.equals("DOUBLE")) {
            return Double.valueOf(text);
        }
        long number = Long.parseLong(parts[0]);
        if (type.equals("INT8")) {
            return Byte.valueOf((byte) number);
        } else if (type.equals("INT16")) {
            return Short.valueOf((short) number);
        } else if (type.equals("INT32")) {
            return Integer.valueOf((int) number);
        } else if (type.equals("INT64")) {
            return Long.valueOf(number);
        } else if (type.equals("DATE")) {
            return new java.util.Date(number);
        } else if (type.equals("TIME")) {
            return new java.sql.Time(number);
        } else if (type.equals("TIMESTAMP")) {
            return new java.sql.Timestamp(number);
        } else if (type.equals("LOCAL_DATE")) {
            return java.time.LocalDate.ofEpochDay(number);
        } else if (type.equals("LOCAL_TIME")) {
            return java.time.LocalTime.ofNanoOfDay(number);
        }
        long rest = Long.parseLong(parts[1]);
        if (type.equals("INSTANT")) {
            return java.time.Instant.ofEpochSecond(number, rest);
        } else if (type.equals("LOCAL_DATE_TIME")) {
            return java.time.LocalDateTime.of(java.time.LocalDate.ofEpochDay(number),
                java.time.LocalTime.ofNanoOfDay(rest));
        }
        return com.google.protobuf.Timestamp.newBuilder().setSeconds(number).setNanos((int) rest).build();
    }

    // data, key and version as for "consume"; "null": whether the value is null; else "type" of the GenericObject, "class"
    // of its native object, and "value", that object as in schema_types/SchemaTypes.java. "reader": type, text, properties
    // and native schema of getReaderSchema(), and in "decoded" what it decodes of data. "error": instead of what fails.
    static Map shown(Message message) {
        Map shown = new LinkedHashMap();
        shown.put("data", JavaClient.base64(message.getData()));
        shown.put("key", message.hasKey() ? JavaClient.base64(message.getKeyBytes()) : null);
        shown.put("version", Long.valueOf(JavaClient.version(message.getSchemaVersion())));
        try {
            Object object = message.getValue();
            shown.put("null", Boolean.valueOf(object == null));
            if (object != null) {
                boolean generic = object instanceof GenericObject;
                Object held = generic ? ((GenericObject) object).getNativeObject() : object;
                shown.put("type", generic ? ((GenericObject) object).getSchemaType().name() : null);
                shown.put("class", held == null ? null : held.getClass().getSimpleName());
                shown.put("value", of(held));
            }
            shown.put("reader", reader(message));
        } catch (Throwable error) {
            shown.put("error", JavaClient.chain(error));
        }
        return shown;
    }

    private static Map reader(Message message) throws Exception {
        java.util.Optional found = message.getReaderSchema();
        Schema schema = found.isPresent() ? (Schema) found.get() : null;
        if (schema == null || schema.getSchemaInfo() == null) {
            return null;
        }
        Map reader = new LinkedHashMap();
        reader.put("type", schema.getSchemaInfo().getType().name());
        reader.put("text", new String(schema.getSchemaInfo().getSchema(), StandardCharsets.UTF_8));
        reader.put("properties", schema.getSchemaInfo().getProperties());
        java.util.Optional nativeSchema = schema.getNativeSchema();
        reader.put("native", nativeSchema.isPresent() ? nativeText(nativeSchema.get()) : null);
        if (message.getData() != null && !reader.get("type").equals("KEY_VALUE")) {
            Object decoded = schema.decode(message.getData());
            reader.put("decoded", of(decoded instanceof GenericObject
                ? ((GenericObject) decoded).getNativeObject() : decoded));
        }
        return reader;
    }

    private static String nativeText(Object schema) {
        return schema instanceof com.google.protobuf.Descriptors.Descriptor
            ? ((com.google.protobuf.Descriptors.Descriptor) schema).getFullName() : schema.toString();
    }

    static Object of(Object value) throws Exception {
        if (value == null) {
            return null;
        }
        Map shown = new LinkedHashMap();
        if (value instanceof GenericObject) {
            return of(((GenericObject) value).getNativeObject());
        } else if (value instanceof KeyValue) {
            KeyValue pair = (KeyValue) value;
            shown.put("KeyValue", Arrays.asList(new Object[] {of(pair.getKey()), of(pair.getValue())}));
        } else if (value instanceof byte[]) {
            shown.put("bytes", JavaClient.base64((byte[]) value));
        } else if (value instanceof CharSequence) {
            shown.put("String", value.toString());
        } else if (value instanceof com.fasterxml.jackson.databind.JsonNode) {
            shown.put("json", value.toString());
        } else if (value instanceof com.google.protobuf.Message) {
            shown.put("message", com.google.protobuf.TextFormat.printer().printToString((com.google.protobuf.Message) value));
        } else if (value instanceof org.apache.avro.generic.IndexedRecord) {
            shown.put("record", avroParts((org.apache.avro.generic.IndexedRecord) value));
        } else if (value.getClass().getName().indexOf('.') < 0) { // one of those at the end of this file
            shown.put("record", parts(value));
        } else {
            shown.put(value.getClass().getSimpleName(), text(value));
        }
        return shown;
    }

    private static List parts(Object value) throws Exception {
        List parts = new ArrayList();
        java.lang.reflect.Field[] fields = value.getClass().getFields();
        for (int i = 0; i < fields.length; i++) {
            parts.add(Arrays.asList(new Object[] {fields[i].getName(), of(fields[i].get(value))}));
        }
        return parts;
    }

    private static List avroParts(org.apache.avro.generic.IndexedRecord record) throws Exception {
        List parts = new ArrayList();
        for (Iterator fields = record.getSchema().getFields().iterator(); fields.hasNext();) {
            org.apache.avro.Schema.Field field = (org.apache.avro.Schema.Field) fields.next();
            parts.add(Arrays.asList(new Object[] {field.name(), of(record.get(field.pos()))}));
        }
        return parts;
    }

    private static String text(Object value) {
        if (value instanceof Float) {
            return Integer.toHexString(Float.floatToRawIntBits(((Float) value).floatValue()));
        } else if (value instanceof Double) {
            return Long.toHexString(Double.doubleToRawLongBits(((Double) value).doubleValue()));
        } else if (value instanceof java.util.Date) {
            return String.valueOf(((java.util.Date) value).getTime());
        } else if (value instanceof java.time.Instant) {
            return ((java.time.Instant) value).getEpochSecond() + " " + ((java.time.Instant) value).getNano();
        } else if (value instanceof java.time.LocalDate) {
            return String.valueOf(((java.time.LocalDate) value).toEpochDay());
        } else if (value instanceof java.time.LocalTime) {
            return String.valueOf(((java.time.LocalTime) value).toNanoOfDay());
        } else if (value instanceof java.time.LocalDateTime) {
            java.time.LocalDateTime moment = (java.time.LocalDateTime) value;
            return moment.toLocalDate().toEpochDay() + " " + moment.toLocalTime().toNanoOfDay();
        }
        return value.toString();
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
