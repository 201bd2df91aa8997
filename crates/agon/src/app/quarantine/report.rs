//! A report to NCMEC's CyberTipline about a sealed case: prepared here, sent by a person's command alone.

use agon_providers::screening::cybertip::{FileDetails, IpCapture, Report, Reporter};
use jiff::Timestamp;

use super::Evidence;
use crate::config::screening::QuarantineConfig;

/// Why no report can be prepared.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The configuration lacks what a report needs.
    #[error("`screening.quarantine.{key}` is absent: a report says who makes it")]
    Absent {
        /// The key.
        key: &'static str,
    },
    /// The evidence does not say when the match was found.
    #[error("the evidence holds no time")]
    Time(#[source] jiff::Error),
}

/// Who reports, from the configuration.
///
/// # Errors
///
/// [`ReportError::Absent`] with the key that is absent.
pub fn reporter(config: &QuarantineConfig) -> Result<Reporter, ReportError> {
    let needed = |value: &Option<String>, key| value.clone().ok_or(ReportError::Absent { key });
    Ok(Reporter {
        first_name: needed(&config.reporter_first_name, "reporter_first_name")?,
        last_name: needed(&config.reporter_last_name, "reporter_last_name")?,
        email: needed(&config.reporter_email, "reporter_email")?,
    })
}

/// The report of a match.
///
/// # Errors
///
/// [`ReportError::Time`].
pub fn report(evidence: &Evidence, reporter: Reporter) -> Result<Report, ReportError> {
    Ok(Report {
        incident_at: found_at(evidence)?,
        escalation: None,
        annotations: Vec::new(),
        url: None,
        reporter,
        reported_identifier: (!evidence.visit.is_empty()).then(|| evidence.visit.clone()),
        ip_captures: ip_capture(evidence)?.into_iter().collect(),
        additional_info: Some(additional_info(evidence)),
    })
}

/// What is said of the uploaded file, in a report and under the name that the authority gave.
///
/// # Errors
///
/// [`ReportError::Time`].
pub fn file_details(
    evidence: &Evidence,
    report_id: &str,
    file_id: &str,
) -> Result<FileDetails, ReportError> {
    Ok(FileDetails {
        report_id: report_id.to_owned(),
        file_id: file_id.to_owned(),
        original_name: None,
        is_viewed: false,
        is_exif_viewed: false,
        is_publicly_available: false,
        classification: None,
        original_hashes: vec![
            ("MD5".to_owned(), evidence.original_md5.clone()),
            ("SHA256".to_owned(), evidence.original_sha256.clone()),
        ],
        ip_capture: ip_capture(evidence)?,
        additional_info: None,
    })
}

fn found_at(evidence: &Evidence) -> Result<Timestamp, ReportError> {
    evidence.found_at.parse().map_err(ReportError::Time)
}

/// Where the upload came from, when that is known.
fn ip_capture(evidence: &Evidence) -> Result<Option<IpCapture>, ReportError> {
    let at = found_at(evidence)?;
    let address = evidence.address.as_ref().and_then(|text| text.parse().ok());
    Ok(address.map(|address| IpCapture { address, at }))
}

fn additional_info(evidence: &Evidence) -> String {
    let mut info = String::from(
        "The file was matched by machine and was not viewed. It was refused and reached no other user and no model.",
    );
    if evidence.battle.is_some() {
        info = String::from(
            "The file was matched by machine and was not viewed. It was not on the lists when it was uploaded.",
        );
    }
    for found in &evidence.matches {
        let distance = found
            .distance
            .map_or_else(String::new, |distance| format!(" at distance {distance}"));
        info.push_str(&format!(
            " Match: list {} (version {}), line {}, by {}{distance}.",
            found.list, found.version, found.line, found.hash_kind
        ));
    }
    for detector in &evidence.services {
        info.push_str(&format!(" Found by {detector}."));
    }
    info
}

#[cfg(test)]
mod tests {
    use super::super::{EvidenceMatch, Found};
    use super::*;

    #[test]
    fn a_report_names_time_place_and_hashes_and_not_what_was_written() {
        let found = Found {
            at: "2026-11-30T12:00:00Z".to_owned(),
            visit: "abcd".to_owned(),
            address: Some("192.0.2.1".to_owned()),
            battle: None,
            prompt: "not in the report",
            services: Vec::new(),
        };
        let matches = vec![EvidenceMatch {
            list: "a <list>".to_owned(),
            version: "7".to_owned(),
            line: 12,
            id: None,
            labels: Vec::new(),
            hash_kind: "pdq".to_owned(),
            distance: Some(3),
        }];
        let evidence = Evidence::new(found, matches, &[0xcd; 16], &[1; 32]);
        let mut config = QuarantineConfig {
            reporter_first_name: Some("Ana".to_owned()),
            reporter_last_name: Some("Lopez".to_owned()),
            reporter_email: Some("ana@example.org".to_owned()),
            ..QuarantineConfig::default()
        };
        let document = report(&evidence, reporter(&config).unwrap())
            .unwrap()
            .document()
            .unwrap();
        for part in [
            "2026-11-30T12:00:00",
            "192.0.2.1",
            "ana@example.org",
            "list a &lt;list&gt; (version 7), line 12, by pdq at distance 3",
        ] {
            assert!(document.contains(part), "{part} is not in {document}");
        }
        assert!(!document.contains("not in the report"));
        let details = file_details(&evidence, "1", "2")
            .unwrap()
            .document()
            .unwrap();
        assert!(details.contains(&"cd".repeat(16)), "{details}");
        config.reporter_email = None;
        let absent = reporter(&config).unwrap_err();
        assert!(absent.to_string().contains("reporter_email"), "{absent}");
    }
}
