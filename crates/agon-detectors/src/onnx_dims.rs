//! Frees the input size of an ONNX file whose export fixed it.
//!
//! CenterFace is published with an input of `[10, 3, 32, 32]`, which runtimes take at its word, though nothing in the network needs that size.
//! The file stays as it was published, so that its checksum can be checked; this is done to the bytes in memory, each time it is loaded.
//! Fields are those of `onnx.proto` (ONNX IR version 10); unknown ones are copied as they are.

use std::ops::Range;

/// Bytes that are no protobuf message of this shape.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an ONNX file: {0} at byte {1}")]
pub(crate) struct NotOnnx(&'static str, usize);

// ModelProto
const GRAPH: u32 = 7;
// GraphProto
const INITIALISER: u32 = 5;
const INPUT: u32 = 11;
const OUTPUT: u32 = 12;
const VALUE_INFO: u32 = 13;
// TensorProto
const TENSOR_NAME: u32 = 8;
// ValueInfoProto
const VALUE_NAME: u32 = 1;
// ValueInfoProto to TensorShapeProto: `type`, `tensor_type`, `shape`.
const TO_SHAPE: [u32; 3] = [2, 1, 2];
// TensorShapeProto
const DIM: u32 = 1;
// TensorShapeProto.Dimension
const DIM_PARAM: u32 = 2;

/// The kind of a field that has a length: text, bytes and messages.
const LENGTH_DELIMITED: u32 = 2;

/// Names of the freed dimensions; the one without a name stays as it is.
const INPUT_SIDES: [&str; 4] = ["batch", "", "height", "width"];
/// Outputs are smaller than inputs, so their sides have other names: equal names would mean equal sizes.
const OUTPUT_SIDES: [&str; 4] = ["batch", "", "out_height", "out_width"];

/// One field of a message.
struct Field {
    number: u32,
    /// Key and payload.
    whole: Range<usize>,
    /// The payload, if it is length-delimited.
    payload: Option<Range<usize>>,
}

/// The same model with every dimension of its inputs and outputs but the second (channels) named instead of numbered.
///
/// Initialisers are taken out of the inputs, and shapes of values in between are dropped, as they were computed from the fixed size.
pub(crate) fn with_free_size(model: &[u8]) -> Result<Vec<u8>, NotOnnx> {
    let mut freed = Vec::with_capacity(model.len());
    let mut has_graph = false;
    for field in fields(model, 0..model.len())? {
        match field.payload {
            Some(payload) if field.number == GRAPH => {
                has_graph = true;
                put(&mut freed, GRAPH, &freed_graph(model, payload)?);
            }
            _ => freed.extend_from_slice(&model[field.whole]),
        }
    }
    if has_graph {
        Ok(freed)
    } else {
        Err(NotOnnx("no graph", model.len()))
    }
}

fn freed_graph(model: &[u8], graph: Range<usize>) -> Result<Vec<u8>, NotOnnx> {
    let fields = fields(model, graph.clone())?;
    let mut initialisers = Vec::new();
    for field in &fields {
        if let (INITIALISER, Some(payload)) = (field.number, &field.payload) {
            initialisers.extend(bytes_of(model, payload.clone(), TENSOR_NAME)?);
        }
    }
    let mut freed = Vec::with_capacity(graph.len());
    for field in fields {
        match (field.number, field.payload) {
            (VALUE_INFO, _) => {}
            (INPUT, Some(payload)) => {
                let name = bytes_of(model, payload.clone(), VALUE_NAME)?;
                if name.is_none_or(|name| !initialisers.contains(&name)) {
                    put(
                        &mut freed,
                        INPUT,
                        &freed_value(model, payload, &TO_SHAPE, &INPUT_SIDES)?,
                    );
                }
            }
            (OUTPUT, Some(payload)) => {
                put(
                    &mut freed,
                    OUTPUT,
                    &freed_value(model, payload, &TO_SHAPE, &OUTPUT_SIDES)?,
                );
            }
            _ => freed.extend_from_slice(&model[field.whole]),
        }
    }
    Ok(freed)
}

/// A message with the shape at the end of `path` freed.
fn freed_value(
    model: &[u8],
    message: Range<usize>,
    path: &[u32],
    names: &[&str; 4],
) -> Result<Vec<u8>, NotOnnx> {
    let Some((&next, rest)) = path.split_first() else {
        return freed_shape(model, message, names);
    };
    let mut freed = Vec::with_capacity(message.len());
    for field in fields(model, message)? {
        match field.payload {
            Some(payload) if field.number == next => {
                put(&mut freed, next, &freed_value(model, payload, rest, names)?);
            }
            _ => freed.extend_from_slice(&model[field.whole]),
        }
    }
    Ok(freed)
}

fn freed_shape(model: &[u8], shape: Range<usize>, names: &[&str; 4]) -> Result<Vec<u8>, NotOnnx> {
    let mut freed = Vec::with_capacity(shape.len() + 32);
    let mut n_dims = 0;
    for field in fields(model, shape)? {
        if field.number == DIM {
            let name = names.get(n_dims).copied().unwrap_or("more");
            n_dims += 1;
            if !name.is_empty() {
                let mut dimension = Vec::new();
                put(&mut dimension, DIM_PARAM, name.as_bytes());
                put(&mut freed, DIM, &dimension);
                continue;
            }
        }
        freed.extend_from_slice(&model[field.whole]);
    }
    Ok(freed)
}

/// The last length-delimited field of this number in a message.
fn bytes_of(model: &[u8], message: Range<usize>, number: u32) -> Result<Option<&[u8]>, NotOnnx> {
    Ok(fields(model, message)?
        .into_iter()
        .filter(|field| field.number == number)
        .filter_map(|field| field.payload)
        .next_back()
        .map(|payload| &model[payload]))
}

/// The fields of one message, not those of messages in it.
fn fields(model: &[u8], message: Range<usize>) -> Result<Vec<Field>, NotOnnx> {
    let mut fields = Vec::new();
    let mut at = message.start;
    while at < message.end {
        let start = at;
        let key = varint(model, &mut at, message.end)?;
        let number =
            u32::try_from(key >> 3).map_err(|_| NotOnnx("a field number too large", start))?;
        let n_bytes = match key & 7 {
            0 => {
                varint(model, &mut at, message.end)?;
                0
            }
            1 => 8,
            2 => varint(model, &mut at, message.end)?,
            5 => 4,
            _ => return Err(NotOnnx("an unknown kind of field", start)),
        };
        let n_bytes = usize::try_from(n_bytes).map_err(|_| NotOnnx("a field too long", start))?;
        let end = at
            .checked_add(n_bytes)
            .filter(|end| *end <= message.end)
            .ok_or(NotOnnx("a field that ends behind its message", start))?;
        fields.push(Field {
            number,
            whole: start..end,
            payload: (key & 7 == u64::from(LENGTH_DELIMITED)).then_some(at..end),
        });
        at = end;
    }
    Ok(fields)
}

fn varint(model: &[u8], at: &mut usize, end: usize) -> Result<u64, NotOnnx> {
    let start = *at;
    let mut value = 0_u64;
    for n_bits in (0..64).step_by(7) {
        let Some(&byte) = model[..end].get(*at) else {
            return Err(NotOnnx("a number that is cut off", start));
        };
        *at += 1;
        value |= u64::from(byte & 0x7f) << n_bits;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(NotOnnx("a number too long", start))
}

fn put(to: &mut Vec<u8>, number: u32, payload: &[u8]) {
    put_varint(to, u64::from(number << 3 | LENGTH_DELIMITED));
    put_varint(to, payload.len() as u64);
    to.extend_from_slice(payload);
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, payload) in parts {
            put(&mut bytes, *number, payload);
        }
        bytes
    }

    fn value(name: &str, dims: &[u8]) -> Vec<u8> {
        let dims: Vec<_> = dims.iter().map(|dim| (DIM, vec![0x08, *dim])).collect();
        let [type_, tensor, shape] = TO_SHAPE;
        let tensor_type = message(&[(shape, message(&dims))]);
        message(&[
            (VALUE_NAME, name.into()),
            (type_, message(&[(tensor, tensor_type)])),
        ])
    }

    fn model() -> Vec<u8> {
        let graph = message(&[
            (1, b"node".to_vec()),
            (INITIALISER, message(&[(TENSOR_NAME, b"weight".to_vec())])),
            (INPUT, value("input", &[10, 3, 32, 32])),
            (INPUT, value("weight", &[4, 4])),
            (OUTPUT, value("output", &[10, 1, 8, 8])),
            (VALUE_INFO, value("between", &[10, 24, 16, 16])),
        ]);
        // The version as a plain number, then the graph.
        let mut bytes = vec![0x08, 0x03];
        put(&mut bytes, GRAPH, &graph);
        bytes
    }

    fn has(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn sizes_become_names_and_channels_stay() {
        let freed = with_free_size(&model()).unwrap();
        assert_eq!(freed[..2], [0x08, 0x03]);
        assert!(has(&freed, b"node"));
        assert!(has(&freed, b"height") && has(&freed, b"width") && has(&freed, b"batch"));
        assert!(
            has(&freed, &[DIM as u8 * 8 + 2, 2, 0x08, 3]),
            "channels stay"
        );
        assert!(!has(&freed, &[0x08, 32]), "no fixed side is left");
        assert!(!has(&freed, b"between"));
        // The initialiser is left, the input of its name is not.
        assert_eq!(
            freed
                .windows(6)
                .filter(|window| *window == b"weight")
                .count(),
            1
        );
        assert_eq!(with_free_size(&freed).unwrap(), freed);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = model();
        for end in 0..whole.len() {
            // A cut between fields may leave a shorter message, but never the graph.
            assert!(with_free_size(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for bits in [0x01, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= bits;
                drop(with_free_size(&changed));
            }
        }
        assert!(
            with_free_size(&[
                0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f
            ])
            .is_err()
        );
        assert!(with_free_size(&[0x80; 40]).is_err());
    }
}
