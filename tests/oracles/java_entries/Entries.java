// Composes entries of topics from kafka-clients' MemoryRecords and Pulsar's MessageMetadata, BrokerEntryMetadata and
// Commands, which is what KoP's formatters and Pulsar's producers call. Says what Kafka's own classes read from them.
//
// One line of JSON for each topic:
//
//     topic      unique
//     format     kafka (KoP's KafkaV1EntryFormatter) or pulsar (a producer of Pulsar)
//     plain      whether all batches are uncompressed, so that their bytes depend on no library's version
//     entries    as the broker stores them, base64, each with how many messages the producer said it has
//     messages   as a consumer with read_uncommitted gets them: offset, timestamp, key, value, headers; of Kafka's
//                format also the producer's id and whether the record is transactional, of Pulsar's the schema
//                version. Bytes are base64.
//     committed  the offsets that a consumer with read_committed gets; only of Kafka's format
//
// `PYTHONPATH=tests/oracles:tests/servers python -m java_entries` writes golden.jsonl next to this file.

package org.example;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor;
import org.apache.pulsar.common.intercept.BrokerEntryMetadataInterceptor;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.protocol.Commands.ChecksumType;

public class Entries {
    private static final long NOW = 1_600_000_000_000L;
    private static final long VERSION = 5;
    private static final byte[] TEXT = "not versioned ".repeat(20).getBytes(StandardCharsets.UTF_8);
    private static final byte[] BINARY = {0, (byte) 0xff, (byte) 0xfe};
    private static PrintStream out;

    private final Map<String, Object> line = new LinkedHashMap<>();
    private final List<Object> entries = new ArrayList<>();
    private final List<Object> messages = new ArrayList<>();
    private final Set<BrokerEntryMetadataInterceptor> broker = new HashSet<>();
    private final boolean kafka;
    private boolean plain = true;
    private long next = 0; // offset

    private Entries(String topic, String format) {
        kafka = format.equals("kafka");
        broker.add(new AppendIndexMetadataInterceptor());
        line.put("topic", topic);
        line.put("format", format);
    }

