// Writes messages of each schema type with Pulsar's Java client, and says what AUTO_CONSUME reads from them.
//
// One line of JSON for each message:
//
//     name        of the message, unique
//     type        Pulsar's SchemaType
//     schema      text of the schema, as the registry has it
//     properties  of the schema
//     data        the bytes, base64; missing if Java refused to write
//     value       what was written, see Shown
//     auto        what AUTO_CONSUME gives: {"type": its SchemaType, "class": of the native object, "value": see Shown,
//                 "fields": {name: class of the field}} or {"error": class of the exception}
//     refused     instead of data and auto: the class of the exception
//
// With the argument "read", it reads lines of a class and base64 from stdin instead, and prints for each what
// Schema.JSON of the class reads, see Shown.
//
// `PYTHONPATH=tests/oracles:tests/servers python -m schema_types` writes golden.jsonl next to this file. It requires a
// JDK, because Janino drops the T of List<T>.

package org.example;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumValueDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.MessageOptions;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.SourceContext;
import com.google.protobuf.Struct;
import com.google.protobuf.TextFormat;
import com.google.protobuf.TimestampProto;
import com.google.protobuf.Type;
import com.google.protobuf.Value;

import org.apache.avro.generic.GenericEnumSymbol;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.reflect.AvroDefault;
import org.apache.avro.reflect.AvroSchema;
import org.apache.avro.reflect.Union;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.GenericObject;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.client.api.schema.SchemaDefinition;
import org.apache.pulsar.client.api.schema.SchemaInfoProvider;
import org.apache.pulsar.client.impl.schema.AutoConsumeSchema;
import org.apache.pulsar.client.impl.schema.ProtobufNativeSchemaUtils;
import org.apache.pulsar.client.impl.schema.SchemaInfoImpl;
import org.apache.pulsar.client.impl.schema.StringSchema;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

public class SchemaTypes {
    private static final ObjectMapper LINES = new ObjectMapper().enable(JsonGenerator.Feature.ESCAPE_NON_ASCII);
    private static PrintStream out;

