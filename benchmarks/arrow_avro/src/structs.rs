//! serde_avro_fast, which reads each message into a struct that is known when Rust compiles.

use std::hint::black_box;

use serde::Deserialize;
use serde_avro_fast::{Schema, from_datum_slice};

use crate::{Messages, Result};

#[derive(Deserialize)]
struct Tiny<'a> {
    id: i64,
    name: &'a str,
    active: bool,
}

#[derive(Deserialize)]
enum Kind {
    #[serde(rename = "CREATED")]
    Created,
    #[serde(rename = "CHANGED")]
    Changed,
    #[serde(rename = "SHIPPED")]
    Shipped,
    #[serde(rename = "RETURNED")]
    Returned,
}

#[derive(Deserialize)]
struct Flat<'a> {
    id: i64,
    user: &'a str,
    url: &'a str,
    kind: Kind,
    price: f64,
    ratio: f32,
    count: i32,
    active: bool,
    at: i64,
    referrer: Option<&'a str>,
}

/// Every field counts, so that none is left out: what is read must have the sum that the columns have.
pub trait Summed {
    fn sum(&self) -> i64;
}

impl Summed for Tiny<'_> {
    fn sum(&self) -> i64 {
        self.id.wrapping_add(self.name.len() as i64 + self.active as i64)
    }
}

impl Summed for Flat<'_> {
    fn sum(&self) -> i64 {
        let kind = match self.kind {
            Kind::Created => 0,
            Kind::Changed => 1,
            Kind::Shipped => 2,
            Kind::Returned => 3,
        };
        let text = self.user.len() + self.url.len() + self.referrer.map_or(0, str::len);
        let numbers = self.count as i64 + self.active as i64 + kind + text as i64;
        let bits = self.price.to_bits() as i64 ^ self.ratio.to_bits() as i64;
        self.id.wrapping_add(self.at).wrapping_add(numbers).wrapping_add(bits)
    }
}

/// Reads what is behind Confluent's header of all messages into structs, one after another; returns the sum.
pub fn read(schema: &Schema, wide: bool, messages: &Messages) -> Result<i64> {
    let mut sum = 0i64;
    messages.each(|message| {
        let datum = message.get(5..).ok_or("a message is too short for an id")?;
        let one = if wide {
            black_box(from_datum_slice::<Flat>(datum, schema)?).sum()
        } else {
            black_box(from_datum_slice::<Tiny>(datum, schema)?).sum()
        };
        sum = sum.wrapping_add(one);
        Ok(())
    })?;
    Ok(sum)
}