    public static void main(String[] args) throws Exception {
        out = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err); // output of libraries must not look like a line
        compressions();
        records();
        transactions();
        pulsar();
    }

    // Kafka's format

    private static void compressions() throws Exception {
        Compression[] all = {
            Compression.NONE, Compression.gzip().build(), Compression.snappy().build(), Compression.lz4().build(),
            Compression.zstd().build()
        };
        for (Compression compression : all) {
            Entries topic = new Entries(compression.type().name, "kafka");
            topic.add(batch(new Options(compression)));
            topic.add(batch(new Options(compression)), batch(new Options(compression)));
            topic.done(null);
        }
    }

    private static void records() throws Exception {
        Entries topic = new Entries("producers", "kafka");
        Options idempotent = new Options(Compression.NONE);
        idempotent.producer = 7;
        topic.add(batch(idempotent));
        idempotent.sequence = 6;
        idempotent.producer = Long.MAX_VALUE;
        idempotent.epoch = Short.MAX_VALUE;
        topic.add(batch(idempotent));
        topic.done(null);

        topic = new Entries("times", "kafka");
        Options appended = new Options(Compression.NONE);
        appended.times = TimestampType.LOG_APPEND_TIME;
        topic.add(batch(appended));
        appended = new Options(Compression.gzip().build());
        appended.times = TimestampType.LOG_APPEND_TIME;
        topic.add(batch(appended));
        topic.done(null);

        topic = new Entries("several batches", "kafka");
        topic.add(batch(new Options(Compression.NONE)), batch(new Options(Compression.zstd().build())),
            batch(new Options(Compression.NONE)));
        topic.add(batch(new Options(Compression.NONE)));
        topic.done(null);
    }

    private static void transactions() throws Exception {
        Entries topic = new Entries("transactions", "kafka");
        topic.add(batch(transactional(1)));
        topic.add(batch(transactional(2)));
        topic.add(batch(new Options(Compression.NONE)));
        topic.add(marker(1, ControlRecordType.COMMIT));
        topic.add(batch(transactional(1)));
        topic.add(marker(2, ControlRecordType.ABORT));
        topic.add(marker(1, ControlRecordType.ABORT));
        topic.add(marker(3, ControlRecordType.COMMIT));
        topic.add(batch(new Options(Compression.NONE)));
        // Of the transactions' batches only the first is committed; a marker takes an offset too.
        topic.done(concat(range(0, 6), range(12, 18), range(28, 34)));
    }

    private static Options transactional(long producer) {
        Options options = new Options(Compression.NONE);
        options.producer = producer;
        options.transactional = true;
        return options;
    }

    private static class Options {
        final Compression compression;
        TimestampType times = TimestampType.CREATE_TIME;
        long producer = RecordBatch.NO_PRODUCER_ID;
        short epoch = 0;
        int sequence = 0;
        boolean transactional = false;

        Options(Compression compression) {
            this.compression = compression;
        }
    }

    /** Six records: with our header, binary, with odd headers, null, empty, and one without a header of ours. */
    private static MemoryRecords batch(Options options) {
        boolean named = options.producer >= 0;
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(4096), RecordBatch.MAGIC_VALUE_V2, options.compression, options.times, 0, NOW + 99,
            options.producer, named ? options.epoch : RecordBatch.NO_PRODUCER_EPOCH,
            named ? options.sequence : RecordBatch.NO_SEQUENCE, options.transactional, 0);
        builder.append(NOW, "k1".getBytes(), framed(0, "a"), headers("h", "v".getBytes()));
        builder.append(NOW + 1, BINARY, framed(Long.MAX_VALUE, "b"), headers());
        builder.append(NOW - 5, null, framed(1, ""),
            headers("n", null, "n", BINARY, "", new byte[0], "\u20ac", "\u20ac".getBytes(StandardCharsets.UTF_8)));
        builder.append(0, "k4".getBytes(), null, headers());
        builder.append(Long.MAX_VALUE, new byte[0], new byte[0], headers());
        builder.append(NOW, null, TEXT, headers());
        return builder.build();
    }

    private static MemoryRecords marker(long producer, ControlRecordType type) {
        return MemoryRecords.withEndTransactionMarker(0, NOW, 0, producer, (short) 0, new EndTransactionMarker(type, 0));
    }

    private static byte[] framed(long version, String value) {
        byte[] data = value.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(10 + data.length).put((byte) 3).put((byte) 4).putLong(version).put(data).array();
    }

    private static Header[] headers(Object... pairs) {
        Header[] headers = new Header[pairs.length / 2];
        for (int i = 0; i < headers.length; i++) {
            headers[i] = new RecordHeader((String) pairs[2 * i], (byte[]) pairs[2 * i + 1]);
        }
        return headers;
    }

    /** An entry as KoP's KafkaV1EntryFormatter encodes it. */
    private void add(MemoryRecords... batches) {
        ByteBuf payload = Unpooled.buffer();
        int count = 0;
        for (MemoryRecords records : batches) {
            payload.writeBytes(records.buffer().duplicate());
            for (MutableRecordBatch batch : records.batches()) {
                plain = plain && !batch.isCompressed();
                show(batch);
                count += batch.lastOffset() - batch.baseOffset() + 1;
            }
        }
        MessageMetadata metadata = metadata("").setNumMessagesInBatch(count);
        metadata.addProperty().setKey("entry.format").setValue("kafka");
        store(metadata, payload, ChecksumType.None, count);
    }

    private void show(MutableRecordBatch batch) {
        long first = next;
        next += batch.lastOffset() - batch.baseOffset() + 1;
        if (batch.isControlBatch()) {
            return;
        }
        for (Record record : batch) {
            Map<String, Object> message = new LinkedHashMap<>();
            message.put("offset", first + record.offset() - batch.baseOffset());
            message.put("timestamp", record.timestamp());
            message.put("key", bytes(record.key()));
            message.put("value", bytes(record.value()));
            List<Object> headers = new ArrayList<>();
            for (Header header : record.headers()) {
                headers.add(Arrays.asList(header.key(), bytes(header.value())));
            }
            message.put("headers", headers);
            message.put("producer", batch.producerId());
            message.put("transactional", batch.isTransactional());
            messages.add(message);
        }
    }

    // Pulsar's format

    private static void pulsar() throws Exception {
        for (CompressionType type : CompressionType.values()) {
            Entries topic = new Entries("pulsar " + type.name().toLowerCase(), "pulsar");
            topic.plain = type == CompressionType.NONE;
            MessageMetadata single = metadata("producer").setSchemaVersion(ByteBuffer.allocate(8).putLong(VERSION).array());
            single.setPartitionKey(Base64.getEncoder().encodeToString(BINARY)).setPartitionKeyB64Encoded(true);
            single.setEventTime(NOW + 7).addProperty().setKey("p").setValue("q");
            topic.single(single, type, TEXT);
            topic.batch(type);
            topic.done(null);
        }
        Entries topic = new Entries("pulsar chunks", "pulsar");
        for (int i = 0; i < 3; i++) {
            MessageMetadata metadata = metadata("producer").setUuid("producer-1").setChunkId(i).setNumChunksFromMsg(3);
            metadata.setTotalChunkMsgSize(TEXT.length);
            byte[] part = Arrays.copyOfRange(TEXT, i * 100, Math.min(TEXT.length, i * 100 + 100));
            topic.store(metadata, Unpooled.wrappedBuffer(part), ChecksumType.Crc32c, 1);
        }
        topic.next = 2;
        topic.show(NOW, null, TEXT, null, null);
        topic.done(null);
    }

    private void single(MessageMetadata metadata, CompressionType type, byte[] value) {
        show(NOW + 7, BINARY, value, "p", VERSION);
        compressed(metadata, type, Unpooled.wrappedBuffer(value), 1);
    }

    private void batch(CompressionType type) {
        ByteBuf payload = Unpooled.buffer();
        for (int i = 0; i < 3; i++) {
            SingleMessageMetadata single = new SingleMessageMetadata().setEventTime(NOW + i).setPayloadSize(0);
            byte[] value = i == 1 ? new byte[0] : TEXT;
            if (i == 1) {
                single.setNullValue(true);
            } else {
                single.setOrderingKey(BINARY).setPartitionKey("other").addProperty().setKey("p").setValue("q");
            }
            Commands.serializeSingleMessageInBatchWithPayload(single, Unpooled.wrappedBuffer(value), payload);
            show(NOW + i, i == 1 ? null : BINARY, i == 1 ? null : value, i == 1 ? null : "p", null);
        }
        compressed(metadata("producer").setNumMessagesInBatch(3), type, payload, 3);
    }

    private void compressed(MessageMetadata metadata, CompressionType type, ByteBuf payload, int count) {
        metadata.setUncompressedSize(payload.readableBytes());
        if (type != CompressionType.NONE) {
            metadata.setCompression(type);
        }
        store(metadata, CompressionCodecProvider.getCompressionCodec(type).encode(payload), ChecksumType.Crc32c, count);
    }

    private void show(long timestamp, byte[] key, byte[] value, String property, Long version) {
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("offset", next++);
        message.put("timestamp", timestamp);
        message.put("key", key == null ? null : base64(key));
        message.put("value", value == null ? null : base64(value));
        message.put("headers", property == null ? List.of() : List.of(List.of(property, base64("q".getBytes()))));
        message.put("version", version);
        messages.add(message);
    }

    // Both

    private static MessageMetadata metadata(String producer) {
        return new MessageMetadata().setProducerName(producer).setSequenceId(0).setPublishTime(NOW);
    }

    private void store(MessageMetadata metadata, ByteBuf payload, ChecksumType checksum, int count) {
        ByteBuf sent = Commands.serializeMetadataAndPayload(checksum, metadata, payload);
        ByteBuf stored = Commands.addBrokerEntryMetadata(sent, broker, count);
        entries.add(List.of(base64(ByteBufUtil.getBytes(stored)), count));
    }

    private void done(List<Long> committed) throws IOException {
        line.put("plain", plain);
        line.put("entries", entries);
        line.put("messages", messages);
        if (kafka) {
            line.put("committed", committed == null ? range(0, next) : committed);
        }
        out.println(new ObjectMapper().writeValueAsString(line));
    }

    private static List<Long> range(long from, long to) {
        List<Long> found = new ArrayList<>();
        for (long i = from; i < to; i++) {
            found.add(i);
        }
        return found;
    }

    @SafeVarargs
    private static List<Long> concat(List<Long>... parts) {
        List<Long> found = new ArrayList<>();
        for (List<Long> part : parts) {
            found.addAll(part);
        }
        return found;
    }

    private static String bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] data = new byte[buffer.remaining()];
        buffer.duplicate().get(data);
        return base64(data);
    }

    private static String bytes(byte[] data) {
        return data == null ? null : base64(data);
    }

    private static String base64(byte[] data) {
        return Base64.getEncoder().encodeToString(data);
    }
}