    public static void main(String[] args) throws Exception {
        out = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err); // output of libraries must not look like a line
        TimeZone.setDefault(TimeZone.getTimeZone("Asia/Kolkata")); // a zone that matters would show
        if (args.length > 0) {
            read();
            return;
        }
        numbers();
        texts();
        moments();
        objects();
        protobuf();
    }

    private static void read() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ", 2);
            Schema<?> schema = Schema.JSON(Class.forName("org.example." + parts[0]));
            out.println(LINES.writeValueAsString(Shown.of(schema.decode(Base64.getDecoder().decode(parts[1])))));
        }
    }

    // --- primitives --------------------------------------------------------------------------------------------------

    private static void numbers() throws Exception {
        for (boolean value : new boolean[] {false, true}) {
            row("BOOLEAN " + value, Schema.BOOL, value);
        }
        for (byte value : new byte[] {Byte.MIN_VALUE, -1, 0, 1, Byte.MAX_VALUE}) {
            row("INT8 " + value, Schema.INT8, value);
        }
        for (short value : new short[] {Short.MIN_VALUE, -1, 0, 258, Short.MAX_VALUE}) {
            row("INT16 " + value, Schema.INT16, value);
        }
        for (int value : new int[] {Integer.MIN_VALUE, -1, 0, 16_909_060, Integer.MAX_VALUE}) {
            row("INT32 " + value, Schema.INT32, value);
        }
        for (long value : new long[] {Long.MIN_VALUE, -1, 0, 72_623_859_790_382_856L, Long.MAX_VALUE}) {
            row("INT64 " + value, Schema.INT64, value);
        }
        for (float value : FLOATS) {
            row("FLOAT " + value, Schema.FLOAT, value);
        }
        row("FLOAT another NaN", Schema.FLOAT, Float.intBitsToFloat(0xffc00001));
        for (double value : DOUBLES) {
            row("DOUBLE " + value, Schema.DOUBLE, value);
        }
        row("DOUBLE another NaN", Schema.DOUBLE, Double.longBitsToDouble(0xfff8000000000001L));
    }

    // Without numbers for which Float.toString of older JDKs has a digit too many, such as Float.MIN_NORMAL.
    static final float[] FLOATS = {
        0f, -0f, 1.5f, 0.1f, -3.4028235e38f, Float.MAX_VALUE, Float.MIN_VALUE, 1e10f, 16777216f,
        1.0e-3f, 9.99e-4f, 9999999f, 1.0e7f, 3.3554432e7f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY,
    };
    static final double[] DOUBLES = {
        0d, -0d, 1.5, 0.1, -Double.MAX_VALUE, Double.MAX_VALUE, Double.MIN_VALUE, Double.MIN_NORMAL, 1e10, 1e21,
        1.0e-3, 9.99e-4, 9999999, 1.0e7, 12345678.9, 9007199254740993d, Math.PI, Double.NaN,
        Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY,
    };

    private static void texts() throws Exception {
        row("STRING empty", Schema.STRING, "");
        row("STRING ASCII", Schema.STRING, "Ada \"Lovelace\"\\ \u0000\t\n\u007f");
        row("STRING Latin, Greek, Chinese", Schema.STRING, "\u00fc\u03bb\u4e2d\uffff");
        row("STRING beyond the BMP", Schema.STRING, "\ud83d\ude00");
        row("STRING half a surrogate pair", Schema.STRING, "a\ud83d");
        for (Charset charset : CHARSETS) {
            row("STRING in " + charset, new StringSchema(charset), "Ada \u007f" + (isWide(charset) ? "\u00fc\u4e2d\ud83d\ude00" : ""));
            row("STRING empty in " + charset, new StringSchema(charset), "");
        }
        row("STRING all of ISO-8859-1", new StringSchema(StandardCharsets.ISO_8859_1), latin());
        line("NONE, a topic without a schema", SchemaInfoImpl.builder().name("").type(SchemaType.NONE).schema(new byte[0])
            .properties(new LinkedHashMap<>()).build(), new byte[] {0, -1}, new byte[] {0, -1});
        row("BYTES empty", Schema.BYTES, new byte[0]);
        row("BYTES", Schema.BYTES, new byte[] {0, 1, -1, -128, 127});
    }

    private static final Charset[] CHARSETS = {
        StandardCharsets.UTF_8, StandardCharsets.UTF_16, StandardCharsets.UTF_16BE, StandardCharsets.UTF_16LE,
        StandardCharsets.US_ASCII, StandardCharsets.ISO_8859_1,
    };

    private static boolean isWide(Charset charset) {
        return charset.name().startsWith("UTF");
    }

    private static String latin() {
        StringBuilder text = new StringBuilder();
        for (char character = 0; character < 256; character++) {
            text.append(character);
        }
        return text.toString();
    }

    private static void moments() throws Exception {
        for (long millis : MILLIS) {
            row("DATE " + millis, Schema.DATE, new Date(millis));
            row("TIME " + millis, Schema.TIME, new Time(millis));
            row("TIMESTAMP " + millis, Schema.TIMESTAMP, new Timestamp(millis));
        }
        Timestamp fine = new Timestamp(1_357_016_400_123L);
        fine.setNanos(123_456_789);
        row("TIMESTAMP with nanoseconds", Schema.TIMESTAMP, fine);
        for (Instant instant : INSTANTS) {
            row("INSTANT " + instant, Schema.INSTANT, instant);
        }
        for (LocalDate date : DATES) {
            row("LOCAL_DATE " + date, Schema.LOCAL_DATE, date);
        }
        for (LocalTime time : TIMES) {
            row("LOCAL_TIME " + time, Schema.LOCAL_TIME, time);
        }
        for (LocalDate date : DATES) {
            for (LocalTime time : TIMES) {
                row("LOCAL_DATE_TIME " + date.atTime(time), Schema.LOCAL_DATE_TIME, date.atTime(time));
            }
        }
    }

    private static final long FIRST = -62_135_596_800_000L; // 0001-01-01T00:00Z
    private static final long LAST = 253_402_300_799_999L; // 9999-12-31T23:59:59.999Z
    static final long[] MILLIS = {
        0, -1, 1_357_016_400_123L, -86_400_001, FIRST, FIRST - 1, LAST, LAST + 1, Long.MIN_VALUE, Long.MAX_VALUE,
    };
    static final Instant[] INSTANTS = {
        Instant.EPOCH, Instant.ofEpochSecond(0, 1), Instant.ofEpochSecond(-1, 999_999_999),
        Instant.ofEpochSecond(1_357_016_400L, 123_456_789), Instant.ofEpochMilli(FIRST), Instant.ofEpochMilli(LAST),
        Instant.MIN, Instant.MAX,
    };
    static final LocalDate[] DATES = {
        LocalDate.EPOCH, LocalDate.of(1969, 12, 31), LocalDate.of(2013, 1, 1), LocalDate.of(2000, 2, 29),
        LocalDate.of(1, 1, 1), LocalDate.of(9999, 12, 31), LocalDate.of(0, 12, 31), LocalDate.MIN, LocalDate.MAX,
    };
    static final LocalTime[] TIMES = {
        LocalTime.MIN, LocalTime.of(12, 30), LocalTime.of(12, 30, 15), LocalTime.of(0, 0, 0, 1), LocalTime.MAX,
    };

    // --- objects -----------------------------------------------------------------------------------------------------

    private static void objects() throws Exception {
        both("Leaves full", Leaves.class, Leaves.full());
        both("Leaves empty", Leaves.class, new Leaves());
        both("Leaves of zeros", Leaves.class, Leaves.zeros());
        both("Leaves other", Leaves.class, Leaves.other());
        both("Primitives zero", Primitives.class, new Primitives());
        both("Primitives greatest", Primitives.class, Primitives.greatest());
        both("Primitives least", Primitives.class, Primitives.least());
        both("Reals", Reals.class, Reals.all());
        both("Texts", Texts.class, Texts.all());
        texts("Texts with half a surrogate pair");
        both("Numbers", Numbers.class, Numbers.full());
        both("Numbers, large", Numbers.class, Numbers.large());
        both("Numbers, other scales", Numbers.class, Numbers.other());
        for (Instant instant : INSTANTS) {
            both("Times " + instant, Times.class, Times.of(instant));
        }
        objects("Times with jsr310", SchemaDefinition.<Times>builder().withPojo(Times.class)
            .withJSR310ConversionEnabled(true).build(), Times.of(INSTANTS[3]));
        both("OldTimes", OldTimes.class, OldTimes.of(1_357_016_400_123L));
        both("Spans", Spans.class, Spans.full());
        both("Person", Person.class, Person.full());
        both("Person without home", Person.class, Person.homeless());
        both("Collections full", Collections.class, Collections.full());
        both("Collections empty", Collections.class, Collections.empty());
        both("Collections null", Collections.class, new Collections());
        both("Collections with null items", Collections.class, Collections.withNulls());
        both("Maps", Maps.class, Maps.full());
        both("Node", Node.class, Node.chain(3));
        both("Zoo cat", Zoo.class, Zoo.of(new Cat("prr"), "text"));
        both("Zoo dog", Zoo.class, Zoo.of(new Dog("woof"), 5L));
        both("Zoo null", Zoo.class, new Zoo());
        both("Defaults", Defaults.class, new Defaults());
        both("Defaults null", Defaults.class, Defaults.ofNulls());
        both("Unsorted", Unsorted.class, Unsorted.full());
        both("Renamed", Renamed.class, Renamed.full());
        both("Optionals", Optionals.class, Optionals.full());
        objects("Person, null not allowed", SchemaDefinition.<Person>builder().withPojo(Person.class)
            .withAlwaysAllowNull(false).build(), Person.homeless());
    }

    private static <T> void both(String name, Class<T> type, T value) throws Exception {
        objects(name, SchemaDefinition.<T>builder().withPojo(type).build(), value);
    }

    private static <T> void objects(String name, SchemaDefinition<T> definition, T value) throws Exception {
        try {
            row("JSON " + name, Schema.<T>JSON(definition), value);
        } catch (Throwable error) { // there is no schema
            refused("JSON " + name, "JSON", value, error);
        }
        try {
            row("AVRO " + name, Schema.AVRO(definition), value);
        } catch (Throwable error) {
            refused("AVRO " + name, "AVRO", value, error);
        }
    }

    private static void texts(String name) throws Exception {
        Texts texts = new Texts();
        texts.text = "a\ud83d";
        row("JSON " + name, Schema.JSON(Texts.class), texts);
    }

    // --- protobuf ----------------------------------------------------------------------------------------------------

    private static void protobuf() throws Exception {
        row("PROTOBUF_NATIVE Timestamp", Schema.PROTOBUF_NATIVE(com.google.protobuf.Timestamp.class),
            com.google.protobuf.Timestamp.newBuilder().setSeconds(1_357_016_400L).setNanos(5).build());
        row("PROTOBUF_NATIVE Timestamp empty", Schema.PROTOBUF_NATIVE(com.google.protobuf.Timestamp.class),
            com.google.protobuf.Timestamp.getDefaultInstance());
        row("PROTOBUF_NATIVE Type, of several files", Schema.PROTOBUF_NATIVE(Type.class), Type.newBuilder().setName("T")
            .setSourceContext(SourceContext.newBuilder().setFileName("t.proto")).addOneofs("a").addOneofs("b").build());
        row("PROTOBUF_NATIVE Struct, recursive", Schema.PROTOBUF_NATIVE(Struct.class), Struct.newBuilder()
            .putFields("a", Value.newBuilder().setNumberValue(1.5).build()).build());
        row("PROTOBUF Timestamp", Schema.PROTOBUF(com.google.protobuf.Timestamp.class),
            com.google.protobuf.Timestamp.newBuilder().setSeconds(1_357_016_400L).setNanos(5).build());
        Descriptor all = Everything.descriptor();
        dynamic("PROTOBUF_NATIVE Everything", Everything.full(all));
        dynamic("PROTOBUF_NATIVE Everything empty", DynamicMessage.newBuilder(all).build());
        dynamic("PROTOBUF_NATIVE nested message", DynamicMessage.newBuilder(all.findNestedTypeByName("Inner"))
            .setField(all.findNestedTypeByName("Inner").findFieldByName("depth"), 7).build());
    }

    /** A message without a generated class, by the schema that Schema.PROTOBUF_NATIVE makes of its descriptor. */
    private static void dynamic(String name, DynamicMessage message) throws Exception {
        SchemaInfo info = SchemaInfoImpl.builder().name("").type(SchemaType.PROTOBUF_NATIVE)
            .schema(ProtobufNativeSchemaUtils.serialize(message.getDescriptorForType()))
            .properties(new LinkedHashMap<>()).build();
        line(name, info, message.toByteArray(), message);
    }

    // --- lines -------------------------------------------------------------------------------------------------------

    private static <T> void row(String name, Schema<T> schema, T value) throws Exception {
        byte[] data;
        try {
            data = schema.encode(value);
        } catch (Throwable error) {
            refused(name, schema.getSchemaInfo().getType().name(), value, error);
            return;
        }
        line(name, schema.getSchemaInfo(), data, value);
    }

    private static void line(String name, SchemaInfo info, byte[] data, Object value) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("name", name);
        line.put("type", info.getType().name());
        line.put("schema", new String(info.getSchema(), StandardCharsets.UTF_8));
        line.put("properties", new java.util.TreeMap<>(info.getProperties()));
        line.put("data", Base64.getEncoder().encodeToString(data));
        line.put("value", Shown.of(value));
        line.put("auto", auto(info, data));
        out.println(LINES.writeValueAsString(line));
    }

    private static void refused(String name, String type, Object value, Throwable error) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("name", name);
        line.put("type", type);
        line.put("value", Shown.of(value));
        line.put("refused", root(error));
        out.println(LINES.writeValueAsString(line));
    }

    private static String root(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getClass().getName(); // without the message, which depends on the version of Java
    }

    /** What AUTO_CONSUME reads, by the same calls as a consumer's message makes. */
    private static Object auto(SchemaInfo info, byte[] data) throws Exception {
        AutoConsumeSchema schema = new AutoConsumeSchema();
        schema.configureSchemaInfo("topic", "topic", null);
        schema.setSchemaInfoProvider(new OneSchema(info.getType() == SchemaType.NONE ? null : info));
        Map<String, Object> auto = new LinkedHashMap<>();
        try {
            GenericObject read = schema.decode(ByteBuffer.wrap(data), new byte[8]);
            Object object = read.getNativeObject();
            auto.put("type", read.getSchemaType().name());
            auto.put("class", Shown.className(object));
            auto.put("value", Shown.of(object));
            if (read instanceof GenericRecord && ((GenericRecord) read).getFields() != null) {
                auto.put("fields", fields((GenericRecord) read));
            }
        } catch (Throwable error) {
            auto.put("error", root(error));
        }
        return auto;
    }

    private static Map<String, String> fields(GenericRecord record) {
        Map<String, String> fields = new LinkedHashMap<>();
        for (org.apache.pulsar.client.api.schema.Field field : record.getFields()) {
            Object value;
            try {
                value = record.getField(field);
            } catch (Throwable error) {
                fields.put(field.getName(), root(error));
                continue;
            }
            fields.put(field.getName(), Shown.className(value));
        }
        return fields;
    }

    private static class OneSchema implements SchemaInfoProvider {
        private final SchemaInfo info;

        OneSchema(SchemaInfo info) {
            this.info = info;
        }

        public CompletableFuture<SchemaInfo> getSchemaByVersion(byte[] version) {
            return CompletableFuture.completedFuture(info);
        }

        public CompletableFuture<SchemaInfo> getLatestSchema() {
            return CompletableFuture.completedFuture(info);
        }

        public String getTopicName() {
            return "topic";
        }
    }
}

