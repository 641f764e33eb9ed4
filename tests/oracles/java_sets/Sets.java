// Writes message sets of formats 0 and 1 with kafka-clients' MemoryRecords, as logs of brokers before Kafka 0.11 have
// them, and says what MemoryRecords reads from them.
//
// One line of JSON for each log:
//
//     name      of the log, unique
//     data      the bytes, base64
//     messages  [[offset, timestamp, kind of the timestamp (-1 none, 0 CreateTime, 1 LogAppendTime), key, value], ...],
//               keys and values as base64 or null
//
// `PYTHONPATH=tests/oracles:tests/servers python -m java_sets` writes golden.jsonl next to this file. It requires a JDK.

import java.nio.ByteBuffer;
import java.util.Base64;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;

public final class Sets {
    private static final long NOW = 1600000000000L;
    private static final CompressionType[] TYPES = {
        CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4};

    private final ByteBuffer log = ByteBuffer.allocate(1 << 20);

    public static void main(String[] arguments) {
        for (byte magic = 0; magic <= 1; magic++) {
            for (CompressionType type : TYPES) {
                print("format " + magic + " " + type.name, new Sets()
                    .batch(magic, type, TimestampType.CREATE_TIME, 5, 1)
                    .batch(magic, type, TimestampType.CREATE_TIME, 20, 3));
            }
        }
        for (CompressionType type : TYPES) {
            print("append time " + type.name, new Sets().batch((byte) 1, type, TimestampType.LOG_APPEND_TIME, 0, 1));
        }
        Sets mixed = new Sets();
        for (byte magic = 0; magic <= 2; magic++) {
            mixed.batch(magic, CompressionType.LZ4, TimestampType.CREATE_TIME, 100 * magic, 2);
        }
        print("formats one after the other", mixed);
    }

    /** A batch whose offsets have gaps of `step`, as compaction leaves them. */
    private Sets batch(byte magic, CompressionType type, TimestampType kind, long offset, int step) {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            buffer, magic, Compression.of(type).build(), magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE : kind, offset, NOW + 7);
        byte[][][] pairs = {
            {"k1".getBytes(), "value".repeat(50).getBytes()}, {null, {}}, {{}, null}, {{0, (byte) 0xff}, {3, 4, 0, 0, 0, 0, 0, 0, 0, 9, 2}},
            {null, null}};
        for (int i = 0; i < pairs.length; i++) {
            long timestamp = magic == 0 ? RecordBatch.NO_TIMESTAMP : NOW + 1000L * i;
            builder.appendWithOffset(offset + (long) step * i, timestamp, pairs[i][0], pairs[i][1]);
        }
        log.put(builder.build().buffer());
        return this;
    }

    private static void print(String name, Sets made) {
        ByteBuffer written = made.log.duplicate().flip();
        byte[] data = new byte[written.remaining()];
        written.get(data);
        StringBuilder messages = new StringBuilder();
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
            batch.ensureValid();
            for (Record record : batch) {
                messages.append(messages.length() == 0 ? "" : ", ").append(String.format("[%d, %d, %d, %s, %s]",
                    record.offset(), record.timestamp(), batch.timestampType().id, shown(record.key()), shown(record.value())));
            }
        }
        System.out.printf("{\"name\": \"%s\", \"data\": %s, \"messages\": [%s]}%n", name, shown(ByteBuffer.wrap(data)), messages);
    }

    private static String shown(ByteBuffer data) {
        if (data == null) {
            return "null";
        }
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return '"' + Base64.getEncoder().encodeToString(bytes) + '"';
    }
}
