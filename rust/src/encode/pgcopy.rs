//! PostgreSQL binary COPY, and the same cells as parameters of a Bind message.
//!
//! Written column by column: where all columns of a batch have a fixed width and no NULL, every cell has a
//! known place; else each row keeps a cursor. Either way the inner loop handles one type and has no branch.

use super::{does_not_fit, mismatch, Encoder, Part};
use crate::error::Error;
use crate::plan::{ColumnPlan, LogicalType, TablePlan};
use crate::rows::{Column, Columns, ListValues, Values};

/// Signature, no flags, no header extension.
pub const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// In place of a field count: no more rows.
pub const TRAILER: [u8; 2] = [0xff, 0xff];
/// 2000-01-01, PostgreSQL's time zero, in µs since 1970.
pub const POSTGRES_EPOCH_US: i64 = 946_684_800_000_000;
/// Times that `timestamptz` holds, in µs since 2000: 4714-11-24 BC to 294277 AD.
const TIME_US: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// Types of PostgreSQL that rows are sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PgType {
    Bool,
    Int2,
    Int4,
    Int8,
    Numeric,
    Float4,
    Float8,
    Timestamptz,
    Text,
    Float8List,
    Int8List,
}

impl PgType {
    /// From the wire type of a plan; the usual one where the plan names none.
    pub fn of(column: &ColumnPlan) -> Result<PgType, Error> {
        let ty = match column.wire.as_str() {
            "" => PgType::usual(column.ty),
            "bool" => PgType::Bool,
            "int2" => PgType::Int2,
            "int4" => PgType::Int4,
            "int8" => PgType::Int8,
            "numeric" => PgType::Numeric,
            "float4" => PgType::Float4,
            "float8" => PgType::Float8,
            "timestamptz" => PgType::Timestamptz,
            "text" => PgType::Text,
            "float8[]" => PgType::Float8List,
            "int8[]" => PgType::Int8List,
            other => {
                return Err(Error::Plan(format!(
                    "column {}: wire type {other:?} is not one of PostgreSQL's (leave it empty for {:?})",
                    column.name,
                    PgType::usual(column.ty),
                )))
            }
        };
        Ok(ty)
    }

    pub fn usual(ty: LogicalType) -> PgType {
        match ty {
            LogicalType::Bool => PgType::Bool,
            LogicalType::I16 => PgType::Int2,
            LogicalType::I32 => PgType::Int4,
            LogicalType::I64 | LogicalType::U64 => PgType::Int8,
            LogicalType::F32 => PgType::Float4,
            LogicalType::F64 => PgType::Float8,
            LogicalType::TimeMs | LogicalType::TimeUs => PgType::Timestamptz,
            LogicalType::Text => PgType::Text,
            LogicalType::ListF64 => PgType::Float8List,
            LogicalType::ListI64 => PgType::Int8List,
        }
    }

    /// Object id in every PostgreSQL's catalogue (`pg_type.dat`).
    pub fn oid(self) -> u32 {
        match self {
            PgType::Bool => 16,
            PgType::Int8 => 20,
            PgType::Int2 => 21,
            PgType::Int4 => 23,
            PgType::Text => 25,
            PgType::Float4 => 700,
            PgType::Float8 => 701,
            PgType::Int8List => 1016,
            PgType::Float8List => 1022,
            PgType::Timestamptz => 1184,
            PgType::Numeric => 1700,
        }
    }

    /// Bytes of a value without its length word; `None`: each value has its own.
    fn width(self) -> Option<usize> {
        match self {
            PgType::Bool => Some(1),
            PgType::Int2 => Some(2),
            PgType::Int4 | PgType::Float4 => Some(4),
            PgType::Int8 | PgType::Float8 | PgType::Timestamptz => Some(8),
            PgType::Numeric => Some(NUMERIC_BYTES),
            PgType::Text | PgType::Float8List | PgType::Int8List => None,
        }
    }
}

/// Five digits of base 10,000 hold every 64-bit integer; the server strips leading zeros itself.
const NUMERIC_BYTES: usize = 8 + 5 * 2;
/// Dimensions, flags, element type; then length and lower bound where there are elements.
const EMPTY_LIST_BYTES: usize = 12;
const LIST_HEAD_BYTES: usize = 20;
const LIST_ITEM_BYTES: usize = 12;