/**
 * A value as JSON: null, or an object with one key, which says what it is.
 *
 *     Boolean; Byte, Short, Integer, Long, BigInteger, BigDecimal, String, Character, UUID, URI: text
 *     Float, Double: bits in hexadecimal
 *     bytes: base64
 *     Date, Time, Timestamp: milliseconds since 1970
 *     Instant: "seconds nanoseconds"     LocalDate: days     LocalTime: nanoseconds     LocalDateTime: "days nanoseconds"
 *     enum: name
 *     list: values     map: pairs of key and value     record: pairs of name and value
 *     json: text of a JsonNode     message: a protobuf message as text
 */
class Shown {
    static Object of(Object value) throws Exception {
        if (value == null) {
            return null;
        }
        if (value instanceof Optional) {
            return of(((Optional<?>) value).orElse(null));
        }
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put(kind(value), content(value));
        return shown;
    }

    static String className(Object value) {
        return value == null ? "null" : value.getClass().isAnonymousClass() || value.getClass().getSimpleName().isEmpty()
            ? value.getClass().getName() : value.getClass().getSimpleName();
    }

    private static String kind(Object value) {
        if (value instanceof byte[] || value instanceof ByteBuffer || value instanceof ByteString
            || value instanceof GenericFixed) {
            return "bytes";
        }
        if (value instanceof CharSequence) {
            return "String";
        }
        if (value instanceof Enum || value instanceof GenericEnumSymbol) {
            return "enum";
        }
        if (value instanceof JsonNode) {
            return "json";
        }
        if (value instanceof Message) {
            return "message";
        }
        if (value instanceof Collection || value.getClass().isArray()) {
            return "list";
        }
        if (value instanceof Map) {
            return "map";
        }
        String name = value.getClass().getSimpleName();
        return value instanceof IndexedRecord || value.getClass().getName().startsWith("org.example") ? "record" : name;
    }

