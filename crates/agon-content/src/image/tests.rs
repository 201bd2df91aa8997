//! Tests of the normaliser: pictures of our own making first, then the shared test data.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::image::codecs::gif::GifEncoder;
use ::image::codecs::jpeg::JpegEncoder;
use ::image::codecs::png::PngEncoder;
use ::image::{
    DynamicImage, Frame, GrayAlphaImage, GrayImage, ImageBuffer, ImageEncoder as _, ImageFormat,
    Luma, LumaA, Rgb, RgbImage, Rgba, RgbaImage,
};
use moxcms::ColorProfile;

use super::*;

mod formats;
mod hostile;
mod identity;
mod mutated;
mod shared_data;

/// A photograph's stand-in: smooth colours, some texture, no two quarters alike.
fn photo(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let texture = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)) >> 13 & 7;
        let red = x * 200 / width.max(1) + texture;
        let green = y * 200 / height.max(1) + texture;
        let blue = (x + y) * 120 / (width + height).max(1) + 40;
        Rgb([red as u8, green as u8, blue as u8])
    })
}

/// Random pixels: nothing compresses them.
fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 0x9e37_79b9_u32;
    RgbImage::from_fn(width, height, |_, _| {
        Rgb([(); 3].map(|()| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 11) as u8
        }))
    })
}

fn encoded(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn jpeg(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 95)
        .encode_image(picture)
        .unwrap();
    bytes
}

fn png(picture: impl Into<DynamicImage>) -> Vec<u8> {
    encoded(picture, ImageFormat::Png)
}

fn decoded(image: &NormalisedImage) -> RgbImage {
    ::image::load_from_memory(&image.bytes).unwrap().into_rgb8()
}

fn with_segment(jpeg: &[u8], marker: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = jpeg[..2].to_vec();
    bytes.extend([0xff, marker]);
    bytes.extend(u16::try_from(body.len() + 2).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes.extend(&jpeg[2..]);
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    })
}

fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(name);
    bytes.extend(body);
    bytes.extend(crc32(&bytes[4..]).to_be_bytes());
    bytes
}

/// Puts a chunk right behind the header.
fn with_chunk(png: &[u8], name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = png[..33].to_vec();
    bytes.extend(chunk(name, body));
    bytes.extend(&png[33..]);
    bytes
}

/// Puts a chunk right before the end.
fn with_late_chunk(png: &[u8], name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = png[..png.len() - 12].to_vec();
    bytes.extend(chunk(name, body));
    bytes.extend(&png[png.len() - 12..]);
    bytes
}

