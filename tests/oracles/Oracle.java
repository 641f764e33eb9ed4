// Apache Avro's Java library, driven over stdin and stdout: it parses schemas, and reads, resolves and writes data.
//
// Compiled at run time by Janino, which ships with pyspark: so no lambdas and no diamonds, and generics are not checked.
//
// Requests and responses are frames of byte strings; sizes are big-endian:
//
//     0        4          8
//     | count  | size 0   | bytes 0 ... | size 1 | bytes 1 ... |
//
// Request: operation, comma-separated flags, arguments. Response: "ok" and results, or "error", stage, class, message.
//
//     parse    schema                  -> canonical form                  flag strict: defaults are validated
//     read     writer, reader, data    -> number of remaining bytes, value, the value written with the reader's schema
//                                         flags: fast, logical, blocks (written in blocks with a size)
//     can-read writer, reader          -> true or false, by SchemaValidator, as in Pulsar's broker
//
// Values are tagged, so that nothing is lost; see value().

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.SchemaValidationException;
import org.apache.avro.SchemaValidatorBuilder;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.util.TimePeriod;
import org.apache.avro.util.Utf8;

public class Oracle {
    private static final GenericData RAW = new Ordered();
    private static final GenericData RAW_FAST = new GenericData(); // Java has the fast reader only for this class
    private static final GenericData LOGICAL = new Ordered();

    private final DataOutputStream out;
    private String stage;

    Oracle(DataOutputStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        Oracle oracle = new Oracle(new DataOutputStream(new BufferedOutputStream(System.out)));
        System.setOut(System.err); // output of libraries must not look like a frame
        configure();
        while (true) {
            byte[][] request;
            try {
                request = frame(in);
            } catch (EOFException end) {
                return;
            }
            oracle.answer(request);
        }
    }

    private static void configure() {
        RAW.setFastReaderEnabled(false);
        RAW_FAST.setFastReaderEnabled(true);
        LOGICAL.setFastReaderEnabled(false);
        LOGICAL.addLogicalTypeConversion(new Conversions.DecimalConversion());
        LOGICAL.addLogicalTypeConversion(new Conversions.BigDecimalConversion());
        LOGICAL.addLogicalTypeConversion(new Conversions.UUIDConversion());
        LOGICAL.addLogicalTypeConversion(new Conversions.DurationConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.DateConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.TimestampNanosConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.LocalTimestampMillisConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());
        LOGICAL.addLogicalTypeConversion(new TimeConversions.LocalTimestampNanosConversion());
    }

    /** Keeps the order of the entries of a map, so that maps written again can be compared. */
    public static class Ordered extends GenericData {
        public Object newMap(Object old, int size) {
            return new LinkedHashMap();
        }
    }

    // --- frames ------------------------------------------------------------------------------------------------------