    private static Object content(Object value) throws Exception {
        switch (kind(value)) {
            case "Float":
                return Integer.toHexString(Float.floatToRawIntBits((Float) value));
            case "Double":
                return Long.toHexString(Double.doubleToRawLongBits((Double) value));
            case "bytes":
                return Base64.getEncoder().encodeToString(bytes(value));
            case "Date":
            case "Time":
            case "Timestamp":
                return String.valueOf(((Date) value).getTime());
            case "Instant":
                return ((Instant) value).getEpochSecond() + " " + ((Instant) value).getNano();
            case "LocalDate":
                return String.valueOf(((LocalDate) value).toEpochDay());
            case "LocalTime":
                return String.valueOf(((LocalTime) value).toNanoOfDay());
            case "LocalDateTime":
                LocalDateTime moment = (LocalDateTime) value;
                return moment.toLocalDate().toEpochDay() + " " + moment.toLocalTime().toNanoOfDay();
            case "list":
                return items(value);
            case "map":
                return pairs((Map<?, ?>) value);
            case "record":
                return value instanceof IndexedRecord ? parts((IndexedRecord) value) : parts(value);
            case "message":
                return TextFormat.printer().printToString((Message) value);
            default:
                return value.toString();
        }
    }

    private static byte[] bytes(Object value) {
        if (value instanceof ByteString) {
            return ((ByteString) value).toByteArray();
        }
        if (value instanceof GenericFixed) {
            return ((GenericFixed) value).bytes();
        }
        if (value instanceof byte[]) {
            return (byte[]) value;
        }
        ByteBuffer buffer = ((ByteBuffer) value).duplicate();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static Object items(Object value) throws Exception {
        List<Object> items = new ArrayList<>();
        if (value instanceof Collection) {
            for (Object item : (Collection<?>) value) {
                items.add(of(item));
            }
        } else {
            for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
                items.add(of(java.lang.reflect.Array.get(value, i)));
            }
        }
        return items;
    }