fn png_header(width: u32, height: u32, depth: u8, colour: u8) -> Vec<u8> {
    let mut body = width.to_be_bytes().to_vec();
    body.extend(height.to_be_bytes());
    body.extend([depth, colour, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(chunk(b"IHDR", &body));
    bytes
}

/// A simple lossless WebP made extended, with chunks behind the picture.
fn extended_webp(
    simple: &[u8],
    flags: u8,
    size: (u32, u32),
    chunks: &[(&[u8; 4], &[u8])],
) -> Vec<u8> {
    let mut body = b"WEBPVP8X\x0a\0\0\0".to_vec();
    body.extend([flags, 0, 0, 0]);
    body.extend(&(size.0 - 1).to_le_bytes()[..3]);
    body.extend(&(size.1 - 1).to_le_bytes()[..3]);
    body.extend(&simple[12..]);
    for (name, content) in chunks {
        body.extend(*name);
        body.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        body.extend(*content);
        body.extend(&[0_u8][..content.len() % 2]);
    }
    let mut bytes = b"RIFF".to_vec();
    bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend(body);
    bytes
}

/// A TIFF block with an orientation, a camera's name and a position, in either byte order.
fn exif(orientation: u16, is_big_endian: bool) -> Vec<u8> {
    let short = |value: u16| {
        if is_big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let long = |value: u32| {
        if is_big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let mut block = if is_big_endian {
        b"MM\0\x2a".to_vec()
    } else {
        b"II\x2a\0".to_vec()
    };
    let mut put = |bytes: &[u8]| block.extend(bytes);
    put(&long(8));
    put(&short(3));
    // Make: 12 characters at 50.
    put(&short(0x010f));
    put(&short(2));
    put(&long(12));
    put(&long(50));
    // Orientation, in place.
    put(&short(0x0112));
    put(&short(3));
    put(&long(1));
    put(&short(orientation));
    put(&short(0));
    // The position's own table, at 62.
    put(&short(0x8825));
    put(&short(4));
    put(&long(1));
    put(&long(62));
    put(&long(0));
    put(b"SecretMaker\0");
    put(&short(1));
    // Latitude: three rationals at 80.
    put(&short(2));
    put(&short(5));
    put(&long(3));
    put(&long(80));
    put(&long(0));
    for value in [52, 1, 31, 1, 12_345, 1000] {
        put(&long(value));
    }
    block
}

/// What no output may hold, whatever went in.
const SECRETS: [&[u8]; 10] = [
    b"Exif",
    b"SecretMaker",
    b"<script",
    b"<?php",
    b"PK\x03\x04",
    b"ns.adobe.com",
    b"xpacket",
    b"ICC_PROFILE",
    b"Photoshop",
    b"my comment",
];

/// Checks that the file holds a picture and nothing else, by walking all of it.
#[track_caller]
fn check_clean(image: &NormalisedImage) {
    let bytes = &image.bytes;
    let mut at;
    match image.media_type {
        MediaType::Png => {
            at = 8;
            while at < bytes.len() {
                let length = u32::from_be_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
                let name = &bytes[at + 4..at + 8];
                assert!(
                    matches!(name, b"IHDR" | b"IDAT" | b"IEND"),
                    "chunk {}",
                    name.escape_ascii()
                );
                at += length + 12;
                assert_eq!(name == b"IEND", at == bytes.len(), "the end is the end");
            }
        }
        MediaType::Jpeg => {
            at = 2;
            loop {
                assert_eq!(bytes[at], 0xff);
                let marker = bytes[at + 1];
                // JFIF, tables, frame, scan; nothing else.
                assert!(
                    matches!(marker, 0xe0 | 0xdb | 0xc4 | 0xc0 | 0xda),
                    "segment {marker:x}"
                );
                let length =
                    usize::from(u16::from_be_bytes(*bytes[at + 2..].first_chunk().unwrap()));
                if marker == 0xe0 {
                    assert_eq!(length, 16, "JFIF without a thumbnail");
                    assert_eq!(&bytes[at + 4..at + 9], b"JFIF\0");
                }
                at += 2 + length;
                if marker == 0xda {
                    break;
                }
            }
            let end = bytes[at..]
                .windows(2)
                .position(|pair| pair[0] == 0xff && pair[1] != 0)
                .unwrap();
            assert_eq!(&bytes[at + end..], b"\xff\xd9", "the end is the end");
        }
    }
    // The walk has shown that all between is pixels, in which letters may meet by chance.
    let ends = [
        &bytes[..bytes.len().min(2048)],
        &bytes[bytes.len().saturating_sub(2048)..],
    ];
    for (end, secret) in ends
        .into_iter()
        .flat_map(|end| SECRETS.map(|secret| (end, secret)))
    {
        assert!(
            !end.windows(secret.len()).any(|window| window == secret),
            "{}",
            secret.escape_ascii()
        );
    }
    assert_eq!(MediaType::of_normalised(bytes), Some(image.media_type));
    assert_eq!(image.id().as_bytes(), &image.sha256);
}

#[track_caller]
fn accept(bytes: &[u8]) -> NormalisedImage {
    accept_within(bytes, &ImageLimits::default())
}

#[track_caller]
fn accept_within(bytes: &[u8], limits: &ImageLimits) -> NormalisedImage {
    let image = normalise(bytes, limits).unwrap_or_else(|error| panic!("{error}: {error:?}"));
    check_clean(&image);
    let picture = decoded(&image);
    assert_eq!(picture.dimensions(), (image.width_px, image.height_px));
    assert!(image.width_px.max(image.height_px) <= limits.fit_side_max_px);
    assert!(image.bytes.len() as u64 <= limits.encoded_bytes_max);
    assert!(image.notes.is_sorted());
    image
}

/// Checks the refusal's code and that its words help.
#[track_caller]
fn refuse_within(bytes: &[u8], limits: &ImageLimits, code: &str) -> ImageError {
    let error = normalise(bytes, limits).unwrap_err();
    assert_eq!(error.code(), code, "{error:?}");
    assert!(ImageError::CODES.contains(&error.code()));
    let message = error.voter_message();
    assert!(message.ends_with('.') && message.len() > 30, "{message}");
    let display = error.to_string();
    assert!(!display.ends_with('.'), "{display}");
    error
}

#[track_caller]
fn refuse(bytes: &[u8], code: &str) -> ImageError {
    refuse_within(bytes, &ImageLimits::default(), code)
}

/// The mean difference of two pictures' samples.
#[track_caller]
fn difference(a: &RgbImage, b: &RgbImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let mut sum = 0_u64;
    for (a, b) in a.as_raw().iter().zip(b.as_raw()) {
        sum += u64::from(a.abs_diff(*b));
    }
    sum as f64 / a.as_raw().len() as f64
}

#[test]
fn a_photo_comes_back_as_a_jpeg_that_looks_the_same() {
    let picture = photo(640, 480);
    let image = accept(&jpeg(&picture));
    assert_eq!(image.media_type, MediaType::Jpeg);
    assert_eq!((image.width_px, image.height_px), (640, 480));
    assert_eq!(image.notes, []);
    assert_eq!(
        image.original,
        OriginalImage {
            format: PictureFormat::Jpeg,
            n_bytes: jpeg(&picture).len() as u64,
            width_px: 640,
            height_px: 480,
            is_animated: false,
            n_frames: 1,
            sha256: Sha256::digest(jpeg(&picture)).into(),
            md5: Md5::digest(jpeg(&picture)).into(),
        }
    );
    assert!(difference(&decoded(&image), &picture) < 3.0);
    assert_eq!(
        accept(&jpeg(&picture)),
        image,
        "the same bytes give the same result"
    );
}

#[test]
fn lossless_pictures_of_few_colours_stay_exact() {
    let drawing = RgbImage::from_fn(300, 200, |x, y| {
        Rgb(if (x / 10 + y / 10) % 3 == 0 {
            [250, 20, 30]
        } else {
            [255, 255, 255]
        })
    });
    for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP] {
        let image = accept(&encoded(drawing.clone(), format));
        assert_eq!(image.media_type, MediaType::Png, "{format:?}");
        assert_eq!(decoded(&image), drawing, "{format:?}");
        assert_eq!(image.notes, [], "{format:?}");
    }
}

#[test]
fn a_lossless_photo_becomes_whichever_is_smaller() {
    let image = accept(&png(noise(500, 400)));
    assert_eq!(image.media_type, MediaType::Jpeg);
    // A ramp of more colours than a drawing has, which PNG predicts perfectly.
    let ramp = RgbImage::from_fn(256, 256, |x, y| Rgb([x as u8, y as u8, 0]));
    let image = accept(&png(ramp.clone()));
    assert_eq!(image.media_type, MediaType::Png);
    assert_eq!(decoded(&image), ramp);
}

#[test]
fn every_orientation_is_applied_in_every_format_that_has_one() {
    let upright = RgbImage::from_fn(48, 32, |x, y| match (x < 24, y < 16) {
        (true, true) => Rgb([255, 0, 0]),
        (false, true) => Rgb([0, 255, 0]),
        (true, false) => Rgb([0, 0, 255]),
        (false, false) => Rgb([255, 255, 255]),
    });
    use ::image::imageops::{flip_horizontal, flip_vertical, rotate90, rotate180, rotate270};
    for orientation in 0..=9_u16 {
        // How a camera held that way stores the scene: the inverse of the orientation's meaning (EXIF 2.32, tag 274).
        let stored = match orientation {
            2 => flip_horizontal(&upright),
            3 => rotate180(&upright),
            4 => flip_vertical(&upright),
            5 => rotate270(&flip_horizontal(&upright)),
            6 => rotate270(&upright),
            7 => rotate90(&flip_horizontal(&upright)),
            8 => rotate90(&upright),
            _ => upright.clone(),
        };
        let is_turned = (2..=8).contains(&orientation);
        for is_big_endian in [false, true] {
            let block = exif(orientation, is_big_endian);
            let prefixed = [b"Exif\0\0", block.as_slice()].concat();
            let webp = encoded(stored.clone(), ImageFormat::WebP);
            let files = [
                with_segment(&jpeg(&stored), 0xe1, &prefixed),
                with_chunk(&png(stored.clone()), b"eXIf", &block),
                with_late_chunk(&png(stored.clone()), b"eXIf", &block),
                extended_webp(&webp, 0x08, stored.dimensions(), &[(b"EXIF", &block)]),
                extended_webp(&webp, 0x08, stored.dimensions(), &[(b"EXIF", &prefixed)]),
            ];
            for (idx, file) in files.iter().enumerate() {
                let image = accept(file);
                assert_eq!(
                    image.has_note(ImageNote::Rotated),
                    is_turned,
                    "{orientation} in file {idx}"
                );
                assert_eq!(
                    (image.original.width_px, image.original.height_px),
                    stored.dimensions()
                );
                let picture = decoded(&image);
                for (x, y) in [(8, 8), (40, 8), (8, 24), (40, 24)] {
                    let (is, should) = (picture.get_pixel(x, y), upright.get_pixel(x, y));
                    assert!(
                        is.0.iter()
                            .zip(should.0)
                            .all(|(is, should)| is.abs_diff(should) < 30),
                        "orientation {orientation}, file {idx}, at {x},{y}: {is:?}, not {should:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn metadata_and_payloads_are_gone() {
    let picture = photo(64, 48);
    let payload = b"<script>alert(1)</script><?php system('id'); ?>PK\x03\x04";
    let jpeg = jpeg(&picture);
    let mut files = vec![
        with_segment(
            &jpeg,
            0xe1,
            &[b"Exif\0\0", exif(1, false).as_slice()].concat(),
        ),
        with_segment(
            &jpeg,
            0xe1,
            b"http://ns.adobe.com/xap/1.0/\0<?xpacket begin?>",
        ),
        with_segment(&jpeg, 0xed, b"Photoshop 3.0\08BIM\x04\x04"),
        with_segment(&jpeg, 0xfe, b"my comment <script>"),
        with_segment(&jpeg, 0xfe, payload),
        [&jpeg, payload.as_slice()].concat(),
        with_chunk(&png(picture.clone()), b"tEXt", b"Comment\0my comment <?php"),
        with_chunk(
            &png(picture.clone()),
            b"iTXt",
            b"XML:com.adobe.xmp\0\0\0\0\0<?xpacket",
        ),
        with_chunk(&png(picture.clone()), b"eXIf", &exif(1, true)),
        with_chunk(&png(picture.clone()), b"teSt", payload),
        with_late_chunk(&png(picture.clone()), b"tEXt", b"Comment\0my comment <?php"),
        [png(picture.clone()).as_slice(), payload].concat(),
        [
            encoded(picture.clone(), ImageFormat::Gif).as_slice(),
            payload,
        ]
        .concat(),
        extended_webp(
            &encoded(picture.clone(), ImageFormat::WebP),
            0x0c,
            (64, 48),
            &[(b"EXIF", &exif(1, true)), (b"XMP ", payload)],
        ),
        [
            encoded(picture.clone(), ImageFormat::WebP).as_slice(),
            payload,
        ]
        .concat(),
    ];
    // A comment of a GIF, in front of its picture.
    let gif = encoded(picture.clone(), ImageFormat::Gif);
    let start = 13
        + if gif[10] & 0x80 == 0 {
            0
        } else {
            3 << ((gif[10] & 7) + 1)
        };
    let comment = [b"\x21\xfe", &[payload.len() as u8][..], payload, b"\0"].concat();
    files.push([&gif[..start], &comment, &gif[start..]].concat());
    for (idx, file) in files.iter().enumerate() {
        let image = accept(file);
        let mean = difference(&decoded(&image), &picture);
        assert!(mean < 8.0, "file {idx} shows the picture: {mean}");
    }
}

#[test]
fn transparency_is_laid_over_white_and_said_so() {
    let drawing = RgbaImage::from_fn(40, 40, |x, _| match x / 10 {
        0 => Rgba([0, 0, 0, 0]),
        1 => Rgba([0, 0, 0, 255]),
        2 => Rgba([255, 0, 0, 128]),
        _ => Rgba([200, 200, 200, 255]),
    });
    let expected = |x: u32| match x / 10 {
        0 => Rgb([255, 255, 255]),
        1 => Rgb([0, 0, 0]),
        2 => Rgb([255, 127, 127]),
        _ => Rgb([200, 200, 200]),
    };
    for format in [ImageFormat::Png, ImageFormat::WebP] {
        let image = accept(&encoded(drawing.clone(), format));
        assert_eq!(image.notes, [ImageNote::Flattened], "{format:?}");
        assert!(
            decoded(&image)
                .enumerate_pixels()
                .all(|(x, _, pixel)| *pixel == expected(x))
        );
    }
    let opaque = RgbaImage::from_pixel(5, 5, Rgba([1, 2, 3, 255]));
    assert_eq!(accept(&png(opaque)).notes, []);
}

#[test]
fn grey_with_alpha_and_sixteen_bits_come_out_right() {
    let grey = GrayAlphaImage::from_fn(20, 20, |x, _| {
        LumaA(if x < 10 { [80, 255] } else { [0, 51] })
    });
    let image = accept(&png(grey));
    assert_eq!(image.notes, [ImageNote::Flattened]);
    let picture = decoded(&image);
    assert_eq!(picture.get_pixel(0, 0), &Rgb([80; 3]));
    assert_eq!(picture.get_pixel(19, 0), &Rgb([204; 3]));

    let deep: ImageBuffer<Rgb<u16>, Vec<u16>> =
        ImageBuffer::from_fn(20, 20, |_, _| Rgb([65_535, 32_896, 257]));
    let image = accept(&png(DynamicImage::ImageRgb16(deep)));
    assert_eq!(image.notes, [ImageNote::DepthReduced]);
    assert_eq!(decoded(&image).get_pixel(3, 3), &Rgb([255, 128, 1]));

    let deep: ImageBuffer<Rgba<u16>, Vec<u16>> =
        ImageBuffer::from_fn(20, 20, |_, _| Rgba([0, 65_535, 0, 32_768]));
    let image = accept(&png(DynamicImage::ImageRgba16(deep)));
    assert_eq!(image.notes, [ImageNote::Flattened, ImageNote::DepthReduced]);
    assert_eq!(decoded(&image).get_pixel(3, 3), &Rgb([127, 255, 127]));

    let ramp = GrayImage::from_fn(256, 4, |x, _| Luma([x as u8]));
    let image = accept(&png(ramp));
    assert!(
        decoded(&image)
            .enumerate_pixels()
            .all(|(x, _, pixel)| *pixel == Rgb([x as u8; 3]))
    );
}

#[test]
fn a_palette_with_a_transparent_entry_works() {
    // 4 × 2 pixels of 2 bits: entries 0 1 2 3 / 3 2 1 0, entry 3 half transparent; zlib with a stored block.
    let rows = [0x00, 0b0001_1011, 0x00, 0b1110_0100];
    let mut adler = (1_u32, 0_u32);
    for byte in rows {
        adler.0 = (adler.0 + u32::from(byte as u8)) % 65_521;
        adler.1 = (adler.1 + adler.0) % 65_521;
    }
    let mut zlib = vec![0x78, 0x01, 1, 4, 0, 0xfb, 0xff];
    zlib.extend(rows.map(|byte| byte as u8));
    zlib.extend((adler.1 << 16 | adler.0).to_be_bytes());
    let mut file = png_header(4, 2, 2, 3);
    file.extend(chunk(b"PLTE", &[0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]));
    file.extend(chunk(b"tRNS", &[255, 255, 255, 128]));
    file.extend(chunk(b"IDAT", &zlib));
    file.extend(chunk(b"IEND", b""));
    let image = accept(&file);
    assert_eq!(image.notes, [ImageNote::Flattened]);
    let picture = decoded(&image);
    assert_eq!(picture.get_pixel(1, 0), &Rgb([255, 0, 0]));
    assert_eq!(picture.get_pixel(3, 0), &Rgb([127, 127, 255]));
    assert_eq!(picture.get_pixel(0, 1), &Rgb([127, 127, 255]));
}

#[test]
fn of_an_animation_the_first_frame_is_used_and_said_so() {
    let mut bytes = Vec::new();
    {
        let mut encoder = GifEncoder::new(&mut bytes);
        for colour in [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]] {
            encoder
                .encode_frame(Frame::new(RgbaImage::from_pixel(30, 20, Rgba(colour))))
                .unwrap();
        }
    }
    let image = accept(&bytes);
    assert_eq!(image.notes, [ImageNote::FirstFrameOnly]);
    assert!(image.original.is_animated);
    assert!(
        decoded(&image)
            .pixels()
            .all(|pixel| *pixel == Rgb([255, 0, 0]))
    );
    // One frame is no animation.
    assert_eq!(accept(&encoded(photo(9, 9), ImageFormat::Gif)).notes, []);
    // An animated PNG says so in a chunk.
    let still = png(photo(9, 9));
    assert_eq!(
        accept(&with_chunk(&still, b"acTL", &[0, 0, 0, 1, 0, 0, 0, 0])).notes,
        []
    );
    let image = accept(&with_chunk(&still, b"acTL", &[0, 0, 0, 2, 0, 0, 0, 0]));
    assert_eq!(image.notes, [ImageNote::FirstFrameOnly]);
}

/// A baseline JPEG of one 8 × 8 block of one colour, its channels stored as given.
fn flat_jpeg(channels: &[u8], adobe_transform: Option<u8>) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8];
    if let Some(transform) = adobe_transform {
        bytes.extend([0xff, 0xee, 0, 14]);
        bytes.extend(b"Adobe");
        bytes.extend([0, 100, 0, 0, 0, 0, transform]);
    }
    bytes.extend([0xff, 0xdb, 0, 67, 0]);
    bytes.extend([1; 64]);
    let n_channels = channels.len() as u8;
    bytes.extend([0xff, 0xc0, 0, 8 + 3 * n_channels, 8, 0, 8, 0, 8, n_channels]);
    for id in 1..=n_channels {
        bytes.extend([id, 0x11, 0]);
    }
    // DC: twelve codes of four bits, for 0 to 11 bits. AC: one code of one bit, the end of the block.
    bytes.extend([
        0xff,
        0xc4,
        0,
        19 + 12,
        0x00,
        0,
        0,
        0,
        12,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ]);
    bytes.extend(0..12);
    bytes.extend([
        0xff,
        0xc4,
        0,
        19 + 1,
        0x10,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ]);
    bytes.extend([0xff, 0xda, 0, 6 + 2 * n_channels, n_channels]);
    for id in 1..=n_channels {
        bytes.extend([id, 0]);
    }
    bytes.extend([0, 63, 0]);
    let mut bits = String::new();
    for &value in channels {
        let level = (i32::from(value) - 128) * 8;
        let n_bits = 32 - level.unsigned_abs().leading_zeros();
        bits += &format!("{n_bits:04b}");
        if n_bits > 0 {
            let code = if level > 0 {
                level
            } else {
                level + (1 << n_bits) - 1
            };
            bits += &format!("{code:0width$b}", width = n_bits as usize);
        }
        bits += "0";
    }
    bits += &"1".repeat((8 - bits.len() % 8) % 8);
    for byte in bits.as_bytes().chunks(8) {
        let byte = u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap();
        bytes.push(byte);
        if byte == 0xff {
            bytes.push(0);
        }
    }
    bytes.extend([0xff, 0xd9]);
    bytes
}

#[test]
fn print_colours_and_odd_jpeg_colour_spaces_come_out_right() {
    let converted = [ImageNote::ColourConverted];
    type Case<'a> = (&'a str, &'a [u8], Option<u8>, [u8; 3], &'a [ImageNote]);
    let cases: [Case<'_>; 10] = [
        ("grey", &[77], None, [77, 77, 77], &[]),
        ("YCbCr", &[76, 85, 255], None, [254, 0, 0], &[]),
        (
            "RGB by Adobe's mark",
            &[200, 100, 50],
            Some(0),
            [200, 100, 50],
            &[],
        ),
        (
            "YCbCr by Adobe's mark",
            &[76, 85, 255],
            Some(1),
            [254, 0, 0],
            &[],
        ),
        // Adobe stores 255 − ink: full magenta and yellow, no black.
        (
            "CMYK by Adobe's mark",
            &[255, 0, 0, 255],
            Some(0),
            [255, 0, 0],
            &converted,
        ),
        (
            "CMYK by Adobe's mark, half black",
            &[255, 255, 255, 128],
            Some(0),
            [128, 128, 128],
            &converted,
        ),
        (
            "CMYK without a mark",
            &[0, 255, 255, 0],
            None,
            [255, 0, 0],
            &converted,
        ),
        (
            "CMYK without a mark, all black",
            &[0, 0, 0, 255],
            None,
            [0, 0, 0],
            &converted,
        ),
        // The complement of the inverted inks (255, 0, 0) is (0, 255, 255): Y 179, Cb 171, Cr 0.
        (
            "YCCK",
            &[179, 171, 0, 255],
            Some(2),
            [255, 0, 0],
            &converted,
        ),
        (
            "YCCK white",
            &[0, 128, 128, 255],
            Some(2),
            [255, 255, 255],
            &converted,
        ),
    ];
    for (name, channels, transform, expected, notes) in cases {
        let image = accept(&flat_jpeg(channels, transform));
        assert_eq!(image.notes, notes, "{name}");
        let pixel = decoded(&image).get_pixel(4, 4).0;
        assert!(
            pixel
                .iter()
                .zip(expected)
                .all(|(is, should)| is.abs_diff(should) <= 3),
            "{name}: {pixel:?}, not {expected:?}"
        );
    }
}

#[test]
fn wide_colours_become_srgb_and_srgb_stays_as_it_is() {
    // sRGB red in Display P3 is (0.9175, 0.2003, 0.1386) (CSS Color 4, section 10.3 by its matrices).
    let red = RgbImage::from_pixel(16, 16, Rgb([234, 51, 35]));
    let p3 = ColorProfile::new_display_p3().encode().unwrap();
    let with_profile = |profile: Vec<u8>, picture: &DynamicImage| {
        let mut bytes = Vec::new();
        let mut encoder = PngEncoder::new(&mut bytes);
        encoder.set_icc_profile(profile).unwrap();
        picture.write_with_encoder(encoder).unwrap();
        bytes
    };
    let mut as_jpeg = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut as_jpeg, 100);
    encoder.set_icc_profile(p3.clone()).unwrap();
    encoder.encode_image(&red).unwrap();
    let as_webp = {
        let simple = encoded(red.clone(), ImageFormat::WebP);
        extended_webp(&simple, 0x20, (16, 16), &[(b"ICCP", &p3)])
    };
    let deep = DynamicImage::ImageRgb16(ImageBuffer::from_pixel(
        16,
        16,
        Rgb([60_129_u16, 13_127, 9083]),
    ));
    let see_through = RgbaImage::from_pixel(16, 16, Rgba([234, 51, 35, 255]));
    for (file, extra) in [
        (with_profile(p3.clone(), &red.clone().into()), None),
        (with_profile(p3.clone(), &see_through.into()), None),
        (as_jpeg, None),
        (as_webp, None),
        // Primaries 12 (P3), transfer 13 (sRGB), RGB, full range.
        (
            with_chunk(&png(red.clone()), b"cICP", &[12, 13, 0, 1]),
            None,
        ),
        (
            with_profile(p3.clone(), &deep),
            Some(ImageNote::DepthReduced),
        ),
    ] {
        let image = accept(&file);
        assert!(image.has_note(ImageNote::ColourConverted), "{image:?}");
        assert_eq!(image.notes.get(1).copied(), extra);
        let pixel = decoded(&image).get_pixel(8, 8).0;
        assert!(
            pixel[0] >= 252 && pixel[1] <= 6 && pixel[2] <= 6,
            "sRGB red, not {pixel:?}"
        );
    }
    let srgb = with_profile(
        ColorProfile::new_srgb().encode().unwrap(),
        &red.clone().into(),
    );
    let image = accept(&srgb);
    assert_eq!(image.notes, []);
    assert_eq!(decoded(&image), red);
    let image = accept(&with_chunk(&png(red.clone()), b"cICP", &[1, 13, 0, 1]));
    assert_eq!(image.notes, []);
    // High dynamic range is not converted, lest the picture turn black.
    let image = accept(&with_chunk(&png(red.clone()), b"cICP", &[9, 16, 0, 1]));
    assert_eq!(image.notes, [ImageNote::ColourProfileIgnored]);
    // A profile that is none does not cost the voter the picture.
    let image = accept(&with_profile(b"no profile".to_vec(), &red.clone().into()));
    assert_eq!(image.notes, [ImageNote::ColourProfileIgnored]);
    assert_eq!(decoded(&image), red);
    // A linear grey profile: a level of 0.5 is 188 in sRGB (IEC 61966-2-1), in every depth and with alpha.
    let linear = ColorProfile::new_gray_with_gamma(1.0).encode().unwrap();
    let converted = ImageNote::ColourConverted;
    for (grey, notes) in [
        (
            DynamicImage::from(GrayImage::from_pixel(16, 16, Luma([128]))),
            vec![converted],
        ),
        (
            GrayAlphaImage::from_pixel(16, 16, LumaA([128, 255])).into(),
            vec![converted],
        ),
        (
            DynamicImage::ImageLuma16(ImageBuffer::from_pixel(16, 16, Luma([32_896]))),
            vec![converted, ImageNote::DepthReduced],
        ),
        (
            DynamicImage::ImageLumaA16(ImageBuffer::from_pixel(16, 16, LumaA([32_896, 65_535]))),
            vec![converted, ImageNote::DepthReduced],
        ),
    ] {
        let image = accept(&with_profile(linear.clone(), &grey));
        assert_eq!(image.notes, notes);
        let pixel = decoded(&image).get_pixel(0, 0).0;
        assert!(
            pixel.iter().all(|level| level.abs_diff(188) <= 2),
            "{pixel:?}"
        );
    }
    // A profile of the wrong kind is ignored.
    let image = accept(&with_profile(linear, &red.into()));
    assert_eq!(image.notes, [ImageNote::ColourProfileIgnored]);
}

#[test]
fn large_and_thin_pictures_are_scaled_down_and_never_vanish() {
    for ((width, height), expected) in [
        ((2049, 1000), (2048, 1000)),
        ((4000, 10), (2048, 5)),
        ((5000, 3), (2048, 1)),
        ((2, 5000), (1, 2048)),
        ((16_384, 1), (2048, 1)),
    ] {
        let image = accept(&png(photo(width, height)));
        assert_eq!((image.width_px, image.height_px), expected);
        assert_eq!(image.notes, [ImageNote::Downscaled]);
    }
    for (width, height) in [(1, 1), (1, 300), (2048, 2)] {
        let image = accept(&png(photo(width, height)));
        assert_eq!((image.width_px, image.height_px), (width, height));
        assert_eq!(image.notes, []);
    }
    let limits = ImageLimits {
        fit_side_max_px: 100,
        ..ImageLimits::default()
    };
    let image = accept_within(&jpeg(&photo(300, 200)), &limits);
    assert_eq!((image.width_px, image.height_px), (100, 67));
    let small = ::image::imageops::resize(
        &photo(300, 200),
        100,
        67,
        ::image::imageops::FilterType::Lanczos3,
    );
    assert!(
        difference(&decoded(&image), &small) < 4.0,
        "as another Lanczos filter has it"
    );
}

#[test]
fn a_picture_too_large_in_bytes_shrinks_until_it_fits() {
    let bytes = png(noise(600, 400));
    for encoded_bytes_max in [200_000, 50_000, 5_000, 1_000] {
        let limits = ImageLimits {
            encoded_bytes_max,
            ..ImageLimits::default()
        };
        let image = accept_within(&bytes, &limits);
        assert_eq!(image.media_type, MediaType::Jpeg);
        assert!(image.has_note(ImageNote::Downscaled), "{encoded_bytes_max}");
        assert!(
            image.bytes.len() as u64 > encoded_bytes_max / 4,
            "not smaller than needed"
        );
    }
    let limits = ImageLimits {
        encoded_bytes_max: 100,
        ..ImageLimits::default()
    };
    refuse_within(&bytes, &limits, "image_cannot_fit");
    let drawing = png(RgbImage::from_pixel(50, 50, Rgb([1, 2, 3])));
    refuse_within(
        &drawing,
        &ImageLimits {
            encoded_bytes_max: 10,
            ..limits
        },
        "image_cannot_fit",
    );
}

#[test]
fn limits_are_named_when_they_refuse() {
    let limits = ImageLimits {
        bytes_max: 1_000_000,
        pixels_max: 10_000,
        side_max_px: 200,
        decoded_bytes_max: 40_000,
        ..ImageLimits::default()
    };
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ] {
        let file = |width, height| encoded(photo(width, height), format);
        accept_within(&file(100, 100), &limits);
        refuse_within(&file(101, 100), &limits, "image_too_many_pixels");
        refuse_within(&file(201, 2), &limits, "image_side_too_long");
        refuse_within(&file(2, 201), &limits, "image_side_too_long");
    }
    let deep: ImageBuffer<Rgba<u16>, Vec<u16>> = ImageBuffer::new(100, 100);
    refuse_within(
        &png(DynamicImage::ImageRgba16(deep)),
        &limits,
        "image_too_costly",
    );
    let error = refuse_within(&[0xff; 1_000_001], &limits, "image_too_large");
    assert_eq!(
        error.voter_message(),
        "The file has 1 MB, and pictures of up to 0.9 MB can be read. Please make it smaller, or take a screenshot of it."
    );
    let ink = flat_jpeg(&[0, 0, 0, 0], None);
    let tiny = ImageLimits {
        decoded_bytes_max: 100,
        ..limits
    };
    refuse_within(&ink, &tiny, "image_too_costly");
    refuse(b"", "image_empty");
    let error = refuse(&png_header(50_000, 50_000, 8, 2), "image_side_too_long");
    assert_eq!(
        error.voter_message(),
        "The picture has 50000 × 50000 pixels, and up to 16384 pixels a side can be read. Please scale it down, or cut out the part that matters."
    );
    refuse(&png(photo(20_000, 10)), "image_side_too_long");
}

#[test]
fn inspecting_refuses_by_kind_and_header_what_normalising_refuses() {
    let limits = ImageLimits::default();
    let picture = photo(40, 30);
    for bytes in [jpeg(&picture), png(picture.clone())] {
        let inspected = inspect(&bytes, &limits).unwrap();
        let normalised = normalise(&bytes, &limits).unwrap();
        assert_eq!(inspected.format, normalised.original.format);
        assert_eq!((inspected.width_px, inspected.height_px), (40, 30));
        let narrow = ImageLimits {
            side_max_px: 39,
            ..limits
        };
        let small = ImageLimits {
            bytes_max: bytes.len() as u64 - 1,
            ..limits
        };
        for (limits, code) in [(narrow, "image_side_too_long"), (small, "image_too_large")] {
            let code_of = |error: ImageError| error.code();
            assert_eq!(inspect(&bytes, &limits).map_err(code_of), Err(code));
            let normalised = normalise(&bytes, &limits).map_err(code_of);
            assert_eq!(normalised.err(), Some(code));
        }
    }
    for (bytes, code) in [
        (&b""[..], "image_empty"),
        (b"not a picture", "image_unsupported"),
        (b"\x89PNG\r\n\x1a\n", "image_broken"),
    ] {
        assert_eq!(inspect(bytes, &limits).unwrap_err().code(), code);
    }
}

#[test]
fn bombs_are_refused_before_anything_is_unpacked() {
    let mut files = vec![
        (png_header(50_000, 50_000, 1, 0), "image_side_too_long"),
        (png_header(12_000, 12_000, 8, 6), "image_too_many_pixels"),
        (png_header(u32::MAX, u32::MAX, 16, 6), "image_side_too_long"),
        (png_header(0, 10, 8, 2), "image_broken"),
        ([png_header(6000, 6000, 16, 6), chunk(b"IDAT", b"")].concat(), "image_too_costly"),
        (b"GIF89a\xff\xff\xff\xff\0\0\0".to_vec(), "image_side_too_long"),
        // A small GIF whose frame claims 65,535 × 65,535.
        (b"GIF89a\x01\0\x01\0\0\0\0\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x4c\x01\0;".to_vec(), "image_side_too_long"),
        // A WebP canvas of one pixel around a picture of 16,384 × 16,384.
        (b"RIFF\x2c\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0VP8L\x06\0\0\0\x2f\xff\xff\xff\x0f\0".to_vec(), "image_too_many_pixels"),
        (b"RIFF\xff\xff\xff\xffWEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff".to_vec(), "image_side_too_long"),
    ];
    // The same JPEG, its frame header claiming 65,535 × 65,535.
    let mut large = flat_jpeg(&[9, 9, 9], None);
    let frame = large
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .unwrap();
    large[frame + 5..frame + 9].fill(0xff);
    files.push((large, "image_side_too_long"));
    // A progressive JPEG of thousands of scans over many pixels.
    let mut scans = flat_jpeg(&[9, 9, 9], None);
    let frame = scans
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .unwrap();
    scans[frame + 1] = 0xc2;
    scans[frame + 5..frame + 9].copy_from_slice(&[0x17, 0x70, 0x17, 0x70]);
    let scan = scans
        .windows(2)
        .position(|pair| pair == [0xff, 0xda])
        .unwrap();
    let body = scans[scan..scans.len() - 2].to_vec();
    for _ in 0..5000 {
        scans.truncate(scans.len() - 2);
        scans.extend(&body);
        scans.extend([0xff, 0xd9]);
    }
    files.push((scans, "image_too_costly"));
    for (file, code) in files {
        let start = Instant::now();
        refuse(&file, code);
        assert!(
            start.elapsed() < Duration::from_millis(250),
            "{code}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_chunk_that_claims_gigabytes_takes_no_memory() {
    let simple = encoded(photo(16, 16), ImageFormat::WebP);
    let mut file = extended_webp(
        &simple,
        0x28,
        (16, 16),
        &[(b"ICCP", b"no"), (b"EXIF", b"no")],
    );
    for name in [b"ICCP", b"EXIF"] {
        let at = file.windows(4).position(|window| window == name).unwrap();
        let mut long = file.clone();
        long[at + 4..at + 8].fill(0xf0);
        drop(normalise(&long, &ImageLimits::default()));
    }
    let at = file
        .windows(4)
        .position(|window| window == b"VP8L")
        .unwrap();
    file[at + 4..at + 8].fill(0xf0);
    drop(normalise(&file, &ImageLimits::default()));
    let mut png = png(photo(16, 16));
    let claim = [b"\xf0\xf0\xf0\xf0iCCP", &[0_u8; 8][..]].concat();
    png.splice(33..33, claim);
    refuse(&png, "image_broken");
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_picture_said_to_be_incomplete() {
    let picture = photo(40, 30);
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ] {
        let whole = encoded(picture.clone(), format);
        let mut n_accepted = 0;
        for end in 0..whole.len() {
            match normalise(&whole[..end], &ImageLimits::default()) {
                Ok(image) => {
                    n_accepted += 1;
                    check_clean(&image);
                    if format == ImageFormat::Jpeg {
                        assert_eq!(image.notes, [ImageNote::Incomplete], "cut at {end}");
                    }
                }
                Err(error) => assert!(
                    ["image_empty", "image_unsupported", "image_broken"].contains(&error.code()),
                    "{format:?} cut at {end}: {error:?}"
                ),
            }
        }
        // Only what ends after the last pixel may pass as whole, but for JPEG, which is read as far as it goes.
        let tolerated = if format == ImageFormat::Jpeg {
            whole.len()
        } else {
            16
        };
        assert!(
            n_accepted <= tolerated,
            "{format:?}: {n_accepted} of {}",
            whole.len()
        );
    }
}

#[test]
fn a_file_with_any_byte_changed_neither_panics_nor_leaks() {
    let picture = photo(24, 18);
    let prefixed = [b"Exif\0\0", exif(6, true).as_slice()].concat();
    let mut animated = Vec::new();
    GifEncoder::new(&mut animated)
        .encode_frames(
            [1_u8, 2].map(|seed| Frame::new(RgbaImage::from_pixel(8, 8, Rgba([seed; 4])))),
        )
        .unwrap();
    for file in [
        with_segment(&jpeg(&picture), 0xe1, &prefixed),
        with_chunk(&png(picture.clone()), b"eXIf", &exif(6, true)),
        extended_webp(
            &encoded(picture.clone(), ImageFormat::WebP),
            0x08,
            (24, 18),
            &[(b"EXIF", &exif(6, true))],
        ),
        animated,
        flat_jpeg(&[1, 2, 3, 4], Some(2)),
    ] {
        let mut state = 1_u32;
        for at in 0..file.len().min(700) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut changed = file.clone();
            changed[at] ^= (state >> 24) as u8 | 1;
            if let Ok(image) = normalise(&changed, &ImageLimits::default()) {
                check_clean(&image);
            }
        }
    }
}

#[test]
fn files_of_other_kinds_are_refused_by_name_with_a_way_out() {
    for (bytes, words) in [
        (
            &b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"[..],
            ["HEIC photo", "Most Compatible"],
        ),
        (
            b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf",
            ["AVIF", "save it as JPEG or PNG"],
        ),
        (
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            ["SVG", "Export it as PNG"],
        ),
        (b"%PDF-1.7", ["PDF", "screenshot of the page"]),
        (b"MM\0\x2b\0\x08\0\0", ["BigTIFF", "save it as PNG"]),
        (b"II\x2a\0\x10\0\0\0CR\x02\0", ["raw file", "as JPEG"]),
        (
            b"PK\x03\x04word/document.xml",
            ["office document", "screenshot"],
        ),
        (b"PK\x03\x04", ["archive", "Unpack"]),
        (b"<!doctype html><p>", ["web page", "screenshot"]),
        (b"\0\0\0\x18ftypmp42\0\0\0\0isommp42", ["video", "moment"]),
        (b"What is this?", ["text file", "Paste the text"]),
        (b"\x01\x02\x03", ["unknown kind", "Choose a picture"]),
    ] {
        let message = refuse(bytes, "image_unsupported").voter_message();
        for words in words.into_iter().chain([ACCEPTED_FORMATS]) {
            assert!(message.contains(words), "`{words}` in: {message}");
        }
    }
}

#[test]
fn a_jpeg_form_that_is_not_read_says_so() {
    let common = flat_jpeg(&[9, 9, 9], None);
    let frame = common
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .unwrap();
    // Arithmetic coding, lossless, 12 bits, and a height that only the end tells.
    for (at, value) in [(1, 0xc9), (1, 0xc3), (4, 12), (6, 0)] {
        let mut unusual = common.clone();
        unusual[frame + at] = value;
        let message = refuse(&unusual, "image_unsupported").voter_message();
        assert!(message.contains("unusual kind of JPEG"), "{message}");
    }
}

#[test]
fn notes_have_one_spelling_each() {
    for note in ImageNote::ALL {
        assert_eq!(ImageNote::from_spelling(note.as_str()), Some(note));
        assert!(note.sentence().ends_with('.'));
    }
    assert_eq!(ImageNote::from_spelling("Rotated"), None);
    assert!(ImageNote::ALL.is_sorted());
}

/// The folder of shared test data, if there is one.
pub(crate) fn test_data() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the shared test data is found by an environment variable"
    )]
    let folder = std::env::var("AGON_TESTDATA");
    match folder {
        Ok(folder) => Some(PathBuf::from(folder).join("images")),
        Err(_) => {
            println!("AGON_TESTDATA is not set: the shared pictures are not tested");
            None
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn read_json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_gif_whose_data_end_with_a_byte_is_no_broken_one() {
    // One colour, 49 × 30 pixels: 54 codes of 9 bits and the end, 63 bytes to the bit, as Pillow writes it.
    let mut bits = Vec::new();
    let mut put = |code: u32| bits.extend((0..9).map(|bit| code >> bit & 1 == 1));
    put(256);
    put(0);
    // Run lengths 1, 2, 3, … use up 1 + … + 53 = 1,431 pixels; the code for a run of 39 fills the rest.
    (258..310).for_each(&mut put);
    put(258 + 37);
    put(257);
    assert_eq!(bits.len() % 8, 0);
    let data: Vec<u8> = bits
        .chunks(8)
        .map(|byte| {
            byte.iter()
                .rev()
                .fold(0, |value, &bit| value << 1 | u8::from(bit))
        })
        .collect();
    let mut gif = b"GIF89a\x31\0\x1e\0\x80\0\0".to_vec();
    gif.extend([180, 10, 10, 0, 0, 0]);
    gif.extend(b",\0\0\0\0\x31\0\x1e\0\0\x08");
    gif.push(u8::try_from(data.len()).unwrap());
    gif.extend(&data);
    gif.extend(b"\0;");
    let image = normalise(&gif, &ImageLimits::default()).unwrap();
    assert_eq!((image.width_px, image.height_px), (49, 30));
    // A row less of data is still a broken picture.
    gif[6] = 0x31;
    gif[8] = 0x1f;
    let row_at = gif.iter().position(|&byte| byte == b',').unwrap();
    gif[row_at + 7] = 0x1f;
    let error = normalise(&gif, &ImageLimits::default()).unwrap_err();
    assert_eq!(error.code(), "image_broken");
}
