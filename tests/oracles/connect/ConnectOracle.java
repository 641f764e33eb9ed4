// Kafka Connect's converters as an oracle: one line of JSON asks, one line of JSON answers.
//
// Requests, with "options" of the converter where there are any:
//
//     {"do": "to-json", "schema": S, "value": V}                 {"bytes": base64} of JsonConverter
//     {"do": "from-json", "bytes": base64}                       {"schema": S, "value": V}
//     {"do": "to-avro", "schema": S, "value": V}                 {"avro": schema text, "bytes": base64} of AvroData
//     {"do": "from-avro", "avro": text, "bytes": base64, "version": n}      {"schema": S, "value": V}
//     {"do": "project", "schema": S, "value": V, "target": S}    {"schema": S, "value": V} of SchemaProjector
//     {"do": "debezium", "schema": S, "rows": [V, V]}            {"events": [{"schema": S, "value": V}]}: Envelope's
//                                                                create, update, delete and read of these rows
//
// A refusal is {"error": class, "message": text}.
//
// A schema S is null (schemaless), or {"type": "INT8", ..., "optional", "default", "name", "version", "doc",
// "parameters": {}, "key": S, "value": S, "fields": [[name, S]]}; absent means not set.
// A value V is null or {class: content}: numbers and decimals as text ("unscaled scale"), floats as the hex of their
// bits, BYTES as base64, DATE (java.util.Date) as milliseconds, MAP as pairs, STRUCT as the values of its fields,
// where false is a field that was not set.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.serde.avro.NonRecordContainer;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import io.debezium.data.Envelope;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.SchemaProjector;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

public class ConnectOracle {
    static final ObjectMapper JSON = new ObjectMapper();
    static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answer(line)));
            out.flush();
        }
    }

    static ObjectNode answer(String line) throws Exception {
        JsonNode request = JSON.readTree(line);
        try {
            return handle(request);
        } catch (RuntimeException | StackOverflowError problem) {
            return NODES.objectNode().put("error", problem.getClass().getSimpleName())
                .put("message", String.valueOf(problem.getMessage()));
        }
    }

    static ObjectNode handle(JsonNode request) throws Exception {
        switch (request.get("do").asText()) {
            case "to-json":
                SchemaAndValue written = both(request);
                return bytes(Converters.json(request).fromConnectData("t", written.schema(), written.value()));
            case "from-json":
                return shown(Converters.json(request).toConnectData("t", given(request)));
            case "to-avro":
                return Converters.toAvro(Converters.avro(request), both(request));
            case "from-avro":
                return shown(Converters.fromAvro(Converters.avro(request), request));
            case "project":
                return projected(request);
            case "debezium":
                return Debezium.events(request);
            default:
                throw new IllegalArgumentException(request.get("do").asText());
        }
    }

    static ObjectNode projected(JsonNode request) {
        Schema target = Schemas.read(request.get("target"));
        SchemaAndValue source = both(request);
        return shown(new SchemaAndValue(target, SchemaProjector.project(source.schema(), source.value(), target)));
    }

    /** A struct has the very schema that it is passed with, since no two schemas with a struct as default are equal. */
    static SchemaAndValue both(JsonNode request) {
        Schema schema = Schemas.read(request.get("schema"));
        return new SchemaAndValue(schema, Values.read(schema, request.get("value")));
    }

    static byte[] given(JsonNode request) {
        JsonNode bytes = request.get("bytes");
        return bytes.isNull() ? null : Base64.getDecoder().decode(bytes.asText());
    }

    static ObjectNode bytes(byte[] data) {
        return NODES.objectNode().put("bytes", data == null ? null : Base64.getEncoder().encodeToString(data));
    }

    static ObjectNode shown(SchemaAndValue both) {
        ObjectNode answer = NODES.objectNode();
        answer.set("schema", Schemas.show(both == null ? null : both.schema()));
        answer.set("value", Values.show(both == null ? null : both.value()));
        return answer;
    }
}