/// A complete COPY stream: header, rows, trailer.
pub struct PgCopy {
    cells: Cells,
}

impl PgCopy {
    pub fn new(table: &TablePlan) -> Result<PgCopy, Error> {
        Ok(PgCopy { cells: Cells::new(table, RowHead::FieldCount)? })
    }
}

impl Encoder for PgCopy {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        self.encode_part(rows, Part::WHOLE, out)
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn encode_part(&mut self, rows: &Columns, part: Part, out: &mut Vec<u8>) -> Result<(), Error> {
        if part.is_first {
            out.extend_from_slice(HEADER);
        }
        self.cells.append(rows, 0..rows.rows, out)?;
        if part.is_last {
            out.extend_from_slice(&TRAILER);
        }
        Ok(())
    }
}

/// What stands before the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowHead {
    /// COPY: the number of fields.
    FieldCount,
    /// Bind: nothing, parameters follow one another.
    Nothing,
}

/// Rows as length words and binary values.
pub struct Cells {
    types: Vec<PgType>,
    head: RowHead,
    next: Vec<*mut u8>,
}

// SAFETY: `next` holds pointers only within a call of `append`; between calls it is scratch space.
unsafe impl Send for Cells {}

/// Rows whose cells are written together: small enough that they stay in the L1 cache.
const BLOCK_ROWS: usize = 128;

impl Cells {
    pub fn new(table: &TablePlan, head: RowHead) -> Result<Cells, Error> {
        let types = table.columns.iter().map(PgType::of).collect::<Result<Vec<_>, _>>()?;
        if types.len() > i16::MAX as usize {
            return Err(Error::Plan(format!(
                "table {}: {} columns are more than COPY can count",
                table.name,
                types.len()
            )));
        }
        Ok(Cells { types, head, next: vec![std::ptr::null_mut(); BLOCK_ROWS] })
    }

    /// Appends `rows[range]`.
    pub fn append(
        &mut self,
        rows: &Columns,
        range: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.append_columns(&rows.columns, range, out)
    }

    fn append_columns(
        &mut self,
        columns: &[Column],
        range: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if columns.len() != self.types.len() {
            return Err(mismatch("(all)", "this table"));
        }
        for (column, ty) in columns.iter().zip(&self.types) {
            check(column, *ty, range.end)?;
        }
        let regular =
            columns.iter().all(|c| c.present.is_empty()) && self.types.iter().all(|t| t.width().is_some());
        let mut first = range.start;
        while first < range.end {
            let last = (first + BLOCK_ROWS).min(range.end);
            match regular {
                true => self.block_of_places(columns, first, last, out)?,
                false => self.block_of_cursors(columns, first, last, out)?,
            }
            first = last;
        }
        Ok(())
    }

    fn head_bytes(&self) -> usize {
        match self.head {
            RowHead::FieldCount => 2,
            RowHead::Nothing => 0,
        }
    }

    fn block_of_places(
        &mut self,
        columns: &[Column],
        first: usize,
        last: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let widths = self.types.iter().map(|t| 4 + t.width().expect("all are fixed here"));
        let stride = self.head_bytes() + widths.sum::<usize>();
        let bytes = stride * (last - first);
        out.reserve(bytes);
        // SAFETY: `bytes` are reserved behind the length, and each cell is written within its row's stride.
        unsafe {
            let mut places = Places { base: out.as_mut_ptr().add(out.len()), stride };
            self.put_block(&mut places, columns, first, last)?;
            out.set_len(out.len() + bytes);
        }
        Ok(())
    }

