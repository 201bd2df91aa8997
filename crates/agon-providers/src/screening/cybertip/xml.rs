//! The XML of the CyberTipline: written with every text escaped, read without document types and entities of its own.

use jiff::Timestamp;
use quick_xml::{
    Reader, Writer,
    events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event},
};

use super::{FileDetails, IpCapture, Report};

/// How deep elements of an answer may lie in each other.
const DEPTH_MAX: usize = 16;

/// The most characters of an id.
const ID_CHARS_MAX: usize = 100;

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) code: u32,
    pub(super) report_id: Option<String>,
    pub(super) file_id: Option<String>,
    pub(super) hash: Option<String>,
    pub(super) files: Vec<String>,
}

/// Writes elements one after the other. Writing to memory does not fail.
struct Xml {
    writer: Writer<Vec<u8>>,
}

impl Xml {
    fn start() -> Self {
        let mut xml = Self {
            writer: Writer::new(Vec::new()),
        };
        xml.put(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
        xml
    }

    fn put(&mut self, event: Event<'_>) {
        let written = self.writer.write_event(event);
        debug_assert!(written.is_ok(), "memory takes everything");
    }

    fn open(&mut self, name: &str) {
        self.put(Event::Start(BytesStart::new(name)));
    }

    fn close(&mut self, name: &str) {
        self.put(Event::End(BytesEnd::new(name)));
    }

    fn text(&mut self, name: &str, text: &str) {
        self.open(name);
        self.put(Event::Text(BytesText::new(text)));
        self.close(name);
    }

    fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    fn time(&mut self, name: &str, at: Timestamp) {
        self.text(name, &at.to_string());
    }

    fn bool(&mut self, name: &str, value: bool) {
        self.text(name, if value { "true" } else { "false" });
    }

    fn ip_capture(&mut self, capture: &IpCapture) {
        self.open("ipCaptureEvent");
        self.text("ipAddress", &capture.address.to_string());
        self.text("eventName", "Upload");
        self.time("dateTime", capture.at);
        self.close("ipCaptureEvent");
    }

    fn end(self) -> Result<String, String> {
        String::from_utf8(self.writer.into_inner()).map_err(|error| error.to_string())
    }
}

/// Refuses what XML 1.0 cannot hold even when escaped.
fn check<'a>(texts: impl IntoIterator<Item = (&'static str, &'a str)>) -> Result<(), String> {
    for (name, text) in texts {
        if text.trim().is_empty() {
            return Err(format!("`{name}` is empty"));
        }
        if text.chars().any(|c| {
            (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
                || matches!(c, '\u{fffe}' | '\u{ffff}')
        }) {
            return Err(format!("`{name}` holds a character that XML cannot hold"));
        }
    }
    Ok(())
}

/// The body of `submit`.
pub(super) fn report(report: &Report) -> Result<String, String> {
    let reporter = &report.reporter;
    let texts = [
        ("firstName", Some(reporter.first_name.as_str())),
        ("lastName", Some(&reporter.last_name)),
        ("email", Some(&reporter.email)),
        ("escalateToHighPriority", report.escalation.as_deref()),
        ("url", report.url.as_deref()),
        ("espIdentifier", report.reported_identifier.as_deref()),
        ("additionalInfo", report.additional_info.as_deref()),
    ];
    check(
        texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?))),
    )?;
    let mut xml = Xml::start();
    xml.open("report");
    xml.open("incidentSummary");
    xml.text(
        "incidentType",
        "Child Pornography (possession, manufacture, and distribution)",
    );
    xml.optional("escalateToHighPriority", report.escalation.as_deref());
    if !report.annotations.is_empty() {
        xml.open("reportAnnotations");
        for annotation in &report.annotations {
            xml.put(Event::Empty(BytesStart::new(annotation.element())));
        }
        xml.close("reportAnnotations");
    }
    xml.time("incidentDateTime", report.incident_at);
    xml.close("incidentSummary");
    if let Some(url) = &report.url {
        xml.open("internetDetails");
        xml.open("webPageIncident");
        xml.text("url", url);
        xml.close("webPageIncident");
        xml.close("internetDetails");
    }
    xml.open("reporter");
    xml.open("reportingPerson");
    xml.text("firstName", &reporter.first_name);
    xml.text("lastName", &reporter.last_name);
    xml.text("email", &reporter.email);
    xml.close("reportingPerson");
    xml.close("reporter");
    if report.reported_identifier.is_some() || !report.ip_captures.is_empty() {
        xml.open("personOrUserReported");
        xml.optional("espIdentifier", report.reported_identifier.as_deref());
        for capture in &report.ip_captures {
            xml.ip_capture(capture);
        }
        xml.close("personOrUserReported");
    }
    xml.optional("additionalInfo", report.additional_info.as_deref());
    xml.close("report");
    xml.end()
}

