//! Damaged files by the hundred: no panic outside, no hang, nothing but a picture or a refusal in words.
//!
//! The example `mutate_images` does the same by the hundred thousand, with figures.

use super::*;

/// The seeds: a small file of every format and of the forms that are read by code of our own.
fn seeds() -> Vec<Vec<u8>> {
    let picture = photo(24, 18);
    let block = exif(6, true);
    let prefixed = [b"Exif\0\0", block.as_slice()].concat();
    let mut animated = Vec::new();
    GifEncoder::new(&mut animated)
        .encode_frames(
            [1_u8, 2].map(|seed| Frame::new(RgbaImage::from_pixel(8, 8, Rgba([seed; 4])))),
        )
        .unwrap();
    vec![
        with_segment(&jpeg(&picture), 0xe1, &prefixed),
        flat_jpeg(&[1, 2, 3, 4], Some(2)),
        with_chunk(&png(picture.clone()), b"eXIf", &block),
        png(RgbaImage::from_pixel(9, 9, Rgba([1, 2, 3, 4]))),
        animated,
        extended_webp(
            &encoded(picture.clone(), ImageFormat::WebP),
            0x08,
            (24, 18),
            &[(b"EXIF", &block)],
        ),
        encoded(picture.clone(), ImageFormat::Bmp),
        encoded(GrayImage::from_pixel(9, 9, Luma([7])), ImageFormat::Bmp),
        formats::tiff_of(
            &[
                (256, &[24]),
                (257, &[18]),
                (258, &[8, 8, 8]),
                (259, &[1]),
                (262, &[2]),
                (274, &[6]),
                (277, &[3]),
                (278, &[18]),
            ],
            picture.as_raw(),
            true,
        ),
    ]
}

#[test]
fn mutated_files_end_in_a_picture_or_a_refusal() {
    // Without optimisation everything takes several times as long.
    let longest = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 2 });
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    for (idx, seed) in seeds().iter().enumerate() {
        for round in 0..250 {
            let mut file = seed.clone();
            for _ in 0..=random(4) {
                let at = random(file.len());
                match random(4) {
                    0 => file[at] ^= 1 << random(8),
                    1 => file[at] = [0, 0xff, 0x7f, 0x80][random(4)],
                    2 => file.truncate(at.max(1)),
                    _ => {
                        let from = random(file.len());
                        file[at] = file[from];
                    }
                }
            }
            let start = Instant::now();
            match normalise(&file, &ImageLimits::default()) {
                Ok(image) => check_clean(&image),
                Err(error) => assert!(error.voter_message().len() > 30),
            }
            assert!(start.elapsed() < longest, "seed {idx}, round {round}");
        }
    }
}
