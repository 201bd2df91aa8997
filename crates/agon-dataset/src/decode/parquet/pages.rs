//! Pages of one column, from bytes to the meaning of each value.
//!
//! A dictionary's entries are given their meaning once; a row is then a table look-up of a few bits.
//! A column inside of optional groups has levels that say how deep its value is defined; only the deepest is a value.

use std::{borrow::Cow, sync::Arc};

use bytes::{Buf as _, Bytes};
use parquet::{
    basic::{ConvertedType, Encoding, LogicalType, Type},
    column::{
        page::{Page, PageReader as _},
        reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader},
    },
    data_type::{
        AsBytes as _, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
    },
    file::serialized_reader::SerializedPageReader,
    schema::types::ColumnDescPtr,
};

use super::{Column, ColumnBytes, Damage, damage};

/// A value as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    Bytes(&'a [u8]),
    Whole(i64),
    /// A whole number of a type without sign.
    Unsigned(u64),
    Fraction(f64),
    Truth(bool),
}

impl<'a> Raw<'a> {
    /// The value as text: the same for a number and for its digits.
    pub(super) fn text(self) -> Cow<'a, [u8]> {
        let owned = match self {
            Self::Bytes(bytes) => return Cow::Borrowed(bytes),
            Self::Whole(value) => value.to_string(),
            Self::Unsigned(value) => value.to_string(),
            // Data frames make fractions of whole numbers as soon as one is missing; `Display` writes them without a point.
            Self::Fraction(value) => value.to_string(),
            Self::Truth(value) => return Cow::Borrowed(if value { b"true" } else { b"false" }),
        };
        Cow::Owned(owned.into_bytes())
    }

    /// The value as a number, NaN when it is none.
    pub(super) fn number(self) -> f64 {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(f64::NAN),
            Self::Whole(value) => value as f64,
            Self::Unsigned(value) => value as f64,
            Self::Fraction(value) => value,
            Self::Truth(_) => f64::NAN,
        }
    }
}

/// The values of one column of one row group, from first to last.
pub(super) struct ColumnStream<T> {
    source: PageSource<T>,
}

enum PageSource<T> {
    Pages(Pages<T>),
    Typed(Typed),
}

impl<T: Copy> ColumnStream<T> {
    /// The values in `pages`; `is_plain` says that only the common encodings occur.
    pub(super) fn new(
        column: &Column,
        pages: SerializedPageReader<ColumnBytes>,
        is_plain: bool,
    ) -> Result<Self, Damage> {
        let description = &column.description;
        let source = if is_plain {
            PageSource::Pages(Pages {
                pages,
                physical: description.physical_type(),
                width: usize::try_from(description.type_length()).unwrap_or(0),
                is_unsigned: is_unsigned(description),
                level_max: u32::try_from(description.max_def_level()).unwrap_or(0),
                table: Vec::new(),
                page: None,
            })
        } else {
            PageSource::Typed(Typed::new(column, pages)?)
        };
        Ok(Self { source })
    }