    private static byte[][] frame(DataInputStream in) throws IOException {
        byte[][] parts = new byte[in.readInt()][];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = new byte[in.readInt()];
            in.readFully(parts[i]);
        }
        return parts;
    }

    private void answer(byte[][] request) throws IOException {
        byte[][] parts;
        try {
            stage = "request";
            parts = result(text(request[0]), Arrays.asList(text(request[1]).split(",")), request);
        } catch (Throwable error) { // StackOverflowError and OutOfMemoryError are results too
            parts = new byte[][] {
                utf8("error"), utf8(stage), utf8(error.getClass().getName()), utf8(String.valueOf(error.getMessage()))
            };
        }
        out.writeInt(parts.length);
        for (int i = 0; i < parts.length; i++) {
            sized(out, parts[i]);
        }
        out.flush();
    }

    private static void sized(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static String text(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    // --- operations --------------------------------------------------------------------------------------------------

    private byte[][] result(String operation, List flags, byte[][] request) throws Exception {
        if (operation.equals("parse")) {
            Schema schema = parse("parse", request[2], flags.contains("strict"));
            return new byte[][] { utf8("ok"), utf8(SchemaNormalization.toParsingForm(schema)) };
        }
        Schema writer = parse("parse writer", request[2], false);
        Schema reader = parse("parse reader", request[3], false);
        if (operation.equals("can-read")) {
            return new byte[][] { utf8("ok"), utf8(String.valueOf(canRead(writer, reader))) };
        }
        if (operation.equals("read")) {
            return read(writer, reader, request[4], flags);
        }
        throw new IllegalArgumentException("no operation " + operation);
    }

    private Schema parse(String stage, byte[] schema, boolean strict) {
        this.stage = stage;
        Schema.Parser parser = new Schema.Parser();
        parser.setValidateDefaults(strict);
        return parser.parse(text(schema));
    }

    private boolean canRead(Schema writer, Schema reader) {
        stage = "can-read";
        try {
            new SchemaValidatorBuilder().canReadStrategy().validateLatest()
                .validate(reader, Collections.singletonList(writer));
            return true;
        } catch (SchemaValidationException no) {
            return false;
        }
    }

    private byte[][] read(Schema writer, Schema reader, byte[] data, List flags) throws Exception {
        stage = "read";
        GenericData model = flags.contains("logical") ? LOGICAL : flags.contains("fast") ? RAW_FAST : RAW;
        BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(data, null);
        Object value = new GenericDatumReader(writer, reader, model).read(null, decoder);
        int left = decoder.inputStream().available();

        stage = "show";
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        value(model, reader, value, new DataOutputStream(shown));

        stage = "write";
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        BinaryEncoder encoder = flags.contains("blocks")
            ? new EncoderFactory().configureBlockSize(64).blockingBinaryEncoder(written, null)
            : EncoderFactory.get().binaryEncoder(written, null);
        if (!flags.contains("unwritten")) {
            new GenericDatumWriter(reader, model).write(value, encoder);
            encoder.flush();
        }
        return new byte[][] { utf8("ok"), utf8(String.valueOf(left)), shown.toByteArray(), written.toByteArray() };
    }

    // --- values ------------------------------------------------------------------------------------------------------
    //
    //     N  T  F               null, true, false
    //     I  int32     J int64  int, long
    //     f  bits      d bits   float, double
    //     B  S  X  E   sized    bytes, string (unchanged UTF-8), fixed, symbol of an enum
    //     A  count, items       M count, (sized key, value)...     R count, (sized name, value)...
    //     U  int32 branch, value
    //     L  sized class name, sized text                          the converted value of a logical type

    private static void value(GenericData model, Schema schema, Object value, DataOutputStream out) throws IOException {
        if (schema.getType() == Schema.Type.UNION) {
            int branch = model.resolveUnion(schema, value);
            out.writeByte('U');
            out.writeInt(branch);
            value(model, (Schema) schema.getTypes().get(branch), value, out);
        } else if (value instanceof IndexedRecord) {
            record(model, (IndexedRecord) value, out);
        } else if (value instanceof Collection) {
            out.writeByte('A');
            out.writeInt(((Collection) value).size());
            for (Iterator items = ((Collection) value).iterator(); items.hasNext();) {
                value(model, schema.getElementType(), items.next(), out);
            }
        } else if (value instanceof Map) {
            out.writeByte('M');
            out.writeInt(((Map) value).size());
            for (Iterator entries = ((Map) value).entrySet().iterator(); entries.hasNext();) {
                Map.Entry entry = (Map.Entry) entries.next();
                sized(out, raw((CharSequence) entry.getKey()));
                value(model, schema.getValueType(), entry.getValue(), out);
            }
        } else {
            leaf(schema, value, out);
        }
    }

    private static void record(GenericData model, IndexedRecord record, DataOutputStream out) throws IOException {
        List fields = record.getSchema().getFields();
        out.writeByte('R');
        out.writeInt(fields.size());
        for (int i = 0; i < fields.size(); i++) {
            Schema.Field field = (Schema.Field) fields.get(i);
            sized(out, utf8(field.name()));
            value(model, field.schema(), record.get(i), out);
        }
    }

    private static void leaf(Schema schema, Object value, DataOutputStream out) throws IOException {
        if (value == null) {
            out.writeByte('N');
        } else if (value instanceof Boolean) {
            out.writeByte(((Boolean) value).booleanValue() ? 'T' : 'F');
        } else if (value instanceof Number && !(value instanceof BigDecimal)) {
            number((Number) value, out);
        } else if (value instanceof ByteBuffer) {
            out.writeByte('B');
            sized(out, bytes((ByteBuffer) value));
        } else if (value instanceof GenericFixed) {
            out.writeByte('X');
            sized(out, ((GenericFixed) value).bytes());
        } else if (schema.getType() == Schema.Type.ENUM) {
            out.writeByte('E');
            sized(out, utf8(value.toString()));
        } else if (value instanceof CharSequence) {
            out.writeByte('S');
            sized(out, raw((CharSequence) value));
        } else {
            out.writeByte('L');
            sized(out, utf8(value.getClass().getSimpleName()));
            sized(out, utf8(converted(value)));
        }
    }

    private static void number(Number value, DataOutputStream out) throws IOException {
        if (value instanceof Integer) {
            out.writeByte('I');
            out.writeInt(value.intValue());
        } else if (value instanceof Long) {
            out.writeByte('J');
            out.writeLong(value.longValue());
        } else if (value instanceof Float) {
            out.writeByte('f');
            out.writeInt(Float.floatToRawIntBits(value.floatValue()));
        } else {
            out.writeByte('d');
            out.writeLong(Double.doubleToRawLongBits(value.doubleValue()));
        }
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(buffer.position(), bytes);
        return bytes;
    }

    private static byte[] raw(CharSequence text) {
        if (text instanceof Utf8) {
            return Arrays.copyOf(((Utf8) text).getBytes(), ((Utf8) text).getByteLength());
        }
        return utf8(text.toString());
    }

    private static String converted(Object value) {
        if (value instanceof BigDecimal) {
            return ((BigDecimal) value).unscaledValue() + "E" + -((BigDecimal) value).scale();
        }
        if (value instanceof LocalDate) {
            return String.valueOf(((LocalDate) value).toEpochDay());
        }
        if (value instanceof LocalTime) {
            return String.valueOf(((LocalTime) value).toNanoOfDay());
        }
        if (value instanceof Instant) {
            return ((Instant) value).getEpochSecond() + " " + ((Instant) value).getNano();
        }
        if (value instanceof LocalDateTime) {
            return ((LocalDateTime) value).toEpochSecond(ZoneOffset.UTC) + " " + ((LocalDateTime) value).getNano();
        }
        if (value instanceof TimePeriod) {
            TimePeriod period = (TimePeriod) value;
            return period.getMonths() + " " + period.getDays() + " " + period.getMillis();
        }
        return value.toString(); // UUID
    }
}
