//! C functions through which arrow_avro.py has arrow-avro read and write messages in its own process.
//!
//! Each function returns null or -1 if something went wrong, and `peer_error` says what. What is read stays on the Rust
//! side and is dropped, as long as `out` is null; otherwise it is handed over by Arrow's C data interface.

mod structs;

use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString, c_char};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, BinaryArray, RecordBatch, StructArray};
use arrow_avro::errors::AvroError;
use arrow_avro::reader::{Decoder, DecoderMode, ReaderBuilder};
use arrow_avro::schema::{
    AvroSchema, Fingerprint, FingerprintAlgorithm, FingerprintStrategy, SCHEMA_METADATA_KEY, SchemaStore,
};
use arrow_avro::writer::format::{AvroBinaryFormat, AvroSoeFormat};
use arrow_avro::writer::{EncodedRows, Encoder, WriterBuilder};
use arrow_schema::{DataType, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// An array and its type, as Arrow's C data interface passes them.
#[repr(C)]
pub struct Handed {
    array: FFI_ArrowArray,
    schema: FFI_ArrowSchema,
}

/// Messages as a client has them: in one buffer, as in an Arrow array, or each in an allocation of its own.
pub enum Messages {
    Together { data: Vec<u8>, offsets: Vec<usize> },
    Apart(Vec<Box<[u8]>>),
}

impl Messages {
    fn each(&self, mut read: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Together { data, offsets } => offsets.windows(2).try_for_each(|at| read(&data[at[0]..at[1]])),
            Self::Apart(all) => all.iter().try_for_each(|message| read(message)),
        }
    }
}

/// One decoder for all ids, which gives a new batch whenever the id changes; or, if there are more, one for each id.
pub struct Reader(Vec<Decoder>);

impl Reader {
    fn read(&mut self, messages: &Messages) -> Result<Vec<RecordBatch>> {
        match self.0.as_mut_slice() {
            [decoder] => read_in_order(decoder, messages),
            decoders => Ok(vec![read_by_id(decoders, messages)?]),
        }
    }
}

/// A batch of columns, and the encoder that makes messages of it.
pub struct Writer {
    batch: RecordBatch,
    encoder: Encoder,
}

fn read_in_order(decoder: &mut Decoder, messages: &Messages) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    messages.each(|message| {
        let mut used = decode(decoder, message)?;
        if used < message.len() && decoder.batch_is_full() {
            // It has seen another id, and goes on after a flush.
            batches.extend(decoder.flush()?);
            used += decode(decoder, &message[used..])?;
        }
        whole(used, message)
    })?;
    batches.extend(decoder.flush()?);
    Ok(batches)
}

/// Reads each message with the decoder of its id, and puts the rows back in order.
fn read_by_id(decoders: &mut [Decoder], messages: &Messages) -> Result<RecordBatch> {
    let mut counts = vec![0; decoders.len()];
    let mut places = Vec::new();
    messages.each(|message| {
        let id = message.get(1..5).ok_or("a message is too short for an id")?;
        let id = u32::from_be_bytes(id.try_into()?) as usize;
        let decoder = decoders.get_mut(id).ok_or("a message has an unknown id")?;
        places.push((id, counts[id]));
        counts[id] += 1;
        whole(decode(decoder, message)?, message)
    })?;
    let mut batches = Vec::new();
    let mut moved = vec![0; decoders.len()]; // an id without messages has no batch
    for (id, decoder) in decoders.iter_mut().enumerate() {
        moved[id] = batches.len();
        batches.extend(decoder.flush()?);
    }
    places.iter_mut().for_each(|place| place.0 = moved[place.0]);
    Ok(interleave_record_batch(&batches.iter().collect::<Vec<_>>(), &places)?)
}

#[inline]
fn decode(decoder: &mut Decoder, message: &[u8]) -> Result<usize> {
    decoder.decode(message).map_err(|error: AvroError| error.into())
}