    private static Object pairs(Map<?, ?> map) throws Exception {
        List<Object> pairs = new ArrayList<>();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            pairs.add(Arrays.asList(of(entry.getKey()), of(entry.getValue())));
        }
        return pairs;
    }

    private static Object parts(IndexedRecord record) throws Exception {
        List<Object> parts = new ArrayList<>();
        for (org.apache.avro.Schema.Field field : record.getSchema().getFields()) {
            parts.add(Arrays.asList(field.name(), of(record.get(field.pos()))));
        }
        return parts;
    }

    private static Object parts(Object value) throws Exception {
        List<Object> parts = new ArrayList<>();
        for (Field field : value.getClass().getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers())) {
                field.setAccessible(true);
                parts.add(Arrays.asList(field.getName(), of(field.get(value))));
            }
        }
        return parts;
    }
}

// --- classes. Their fields are in the order of the schema, which sorts them, except where said -------------------------

class Leaves {
    public ByteBuffer buffer;
    public Long count;
    public Boolean flag;
    public Float half;
    public UUID id;
    public URI place;
    public Double ratio;
    public byte[] raw;
    public Character sign;
    public Integer small;
    public String text;
    public Short tight;
    public Byte tiny;

    static Leaves full() {
        Leaves leaves = new Leaves();
        leaves.buffer = ByteBuffer.wrap(new byte[] {1, 2, -1});
        leaves.count = Long.MAX_VALUE;
        leaves.flag = true;
        leaves.half = 0.1f;
        leaves.id = UUID.fromString("f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
        leaves.place = URI.create("http://example.org/a?b=c#d");
        leaves.ratio = 0.1;
        leaves.raw = new byte[] {0, 127, -128, -1, 62, 63};
        leaves.sign = 'x';
        leaves.small = Integer.MIN_VALUE;
        leaves.text = "Ada";
        leaves.tiny = -128;
        leaves.tight = 32767;
        return leaves;
    }

    static Leaves zeros() {
        Leaves leaves = new Leaves();
        leaves.buffer = ByteBuffer.allocate(0);
        leaves.count = 0L;
        leaves.flag = false;
        leaves.half = 0f;
        leaves.id = new UUID(0, 0);
        leaves.ratio = 0d;
        leaves.raw = new byte[0];
        leaves.sign = '\0';
        leaves.small = 0;
        leaves.text = "";
        leaves.tiny = 0;
        leaves.tight = 0;
        return leaves;
    }

    static Leaves other() {
        Leaves leaves = full();
        leaves.count = Long.MIN_VALUE;
        leaves.half = Float.NaN;
        leaves.ratio = Double.NEGATIVE_INFINITY;
        leaves.raw = new byte[200];
        leaves.sign = '\u4e2d';
        return leaves;
    }
}

class Primitives {
    public long count;
    public boolean flag;
    public float half;
    public double ratio;
    public char sign = 'a';
    public int small;
    public short tight;
    public byte tiny;

