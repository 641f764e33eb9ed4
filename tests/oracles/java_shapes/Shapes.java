// Prints the schemas that Schema.AVRO of Pulsar's Java client derives from classes: one line per class, name and schema.
//
// The equivalent Python classes are in __init__.py. `PYTHONPATH=tests/oracles:tests/servers python -m java_shapes` writes
// the .avsc files next to this file. It requires a JDK, because Janino drops the T of List<T>.

package org.example;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import org.apache.avro.reflect.AvroAlias;
import org.apache.avro.reflect.AvroDoc;
import org.apache.avro.reflect.AvroName;
import org.apache.avro.reflect.AvroSchema;
import org.apache.avro.reflect.Union;
import org.apache.pulsar.client.api.Schema;

public class Shapes {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            Class<?> type = Class.forName("org.example." + name);
            System.out.println(name + " " + Schema.AVRO(type).getSchemaInfo().getSchemaDefinition());
        }
    }
}

class Leaves {
    public String text;
    public Boolean flag;
    public Long count;
    public Integer small;
    public Double ratio;
    public Float half;
    public byte[] raw;
    public ByteBuffer buffer;
    public UUID id;
}

class Primitives {
    public boolean flag;
    public long count;
    public int small;
    public double ratio;
    public float half;
    public String text;
}

class Times {
    public Instant at;
    public LocalDate day;
    public LocalDateTime local;
    public LocalTime coarse;
    @AvroSchema("{\"type\": \"long\", \"logicalType\": \"time-micros\"}")
    public LocalTime fine;
    @AvroSchema("{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}")
    public Instant millis;
    @AvroSchema("{\"type\": \"bytes\", \"logicalType\": \"decimal\", \"precision\": 10, \"scale\": 2}")
    public BigDecimal amount;
}

enum Colour { RED, GREEN, BLUE }

class Address {
    public String street;
    public String city;
}

class Person {
    public String name;
    public Address home;
    public Address work;
    public Colour eyes;
    public Colour hair;
}

class Collections {
    public List<String> tags;
    public List<Long> numbers;
    public List<byte[]> blobs;
    public List<List<Double>> matrix;
    public List<Colour> colours;
    public List<Address> addresses;
    public Map<String, Long> counts;
    public Map<String, List<Address>> byCity;
    public Map<String, Instant> seen;
}

class Node {
    public Long value;
    public Node next;
    public List<Node> children;
}

class Base {
    public String name;
    public Long created;
}

class Derived extends Base {
    public String zone;
    public Address address;
}

class Cat {
    public String purr;
}

class Dog {
    public String bark;
}

class Zoo {
    @Union({Cat.class, Dog.class})
    public Object pet;
    @Union({String.class, Long.class})
    public Object label;
}

class Outer {
    static class Inner {
        public Long depth;
    }

    public Inner inner;
    public Colour colour;
    public List<Inner> others;
}

@AvroDoc("Said twice")
@AvroAlias(alias = "Earlier", space = "org.example")
class Described {
    @AvroName("renamed")
    public String original;
    @AvroDoc("In years")
    public Long age;
    @AvroAlias(alias = "nick")
    public String nickname;
}