#[inline]
fn whole(used: usize, message: &[u8]) -> Result<()> {
    if used == message.len() { Ok(()) } else { Err("bytes of a message are left over".into()) }
}

fn decoder(schemas: &[(u32, &str)], reader: Option<&str>, rows: usize, framed: bool) -> Result<Decoder> {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    for (id, schema) in schemas {
        store.set(Fingerprint::Id(*id), AvroSchema::new(schema.to_string()))?;
    }
    let mode = if framed { DecoderMode::Framed } else { DecoderMode::UnframedDatum };
    let mut builder = ReaderBuilder::new()
        .with_batch_size(rows)
        .with_decoder_mode(mode)
        .with_active_fingerprint(Fingerprint::Id(schemas[0].0))
        .with_writer_schema_store(store);
    if let Some(reader) = reader {
        builder = builder.with_reader_schema(AvroSchema::new(reader.to_string()));
    }
    Ok(builder.build_decoder()?)
}

fn encoder(batch: &RecordBatch, schema: &str, framed: bool, row_bytes: usize) -> Result<Encoder> {
    let arrow = batch.schema();
    let mut metadata = arrow.metadata().clone();
    metadata.insert(SCHEMA_METADATA_KEY.to_string(), schema.to_string());
    let builder = WriterBuilder::new(Schema::new_with_metadata(arrow.fields().clone(), metadata))
        .with_fingerprint_strategy(FingerprintStrategy::Id(0))
        .with_row_capacity(row_bytes);
    Ok(if framed {
        builder.build_encoder::<AvroSoeFormat>()?
    } else {
        builder.build_encoder::<AvroBinaryFormat>()?
    })
}

fn hand_over(array: &dyn Array, out: *mut Handed) -> Result<()> {
    let (array, schema) = to_ffi(&array.to_data())?;
    unsafe { out.write(Handed { array, schema }) };
    Ok(())
}

fn binary_array(rows: &EncodedRows) -> BinaryArray {
    BinaryArray::from_iter_values(rows.iter())
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Runs `work`, and keeps the error or panic for `peer_error`.
fn guarded<T>(failed: T, work: impl FnOnce() -> Result<T>) -> T {
    let error = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return done,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "a panic; see stderr".to_string(),
    };
    ERROR.set(CString::new(error.replace('\0', " ")).unwrap_or_default());
    failed
}

unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str> {
    Ok(unsafe { CStr::from_ptr(pointer) }.to_str()?)
}

/// What went wrong in the last call of this thread that failed; valid until the next one.
#[unsafe(no_mangle)]
pub extern "C" fn peer_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// Copies `rows` messages out of the buffers of an Arrow array. `apart`: each into an allocation of its own.
///
/// # Safety
/// The buffers are those of a BinaryArray without nulls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_messages(data: *const u8, offsets: *const i32, rows: usize, apart: bool) -> *mut Messages {
    guarded(null_mut(), || {
        let offsets = unsafe { std::slice::from_raw_parts(offsets, rows + 1) };
        let offsets: Vec<usize> = offsets.iter().map(|at| *at as usize).collect();
        let data = unsafe { std::slice::from_raw_parts(data, offsets[rows]) };
        Ok(Box::into_raw(Box::new(if apart {
            Messages::Apart(offsets.windows(2).map(|at| data[at[0]..at[1]].into()).collect())
        } else {
            Messages::Together { data: data.to_vec(), offsets }
        })))
    })
}