    static Primitives greatest() {
        Primitives primitives = new Primitives();
        primitives.count = Long.MAX_VALUE;
        primitives.flag = true;
        primitives.half = Float.MAX_VALUE;
        primitives.ratio = Double.MAX_VALUE;
        primitives.sign = '\uffff';
        primitives.small = Integer.MAX_VALUE;
        primitives.tight = Short.MAX_VALUE;
        primitives.tiny = Byte.MAX_VALUE;
        return primitives;
    }

    static Primitives least() {
        Primitives primitives = new Primitives();
        primitives.count = Long.MIN_VALUE;
        primitives.half = Float.POSITIVE_INFINITY;
        primitives.ratio = Double.NaN;
        primitives.sign = '\u0001';
        primitives.small = Integer.MIN_VALUE;
        primitives.tight = Short.MIN_VALUE;
        primitives.tiny = Byte.MIN_VALUE;
        return primitives;
    }
}

class Reals {
    public double[] doubles;
    public float[] floats;

    static Reals all() {
        Reals reals = new Reals();
        reals.doubles = SchemaTypes.DOUBLES;
        reals.floats = SchemaTypes.FLOATS;
        return reals;
    }
}

class Texts {
    public List<String> many;
    public String text;

    static Texts all() {
        Texts texts = new Texts();
        texts.many = new ArrayList<>();
        for (char character = 0; character < 0x20; character++) {
            texts.many.add("c" + character);
        }
        texts.many.addAll(Arrays.asList("\"quoted\" \\ / '", "\u007f\u0080\u00ff", "\u2028\u2029", "\ufffe\uffff", "\ud83d\ude00", "</script>"));
        texts.text = "\u4e2d";
        return texts;
    }
}

class Numbers {
    @AvroSchema("{\"type\": \"bytes\", \"logicalType\": \"decimal\", \"precision\": 38, \"scale\": 2}")
    public BigDecimal amount;
    public BigDecimal exact;
    public BigInteger huge;

    static Numbers full() {
        return of("1.50", "1.50", "123456789012345678901234567890");
    }

    static Numbers large() {
        return of("-999999999999999999999999999999999999.99", "1E+10", "-1");
    }

    static Numbers other() {
        return of("0.00", "1E-10", "0");
    }

    private static Numbers of(String amount, String exact, String huge) {
        Numbers numbers = new Numbers();
        numbers.amount = new BigDecimal(amount);
        numbers.exact = new BigDecimal(exact);
        numbers.huge = new BigInteger(huge);
        return numbers;
    }
}

class Times {
    public Instant at;
    public LocalDate day;
    public LocalDateTime local;
    @AvroSchema("{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}")
    public Instant millis;
    @AvroSchema("{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}")
    public long ticks;
    public LocalTime time;

    static Times of(Instant instant) {
        LocalDateTime local = instant.equals(Instant.MIN) ? LocalDateTime.MIN : instant.equals(Instant.MAX)
            ? LocalDateTime.MAX : LocalDateTime.ofInstant(instant, ZoneOffset.UTC);
        Times times = new Times();
        times.at = instant;
        times.day = local.toLocalDate();
        times.local = local;
        times.millis = instant;
        times.ticks = 1_357_016_400_123L;
        times.time = local.toLocalTime();
        return times;
    }
}

class OldTimes {
    public Date date;
    public Timestamp stamp;

    static OldTimes of(long millis) {
        OldTimes times = new OldTimes();
        times.date = new Date(millis);
        times.stamp = new Timestamp(millis);
        return times;
    }
}

class Spans {
    public Duration duration;
    public OffsetDateTime offset;

    static Spans full() {
        Spans spans = new Spans();
        spans.duration = Duration.ofSeconds(90, 5);
        spans.offset = OffsetDateTime.of(2013, 1, 1, 5, 0, 0, 1, ZoneOffset.ofHours(1));
        return spans;
    }
}

enum Colour { RED, GREEN, BLUE }

class Address {
    public String city;
    public String street;

    Address() {
    }