/** Converters by their options, kept, since each keeps caches. */
class Converters {
    static final Map<String, JsonConverter> JSON = new HashMap<>();
    static final Map<String, AvroData> AVRO = new HashMap<>();
    // Apicurio's class has these switches of Confluent's, but its configuration does not set them.
    static final Map<String, String> SWITCHES = Map.of(
        "scrub.invalid.names", "scrubInvalidNames",
        "generalized.sum.type.support", "generalizedSumTypeSupport",
        "discard.type.doc.default", "discardTypeDocDefault",
        "allow.optional.map.keys", "allowOptionalMapKey",
        "ignore.default.for.nullables", "ignoreDefaultForNullables");

    static Map<String, Object> options(JsonNode request) {
        Map<String, Object> options = new HashMap<>();
        if (request.has("options")) {
            request.get("options").fields().forEachRemaining(each -> options.put(each.getKey(), each.getValue().asText()));
        }
        return options;
    }

    static JsonConverter json(JsonNode request) {
        return JSON.computeIfAbsent(String.valueOf(request.get("options")), key -> {
            JsonConverter converter = new JsonConverter();
            converter.configure(options(request), false);
            return converter;
        });
    }

    static AvroData avro(JsonNode request) throws Exception {
        // Not kept: it counts the unions that it names, so what it answers depends on what it was asked.
        Map<String, Object> options = options(request);
        AvroData data = new AvroData(new AvroDataConfig(options));
        for (Map.Entry<String, String> each : SWITCHES.entrySet()) {
            if (options.containsKey(each.getKey())) {
                Field field = AvroData.class.getDeclaredField(each.getValue());
                field.setAccessible(true);
                field.setBoolean(data, Boolean.parseBoolean((String) options.get(each.getKey())));
            }
        }
        return data;
    }

    static ObjectNode toAvro(AvroData data, SchemaAndValue both) throws Exception {
        org.apache.avro.Schema avro = data.fromConnectSchema(both.schema());
        Object datum = data.fromConnectData(both.schema(), both.value());
        Object bare = datum instanceof NonRecordContainer ? ((NonRecordContainer) datum).getValue() : datum;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        new GenericDatumWriter<Object>(avro).write(bare, encoder);
        encoder.flush();
        return ConnectOracle.bytes(out.toByteArray()).put("avro", avro.toString());
    }

    static SchemaAndValue fromAvro(AvroData data, JsonNode request) throws Exception {
        String text = request.get("avro").asText();
        org.apache.avro.Schema avro = new org.apache.avro.Schema.Parser().setValidateDefaults(false).parse(text);
        byte[] bytes = ConnectOracle.given(request);
        Object datum = new GenericDatumReader<Object>(avro).read(null, DecoderFactory.get().binaryDecoder(bytes, null));
        return data.toConnectData(avro, datum, request.has("version") ? request.get("version").asInt() : null);
    }
}

class Schemas {
    static Schema read(JsonNode given) {
        if (given == null || given.isNull()) {
            return null;
        }
        SchemaBuilder builder = builder(given);
        if (given.has("name")) {
            builder.name(given.get("name").asText());
        }
        if (given.has("version")) {
            builder.version(given.get("version").asInt());
        }
        if (given.has("doc")) {
            builder.doc(given.get("doc").asText());
        }
        if (given.has("parameters")) {
            given.get("parameters").fields().forEachRemaining(
                each -> builder.parameter(each.getKey(), each.getValue().asText()));
        }
        if (given.path("optional").asBoolean()) {
            builder.optional();
        }
        return given.has("default") ? withDefault(builder, given.get("default")) : builder.build();
    }

    /** A struct as default has the builder as its schema until there is another: only equal schemas fit. */
    static Schema withDefault(SchemaBuilder builder, JsonNode given) {
        Schema plain = builder.build();
        if (plain.type() != Schema.Type.STRUCT) {
            return builder.defaultValue(Values.read(plain, given)).build();
        }
        return new ConnectSchema(plain.type(), plain.isOptional(), Values.read(plain, given), plain.name(),
            plain.version(), plain.doc(), plain.parameters(), plain.fields(), null, null);
    }

