//! Files made to harm: each with its right result.

use super::*;

/// Far less than unpacking everything takes, far more than a busy machine needs for a header.
const SOON: Duration = Duration::from_secs(10);

/// What hides in a polyglot: an archive, a page, a script.
const PAYLOADS: [&[u8]; 4] = [
    b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.txtPK\x05\x06",
    b"<html><script>alert(document.domain)</script></html>",
    b"<?php system($_GET['c']); ?>",
    b"*/=1;alert(1)/*",
];

/// Checks that a polyglot gives its picture and nothing of its payload, and says what was left behind.
#[track_caller]
fn check_polyglot(file: &[u8], payload: &[u8], note: ImageNote) {
    let image = accept(file);
    assert!(image.has_note(note), "{:?}", image.notes);
    assert!(
        !image
            .bytes
            .windows(8)
            .any(|window| payload.starts_with(window)),
        "the payload is gone"
    );
}

#[test]
fn polyglots_give_their_picture_and_lose_their_payload() {
    let picture = photo(48, 32);
    for payload in PAYLOADS {
        let trailing = ImageNote::TrailingDataRemoved;
        for format in [
            ImageFormat::Png,
            ImageFormat::Gif,
            ImageFormat::WebP,
            ImageFormat::Bmp,
        ] {
            let whole = encoded(picture.clone(), format);
            check_polyglot(&[whole.as_slice(), payload].concat(), payload, trailing);
        }
        let jpeg = jpeg(&picture);
        check_polyglot(&[jpeg.as_slice(), payload].concat(), payload, trailing);
        // In front of the picture, where readers of other formats begin to look.
        let metadata = ImageNote::MetadataRemoved;
        for marker in [0xfe, 0xe1, 0xe5, 0xed, 0xef] {
            check_polyglot(&with_segment(&jpeg, marker, payload), payload, metadata);
        }
        for name in [b"tEXt", b"zTXt", b"iTXt", b"prVt"] {
            let file = with_chunk(&png(picture.clone()), name, payload);
            check_polyglot(&file, payload, metadata);
        }
        let simple = encoded(picture.clone(), ImageFormat::WebP);
        for (name, flags) in [(b"XMP ", 0x04), (b"EXIF", 0x08), (b"ABCD", 0)] {
            let file = extended_webp(&simple, flags, (48, 32), &[(name, payload)]);
            check_polyglot(&file, payload, metadata);
        }
    }
    // Zeros behind the end are padding and no news.
    let padded = [jpeg(&picture), vec![0; 100]].concat();
    assert_eq!(accept(&padded).notes, []);
}

#[test]
fn a_gif_that_is_also_a_script_is_a_picture_only() {
    // `GIF89a/*…*/=1;alert(1)//` read as JavaScript: the width is the comment's beginning.
    let mut gif = b"GIF89a\x2f\x2a\x01\0\x80\0\0\xff\0\0\0\0\xff".to_vec();
    gif.extend(b"\x21\xfe\x0f*/=1;alert(1)/*\0");
    gif.extend(b",\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0;");
    let image = accept(&gif);
    assert_eq!(
        (image.original.width_px, image.original.height_px),
        (0x2a2f, 1)
    );
    assert!(image.has_note(ImageNote::MetadataRemoved));
    assert!(!image.bytes.windows(5).any(|window| window == b"alert"));
}