/// A reader of the ids 0, 1, ... with these `schemas`. `by_id`: with a decoder for each of them.
///
/// # Safety
/// `schemas` are `count` texts of C; `reader` is one or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_reader(
    schemas: *const *const c_char,
    count: usize,
    reader: *const c_char,
    rows: usize,
    framed: bool,
    by_id: bool,
) -> *mut Reader {
    guarded(null_mut(), || {
        let schemas = unsafe { std::slice::from_raw_parts(schemas, count) };
        let schemas = schemas.iter().enumerate().map(|(id, schema)| Ok((id as u32, unsafe { text(*schema) }?)));
        let schemas = schemas.collect::<Result<Vec<_>>>()?;
        let reader = if reader.is_null() { None } else { Some(unsafe { text(reader) }?) };
        let each = if by_id { 1 } else { count };
        let decoders = schemas.chunks(each).map(|some| decoder(some, reader, rows, framed));
        Ok(Box::into_raw(Box::new(Reader(decoders.collect::<Result<_>>()?))))
    })
}

/// Reads all messages into one batch, or, if there is one decoder for several ids, into as many as it makes.
///
/// # Safety
/// The pointers come from this library; `out` is null or has room for a `Handed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_read(reader: *mut Reader, messages: *const Messages, out: *mut Handed) -> i32 {
    guarded(-1, || {
        let batches = black_box(unsafe { &mut *reader }.read(unsafe { &*messages })?);
        if !out.is_null() {
            let first = batches.first().ok_or("there are no messages")?;
            hand_over(&StructArray::from(concat_batches(&first.schema(), &batches)?), out)?;
        }
        Ok(0)
    })
}

/// A writer of the batch in `columns`, which is taken over. `row_bytes` is the mean size of a message.
///
/// # Safety
/// `columns` is a batch in the C data interface; `schema` is a text of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_writer(
    columns: *mut Handed,
    schema: *const c_char,
    framed: bool,
    row_bytes: usize,
) -> *mut Writer {
    guarded(null_mut(), || {
        let Handed { array, schema: kind } = unsafe { columns.read() };
        let kind_of_rows = DataType::try_from(&kind)?;
        let rows = StructArray::from(unsafe { from_ffi(array, &kind) }?);
        debug_assert_eq!(rows.data_type(), &kind_of_rows);
        let batch = RecordBatch::from(rows).with_schema(Arc::new(Schema::try_from(&kind)?))?;
        let encoder = encoder(&batch, unsafe { text(schema) }?, framed, row_bytes)?;
        let batch = batch.with_schema(encoder.schema())?;
        Ok(Box::into_raw(Box::new(Writer { batch, encoder })))
    })
}

/// Writes a message for each row.
///
/// # Safety
/// The pointers come from this library; `out` is null or has room for a `Handed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_write(writer: *mut Writer, out: *mut Handed) -> i32 {
    guarded(-1, || {
        let Writer { batch, encoder } = unsafe { &mut *writer };
        encoder.encode(batch)?;
        let rows = black_box(encoder.flush());
        if !out.is_null() {
            hand_over(&binary_array(&rows), out)?;
        }
        Ok(0)
    })
}

/// A schema for `peer_structs`, which is never freed: there are two of them.
///
/// # Safety
/// `schema` is a text of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_schema(schema: *const c_char) -> *mut serde_avro_fast::Schema {
    guarded(null_mut(), || Ok(Box::into_raw(Box::new(unsafe { text(schema) }?.parse()?))))
}

/// Reads all messages into structs of 3 or, if `wide`, 10 fields; `sum` is that of their fields.
///
/// # Safety
/// The pointers come from this library; `sum` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_structs(
    schema: *const serde_avro_fast::Schema,
    wide: bool,
    messages: *const Messages,
    sum: *mut i64,
) -> i32 {
    guarded(-1, || {
        let found = structs::read(unsafe { &*schema }, wide, unsafe { &*messages })?;
        unsafe { sum.write(found) };
        Ok(0)
    })
}

/// # Safety
/// Each pointer comes from this library, or is null, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_free(messages: *mut Messages, reader: *mut Reader, writer: *mut Writer) {
    unsafe fn free<T>(pointer: *mut T) {
        if !pointer.is_null() {
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
    unsafe {
        free(messages);
        free(reader);
        free(writer);
    }
}