    static SchemaBuilder builder(JsonNode given) {
        switch (given.get("type").asText()) {
            case "ARRAY":
                return SchemaBuilder.array(read(given.get("value")));
            case "MAP":
                return SchemaBuilder.map(read(given.get("key")), read(given.get("value")));
            case "STRUCT":
                SchemaBuilder builder = SchemaBuilder.struct();
                for (JsonNode field : given.get("fields")) {
                    builder.field(field.get(0).asText(), read(field.get(1)));
                }
                return builder;
            default:
                return SchemaBuilder.type(Schema.Type.valueOf(given.get("type").asText()));
        }
    }

    static JsonNode show(Schema schema) {
        return schema == null ? ConnectOracle.NODES.nullNode() : show(schema, new ArrayList<>());
    }

    static JsonNode show(Schema schema, List<Schema> above) {
        ObjectNode shown = ConnectOracle.NODES.objectNode().put("type", schema.type().name());
        Schema itself = schema.schema();
        for (Schema each : above) {
            if (each == itself) {
                return shown.put("again", schema.name()).put("optional", schema.isOptional());
            }
        }
        above.add(itself);
        annotate(shown, schema);
        switch (schema.type()) {
            case MAP:
                shown.set("key", show(schema.keySchema(), above));
                shown.set("value", show(schema.valueSchema(), above));
                break;
            case ARRAY:
                shown.set("value", show(schema.valueSchema(), above));
                break;
            case STRUCT:
                ArrayNode fields = shown.putArray("fields");
                schema.fields().forEach(each -> fields.addArray().add(each.name()).add(show(each.schema(), above)));
                break;
            default:
        }
        above.remove(above.size() - 1);
        return shown;
    }

    static void annotate(ObjectNode shown, Schema schema) {
        if (schema.isOptional()) {
            shown.put("optional", true);
        }
        if (schema.defaultValue() != null) {
            shown.set("default", Values.show(schema.defaultValue()));
        }
        if (schema.name() != null) {
            shown.put("name", schema.name());
        }
        if (schema.version() != null) {
            shown.put("version", schema.version());
        }
        if (schema.doc() != null) {
            shown.put("doc", schema.doc());
        }
        if (schema.parameters() != null && !schema.parameters().isEmpty()) {
            ObjectNode parameters = shown.putObject("parameters");
            schema.parameters().forEach(parameters::put);
        }
    }
}

class Values {
    static Object read(Schema schema, JsonNode given) {
        if (given == null || given.isNull()) {
            return null;
        }
        Map.Entry<String, JsonNode> only = given.fields().next();
        JsonNode content = only.getValue();
        switch (only.getKey()) {
            case "ARRAY":
                List<Object> items = new ArrayList<>();
                content.forEach(each -> items.add(read(schema == null ? null : schema.valueSchema(), each)));
                return items;
            case "MAP":
                Map<Object, Object> map = new LinkedHashMap<>();
                content.forEach(each -> map.put(read(schema == null ? null : schema.keySchema(), each.get(0)),
                    read(schema == null ? null : schema.valueSchema(), each.get(1))));
                return map;
            case "STRUCT":
                return struct(schema, content);
            default:
                return simple(only.getKey(), content.asText());
        }
    }

    static Struct struct(Schema schema, JsonNode content) {
        Struct struct = new Struct(schema);
        int index = 0;
        for (JsonNode each : content) {
            org.apache.kafka.connect.data.Field field = schema.fields().get(index++);
            if (!each.isBoolean()) { // false: not set
                struct.put(field, read(field.schema(), each));
            }
        }
        return struct;
    }