    fn block_of_cursors(
        &mut self,
        columns: &[Column],
        first: usize,
        last: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let mut sizes = [0usize; BLOCK_ROWS];
        let sizes = &mut sizes[..last - first];
        sizes.fill(self.head_bytes());
        for (column, ty) in columns.iter().zip(&self.types) {
            add_sizes(sizes, column, *ty, first);
        }
        let bytes: usize = sizes.iter().sum();
        out.reserve(bytes);
        let mut next = std::mem::take(&mut self.next);
        // SAFETY: `bytes` are reserved behind the length, and `add_sizes` counts what `put_column` writes per row.
        let outcome = unsafe {
            let mut at = out.as_mut_ptr().add(out.len());
            for (pointer, size) in next.iter_mut().zip(sizes.iter()) {
                *pointer = at;
                at = at.add(*size);
            }
            let outcome = self.put_block(&mut Cursors { next: &mut next }, columns, first, last);
            if outcome.is_ok() {
                debug_assert_eq!(next[last - first - 1], at, "sizes and cells agree");
                out.set_len(out.len() + bytes);
            }
            outcome
        };
        self.next = next;
        outcome
    }

    unsafe fn put_block(
        &self,
        place: &mut impl Place,
        columns: &[Column],
        first: usize,
        last: usize,
    ) -> Result<(), Error> {
        if self.head == RowHead::FieldCount {
            let count = (self.types.len() as u16).to_be_bytes();
            for row in 0..last - first {
                put(place.take(row, 2), count);
            }
            place.column_done(2);
        }
        let (mut columns, mut types) = (columns, self.types.as_slice());
        while let (Some(column), Some(ty)) = (columns.first(), types.first()) {
            let mut done = 1;
            if let Some((base, stride)) = place.strided().filter(|_| word(column, *ty).is_some()) {
                done = put_words(base, stride, columns, types, first..last);
                place.column_done(done * WORD_CELL_BYTES);
            } else if let Some(bad) = put_column(place, column, *ty, first, last) {
                let value = format!("{:?}", column.value(bad));
                return Err(does_not_fit(&column.name, value, &format!("{ty:?}").to_lowercase()));
            } else if let Some(width) = ty.width() {
                place.column_done(4 + width);
            }
            (columns, types) = (&columns[done..], &types[done..]);
        }
        Ok(())
    }
}

/// The rows of a batch by column, each column an array: parameters of `INSERT … SELECT … FROM unnest(…)`.
pub struct Arrays {
    /// By column: the items of an array are the cells of a column.
    items: Vec<Cells>,
}

impl Arrays {
    /// Fails for a column of lists: PostgreSQL unnests an array of arrays to its last item.
    pub fn new(table: &TablePlan) -> Result<Arrays, Error> {
        let item = |column: &ColumnPlan| match PgType::of(column)? {
            PgType::Float8List | PgType::Int8List => {
                Err(mismatch(&column.name, "an array of lists, which cannot be unnested,"))
            }
            ty => Ok(Cells {
                types: vec![ty],
                head: RowHead::Nothing,
                next: vec![std::ptr::null_mut(); BLOCK_ROWS],
            }),
        };
        Ok(Arrays { items: table.columns.iter().map(item).collect::<Result<_, _>>()? })
    }

    /// Appends a parameter for each column, length word included.
    pub fn append(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        if rows.columns.len() != self.items.len() {
            return Err(mismatch("(all)", "this table"));
        }
        for (column, items) in rows.columns.iter().zip(&mut self.items) {
            let at = out.len();
            let has_null = u32::from(!column.present.is_empty());
            let element = items.types[0].oid();
            let words = match rows.rows {
                0 => vec![0, 0, 0, element],
                n => vec![0, 1, has_null, element, n as u32, 1],
            };
            words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
            items.append_columns(std::slice::from_ref(column), 0..rows.rows, out)?;
            let bytes = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&bytes.to_be_bytes());
        }
        Ok(())
    }
}