    Address(String city, String street) {
        this.city = city;
        this.street = street;
    }
}

class Person {
    public int age;
    public Colour eyes;
    public Address home;
    public String name;
    public Address work;

    static Person full() {
        Person person = homeless();
        person.home = new Address("Berlin", "Linden");
        person.work = new Address("Paris", null);
        return person;
    }

    static Person homeless() {
        Person person = new Person();
        person.age = 36;
        person.eyes = Colour.BLUE;
        person.name = "Ada";
        return person;
    }
}

class Collections {
    public List<Address> addresses;
    public List<byte[]> blobs;
    public Map<String, List<Address>> byCity;
    public List<Colour> colours;
    public Map<String, Long> counts;
    public List<List<Double>> matrix;
    public List<Long> numbers;
    public Map<String, Instant> seen;
    public int[] sizes;
    public List<String> tags;

    static Collections full() {
        Collections collections = new Collections();
        collections.addresses = Arrays.asList(new Address("Berlin", "Linden"), new Address(null, null));
        collections.blobs = Arrays.asList(new byte[] {1}, new byte[0]);
        collections.byCity = new LinkedHashMap<>(Map.of("Berlin", Arrays.asList(new Address("Berlin", "Linden"))));
        collections.colours = Arrays.asList(Colour.BLUE, Colour.RED);
        collections.counts = new LinkedHashMap<>();
        collections.counts.put("b", 2L);
        collections.counts.put("a", -1L);
        collections.counts.put("", 0L);
        collections.matrix = Arrays.asList(Arrays.asList(1.5, Double.NaN), Arrays.asList());
        collections.numbers = Arrays.asList(1L, -2L);
        collections.seen = new LinkedHashMap<>(Map.of("x", Instant.ofEpochSecond(1, 5_000)));
        collections.sizes = new int[] {1, 2, 3};
        collections.tags = Arrays.asList("x", "");
        return collections;
    }

    static Collections empty() {
        Collections collections = new Collections();
        collections.addresses = Arrays.asList();
        collections.blobs = Arrays.asList();
        collections.byCity = Map.of();
        collections.colours = Arrays.asList();
        collections.counts = Map.of();
        collections.matrix = Arrays.asList();
        collections.numbers = Arrays.asList();
        collections.seen = Map.of();
        collections.sizes = new int[0];
        collections.tags = Arrays.asList();
        return collections;
    }

    static Collections withNulls() {
        Collections collections = new Collections();
        collections.counts = new LinkedHashMap<>();
        collections.counts.put("a", null);
        collections.counts.put("b", 1L);
        collections.tags = Arrays.asList("x", null);
        return collections;
    }
}

class Maps {
    public Map<Integer, String> byNumber;

    static Maps full() {
        Maps maps = new Maps();
        maps.byNumber = new LinkedHashMap<>();
        maps.byNumber.put(1, "one");
        maps.byNumber.put(-2, "minus two");
        return maps;
    }
}

class Node {
    public List<Node> children;
    public Node next;
    public Long value;

    static Node chain(long length) {
        Node node = new Node();
        node.value = length;
        if (length > 0) {
            node.next = chain(length - 1);
            node.children = Arrays.asList(chain(0));
        }
        return node;
    }
}

class Cat {
    public String purr;

    Cat() {
    }

    Cat(String purr) {
        this.purr = purr;
    }
}

class Dog {
    public String bark;

    Dog() {
    }

    Dog(String bark) {
        this.bark = bark;
    }
}

class Zoo {
    @Union({String.class, Long.class})
    public Object label;
    @Union({Cat.class, Dog.class})
    public Object pet;

    static Zoo of(Object pet, Object label) {
        Zoo zoo = new Zoo();
        zoo.label = label;
        zoo.pet = pet;
        return zoo;
    }
}

class Defaults {
    @AvroDefault("5")
    public int count = 5;
    @AvroDefault("\"none\"")
    public String text = "none";

    static Defaults ofNulls() {
        Defaults defaults = new Defaults();
        defaults.count = 0;
        defaults.text = null;
        return defaults;
    }
}

// Declared in another order than that of the schema.
class Unsorted {
    public String zebra;
    public int apple;
    public String mango;

    static Unsorted full() {
        Unsorted unsorted = new Unsorted();
        unsorted.zebra = "z";
        unsorted.apple = 1;
        unsorted.mango = "m";
        return unsorted;
    }
}

// Jackson's annotations change the names in the messages, but not those in the schema.
class Renamed {
    public int age;
    @JsonProperty("full_name")
    public String name;

    static Renamed full() {
        Renamed renamed = new Renamed();
        renamed.age = 36;
        renamed.name = "Ada";
        return renamed;
    }
}

class Optionals {
    public Optional<String> empty = Optional.empty();
    public Optional<String> full = Optional.of("x");

