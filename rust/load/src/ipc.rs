//! Whether bytes are an Arrow IPC stream of columns that a table can have, before Arrow reads them.
//!
//! Arrow's reader takes the places and lengths in a message as they stand: a buffer beyond the body is a panic there,
//! a body that is announced and does not come is memory. Here they are held to what is there.

use arrow_ipc::{Field, Message, MessageHeader, RecordBatch, Schema, Type};

/// Marks a message's length, in all versions since 2019.
const CONTINUES: [u8; 4] = [0xff; 4];
/// A batch of more rows is no chunk; their number also bounds what a column of one bit a row can hold.
const ROWS_PER_BYTE: i64 = 8;
/// What the format asks of bodies and of buffers in them; Arrow reads numbers where they stand.
const ALIGNED: usize = 8;

/// Errors: what is wrong, in a few words.
pub fn check(stream: &[u8]) -> Result<(), String> {
    let (mut rest, mut widths) = (stream, Vec::new());
    // Where the body of a message begins.
    let at = |rest: &[u8]| stream.len() - rest.len();
    while !rest.is_empty() {
        let (mut size, mut after) = split(rest, 4)?;
        if size == CONTINUES {
            (size, after) = split(after, 4)?;
        }
        let size = u32::from_le_bytes(size.try_into().expect("four bytes")) as usize;
        if size == 0 {
            return Ok(());
        }
        let (message, after) = split(after, size)?;
        let message = arrow_ipc::root_as_message(message).map_err(|e| e.to_string())?;
        let body = usize::try_from(message.bodyLength()).map_err(|_| "a body of negative length")?;
        if body > 0 && at(after) % ALIGNED != 0 {
            return Err(format!(
                "a body that begins at byte {}, which is no multiple of {ALIGNED}",
                at(after)
            ));
        }
        let (_, after) = split(after, body)?;
        check_message(&message, body as i64, &mut widths)?;
        rest = after;
    }
    Ok(())
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), String> {
    bytes.split_at_checked(at).ok_or_else(|| "it ends in the middle of a message".to_owned())
}

fn check_message(message: &Message, body: i64, widths: &mut Vec<i64>) -> Result<(), String> {
    match message.header_type() {
        MessageHeader::Schema => {
            check_schema(&message.header_as_schema().ok_or("a schema is missing")?, widths)
        }
        MessageHeader::RecordBatch => {
            check_batch(&message.header_as_record_batch().ok_or("a batch is missing")?, body, widths)
        }
        other => Err(format!("a message of kind {other:?}; send columns as they are, without dictionaries")),
    }
}

fn check_schema(schema: &Schema, widths: &mut Vec<i64>) -> Result<(), String> {
    let fields = schema.fields().ok_or("a schema without fields")?;
    fields.iter().try_for_each(|field| {
        check_field(&field, true)?;
        add_widths(&field, widths);
        Ok(())
    })
}

fn check_field(field: &Field, may_be_list: bool) -> Result<(), String> {
    let name = field.name().unwrap_or_default();
    let known = match field.type_type() {
        Type::Bool | Type::Int | Type::FloatingPoint => true,
        Type::Utf8 | Type::LargeUtf8 | Type::Timestamp => may_be_list,
        Type::List if may_be_list => {
            let items = field.children().filter(|items| items.len() == 1);
            return check_field(
                &items.ok_or_else(|| format!("column {name}: a list without items"))?.get(0),
                false,
            );
        }
        _ => false,
    };
    if !known || field.dictionary().is_some() {
        let ty = field.type_type().variant_name().unwrap_or("unknown");
        return Err(format!("column {name} is of type {ty}, which no table of inrush has"));
    }
    Ok(())
}

/// Bytes of a number in each buffer of a column, 1 of bits and texts: which are NULL, then what its type has.
fn add_widths(field: &Field, widths: &mut Vec<i64>) {
    widths.push(1);
    match field.type_type() {
        Type::Int => {
            let bits = field.type_as_int().map_or(8, |int| int.bitWidth());
            widths.push(i64::from(bits / 8).max(1));
        }
        Type::FloatingPoint => {
            let precision = field.type_as_floating_point().map_or(0, |float| float.precision().0);
            widths.push([2, 4, 8][usize::try_from(precision).unwrap_or(2).min(2)]);
        }
        Type::Timestamp => widths.push(8),
        Type::Utf8 => widths.extend([4, 1]),
        Type::LargeUtf8 => widths.extend([8, 1]),
        Type::List => {
            widths.push(4);
            field.children().iter().flatten().for_each(|items| add_widths(&items, widths));
        }
        _ => widths.push(1),
    }
}

fn check_batch(batch: &RecordBatch, body: i64, widths: &[i64]) -> Result<(), String> {
    let rows_most = body.saturating_mul(ROWS_PER_BYTE);
    let is_count = |n: i64| (0..=rows_most).contains(&n);
    if batch.compression().is_some() {
        return Err("a compressed batch; send it without compression".to_owned());
    }
    if !is_count(batch.length()) {
        return Err(format!("{} rows in a body of {body} bytes", batch.length()));
    }
    for node in batch.nodes().iter().flatten() {
        if !is_count(node.length()) || !(0..=node.length()).contains(&node.null_count()) {
            return Err(format!(
                "{} values, {} of them NULL, in a body of {body} bytes",
                node.length(),
                node.null_count()
            ));
        }
    }
    for buffer in batch.buffers().iter().flatten() {
        let end = buffer.offset().checked_add(buffer.length());
        let aligned = buffer.offset() % ALIGNED as i64 == 0;
        if !aligned || buffer.offset() < 0 || buffer.length() < 0 || end.is_none_or(|end| end > body) {
            return Err(format!(
                "a buffer at {} of {} bytes in a body of {body}",
                buffer.offset(),
                buffer.length()
            ));
        }
    }
    // No two share their bytes: a body would hold many times what was sent.
    let bytes: i64 = batch.buffers().iter().flatten().map(|buffer| buffer.length()).sum();
    if bytes > body {
        return Err(format!("buffers of {bytes} bytes in a body of {body}"));
    }
    // Arrow reads a buffer as numbers up to its end.
    for (buffer, bytes) in batch.buffers().iter().flatten().zip(widths) {
        if buffer.length() % bytes != 0 {
            return Err(format!("a buffer of numbers of {bytes} bytes that ends inside of one"));
        }
    }
    Ok(())
}
