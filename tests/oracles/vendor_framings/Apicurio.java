// Writes the orders of vendors.py with Apicurio's serializer for Avro, 2.6.13.Final or 3.1.7, by a registry 2.6.13 that was
// just started and has their schema as artifact `first`: so their contentId is 1, and their globalId 2. One line of JSON for each message, as in golden.jsonl.
//
//     java -cp 'JARS/*' Apicurio.java http://localhost:8080/apis/registry/v2 2|3

import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;

import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

public class Apicurio {
    static final Schema ORDER = new Schema.Parser().parse("{\"type\":\"record\",\"name\":\"Order\",\"namespace\":"
        + "\"org.example\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"note\",\"type\":\"string\"}]}");
    static final String HEADERS = "apicurio.registry.headers.enabled", ID = "apicurio.registry.use-id";
    static final String HANDLER = "apicurio.registry.id-handler", SERDE = "io.apicurio.registry.serde.";

    static String url, writer, useId = "";

    public static void main(String[] arguments) throws Exception {
        url = arguments[0];
        if (arguments[1].equals("2")) {
            writer = "apicurio-registry-serdes-avro-serde 2.6.13.Final";
            write("apicurio-header", Map.of());
            write("apicurio-header", Map.of(ID, "contentId"));
            write("apicurio", Map.of(HEADERS, "false"));
            useId = "globalId";
            write("apicurio-v3", Map.of(HEADERS, "false", HANDLER, SERDE + "Legacy4ByteIdHandler"));
        } else {
            writer = "apicurio-registry-avro-serde-kafka 3.1.7";
            write("apicurio-v3", Map.of());
            write("apicurio-header", Map.of(HEADERS, "true"));
            useId = "contentId";
            write("apicurio", Map.of(HANDLER, SERDE + "Legacy8ByteIdHandler"));
        }
    }

    static void write(String framing, Map<String, String> options) {
        Map<String, Object> all = new HashMap<>(options);
        all.put("apicurio.registry.url", url);
        all.put("apicurio.registry.auto-register", "true");
        try (AvroKafkaSerializer<GenericRecord> serializer = new AvroKafkaSerializer<>()) {
            serializer.configure(all, false);
            write(serializer, framing, 7, "hello");
            write(serializer, framing, 0, "");
            write(serializer, framing, -(1L << 62), "é".repeat(90));
        }
    }

    static void write(AvroKafkaSerializer<GenericRecord> serializer, String framing, long id, String note) {
        GenericRecord order = new GenericData.Record(ORDER);
        order.put("id", id);
        order.put("note", note);
        RecordHeaders headers = new RecordHeaders();
        byte[] message = serializer.serialize("orders", headers, order);
        StringBuilder named = new StringBuilder();
        for (Header header : headers) {
            named.append(named.length() == 0 ? "" : ", ");
            named.append("[\"" + header.key() + "\", \"" + HexFormat.of().formatHex(header.value()) + "\"]");
        }
        System.out.println("{\"writer\": \"" + writer + "\", \"framing\": \"" + framing
            + "\", \"use_id\": \"" + useId + "\", \"datum\": {\"id\": " + id + ", \"note\": \"" + note + "\"}, \"message\": \""
            + HexFormat.of().formatHex(message) + "\", \"headers\": [" + named + "]}");
    }
}