    static Optionals full() {
        return new Optionals();
    }
}

/** A message with a field of each type, of two files, made without a compiler for protobuf. */
class Everything {
    static Descriptor descriptor() throws Exception {
        DescriptorProto.Builder inner = DescriptorProto.newBuilder().setName("Inner")
            .addField(field("depth", 1, FieldDescriptorProto.Type.TYPE_INT32));
        DescriptorProto.Builder entry = DescriptorProto.newBuilder().setName("CountsEntry")
            .setOptions(MessageOptions.newBuilder().setMapEntry(true))
            .addField(field("key", 1, FieldDescriptorProto.Type.TYPE_STRING))
            .addField(field("value", 2, FieldDescriptorProto.Type.TYPE_INT64));
        DescriptorProto.Builder message = DescriptorProto.newBuilder().setName("Everything").addNestedType(inner)
            .addNestedType(entry);
        int number = 0;
        for (FieldDescriptorProto.Type type : FieldDescriptorProto.Type.values()) {
            if (type == FieldDescriptorProto.Type.TYPE_GROUP) {
                continue; // not in proto3
            }
            FieldDescriptorProto.Builder field = field(type.name().substring(5).toLowerCase() + "_field", ++number, type);
            message.addField(named(field, type));
            FieldDescriptorProto.Builder many = field("many_" + type.name().substring(5).toLowerCase(), 100 + number, type)
                .setLabel(FieldDescriptorProto.Label.LABEL_REPEATED);
            message.addField(named(many, type));
        }
        message.addField(field("counts", 201, FieldDescriptorProto.Type.TYPE_MESSAGE).setTypeName(".org.example.Everything.CountsEntry")
            .setLabel(FieldDescriptorProto.Label.LABEL_REPEATED));
        message.addField(field("at", 202, FieldDescriptorProto.Type.TYPE_MESSAGE).setTypeName(".google.protobuf.Timestamp"));
        FileDescriptorProto file = FileDescriptorProto.newBuilder().setName("everything.proto").setPackage("org.example")
            .setSyntax("proto3").addDependency("google/protobuf/timestamp.proto")
            .addEnumType(EnumDescriptorProto.newBuilder().setName("Colour")
                .addValue(EnumValueDescriptorProto.newBuilder().setName("RED").setNumber(0))
                .addValue(EnumValueDescriptorProto.newBuilder().setName("BLUE").setNumber(5)))
            .addMessageType(message).build();
        return FileDescriptor.buildFrom(file, new FileDescriptor[] {TimestampProto.getDescriptor()})
            .findMessageTypeByName("Everything");
    }

    private static FieldDescriptorProto.Builder named(FieldDescriptorProto.Builder field, FieldDescriptorProto.Type type) {
        if (type == FieldDescriptorProto.Type.TYPE_ENUM) {
            return field.setTypeName(".org.example.Colour");
        }
        return type == FieldDescriptorProto.Type.TYPE_MESSAGE ? field.setTypeName(".org.example.Everything.Inner") : field;
    }

    private static FieldDescriptorProto.Builder field(String name, int number, FieldDescriptorProto.Type type) {
        return FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setType(type)
            .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL);
    }

    static DynamicMessage full(Descriptor type) {
        DynamicMessage.Builder message = DynamicMessage.newBuilder(type);
        for (FieldDescriptor field : type.getFields()) {
            if (field.isMapField()) {
                Descriptor entry = field.getMessageType();
                message.addRepeatedField(field, DynamicMessage.newBuilder(entry)
                    .setField(entry.findFieldByName("key"), "a").setField(entry.findFieldByName("value"), 1L).build());
            } else if (field.isRepeated()) {
                message.addRepeatedField(field, value(field, false));
                message.addRepeatedField(field, value(field, true));
            } else {
                message.setField(field, value(field, true));
            }
        }
        return message.build();
    }

    private static Object value(FieldDescriptor field, boolean large) {
        switch (field.getJavaType()) {
            case INT:
                return large ? Integer.MIN_VALUE : 1;
            case LONG:
                return large ? Long.MIN_VALUE : 1L;
            case FLOAT:
                return large ? Float.MAX_VALUE : Float.NaN;
            case DOUBLE:
                return large ? Double.MAX_VALUE : Double.NEGATIVE_INFINITY;
            case BOOLEAN:
                return large;
            case STRING:
                return large ? "\ud83d\ude00" : "";
            case BYTE_STRING:
                return ByteString.copyFrom(large ? new byte[] {-1, 0} : new byte[0]);
            case ENUM:
                return field.getEnumType().findValueByNumber(large ? 5 : 0);
            default:
                Descriptor type = field.getMessageType();
                DynamicMessage.Builder message = DynamicMessage.newBuilder(type);
                FieldDescriptor first = type.getFields().get(0);
                return large ? message.setField(first, value(first, true)).build() : message.build();
        }
    }
}