/// Values and wire type belong together, and every row has its value.
fn check(column: &Column, ty: PgType, rows: usize) -> Result<(), Error> {
    use LogicalType as L;
    let wire_fits = match ty {
        PgType::Bool => column.ty == L::Bool,
        PgType::Int2 | PgType::Int4 => matches!(column.ty, L::I16 | L::I32),
        PgType::Int8 => matches!(column.ty, L::I16 | L::I32 | L::I64 | L::U64),
        PgType::Numeric => matches!(column.ty, L::I64 | L::U64),
        PgType::Float4 => column.ty == L::F32,
        PgType::Float8 => matches!(column.ty, L::F32 | L::F64),
        PgType::Timestamptz => matches!(column.ty, L::TimeMs | L::TimeUs),
        PgType::Text => column.ty == L::Text,
        PgType::Float8List => column.ty == L::ListF64,
        PgType::Int8List => column.ty == L::ListI64,
    };
    let length = match (&column.values, &Values::for_type(column.ty)) {
        (Values::I32(v), Values::I32(_)) => Some(v.len()),
        (Values::I64(v), Values::I64(_)) => Some(v.len()),
        (Values::F32(v), Values::F32(_)) => Some(v.len()),
        (Values::F64(v), Values::F64(_)) => Some(v.len()),
        (Values::Text(v), Values::Text(_)) => Some(v.ends.len()),
        (Values::List(v), Values::List(like)) => (std::mem::discriminant(&*v.items)
            == std::mem::discriminant(&*like.items))
        .then_some(v.ends.len()),
        _ => None,
    };
    let all_present = column.present.is_empty() || column.present.len() >= rows;
    if wire_fits && length.is_some_and(|n| n >= rows) && all_present {
        Ok(())
    } else {
        Err(mismatch(&column.name, &format!("{ty:?}").to_lowercase()))
    }
}

/// Where the cells of a block go.
trait Place {
    /// The next `width` bytes of row `row` of the block.
    unsafe fn take(&mut self, row: usize, width: usize) -> *mut u8;
    /// All rows have taken `width` bytes (called for fixed widths only).
    unsafe fn column_done(&mut self, width: usize);
    /// The next cell of the block's first row, and the distance to the next row's, if all have one distance.
    fn strided(&self) -> Option<(*mut u8, usize)>;
}

/// Every row has the same layout.
struct Places {
    base: *mut u8,
    stride: usize,
}

impl Place for Places {
    #[inline(always)]
    unsafe fn take(&mut self, row: usize, _width: usize) -> *mut u8 {
        self.base.add(row * self.stride)
    }

    unsafe fn column_done(&mut self, width: usize) {
        self.base = self.base.add(width);
    }

    fn strided(&self) -> Option<(*mut u8, usize)> {
        Some((self.base, self.stride))
    }
}

/// Rows differ in length.
struct Cursors<'a> {
    next: &'a mut [*mut u8],
}

impl Place for Cursors<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, row: usize, width: usize) -> *mut u8 {
        let at = *self.next.get_unchecked(row);
        *self.next.get_unchecked_mut(row) = at.add(width);
        at
    }

    unsafe fn column_done(&mut self, _width: usize) {}

    fn strided(&self) -> Option<(*mut u8, usize)> {
        None
    }
}

/// Adds the bytes of each cell, length word included, to its row.
fn add_sizes(sizes: &mut [usize], column: &Column, ty: PgType, first: usize) {
    for (offset, size) in sizes.iter_mut().enumerate() {
        let row = first + offset;
        *size += 4;
        if column.is_present(row) {
            *size += match (&column.values, ty.width()) {
                (_, Some(width)) => width,
                (Values::Text(text), None) => text.get(row).len(),
                (Values::List(list), None) => list_bytes(list.range(row).len()),
                _ => unreachable!("`check` let texts and lists through"),
            };
        }
    }
}

fn list_bytes(items: usize) -> usize {
    match items {
        0 => EMPTY_LIST_BYTES,
        n => LIST_HEAD_BYTES + n * LIST_ITEM_BYTES,
    }
}

const WORD_CELL_BYTES: usize = 4 + 8;

/// The values of a column whose cells are its 64-bit values as they stand.
fn word(column: &Column, ty: PgType) -> Option<*const u64> {
    match (&column.values, ty) {
        (Values::I64(v), PgType::Int8) => Some(v.as_ptr().cast()),
        (Values::F64(v), PgType::Float8) => Some(v.as_ptr().cast()),
        _ => None,
    }
}

