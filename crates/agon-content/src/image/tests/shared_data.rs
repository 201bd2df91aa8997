//! Tests on the shared pictures, which need `AGON_TESTDATA`.

use super::*;

#[test]
fn the_shared_orientation_pictures_all_come_out_upright_and_alike() {
    let Some(data) = test_data() else { return };
    for (name, size) in [("Landscape", (1800, 1200)), ("Portrait", (1200, 1800))] {
        let pictures: Vec<RgbImage> = (0..=8)
            .map(|orientation| {
                let path = data.join(format!("exif/orientation/{name}_{orientation}.jpg"));
                let image = accept(&std::fs::read(path).unwrap());
                assert_eq!(
                    (image.width_px, image.height_px),
                    size,
                    "{name} {orientation}"
                );
                assert_eq!(image.has_note(ImageNote::Rotated), orientation >= 2);
                decoded(&image)
            })
            .collect();
        for (orientation, picture) in pictures.iter().enumerate() {
            let mean = difference(picture, &pictures[1]);
            assert!(
                mean < 8.0,
                "{name} {orientation} differs by {mean} on average"
            );
        }
    }
}

#[test]
fn the_shared_positions_are_gone() {
    let Some(data) = test_data() else { return };
    let mut n_pictures = 0;
    for path in files_below(&data.join("exif/gps")) {
        if path.extension().is_some_and(|extension| extension == "jpg") {
            // Every byte of the result belongs to a picture, which the walk of the file shows.
            accept(&std::fs::read(&path).unwrap());
            n_pictures += 1;
        }
    }
    assert_eq!(n_pictures, 4);
}

/// Files on which Agon and the reference decoder (Pillow) differ, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "bmp__images__V3_A4_R4_G4_B4.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__V3_A4_R4_G4_B4_Top_Down.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__V3_X4_R4_G4_B4.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__V3_X4_R4_G4_B4_Top_Down.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__pal2.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__pal2color.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__rgb16-231.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__rgb32-111110.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__rgb32bf.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__rgba16-1924.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__rgba32-61754.bmp",
        "a valid file that Pillow does not open",
    ),
    (
        "bugfixes__cicp_pq.png",
        "a valid file that Pillow does not open",
    ),
    (
        "bugfixes__issue#430.png",
        "a valid file that Pillow does not open",
    ),
    (
        "bmp__images__pal4rlecut.bmp",
        "its run lengths leave pixels out, which stay at the first colour of the palette, as the format has it; Pillow refuses",
    ),
    (
        "bmp__images__lenient__badplanes.bmp",
        "states a number of planes that no BMP has",
    ),
    (
        "bmp__images__lenient__badrle.bmp",
        "its run lengths go beyond the picture",
    ),
    (
        "bmp__images__lenient__rletopdown.bmp",
        "run lengths from top to bottom, which the format forbids",
    ),
    (
        "bmp__images__pal8os2-hs.bmp",
        "a header of OS/2 2 cut to an unusual length",
    ),
    (
        "gif__anim__oob.gif",
        "the frame reaches beyond the canvas: Agon cuts it off as browsers do, Pillow grows the canvas",
    ),
    (
        "gif__simple__issue_1455_oversized.gif",
        "the frame reaches beyond the canvas: Agon cuts it off as browsers do, Pillow grows the canvas",
    ),
    (
        "bugfixes__x_interlaced_chck.png",
        "a checksum is wrong, so the file is damaged",
    ),
    (
        "pngsuite__xcsn0g01.png",
        "a checksum is wrong, so the file is damaged",
    ),
    (
        "regression__tiff__clusterfuzz-testcase-minimized-fuzzer_script_tiff-5026894169374720.tif",
        "made by a fuzzer: its strips lie outside the file; Pillow opens its header only",
    ),
];

/// What Agon says of a file, in the words of the list of expected values.
fn verdict(result: &Result<NormalisedImage, ImageError>) -> String {
    match result {
        Ok(image) => {
            let original = &image.original;
            format!(
                "{} {}×{} animated {}",
                original.format.name().to_uppercase(),
                original.width_px,
                original.height_px,
                original.is_animated
            )
        }
        Err(error) => error.code().to_owned(),
    }
}

/// What the reference says, in the same words; formats that Agon does not read are to be refused.
fn expected_verdict(file: &serde_json::Value) -> String {
    let format = file["format"].as_str().unwrap_or("none");
    // The reference calls a JPEG with further pictures behind it by the name of that extension.
    let format = if format == "MPO" { "JPEG" } else { format };
    let is_read = PictureFormat::ALL
        .iter()
        .any(|known| known.name().to_uppercase() == format);
    if file["pillow_decodes"] == true && is_read {
        format!(
            "{format} {}×{} animated {}",
            file["width"],
            file["height"],
            file["frames"] != 1
        )
    } else {
        "refused".to_owned()
    }
}

#[test]
fn every_shared_file_is_read_as_expected_or_refused_in_words() {
    let Some(data) = test_data() else { return };
    // Without optimisation everything takes several times as long.
    let longest = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });
    let mut differing = Vec::new();
    let (mut n_accepted, mut n_refused, mut slowest) = (0, 0, Duration::ZERO);
    for folder in ["formats", "broken", "scenes"] {
        let folder = data.join(folder);
        for file in read_json(&folder.join("expected_decode.json"))["files"]
            .as_array()
            .unwrap()
        {
            let name = file["file"].as_str().unwrap();
            let bytes = std::fs::read(folder.join(name)).unwrap();
            let start = Instant::now();
            let result = normalise(&bytes, &ImageLimits::default());
            slowest = slowest.max(start.elapsed());
            assert!(start.elapsed() < longest, "{name}: {:?}", start.elapsed());
            match &result {
                Ok(image) => {
                    check_clean(image);
                    n_accepted += 1;
                }
                Err(error) => {
                    assert!(error.voter_message().len() > 30, "{name}");
                    n_refused += 1;
                }
            }
            let (is, should) = (verdict(&result), expected_verdict(file));
            if is != should && !(result.is_err() && should == "refused") {
                differing.push((name.to_owned(), is, should));
            }
        }
    }
    println!(
        "{n_accepted} read, {n_refused} refused, {} differ from the reference; the slowest took {slowest:?}",
        differing.len()
    );
    let unexplained: Vec<_> = differing
        .iter()
        .filter(|(name, ..)| !DIFFERENCES.iter().any(|(listed, _)| name.ends_with(listed)))
        .collect();
    assert!(unexplained.is_empty(), "unexplained: {unexplained:#?}");
    let vanished: Vec<_> = DIFFERENCES
        .iter()
        .filter(|(listed, _)| !differing.iter().any(|(name, ..)| name.ends_with(listed)))
        .collect();
    assert!(vanished.is_empty(), "no difference any more: {vanished:#?}");
}
