// Pulsar's Java client, driven over stdin and stdout: it produces and consumes messages, and reports them.
//
// Compiled at run time by Janino, which ships with pyspark: so no lambdas and no diamonds, and generics are not checked.
//
// Requests and responses are one line of JSON each. Requests:
//
//     {"do": "produce", "topic": ..., "as": class, "values": [{"name": ..., "age": ...}, ...]}
//     {"do": "consume", "topic": ..., "as": "AUTO_CONSUME", "BYTES" or class, "count": n}
//
// A class is one of those at the end of this file, used with Schema.AVRO.
//
// Response: {"ok": [one per message]}, or {"error": text}. A consumed message has
//
//     data       its bytes, base64
//     key        getKeyBytes(), base64; null if there is none
//     version    its schema version in Pulsar's metadata; -1 if there is none
//     type       type of the schema with which it was read
//     value      the value read: the fields of an object, or base64
//     error      instead of type and value: the exceptions, from the outermost to the cause

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
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

public class JavaClient {
    private static final int PATIENCE_SECONDS = 20;

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
        Class type = Class.forName((String) request.get("as"));
        Producer producer = client.newProducer(Schema.AVRO(type)).topic((String) request.get("topic")).create();
        List sent = new ArrayList();
        for (Iterator values = ((List) request.get("values")).iterator(); values.hasNext();) {
            sent.add(producer.send(json.convertValue(values.next(), type)).toString());
        }
        producer.close();
        return sent;
    }

    // --- consume -----------------------------------------------------------------------------------------------------

    private List consume(Map request) throws Exception {
        Consumer consumer = client.newConsumer(schema((String) request.get("as")))
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

    private static Schema schema(String name) throws ClassNotFoundException {
        if (name.equals("AUTO_CONSUME")) {
            return Schema.AUTO_CONSUME();
        }
        return name.equals("BYTES") ? Schema.BYTES : Schema.AVRO(Class.forName(name));
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
        return value instanceof byte[] ? "BYTES" : "AVRO";
    }

    private Object value(Object value) {
        if (value instanceof byte[]) {
            return base64((byte[]) value);
        }
        if (!(value instanceof GenericObject)) {
            return json.convertValue(value, Map.class);
        }
        if (!type(value).equals("AVRO")) {
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
        return Base64.getEncoder().encodeToString(bytes);
    }

    private static String chain(Throwable error) {
        StringBuilder text = new StringBuilder(error.toString());
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
            text.append("; by ").append(cause);
        }
        return text.toString();
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
