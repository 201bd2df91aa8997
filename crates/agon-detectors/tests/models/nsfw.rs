//! `open_nsfw` gives the numbers of the published Python program.

use agon_content::detect::PictureDetector as _;
use agon_detectors::{OpenNsfw, OpenNsfwOptions};

use super::{golden, json, models, pictures, read, runtime};

/// Largest difference from the Python program.
const DIFFERENCE_MAX: f64 = 1e-3;

#[test]
fn scores_are_those_of_the_published_program() {
    let (Some(models), Some(pictures)) = (models(), pictures()) else {
        return;
    };
    let detector = OpenNsfw::load(&models, &runtime(), OpenNsfwOptions::default()).unwrap();
    let expected = json(&golden("open_nsfw_scenes.json"));
    let scores = expected["scenes"].as_object().unwrap();
    assert_eq!(scores.len(), 28);
    let (mut largest, mut largest_from_file) = ((0.0, ""), (0.0, ""));
    for (name, expected) in scores {
        let findings = detector
            .find(&read(&pictures.join("scenes").join(name)))
            .unwrap();
        assert_eq!(findings.len(), 1, "{name}");
        assert!(!findings[0].counts(), "{name} is a harmless scene");
        for (field, largest) in [
            ("nsfw", &mut largest),
            ("from_file", &mut largest_from_file),
        ] {
            let difference = (findings[0].score - expected[field].as_f64().unwrap()).abs();
            if difference > largest.0 {
                *largest = (difference, name);
            }
        }
    }
    println!("largest difference: {largest:?}, with Pillow's decoders: {largest_from_file:?}");
    assert!(largest.0 <= DIFFERENCE_MAX, "{largest:?}");
}
