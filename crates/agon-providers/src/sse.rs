//! Bytes to server-sent events, without input or output.
//!
//! Follows the event stream format of the HTML standard, section 9.2.6, with one leniency: an event that the end of the stream leaves without its blank line is handed out marked as such, because some servers end so.
//! Ids and retry times are read over; nothing here reconnects.

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The `event` field, empty when there was none.
    pub(crate) name: String,
    /// The `data` fields, joined by line feeds. Not checked to be UTF-8.
    pub(crate) data: Vec<u8>,
}

/// An event outgrew the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// The state between two chunks.
#[derive(Debug)]
pub(crate) struct SseDecoder {
    /// The line so far.
    line: Vec<u8>,
    /// The data so far, each line followed by a line feed.
    data: Vec<u8>,
    name: Vec<u8>,
    /// Whether the last byte was a carriage return, so that a line feed after it belongs to it.
    after_carriage_return: bool,
    /// Whether the first line is still to come, which may begin with a byte order mark.
    at_start: bool,
    /// Whether a line of a known kind has come, a comment included.
    has_known_line: bool,
    /// Whether a line of an unknown kind has come.
    has_foreign_line: bool,
    event_bytes_max: usize,
}

impl SseDecoder {
    /// A decoder that refuses an event of more than `event_bytes_max` bytes.
    pub(crate) fn new(event_bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            name: Vec::new(),
            after_carriage_return: false,
            at_start: true,
            has_known_line: false,
            has_foreign_line: false,
            event_bytes_max,
        }
    }

    /// Whether nothing that came looked like an event stream.
    pub(crate) const fn has_only_foreign_lines(&self) -> bool {
        self.has_foreign_line && !self.has_known_line
    }

    /// The events that `chunk` completes, and whether the one after them is too long.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> (Vec<SseEvent>, Option<EventTooLong>) {
        let mut events = Vec::new();
        let too_long = self.try_push(chunk, &mut events).err();
        (events, too_long)
    }

    fn try_push(
        &mut self,
        mut chunk: &[u8],
        events: &mut Vec<SseEvent>,
    ) -> Result<(), EventTooLong> {
        if self.after_carriage_return
            && let Some((&first, rest)) = chunk.split_first()
        {
            self.after_carriage_return = false;
            if first == b'\n' {
                chunk = rest;
            }
        }
        while let Some(end) = chunk.iter().position(|&byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&chunk[..end])?;
            let mut next = end + 1;
            if chunk[end] == b'\r' {
                match chunk.get(next) {
                    Some(b'\n') => next += 1,
                    Some(_) => {}
                    None => self.after_carriage_return = true,
                }
            }
            chunk = &chunk[next..];
            events.extend(self.end_line());
        }
        self.extend_line(chunk)
    }

    /// The event that the end of the stream left without its blank line.
    pub(crate) fn finish(&mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.take_event()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        if self.line.len() + self.data.len() + bytes.len() > self.event_bytes_max {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut line_bytes = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line_bytes = line_bytes
                .strip_prefix(b"\xef\xbb\xbf")
                .unwrap_or(line_bytes);
        }
        if line_bytes.is_empty() {
            return self.take_event();
        }
        let (field, value) = match line_bytes.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line_bytes[..colon], &line_bytes[colon + 1..]),
            None => (line_bytes, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let is_known = matches!(field, b"" | b"data" | b"event" | b"id" | b"retry");
        self.has_known_line |= is_known;
        self.has_foreign_line |= !is_known;
        match field {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.name = value.to_vec(),
            // A comment (no field name), `id`, `retry` and unknown fields are to be read over, says the standard.
            _ => {}
        }
        // The buffer of the line is kept for the next one.
        self.line = line;
        self.line.clear();
        None
    }

    fn take_event(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        let mut data = std::mem::take(&mut self.data);
        data.pop()?;
        Some(SseEvent {
            name: String::from_utf8_lossy(&name).into_owned(),
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::new(1000);
        let mut events = Vec::new();
        for chunk in chunks {
            let (complete, too_long) = decoder.push(chunk);
            assert_eq!(too_long, None);
            events.extend(complete);
        }
        events.extend(decoder.finish());
        events
            .into_iter()
            .map(|event| (event.name, String::from_utf8(event.data).unwrap()))
            .collect()
    }

    /// Decodes `stream` whole, cut in two at every offset, and byte by byte.
    #[track_caller]
    fn check(stream: &str, expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
            .collect();
        let bytes = stream.as_bytes();
        assert_eq!(decode(&[bytes]), expected);
        for cut in 0..=bytes.len() {
            assert_eq!(
                decode(&[&bytes[..cut], &bytes[cut..]]),
                expected,
                "cut at {cut}"
            );
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(&single), expected);
    }

    #[test]
    fn events_end_with_a_blank_line() {
        check("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")]);
        check("event: error\ndata: a\n\n", &[("error", "a")]);
        check("data\n\n", &[("", "")]);
        check("data:  a\n\n", &[("", " a")]);
        check("", &[]);
        check("\n\n\n", &[]);
        check("event: x\n\ndata: a\n\n", &[("", "a")]);
    }

    #[test]
    fn all_three_line_ends_are_read() {
        check("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
        check("data: a\r\ndata: b\n\r\n", &[("", "a\nb")]);
        check("data: a\n\r\ndata: b\r\n\n", &[("", "a"), ("", "b")]);
    }

    #[test]
    fn data_of_several_lines_is_joined() {
        check(
            "data: {\ndata:  \"a\": 1\ndata: }\n\n",
            &[("", "{\n \"a\": 1\n}")],
        );
    }

    #[test]
    fn comments_ids_and_unknown_fields_are_read_over() {
        check(
            ": ping\n\nid: 3\nretry: 10\nfoo: bar\ndata: a\n: x\n\n:\n\n",
            &[("", "a")],
        );
    }

    #[test]
    fn a_byte_order_mark_is_read_over_at_the_start_only() {
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &[("", "a")]);
        check("\u{feff}: hi\ndata: ü\n\n", &[("", "ü")]);
    }

    #[test]
    fn an_event_without_its_blank_line_is_handed_out_at_the_end() {
        check("data: a\n\ndata: [DONE]", &[("", "a"), ("", "[DONE]")]);
        check("data: a\n\ndata: [DONE]\n", &[("", "a"), ("", "[DONE]")]);
    }

    #[test]
    fn an_event_that_never_ends_is_refused() {
        for line in [&b"data: 0123456789"[..], b"data: 01\ndata: 23\n"] {
            let mut decoder = SseDecoder::new(1000);
            let too_long = (0..1000).find_map(|_| decoder.push(line).1);
            assert_eq!(too_long, Some(EventTooLong));
        }
    }
}
