//! Personal data on a page is found, painted over, and not found any more.

use std::collections::BTreeSet;

use agon_content::detect::PictureDetector as _;
use agon_detectors::{Ocr, PiiInPicture};
use agon_domain::Finding;

use super::{models, pictures, read, runtime};

fn counted(findings: &[Finding]) -> BTreeSet<String> {
    findings
        .iter()
        .filter(|finding| finding.counts())
        .map(|finding| finding.category.clone())
        .collect()
}

#[test]
fn the_page_with_personal_data_is_cleaned() {
    let (Some(models), Some(pictures)) = (models(), pictures()) else {
        return;
    };
    let ocr = Ocr::load(&models, &runtime()).unwrap();
    // A link that leads to nobody in particular counts only for those who ask for it.
    let options = agon_pii::Options {
        threshold: 0.2,
        ..agon_pii::Options::default()
    };
    let detector = PiiInPicture::new(ocr.clone(), &options).unwrap();
    let page = read(&pictures.join("pii/ocr_test.png"));
    let twin = read(&pictures.join("pii/ocr_test_redacted.png"));
    // The name beside these is not found: there is no model of names.
    let expected = ["EMAIL_ADDRESS", "PHONE_NUMBER", "URL"].map(ToOwned::to_owned);
    for n_quarters in 0..4 {
        let findings = detector.find(&page.turned(n_quarters)).unwrap();
        println!("turned {n_quarters}: {findings:?}");
        assert_eq!(counted(&findings), BTreeSet::from(expected.clone()));
        assert_eq!(findings.len(), 3, "{findings:?}");
    }
    let twin_findings = detector.find(&twin).unwrap();
    assert_eq!(twin_findings, []);
    let redaction = detector.redacted(&page).unwrap();
    assert_eq!(redaction.left, []);
    assert_eq!(counted(&redaction.findings), BTreeSet::from(expected));
    assert_eq!(detector.find(&redaction.pixels).unwrap(), []);
    println!("{} passes", redaction.n_passes);
    let usual = PiiInPicture::new(ocr, &agon_pii::Options::default()).unwrap();
    let findings = usual.find(&page).unwrap();
    assert_eq!(findings.len(), 3);
    assert_eq!(counted(&findings).len(), 2);
}