    /// Fills `out` with the meaning of the next values; nulls become `missing`.
    pub(super) fn fill(
        &mut self,
        out: &mut [T],
        missing: T,
        meaning: &mut impl FnMut(Raw<'_>) -> T,
    ) -> Result<(), Damage> {
        match &mut self.source {
            PageSource::Pages(pages) => pages.fill(out, missing, meaning),
            PageSource::Typed(typed) => typed.fill(out, missing, meaning),
        }
    }
}

struct Pages<T> {
    pages: SerializedPageReader<ColumnBytes>,
    physical: Type,
    /// Bytes of a value of fixed length.
    width: usize,
    is_unsigned: bool,
    /// The level at which a value stands; 0 when there can be no nulls.
    level_max: u32,
    /// The meaning of each dictionary entry.
    table: Vec<T>,
    page: Option<DataPage>,
}

struct DataPage {
    n_left: usize,
    /// How deep each value is defined, when there can be nulls.
    levels: Option<Hybrid>,
    values: Values,
}

enum Values {
    Keys(Hybrid),
    Plain(Bytes),
    /// Truth values, one bit each.
    Bits(Hybrid),
}

impl<T: Copy> Pages<T> {
    fn fill(
        &mut self,
        mut out: &mut [T],
        missing: T,
        meaning: &mut impl FnMut(Raw<'_>) -> T,
    ) -> Result<(), Damage> {
        while !out.is_empty() {
            let Some(page) = self.page.as_mut().filter(|page| page.n_left > 0) else {
                self.next_page(meaning)?;
                continue;
            };
            let n_max = page.n_left.min(out.len());
            let (is_value, n) = match &mut page.levels {
                None => (true, n_max),
                Some(levels) => {
                    let (level, n) = levels.next_equal(n_max)?;
                    (level == self.level_max, n)
                }
            };
            let (part, rest) = out.split_at_mut(n);
            out = rest;
            page.n_left -= n;
            if !is_value {
                part.fill(missing);
                continue;
            }
            match &mut page.values {
                Values::Keys(keys) => keys.fill(part, &self.table)?,
                Values::Bits(bits) => {
                    let table = [meaning(Raw::Truth(false)), meaning(Raw::Truth(true))];
                    bits.fill(part, &table)?;
                }
                Values::Plain(bytes) => {
                    for value in part {
                        *value = next_plain(
                            bytes,
                            self.physical,
                            self.width,
                            self.is_unsigned,
                            meaning,
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    fn level_bits(&self) -> u8 {
        // Levels are as many as groups are nested, far below 256 bits.
        (u32::BITS - self.level_max.leading_zeros()) as u8
    }

    fn next_page(&mut self, meaning: &mut impl FnMut(Raw<'_>) -> T) -> Result<(), Damage> {
        let page = self
            .pages
            .get_next_page()
            .map_err(|error| damage(&error))?
            .ok_or("a column has fewer values than the row group has rows")?;
        match page {
            Page::DictionaryPage {
                mut buf,
                num_values,
                ..
            } => {
                self.table.clear();
                for _ in 0..num_values {
                    self.table.push(next_plain(
                        &mut buf,
                        self.physical,
                        self.width,
                        self.is_unsigned,
                        meaning,
                    )?);
                }
            }
            Page::DataPage {
                mut buf,
                num_values,
                encoding,
                def_level_encoding,
                ..
            } => {
                let levels = if self.level_max > 0 {
                    if def_level_encoding != Encoding::RLE {
                        return Err(format!("levels in encoding {def_level_encoding}").into());
                    }
                    let length = buf.try_get_u32_le().map_err(|_| CUT)? as usize;
                    Some(Hybrid::new(take(&mut buf, length)?, self.level_bits())?)
                } else {
                    None
                };
                self.begin_page(num_values, levels, encoding, buf)?;
            }
            Page::DataPageV2 {
                mut buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                take(&mut buf, rep_levels_byte_len as usize)?;
                let levels = take(&mut buf, def_levels_byte_len as usize)?;
                let levels = if self.level_max > 0 {
                    Some(Hybrid::new(levels, self.level_bits())?)
                } else {
                    None
                };
                self.begin_page(num_values, levels, encoding, buf)?;
            }
        }
        Ok(())
    }

    fn begin_page(
        &mut self,
        n_values: u32,
        levels: Option<Hybrid>,
        encoding: Encoding,
        mut bytes: Bytes,
    ) -> Result<(), Damage> {
        let values = match encoding {
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                // A page of nulls only may have no byte at all.
                let bit_width = bytes.try_get_u8().unwrap_or(0);
                Values::Keys(Hybrid::new(bytes, bit_width)?)
            }
            Encoding::PLAIN if self.physical == Type::BOOLEAN => {
                Values::Bits(Hybrid::packed(bytes, 1))
            }
            Encoding::RLE if self.physical == Type::BOOLEAN => {
                let length = bytes.try_get_u32_le().unwrap_or(0) as usize;
                Values::Bits(Hybrid::new(take(&mut bytes, length)?, 1)?)
            }
            Encoding::PLAIN => Values::Plain(bytes),
            other => return Err(format!("values in encoding {other}").into()),
        };
        self.page = Some(DataPage {
            n_left: n_values as usize,
            levels,
            values,
        });
        Ok(())
    }
}

const CUT: &str = "a page ends too early";

fn take(bytes: &mut Bytes, length: usize) -> Result<Bytes, Damage> {
    if length > bytes.len() {
        return Err(CUT.into());
    }
    Ok(bytes.split_to(length))
}

/// Whether the column holds whole numbers without a sign.
fn is_unsigned(description: &ColumnDescPtr) -> bool {
    let is_logical = matches!(
        description.logical_type_ref(),
        Some(LogicalType::Integer(number)) if !number.is_signed
    );
    let is_converted = matches!(
        description.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    is_logical || is_converted
}

/// The 32 bits of a whole number.
fn whole_32(value: i32, is_unsigned: bool) -> Raw<'static> {
    if is_unsigned {
        Raw::Unsigned(value.cast_unsigned().into())
    } else {
        Raw::Whole(value.into())
    }
}

/// The 64 bits of a whole number.
fn whole_64(value: i64, is_unsigned: bool) -> Raw<'static> {
    if is_unsigned {
        Raw::Unsigned(value.cast_unsigned())
    } else {
        Raw::Whole(value)
    }
}

/// The meaning of the next value in plain encoding.
#[inline]
fn next_plain<T>(
    bytes: &mut Bytes,
    physical: Type,
    width: usize,
    is_unsigned: bool,
    meaning: &mut impl FnMut(Raw<'_>) -> T,
) -> Result<T, Damage> {
    let length = match physical {
        Type::BYTE_ARRAY => bytes.try_get_u32_le().map_err(|_| CUT)? as usize,
        Type::INT96 => 12,
        // Values of no length would make a page of any number of them.
        Type::FIXED_LEN_BYTE_ARRAY if width > 0 => width,
        Type::INT32 => {
            let value = bytes.try_get_i32_le().map_err(|_| CUT)?;
            return Ok(meaning(whole_32(value, is_unsigned)));
        }
        Type::INT64 => {
            let value = bytes.try_get_i64_le().map_err(|_| CUT)?;
            return Ok(meaning(whole_64(value, is_unsigned)));
        }
        Type::FLOAT => {
            let value = bytes.try_get_f32_le().map_err(|_| CUT)?;
            return Ok(meaning(Raw::Fraction(value.into())));
        }
        Type::DOUBLE => {
            let value = bytes.try_get_f64_le().map_err(|_| CUT)?;
            return Ok(meaning(Raw::Fraction(value)));
        }
        other => return Err(format!("{other} values in plain encoding").into()),
    };
    let value = bytes.get(..length).ok_or(CUT)?;
    let value = meaning(Raw::Bytes(value));
    bytes.advance(length);
    Ok(value)
}

/// Parquet's hybrid of run lengths and packed bits.
struct Hybrid {
    bytes: Bytes,
    bit_width: u8,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
enum Run {
    /// So many times the same value.
    Repeated { value: u32, n_left: usize },
    /// So many packed values, the first at this bit of the bytes.
    Packed { bit: usize, n_left: usize },
}

impl Run {
    const EMPTY: Self = Self::Repeated {
        value: 0,
        n_left: 0,
    };
}

impl Hybrid {
    fn new(bytes: Bytes, bit_width: u8) -> Result<Self, Damage> {
        if bit_width > 32 {
            return Err(format!("{bit_width} bits to a dictionary key").into());
        }
        // Keys of no bits need no bytes: all of them are 0.
        let run = if bit_width == 0 {
            Run::Repeated {
                value: 0,
                n_left: usize::MAX,
            }
        } else {
            Run::EMPTY
        };
        Ok(Self {
            bytes,
            bit_width,
            run,
        })
    }

    /// Packed bits without runs.
    fn packed(bytes: Bytes, bit_width: u8) -> Self {
        let n_left = bytes.len() * 8 / usize::from(bit_width);
        Self {
            bytes,
            bit_width,
            run: Run::Packed { bit: 0, n_left },
        }
    }

    /// Starts the next run when the present one is used up.
    fn refresh(&mut self) -> Result<(), Damage> {
        loop {
            match self.run {
                Run::Repeated { n_left, .. } | Run::Packed { n_left, .. } if n_left > 0 => {
                    return Ok(());
                }
                Run::Packed { bit, .. } => {
                    let length = bit.div_ceil(8).min(self.bytes.len());
                    self.bytes.advance(length);
                }
                Run::Repeated { .. } => {}
            }
            self.run = Run::EMPTY;
            let mut header = 0_u64;
            for shift in (0..35).step_by(7) {
                let byte = self.bytes.try_get_u8().map_err(|_| CUT)?;
                header |= u64::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let n = usize::try_from(header >> 1).map_err(|_| CUT)?;
            if header & 1 == 1 {
                let bits_at_hand = self.bytes.len() * 8;
                // The last group may be cut short behind its last value.
                let n_left = (n * 8).min(bits_at_hand / usize::from(self.bit_width));
                if n_left == 0 && n > 0 {
                    return Err(CUT.into());
                }
                self.run = Run::Packed { bit: 0, n_left };
            } else {
                let mut value = [0; 4];
                let width = usize::from(self.bit_width).div_ceil(8);
                self.bytes
                    .try_copy_to_slice(&mut value[..width])
                    .map_err(|_| CUT)?;
                self.run = Run::Repeated {
                    value: u32::from_le_bytes(value),
                    n_left: n,
                };
            }
        }
    }

    /// The next value and how often it stands there in a row, at least once and at most `n_max` times.
    fn next_equal(&mut self, n_max: usize) -> Result<(u32, usize), Damage> {
        self.refresh()?;
        match &mut self.run {
            Run::Repeated { value, n_left } => {
                let n = n_max.min(*n_left);
                *n_left -= n;
                Ok((*value, n))
            }
            Run::Packed { bit, n_left } => {
                let width = usize::from(self.bit_width);
                let first = unpack(&self.bytes, *bit, width);
                let n_max = n_max.min(*n_left);
                let n = (1..n_max)
                    .find(|i| unpack(&self.bytes, *bit + i * width, width) != first)
                    .unwrap_or(n_max);
                *bit += n * width;
                *n_left -= n;
                Ok((first, n))
            }
        }
    }

    /// Fills `out` with the entries of `table` that the next values point to.
    fn fill<T: Copy>(&mut self, mut out: &mut [T], table: &[T]) -> Result<(), Damage> {
        const OUTSIDE: &str = "a key points outside of its dictionary";
        while !out.is_empty() {
            self.refresh()?;
            match &mut self.run {
                Run::Repeated { value, n_left } => {
                    let n = out.len().min(*n_left);
                    *n_left -= n;
                    let (part, rest) = out.split_at_mut(n);
                    part.fill(*table.get(*value as usize).ok_or(OUTSIDE)?);
                    out = rest;
                }
                Run::Packed { bit, n_left } => {
                    let n = out.len().min(*n_left);
                    let (part, rest) = out.split_at_mut(n);
                    let width = usize::from(self.bit_width);
                    let mask = mask(width);
                    // So many values are in one word, at whichever bit of a byte the first one begins.
                    for values in part.chunks_mut((u64::BITS as usize - 7) / width) {
                        let mut word = word_at(&self.bytes, *bit);
                        *bit += values.len() * width;
                        for value in values {
                            let key = usize::try_from(word & mask).unwrap_or(usize::MAX);
                            *value = *table.get(key).ok_or(OUTSIDE)?;
                            word >>= width;
                        }
                    }
                    *n_left -= n;
                    out = rest;
                }
            }
        }
        Ok(())
    }
}

/// The value of `width` bits, at most 32, that starts at `bit`. Bits behind the end are 0.
#[inline]
fn unpack(bytes: &[u8], bit: usize, width: usize) -> u32 {
    u32::try_from(word_at(bytes, bit) & mask(width)).unwrap_or(0)
}

/// The lowest `width` bits.
fn mask(width: usize) -> u64 {
    (1 << width) - 1
}

/// The bits from `bit` on, at least 57 of them. Bits behind the end are 0.
#[inline]
fn word_at(bytes: &[u8], bit: usize) -> u64 {
    let start = bit / 8;
    let mut word = [0; 8];
    if let Some(eight) = bytes.get(start..start + 8) {
        word.copy_from_slice(eight);
    } else {
        let rest = bytes.get(start..).unwrap_or_default();
        let n = rest.len().min(8);
        word[..n].copy_from_slice(&rest[..n]);
    }
    u64::from_le_bytes(word) >> (bit % 8)
}

/// Parquet's own column reader, for encodings that are seldom seen.
struct Typed {
    reader: TypedReader,
    is_unsigned: bool,
    level_max: i16,
}

enum TypedReader {
    Text(ColumnReaderImpl<ByteArrayType>),
    Int32(ColumnReaderImpl<Int32Type>),
    Int64(ColumnReaderImpl<Int64Type>),
    Float(ColumnReaderImpl<FloatType>),
    Double(ColumnReaderImpl<DoubleType>),
}

impl Typed {
    fn new(column: &Column, pages: SerializedPageReader<ColumnBytes>) -> Result<Self, Damage> {
        let description = Arc::clone(&column.description);
        let physical = description.physical_type();
        let is_unsigned = is_unsigned(&description);
        let level_max = description.max_def_level();
        let reader = get_column_reader(description, Box::new(pages));
        let reader = match physical {
            Type::BYTE_ARRAY => TypedReader::Text(get_typed_column_reader(reader)),
            Type::INT32 => TypedReader::Int32(get_typed_column_reader(reader)),
            Type::INT64 => TypedReader::Int64(get_typed_column_reader(reader)),
            Type::FLOAT => TypedReader::Float(get_typed_column_reader(reader)),
            Type::DOUBLE => TypedReader::Double(get_typed_column_reader(reader)),
            other => return Err(format!("{other} values in a rare encoding").into()),
        };
        Ok(Self {
            reader,
            is_unsigned,
            level_max,
        })
    }

    fn fill<T: Copy>(
        &mut self,
        out: &mut [T],
        missing: T,
        meaning: &mut impl FnMut(Raw<'_>) -> T,
    ) -> Result<(), Damage> {
        let max = self.level_max;
        let is_unsigned = self.is_unsigned;
        match &mut self.reader {
            TypedReader::Text(reader) => fill_typed(reader, out, max, missing, |value| {
                meaning(Raw::Bytes(value.as_bytes()))
            }),
            TypedReader::Int32(reader) => fill_typed(reader, out, max, missing, |&value| {
                meaning(whole_32(value, is_unsigned))
            }),
            TypedReader::Int64(reader) => fill_typed(reader, out, max, missing, |&value| {
                meaning(whole_64(value, is_unsigned))
            }),
            TypedReader::Float(reader) => fill_typed(reader, out, max, missing, |&value| {
                meaning(Raw::Fraction(value.into()))
            }),
            TypedReader::Double(reader) => fill_typed(reader, out, max, missing, |&value| {
                meaning(Raw::Fraction(value))
            }),
        }
    }
}

fn fill_typed<D: DataType, T: Copy>(
    reader: &mut ColumnReaderImpl<D>,
    mut out: &mut [T],
    level_max: i16,
    missing: T,
    mut meaning: impl FnMut(&D::T) -> T,
) -> Result<(), Damage> {
    let mut levels = Vec::new();
    let mut values = Vec::new();
    while !out.is_empty() {
        levels.clear();
        values.clear();
        let (n, _, _) = reader
            .read_records(out.len(), Some(&mut levels), None, &mut values)
            .map_err(|error| damage(&error))?;
        if n == 0 || n > out.len() {
            return Err("a column has fewer values than the row group has rows".into());
        }
        let (part, rest) = out.split_at_mut(n);
        out = rest;
        let mut values = values.iter();
        for (i, slot) in part.iter_mut().enumerate() {
            let is_null = levels.get(i).is_some_and(|&level| level < level_max);
            *slot = if is_null {
                missing
            } else {
                meaning(values.next().ok_or(CUT)?)
            };
        }
    }
    Ok(())
}

/// Lists of texts, one list for each row, by Parquet's own column reader.
pub(super) struct ListStream {
    reader: ColumnReaderImpl<ByteArrayType>,
    level_max: i16,
}

impl ListStream {
    /// The lists in `pages`.
    pub(super) fn new(column: &Column, pages: SerializedPageReader<ColumnBytes>) -> Self {
        let description = Arc::clone(&column.description);
        let level_max = description.max_def_level();
        let reader = get_typed_column_reader(get_column_reader(description, Box::new(pages)));
        Self { reader, level_max }
    }

    /// Calls `f` with the position of the row and the text, for every text of the next `n_rows` rows.
    pub(super) fn each(
        &mut self,
        n_rows: usize,
        mut f: impl FnMut(usize, &[u8]),
    ) -> Result<(), Damage> {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut n_done = 0;
        while n_done < n_rows {
            definitions.clear();
            repetitions.clear();
            values.clear();
            let (n, _, _) = self
                .reader
                .read_records(
                    n_rows - n_done,
                    Some(&mut definitions),
                    Some(&mut repetitions),
                    &mut values,
                )
                .map_err(|error| damage(&error))?;
            if n == 0 || n > n_rows - n_done || definitions.len() != repetitions.len() {
                return Err("a column has fewer values than the row group has rows".into());
            }
            let mut values = values.iter();
            let mut n_begun = 0;
            for (&definition, &repetition) in definitions.iter().zip(&repetitions) {
                n_begun += usize::from(repetition == 0);
                if n_begun == 0 || n_begun > n {
                    return Err("the levels of a list do not fit its rows".into());
                }
                if definition == self.level_max {
                    let value = values.next().ok_or(CUT)?;
                    f(n_done + n_begun - 1, value.as_bytes());
                }
            }
            n_done += n;
        }
        Ok(())
    }
}