/// Writes neighbouring columns of 64-bit values row by row: stores to one cache line after another cost half
/// of what stores a row apart cost. Returns how many of `columns` it wrote, up to eight; the first is such a column.
unsafe fn put_words(
    base: *mut u8,
    stride: usize,
    columns: &[Column],
    types: &[PgType],
    rows: std::ops::Range<usize>,
) -> usize {
    let mut from = [std::ptr::null::<u64>(); 8];
    let mut found = 0;
    for ((from, column), ty) in from.iter_mut().zip(columns).zip(types) {
        let Some(values) = word(column, *ty) else { break };
        *from = values.add(rows.start);
        found += 1;
    }
    match found {
        8.. => put_words_of::<8>(base, stride, &from, rows.len()),
        4.. => put_words_of::<4>(base, stride, &from, rows.len()),
        2.. => put_words_of::<2>(base, stride, &from, rows.len()),
        _ => put_words_of::<1>(base, stride, &from, rows.len()),
    }
}

#[inline(never)]
unsafe fn put_words_of<const N: usize>(
    base: *mut u8,
    stride: usize,
    from: &[*const u64; 8],
    rows: usize,
) -> usize {
    let from: [*const u64; N] = std::array::from_fn(|k| from[k]);
    for row in 0..rows {
        let at = base.add(row * stride);
        for (k, from) in from.iter().enumerate() {
            put(at.add(k * WORD_CELL_BYTES), 8u32.to_be_bytes());
            put(at.add(k * WORD_CELL_BYTES + 4), from.add(row).read().to_be_bytes());
        }
    }
    N
}

/// Writes the cells of rows `first..last`; the first row whose value does not fit, if there is one.
unsafe fn put_column(
    place: &mut impl Place,
    column: &Column,
    ty: PgType,
    first: usize,
    last: usize,
) -> Option<usize> {
    let present = match column.present.is_empty() {
        true => None,
        false => Some(&column.present[first..last]),
    };
    let bad = match (&column.values, ty) {
        (Values::I32(v), PgType::Bool) => {
            fixed(place, &v[first..last], present, |v| Some([u8::from(v != 0)]))
        }
        (Values::I32(v), PgType::Int2) => {
            fixed(place, &v[first..last], present, |v| i16::try_from(v).ok().map(i16::to_be_bytes))
        }
        (Values::I32(v), PgType::Int4) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::I32(v), PgType::Int8) => {
            fixed(place, &v[first..last], present, |v| Some((v as i64).to_be_bytes()))
        }
        (Values::I64(v), PgType::Int8) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::I64(v), PgType::Numeric) => {
            let unsigned = column.ty == LogicalType::U64;
            fixed(place, &v[first..last], present, |v| Some(numeric(v, unsigned)))
        }
        (Values::F32(v), PgType::Float4) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::F32(v), PgType::Float8) => {
            fixed(place, &v[first..last], present, |v| Some((v as f64).to_be_bytes()))
        }
        (Values::F64(v), PgType::Float8) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::I64(v), PgType::Timestamptz) if column.ty == LogicalType::TimeMs => {
            fixed(place, &v[first..last], present, |v| timestamptz(v, 1000))
        }
        (Values::I64(v), PgType::Timestamptz) => {
            fixed(place, &v[first..last], present, |v| timestamptz(v, 1))
        }
        (Values::Text(v), PgType::Text) => {
            for row in first..last {
                match column.is_present(row) {
                    true => put_text(place, row - first, v.get(row)),
                    false => put_null(place, row - first),
                }
            }
            None
        }
        (Values::List(v), _) => {
            for row in first..last {
                match column.is_present(row) {
                    true => put_list(place, row - first, v, row),
                    false => put_null(place, row - first),
                }
            }
            None
        }
        _ => unreachable!("`check` let no other pair through"),
    };
    bad.map(|offset| first + offset)
}