    static Object simple(String kind, String text) {
        switch (kind) {
            case "INT8":
                return Byte.valueOf(text);
            case "INT16":
                return Short.valueOf(text);
            case "INT32":
                return Integer.valueOf(text);
            case "INT64":
                return Long.valueOf(text);
            case "FLOAT32":
                return Float.intBitsToFloat(Integer.parseUnsignedInt(text, 16));
            case "FLOAT64":
                return Double.longBitsToDouble(Long.parseUnsignedLong(text, 16));
            case "BOOLEAN":
                return Boolean.valueOf(text);
            case "STRING":
                return text;
            case "BYTES":
                return Base64.getDecoder().decode(text);
            case "DECIMAL":
                String[] parts = text.split(" ");
                return new BigDecimal(new BigInteger(parts[0]), Integer.parseInt(parts[1]));
            case "DATE":
                return new Date(Long.parseLong(text));
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    static JsonNode show(Object value) {
        ObjectNode shown = ConnectOracle.NODES.objectNode();
        if (value == null) {
            return ConnectOracle.NODES.nullNode();
        } else if (value instanceof Struct) {
            ArrayNode fields = shown.putArray("STRUCT");
            Struct struct = (Struct) value;
            struct.schema().fields().forEach(each -> fields.add(show(struct.getWithoutDefault(each.name()))));
        } else if (value instanceof Collection) {
            ArrayNode items = shown.putArray("ARRAY");
            ((Collection<?>) value).forEach(each -> items.add(show(each)));
        } else if (value instanceof Map) {
            ArrayNode pairs = shown.putArray("MAP");
            ((Map<?, ?>) value).forEach((key, each) -> pairs.addArray().add(show(key)).add(show(each)));
        } else {
            String[] simple = simple(value);
            shown.put(simple[0], simple[1]);
        }
        return shown;
    }

    static String[] simple(Object value) {
        if (value instanceof Float) {
            return new String[] {"FLOAT32", Integer.toHexString(Float.floatToRawIntBits((Float) value))};
        } else if (value instanceof Double) {
            return new String[] {"FLOAT64", Long.toHexString(Double.doubleToRawLongBits((Double) value))};
        } else if (value instanceof byte[]) {
            return new String[] {"BYTES", Base64.getEncoder().encodeToString((byte[]) value)};
        } else if (value instanceof ByteBuffer) {
            ByteBuffer buffer = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return new String[] {"BYTES", Base64.getEncoder().encodeToString(bytes)};
        } else if (value instanceof BigDecimal) {
            BigDecimal decimal = (BigDecimal) value;
            return new String[] {"DECIMAL", decimal.unscaledValue() + " " + decimal.scale()};
        } else if (value instanceof Date) {
            return new String[] {"DATE", String.valueOf(((Date) value).getTime())};
        }
        String kind = Map.of(Byte.class, "INT8", Short.class, "INT16", Integer.class, "INT32", Long.class, "INT64",
            Boolean.class, "BOOLEAN", String.class, "STRING").get(value.getClass());
        return new String[] {kind == null ? value.getClass().getName() : kind, value.toString()};
    }
}

/** Change events of a table, made by Debezium's own classes. */
class Debezium {
    static ObjectNode events(JsonNode request) {
        Schema row = Schemas.read(request.get("schema"));
        Schema source = SchemaBuilder.struct().name("io.debezium.connector.postgresql.Source")
            .field("version", Schema.STRING_SCHEMA).field("connector", Schema.STRING_SCHEMA)
            .field("name", Schema.STRING_SCHEMA).field("ts_ms", Schema.INT64_SCHEMA)
            .field("snapshot", io.debezium.data.Enum.builder("true,last,false,incremental").optional()
                .defaultValue("false").build())
            .field("db", Schema.STRING_SCHEMA).field("table", Schema.STRING_SCHEMA)
            .field("lsn", Schema.OPTIONAL_INT64_SCHEMA).build();
        Struct from = new Struct(source).put("version", "3.3.1.Final").put("connector", "postgresql")
            .put("name", "shop").put("ts_ms", 1_700_000_000_000L).put("db", "shop").put("table", "customers")
            .put("lsn", 24_023_128L);
        Envelope envelope = Envelope.defineSchema().withName(Envelope.schemaName("shop.public.customers"))
            .withRecord(row).withSource(source).build();
        Struct first = (Struct) Values.read(row, request.get("rows").get(0));
        Struct second = (Struct) Values.read(row, request.get("rows").get(1));
        Instant when = Instant.ofEpochMilli(1_700_000_000_123L);
        ArrayNode events = ConnectOracle.NODES.arrayNode();
        for (Struct event : List.of(envelope.read(first, from, when), envelope.create(first, from, when),
                envelope.update(first, second, from, when), envelope.delete(second, from, when))) {
            events.add(ConnectOracle.shown(new SchemaAndValue(envelope.schema(), event)));
        }
        return (ObjectNode) ConnectOracle.NODES.objectNode().set("events", events);
    }
}
