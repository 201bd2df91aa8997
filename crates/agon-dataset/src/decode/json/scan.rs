//! Where an element of an array ends, without looking into it.

/// A search for the end of an element that can be continued when more bytes are at hand.
#[derive(Debug, Default)]
pub(super) struct Scan {
    idx: usize,
    depth: usize,
    is_in_string: bool,
}

impl Scan {
    /// The length of the element at the start of `bytes`, or `None` when its end is not at hand.
    ///
    /// Brackets are only counted, not matched: the parser finds out when they do not fit.
    pub(super) fn end_of_element(&mut self, bytes: &[u8], is_at_end: bool) -> Option<usize> {
        while self.idx < bytes.len() {
            if self.is_in_string {
                let Some(length) = memchr::memchr2(b'"', b'\\', &bytes[self.idx..]) else {
                    self.idx = bytes.len();
                    return None;
                };
                if bytes[self.idx + length] == b'\\' {
                    // The escaped byte may not be at hand yet; then the backslash is looked at again.
                    if self.idx + length + 1 >= bytes.len() {
                        self.idx += length;
                        return None;
                    }
                    self.idx += length + 2;
                    continue;
                }
                self.is_in_string = false;
                self.idx += length + 1;
                if self.depth == 0 {
                    return Some(self.idx);
                }
                continue;
            }
            match bytes[self.idx] {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 0 => return Some(self.idx),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(self.idx + 1);
                    }
                }
                b',' if self.depth == 0 => return Some(self.idx),
                byte if self.depth == 0 && byte.is_ascii_whitespace() => return Some(self.idx),
                _ => {}
            }
            self.idx += 1;
        }
        (is_at_end && self.depth == 0 && !self.is_in_string).then_some(self.idx)
    }
}
