//! Personal data on a page is found, painted over, and not found any more.

use std::collections::BTreeSet;

use agon_content::{detect::PictureDetector, image::Pixels};
use agon_detectors::{FaceOptions, Faces, Ocr, OpenNsfw, OpenNsfwOptions, PiiInPicture};
use agon_domain::{Finding, FindingPlace};

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
    assert_eq!(counted(&twin_findings), BTreeSet::new());
    println!("twin: {twin_findings:?}");
    let redaction = detector.redacted(&page).unwrap();
    assert_eq!(redaction.left, []);
    assert_eq!(counted(&redaction.findings), BTreeSet::from(expected));
    assert_eq!(
        counted(&detector.find(&redaction.pixels).unwrap()),
        BTreeSet::new()
    );
    println!("{} passes", redaction.n_passes);
    let usual = PiiInPicture::new(ocr, &agon_pii::Options::default()).unwrap();
    let findings = usual.find(&page).unwrap();
    assert_eq!(findings.len(), 3);
    assert_eq!(counted(&findings).len(), 2);
}

#[test]
fn pictures_of_odd_sizes_are_looked_at_by_every_detector() {
    let Some(models) = models() else { return };
    let runtime = runtime();
    let ocr = Ocr::load(&models, &runtime).unwrap();
    let detectors: [Box<dyn PictureDetector>; 4] = [
        Box::new(OpenNsfw::load(&models, &runtime, OpenNsfwOptions::default()).unwrap()),
        Box::new(Faces::centerface(&models, &runtime, &FaceOptions::default()).unwrap()),
        Box::new(Faces::built_in(&FaceOptions::default()).unwrap()),
        Box::new(PiiInPicture::new(ocr, &agon_pii::Options::default()).unwrap()),
    ];
    for (width, height) in [(1, 1), (1, 2048), (2048, 1), (2, 3), (2048, 31), (33, 17)] {
        let rgb = (0..width * height * 3)
            .map(|at| (at * 37 % 251) as u8)
            .collect();
        let picture = Pixels::new(width, height, rgb).unwrap();
        for detector in &detectors {
            let findings = detector.find(&picture).unwrap_or_else(|failure| {
                panic!(
                    "{} on {width} x {height}: {}",
                    failure.detector, failure.detail
                )
            });
            for finding in findings {
                assert_eq!(&finding.detector, detector.identity());
                assert!((0.0..=1.0).contains(&finding.score));
                if let FindingPlace::Picture(place) = finding.place {
                    assert!(place.left_px + place.width_px <= width);
                    assert!(place.top_px + place.height_px <= height);
                }
            }
        }
    }
}
