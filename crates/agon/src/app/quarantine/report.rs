//! A report in the shape of NCMEC's CyberTipline reporting API, written for a person to hand in.
//!
//! Nothing here opens a connection. The shape is that of the API's `submit` and `fileinfo` documents (<https://report.cybertip.org/ispws/documentation>).

use std::fmt::Write as _;

use super::Evidence;

/// Who reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporter {
    /// The person or the arena that reports.
    pub name: String,
    /// How the authority reaches them.
    pub email: String,
}

/// Why no report can be prepared.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Nobody is named.
    #[error("`screening.quarantine.{key}` is absent: a report says who makes it")]
    NoReporter {
        /// The key.
        key: &'static str,
    },
}

impl Reporter {
    /// From the configuration.
    ///
    /// # Errors
    ///
    /// [`ReportError::NoReporter`] with the key that is absent.
    pub fn new(name: Option<&str>, email: Option<&str>) -> Result<Self, ReportError> {
        Ok(Self {
            name: name
                .ok_or(ReportError::NoReporter { key: "reporter" })?
                .to_owned(),
            email: email
                .ok_or(ReportError::NoReporter {
                    key: "reporter_email",
                })?
                .to_owned(),
        })
    }
}

/// The documents `report.xml` (to `submit`) and `file-details.xml` (to `fileinfo`, where the numbers that the authority gives are to be filled in).
pub fn prepare(evidence: &Evidence, reporter: &Reporter, arena: &str) -> (String, String) {
    let mut report = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<report xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:noNamespaceSchemaLocation=\"https://report.cybertip.org/ispws/xsd\">\n",
    );
    // Writing to a string does not fail.
    let _ = write!(
        report,
        "  <incidentSummary>\n    <incidentType>Child Pornography (possession, manufacture, and distribution)</incidentType>\n    <incidentDateTime>{}</incidentDateTime>\n  </incidentSummary>\n",
        escaped(&evidence.found_at)
    );
    let _ = write!(
        report,
        "  <internetDetails>\n    <chatImIncident>\n      <chatClient>{}</chatClient>\n    </chatImIncident>\n  </internetDetails>\n",
        escaped(arena)
    );
    let _ = write!(
        report,
        "  <reporter>\n    <reportingPerson>\n      <firstName>{}</firstName>\n      <email>{}</email>\n    </reportingPerson>\n  </reporter>\n",
        escaped(&reporter.name),
        escaped(&reporter.email)
    );
    let _ = writeln!(
        report,
        "  <personOrUserReported>\n    <espIdentifier>{}</espIdentifier>",
        escaped(&evidence.visit)
    );
    report.push_str(&ip_capture(evidence));
    report.push_str("  </personOrUserReported>\n");
    let _ = write!(
        report,
        "  <additionalInfo>{}</additionalInfo>\n</report>\n",
        escaped(&additional_info(evidence))
    );
    let mut details = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fileDetails xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:noNamespaceSchemaLocation=\"https://report.cybertip.org/ispws/xsd\">\n  <reportId></reportId>\n  <fileId></fileId>\n",
    );
    let _ = write!(
        details,
        "  <fileViewedByEsp>false</fileViewedByEsp>\n  <exifViewedByEsp>false</exifViewedByEsp>\n  <publiclyAvailable>false</publiclyAvailable>\n  <originalFileHash hashType=\"MD5\">{}</originalFileHash>\n  <originalFileHash hashType=\"SHA256\">{}</originalFileHash>\n",
        escaped(&evidence.original_md5),
        escaped(&evidence.original_sha256)
    );
    details.push_str(&ip_capture(evidence));
    details.push_str("</fileDetails>\n");
    (report, details)
}

/// Where the upload came from, when that is known.
fn ip_capture(evidence: &Evidence) -> String {
    evidence.address.as_ref().map_or_else(String::new, |address| {
        format!(
            "  <ipCaptureEvent>\n    <ipAddress>{}</ipAddress>\n    <eventName>Upload</eventName>\n    <dateTime>{}</dateTime>\n  </ipCaptureEvent>\n",
            escaped(address),
            escaped(&evidence.found_at)
        )
    })
}

fn additional_info(evidence: &Evidence) -> String {
    let mut info = String::from(
        "The file was matched by machine and was not viewed. It was refused and reached no other user and no model.",
    );
    for found in &evidence.matches {
        let _ = write!(
            info,
            " Match: list {} (version {}), line {}, by {}{}.",
            found.list,
            found.version,
            found.line,
            found.hash_kind,
            found
                .distance
                .map_or_else(String::new, |distance| format!(" at distance {distance}"))
        );
    }
    for service in &evidence.services {
        let _ = write!(info, " Match: service {service}.");
    }
    info
}

/// Text for XML: markup escaped, characters that XML cannot hold replaced.
fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '"' => result.push_str("&quot;"),
            '\t' | '\n' | '\r' => result.push(character),
            _ if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                result.push('\u{fffd}');
            }
            _ => result.push(character),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::{EvidenceMatch, Found};
    use super::*;

    #[test]
    fn a_report_names_time_place_and_hashes_and_no_markup_comes_from_outside() {
        let found = Found {
            at: "2026-11-30T12:00:00Z".to_owned(),
            visit: "abcd".to_owned(),
            address: Some("192.0.2.1".to_owned()),
            battle: None,
            prompt: "not in the report",
            services: Vec::new(),
        };
        let matches = vec![EvidenceMatch {
            list: "<list>&\u{1}".to_owned(),
            version: "7".to_owned(),
            line: 12,
            id: None,
            labels: Vec::new(),
            hash_kind: "pdq".to_owned(),
            distance: Some(3),
        }];
        let evidence = Evidence::new(found, matches, &[0xcd; 16], &[1; 32]);
        let reporter = Reporter::new(Some("Ana"), Some("ana@example.org")).unwrap();
        let (report, details) = prepare(&evidence, &reporter, "Arena");
        for part in [
            "<incidentDateTime>2026-11-30T12:00:00Z</incidentDateTime>",
            "<ipAddress>192.0.2.1</ipAddress>",
            "<email>ana@example.org</email>",
            "list &lt;list&gt;&amp;\u{fffd} (version 7), line 12, by pdq at distance 3",
        ] {
            assert!(report.contains(part), "{part} is not in {report}");
        }
        assert!(!report.contains("not in the report"));
        assert!(details.contains(&format!("hashType=\"MD5\">{}<", "cd".repeat(16))));
        assert!(details.contains("<fileViewedByEsp>false</fileViewedByEsp>"));
        assert_eq!(
            Reporter::new(Some("Ana"), None),
            Err(ReportError::NoReporter {
                key: "reporter_email"
            })
        );
    }
}
