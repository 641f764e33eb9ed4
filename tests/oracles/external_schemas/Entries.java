// Reads the entries of topics as a broker stores them, with the raw reader of pulsar-broker 4.2.4.
//
// One line for each entry: the topic, a blank, and the entry in base64. Arguments: the address of a broker, the prefix of
// the names of topics, and the rest of each name.

package org.example;

import java.util.Base64;
import java.util.concurrent.TimeUnit;

import io.netty.buffer.ByteBufUtil;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.RawMessage;
import org.apache.pulsar.client.api.RawReader;

public class Entries {
    public static void main(String[] args) throws Exception {
        try (PulsarClient client = PulsarClient.builder().serviceUrl(args[0]).build()) {
            for (int i = 2; i < args.length; i++) {
                String topic = "persistent://public/default/" + args[1] + args[i];
                RawReader reader = RawReader.create(client, topic, "raw").get();
                while (reader.hasMessageAvailableAsync().get()) {
                    RawMessage message = reader.readNextAsync().get(10, TimeUnit.SECONDS);
                    byte[] entry = ByteBufUtil.getBytes(message.getHeadersAndPayload());
                    System.out.println(args[i] + " " + Base64.getEncoder().encodeToString(entry));
                    message.close();
                }
                reader.closeAsync().get();
            }
        }
    }
}