/// The body of `fileinfo`.
pub(super) fn file_details(details: &FileDetails) -> Result<String, String> {
    let texts = [
        ("reportId", Some(details.report_id.as_str())),
        ("fileId", Some(&details.file_id)),
        ("originalFileName", details.original_name.as_deref()),
        ("additionalInfo", details.additional_info.as_deref()),
    ];
    let hashes = details
        .original_hashes
        .iter()
        .flat_map(|(kind, hash)| [("hashType", kind.as_str()), ("originalFileHash", hash)]);
    check(
        texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .chain(hashes),
    )?;
    let mut xml = Xml::start();
    xml.open("fileDetails");
    xml.text("reportId", &details.report_id);
    xml.text("fileId", &details.file_id);
    xml.optional("originalFileName", details.original_name.as_deref());
    xml.bool("fileViewedByEsp", details.is_viewed);
    xml.bool("exifViewedByEsp", details.is_exif_viewed);
    xml.bool("publiclyAvailable", details.is_publicly_available);
    xml.optional(
        "industryClassification",
        details
            .classification
            .map(super::IndustryClassification::as_str),
    );
    for (kind, hash) in &details.original_hashes {
        let mut element = BytesStart::new("originalFileHash");
        element.push_attribute(("hashType", kind.as_str()));
        xml.put(Event::Start(element));
        xml.put(Event::Text(BytesText::new(hash)));
        xml.close("originalFileHash");
    }
    if let Some(capture) = &details.ip_capture {
        xml.ip_capture(capture);
    }
    xml.optional("additionalInfo", details.additional_info.as_deref());
    xml.close("fileDetails");
    xml.end()
}

/// Reads an answer. The error says what is wrong with it, and nothing of what it holds.
pub(super) fn answer(body: &[u8]) -> Result<Answer, &'static str> {
    let mut reader = Reader::from_reader(body);
    reader.config_mut().check_end_names = true;
    let mut path: Vec<Vec<u8>> = Vec::new();
    let mut text = String::new();
    let mut answer = Answer::default();
    let mut code = None;
    let mut has_root = false;
    loop {
        let event = reader.read_event().map_err(|_| "is not XML")?;
        match event {
            Event::DocType(_) => return Err("holds a document type, which is not read"),
            Event::Start(element) => {
                if path.is_empty() && has_root {
                    return Err("has two roots");
                }
                has_root = true;
                path.push(element.local_name().as_ref().to_vec());
                if path.len() > DEPTH_MAX {
                    return Err("is nested too deeply");
                }
                text.clear();
            }
            Event::Text(piece) => {
                text.push_str(&piece.decode().map_err(|_| "is not UTF-8")?);
            }
            // The ids and numbers that are read here need none.
            Event::GeneralRef(_) => text.push('\u{fffd}'),
            Event::End(_) => {
                let Some(name) = path.pop() else {
                    return Err("is not XML");
                };
                let value = text.trim();
                match (path.last().map(Vec::as_slice), name.as_slice()) {
                    (Some(b"reportResponse" | b"reportDoneResponse"), b"responseCode") => {
                        code = Some(value.parse().map_err(|_| "has a code that is no number")?);
                    }
                    (Some(b"reportResponse" | b"reportDoneResponse"), b"reportId") => {
                        answer.report_id = Some(id(value)?);
                    }
                    (Some(b"reportResponse"), b"fileId") => answer.file_id = Some(id(value)?),
                    (Some(b"reportResponse"), b"hash") => answer.hash = Some(id(value)?),
                    (Some(b"files"), b"fileId") => answer.files.push(id(value)?),
                    _ => {}
                }
                text.clear();
            }
            Event::Eof => break,
            Event::Empty(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_) => {}
        }
    }
    if !path.is_empty() {
        return Err("breaks off");
    }
    answer.code = code.ok_or("has no response code")?;
    Ok(answer)
}

/// An id as the service makes them: letters, digits and hyphens.
fn id(value: &str) -> Result<String, &'static str> {
    let is_id = !value.is_empty()
        && value.len() <= ID_CHARS_MAX
        && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if is_id {
        Ok(value.to_owned())
    } else {
        Err("has an id that is not one")
    }
}
