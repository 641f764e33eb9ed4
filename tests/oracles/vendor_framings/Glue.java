// Writes the orders of vendors.py with AWS Glue's serializer for Kafka 1.1.25, which is given the version of their schema and
// so asks no registry. One line of JSON for each message, as in golden.jsonl.
//
//     java -cp 'JARS/*' Glue.java

import java.util.HexFormat;
import java.util.Map;
import java.util.UUID;

import com.amazonaws.services.schemaregistry.serializers.GlueSchemaRegistryKafkaSerializer;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider;

public class Glue {
    static final Schema ORDER = new Schema.Parser().parse("{\"type\":\"record\",\"name\":\"Order\",\"namespace\":"
        + "\"org.example\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"note\",\"type\":\"string\"}]}");
    static final UUID VERSION = UUID.fromString("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63");

    public static void main(String[] arguments) {
        for (String compression : new String[] {"NONE", "ZLIB"}) {
            write(compression, 7, "hello");
            write(compression, 0, "");
            write(compression, -(1L << 62), "é".repeat(90));
        }
        System.exit(0);
    }

    static void write(String compression, long id, String note) {
        Map<String, Object> options = Map.of("region", "eu-west-1", "dataFormat", "AVRO", "compression", compression,
            "avroRecordType", "GENERIC_RECORD");
        GenericRecord order = new GenericData.Record(ORDER);
        order.put("id", id);
        order.put("note", note);
        byte[] message = new GlueSchemaRegistryKafkaSerializer(AnonymousCredentialsProvider.create(), VERSION, options)
            .serialize("orders", order);
        System.out.println("{\"writer\": \"schema-registry-serde 1.1.25\", \"framing\": \"glue\", \"datum\": {\"id\": " + id
            + ", \"note\": \"" + note + "\"}, \"message\": \"" + HexFormat.of().formatHex(message)
            + "\", \"headers\": []}");
    }
}