#[test]
fn other_kinds_under_a_pictures_name_are_refused_whatever_they_hold() {
    let picture = png(photo(9, 9));
    for (front, words) in [
        (&b"%PDF-1.7\n"[..], "PDF"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", "SVG"),
        (b"<!doctype html>", "web page"),
        (b"PK\x03\x04", "archive"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "AVIF"),
        (b"MZ\x90\0", "program"),
    ] {
        let file = [front, picture.as_slice()].concat();
        let message = refuse(&file, "image_unsupported").voter_message();
        assert!(message.contains(words), "{message}");
    }
}

/// A zlib stream of `n_bytes` zeros, by deflate's longest copies: a thousandth of their length.
fn zlib_of_zeros(n_bytes: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, with fixed codes.
    bits.put(1, 1);
    bits.put(0b01, 2);
    bits.put_code(0x30, 8);
    let n_copies = (n_bytes - 1) / 258;
    for _ in 0..n_copies {
        // Length 258 is code 285, 8 bits; distance 1 is code 0, 5 bits.
        bits.put_code(0b1100_0101, 8);
        bits.put_code(0, 5);
    }
    for _ in 0..(n_bytes - 1) % 258 {
        bits.put_code(0x30, 8);
    }
    bits.put_code(0, 7);
    let mut zlib = vec![0x78, 0x01];
    zlib.extend(bits.bytes);
    // Adler-32 of zeros: 1, and once 1 for each byte.
    zlib.extend(((n_bytes % 65_521) as u16).to_be_bytes());
    zlib.extend(1_u16.to_be_bytes());
    zlib
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    n_bits: usize,
}

impl Bits {
    fn put(&mut self, value: u32, n_bits: u32) {
        for bit in 0..n_bits {
            if self.n_bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if value >> bit & 1 == 1 {
                *self.bytes.last_mut().unwrap() |= 1 << (self.n_bits % 8);
            }
            self.n_bits += 1;
        }
    }

    /// Huffman codes have their highest bit first.
    fn put_code(&mut self, code: u32, n_bits: u32) {
        self.put(code.reverse_bits() >> (32 - n_bits), n_bits);
    }
}

#[test]
fn zlib_of_zeros_is_zlib() {
    // A row of a grey picture that has nothing but zeros.
    let mut file = png_header(1000, 1, 8, 0);
    file.extend(chunk(b"IDAT", &zlib_of_zeros(1001)));
    file.extend(chunk(b"IEND", b""));
    let picture = decoded(&accept(&file));
    assert!(picture.pixels().all(|pixel| pixel.0 == [0; 3]));
}

#[test]
fn packed_metadata_that_unfolds_to_gigabytes_costs_neither_time_nor_the_picture() {
    let picture = png(photo(20, 20));
    let huge = zlib_of_zeros(400_000_000);
    assert!(huge.len() < 4_000_000);
    let start = Instant::now();
    // A colour profile: it is given up, the picture is not.
    let profile = with_chunk(&picture, b"iCCP", &[b"x\0\0", huge.as_slice()].concat());
    match normalise(&profile, &ImageLimits::default()) {
        Ok(image) => assert!(!image.bytes.is_empty()),
        Err(error) => assert_eq!(error.code(), "image_broken"),
    }
    // Texts are not unpacked.
    let text = with_chunk(&picture, b"zTXt", &[b"x\0\0", huge.as_slice()].concat());
    assert!(accept(&text).has_note(ImageNote::MetadataRemoved));
    let text = [b"x\0\x01\0\0\0", huge.as_slice()].concat();
    accept(&with_chunk(&picture, b"iTXt", &text));
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_profile_of_hostile_tables_is_ignored_in_time() {
    // A profile that states four million entries of a table, and one that states 2^32 tags.
    let mut profile = ColorProfile::new_display_p3().encode().unwrap();
    let n_tags_at = 128;
    profile[n_tags_at..n_tags_at + 4].fill(0xff);
    let many_tags = profile.clone();
    let mut large_curve = ColorProfile::new_display_p3().encode().unwrap();
    let curve = large_curve
        .windows(4)
        .rposition(|window| window == b"curv" || window == b"para")
        .unwrap();
    large_curve[curve..curve + 4].copy_from_slice(b"curv");
    large_curve[curve + 8..curve + 12].fill(0xff);
    let mut filled = large_curve.clone();
    filled.resize(3 * 1024 * 1024, 0x7f);
    for profile in [many_tags, large_curve, filled] {
        let mut file = Vec::new();
        let mut encoder = PngEncoder::new(&mut file);
        encoder.set_icc_profile(profile).unwrap();
        DynamicImage::from(photo(20, 20))
            .write_with_encoder(encoder)
            .unwrap();
        let start = Instant::now();
        let image = accept(&file);
        assert!(
            image.has_note(ImageNote::ColourProfileIgnored),
            "{:?}",
            image.notes
        );
        assert!(start.elapsed() < SOON);
    }
}

#[test]
fn hostile_exif_is_walked_in_time_and_turns_nothing() {
    // A directory that states 65,535 fields and lies in a circle, and one that points beyond the block.
    let mut endless = b"MM\0\x2a\0\0\0\x08\xff\xff".to_vec();
    endless.resize(60_000, 0x01);
    let beyond = b"II\x2a\0\xff\xff\xff\xff".to_vec();
    let circle = b"II\x2a\0\0\0\0\0\x08\0".to_vec();
    for block in [endless, beyond, circle, b"II".to_vec(), Vec::new()] {
        let start = Instant::now();
        let prefixed = [b"Exif\0\0", block.as_slice()].concat();
        let image = accept(&with_segment(&jpeg(&photo(20, 10)), 0xe1, &prefixed));
        assert_eq!((image.width_px, image.height_px), (20, 10));
        assert_eq!(image.notes, [ImageNote::MetadataRemoved]);
        let image = accept(&with_chunk(&png(photo(20, 10)), b"eXIf", &block));
        assert_eq!(image.notes, [ImageNote::MetadataRemoved]);
        assert!(start.elapsed() < SOON);
    }
    // Hundreds of blocks: the first counts.
    let mut many = jpeg(&photo(20, 10));
    for _ in 0..300 {
        let block = [b"Exif\0\0", exif(6, true).as_slice()].concat();
        many = with_segment(&many, 0xe1, &block);
    }
    let image = accept(&many);
    assert_eq!((image.width_px, image.height_px), (10, 20));
}

#[test]
fn the_position_is_noted_when_it_is_left_behind() {
    let block = exif(1, false);
    let prefixed = [b"Exif\0\0", block.as_slice()].concat();
    let xmp = b"http://ns.adobe.com/xap/1.0/\0<x exif:GPSLatitude='52,31N'/>";
    for file in [
        with_segment(&jpeg(&photo(20, 10)), 0xe1, &prefixed),
        with_segment(&jpeg(&photo(20, 10)), 0xe1, xmp),
        with_chunk(&png(photo(20, 10)), b"eXIf", &block),
    ] {
        assert_eq!(
            accept(&file).notes,
            [ImageNote::MetadataRemoved, ImageNote::PositionRemoved]
        );
    }
}

#[test]
fn content_credentials_are_noted_in_every_container() {
    let picture = photo(24, 16);
    let manifest = b"JP\0\x01\0\0\0\x01\0\0\0\x40jumb\0\0\0\x1ejumdc2pa";
    let noted = [ImageNote::CredentialsRemoved];
    let in_jpeg = with_segment(&jpeg(&picture), 0xeb, manifest);
    assert_eq!(accept(&in_jpeg).notes, noted);
    let in_png = with_chunk(&png(picture.clone()), b"caBX", manifest);
    assert_eq!(accept(&in_png).notes, noted);
    let simple = encoded(picture.clone(), ImageFormat::WebP);
    let in_webp = extended_webp(&simple, 0, (24, 16), &[(b"C2PA", manifest)]);
    assert_eq!(accept(&in_webp).notes, noted);
    let gif = encoded(picture, ImageFormat::Gif);
    let start = 13
        + if gif[10] & 0x80 == 0 {
            0
        } else {
            3 << ((gif[10] & 7) + 1)
        };
    let block = [b"\x21\xff\x0bC2PA_GIF\x01\0\0\x04jumb\0".as_slice()].concat();
    let in_gif = [&gif[..start], &block, &gif[start..]].concat();
    assert_eq!(accept(&in_gif).notes, noted);
}

#[test]
fn floods_of_frames_are_counted_and_only_the_first_is_decoded() {
    let still = png(photo(30, 20));
    let flood = with_chunk(&still, b"acTL", &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let image = accept(&flood);
    assert_eq!(image.notes, [ImageNote::FirstFrameOnly]);
    assert_eq!(image.original.n_frames, u32::MAX);
    // A hundred thousand frames of 16,384 × 1 in a GIF of two megabytes.
    let mut gif = b"GIF89a\x00\x40\x01\0\x80\0\0\xff\0\0\0\0\xff".to_vec();
    for _ in 0..100_000 {
        gif.extend(b",\0\0\0\0\x00\x40\x01\0\0\x02\x02\x44\x01\0");
    }
    gif.push(b';');
    let start = Instant::now();
    let result = normalise(&gif, &ImageLimits::default());
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    match result {
        Ok(image) => assert_eq!(image.original.n_frames, 100_000),
        Err(error) => assert_eq!(error.code(), "image_broken"),
    }
    // Of animated WebP the first frame's picture counts.
    let mut frames = Vec::new();
    for _ in 0..1000 {
        frames.extend(b"ANMF\x10\0\0\0");
        frames.extend([0; 16]);
    }
    let simple = encoded(photo(10, 10), ImageFormat::WebP);
    let mut webp = extended_webp(&simple, 0x02, (10, 10), &[]);
    webp.extend(frames);
    let result = normalise(&webp, &ImageLimits::default());
    assert!(result.is_err() || result.is_ok_and(|image| image.original.n_frames == 1000));
}

#[test]
fn what_shows_on_another_ground_only_is_not_in_the_result() {
    // White writing on transparent shows on dark pages, and black on white ones: the ground is white, so only the black is seen, and the note says so.
    let writing = RgbaImage::from_fn(40, 10, |x, _| match x % 4 {
        0 => Rgba([255, 255, 255, 255]),
        1 => Rgba([0, 0, 0, 255]),
        2 => Rgba([255, 0, 0, 0]),
        _ => Rgba([255, 255, 255, 1]),
    });
    let image = accept(&png(writing));
    assert_eq!(image.notes, [ImageNote::Flattened]);
    let picture = decoded(&image);
    assert!(
        picture
            .enumerate_pixels()
            .all(|(x, _, pixel)| { pixel.0 == if x % 4 == 1 { [0; 3] } else { [255; 3] } })
    );
}

#[test]
fn writing_in_a_single_channel_stays_for_whoever_reads_it() {
    let faint = RgbImage::from_fn(64, 16, |x, y| {
        Rgb([120, 120, if (x / 4 + y / 4) % 2 == 0 { 124 } else { 120 }])
    });
    assert_eq!(decoded(&accept(&png(faint.clone()))), faint);
}