/// Cells of `N` bytes. A value without bytes ends the column after it; the offset of the first is returned.
#[inline(always)]
unsafe fn fixed<T: Copy, const N: usize>(
    place: &mut impl Place,
    values: &[T],
    present: Option<&[u8]>,
    bytes: impl Fn(T) -> Option<[u8; N]>,
) -> Option<usize> {
    let mut fits = true;
    match present {
        None => {
            for (row, &value) in values.iter().enumerate() {
                let cell = bytes(value);
                fits &= cell.is_some();
                let at = place.take(row, 4 + N);
                put(at, (N as u32).to_be_bytes());
                put(at.add(4), cell.unwrap_or([0; N]));
            }
        }
        Some(present) => {
            for (row, (&value, &here)) in values.iter().zip(present).enumerate() {
                if here == 0 {
                    put_null(place, row);
                    continue;
                }
                let cell = bytes(value);
                fits &= cell.is_some();
                let at = place.take(row, 4 + N);
                put(at, (N as u32).to_be_bytes());
                put(at.add(4), cell.unwrap_or([0; N]));
            }
        }
    }
    let unfit = |row: &usize| bytes(values[*row]).is_none() && present.is_none_or(|p| p[*row] == 1);
    if fits {
        None
    } else {
        (0..values.len()).find(unfit)
    }
}

/// The first and the last time that `timestamptz` holds, in units of `per_unit` µs since 1970.
const fn times(per_unit: i64) -> (i64, i64) {
    let unit = per_unit as i128;
    let earliest = (TIME_US.start as i128 + POSTGRES_EPOCH_US as i128).div_euclid(unit);
    let latest = (TIME_US.end as i128 + POSTGRES_EPOCH_US as i128 - 1).div_euclid(unit);
    let largest = i64::MAX as i128;
    (earliest as i64, if latest < largest { latest as i64 } else { i64::MAX })
}

/// `per_unit` µs in one unit of `time`, which counts from 1970.
#[inline(always)]
fn timestamptz(time: i64, per_unit: i64) -> Option<[u8; 8]> {
    let (earliest, latest) = times(per_unit);
    // Of a time between them this is exact.
    let us = time.wrapping_mul(per_unit).wrapping_sub(POSTGRES_EPOCH_US);
    ((time >= earliest) & (time <= latest)).then_some(us.to_be_bytes())
}

/// ndigits, weight, sign, scale, then digits of base 10,000.
#[inline(always)]
fn numeric(value: i64, unsigned: bool) -> [u8; NUMERIC_BYTES] {
    const NEGATIVE: u16 = 0x4000;
    let (sign, mut rest) = match !unsigned && value < 0 {
        true => (NEGATIVE, value.unsigned_abs()),
        false => (0, value as u64),
    };
    let mut words = [5u16, 4, sign, 0, 0, 0, 0, 0, 0];
    for digit in words[4..].iter_mut().rev() {
        *digit = (rest % 10_000) as u16;
        rest /= 10_000;
    }
    let mut bytes = [0; NUMERIC_BYTES];
    for (pair, word) in bytes.chunks_exact_mut(2).zip(words) {
        pair.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

#[inline(always)]
unsafe fn put<const N: usize>(at: *mut u8, bytes: [u8; N]) {
    at.cast::<[u8; N]>().write_unaligned(bytes);
}

#[inline(always)]
unsafe fn put_null(place: &mut impl Place, row: usize) {
    put(place.take(row, 4), (-1i32).to_be_bytes());
}

#[inline(always)]
unsafe fn put_text(place: &mut impl Place, row: usize, text: &[u8]) {
    let at = place.take(row, 4 + text.len());
    put(at, (text.len() as u32).to_be_bytes());
    std::ptr::copy_nonoverlapping(text.as_ptr(), at.add(4), text.len());
}

unsafe fn put_list(place: &mut impl Place, block_row: usize, list: &ListValues, row: usize) {
    let range = list.range(row);
    let bytes = list_bytes(range.len());
    let element = match &*list.items {
        Values::F64(_) => PgType::Float8,
        _ => PgType::Int8,
    };
    let mut at = place.take(block_row, 4 + bytes);
    let mut word = |word: u32| {
        put(at, word.to_be_bytes());
        at = at.add(4);
    };
    let dimensions = u32::from(!range.is_empty());
    for head in [bytes as u32, dimensions, 0, element.oid()] {
        word(head);
    }
    if !range.is_empty() {
        word(range.len() as u32);
        word(1); // lower bound
    }
    for item in range {
        let bits = match &*list.items {
            Values::F64(items) => items[item].to_bits(),
            Values::I64(items) => items[item] as u64,
            _ => unreachable!("`check` let lists of I64 and F64 through"),
        };
        word(8);
        word((bits >> 32) as u32);
        word(bits as u32);
    }
}
