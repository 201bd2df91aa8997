//! BMP and TIFF, of our own making: every way of storing pixels that is read.

use ::tiff::encoder::colortype::{CMYK8, Gray8, Gray16, RGB8, RGB16, RGBA8};
use ::tiff::encoder::{Compression, TiffEncoder};

use super::*;

/// A TIFF of one strip from fields and pixel data, in either byte order.
///
/// A field's values are numbers of 16 bits, or of 32 where one needs them.
pub(super) fn tiff_of(fields: &[(u16, &[u32])], data: &[u8], is_big_endian: bool) -> Vec<u8> {
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
    let mut bytes = if is_big_endian {
        b"MM\0\x2a".to_vec()
    } else {
        b"II\x2a\0".to_vec()
    };
    let data_at = 8;
    let length = data.len() as u32;
    let mut all: Vec<(u16, Vec<u32>)> = fields
        .iter()
        .map(|(tag, values)| (*tag, values.to_vec()))
        .collect();
    if !all.iter().any(|(tag, _)| *tag == 273 || *tag == 324) {
        all.extend([(273, vec![data_at]), (279, vec![length])]);
    }
    all.sort_by_key(|(tag, _)| *tag);
    let directory_at = data_at + length.next_multiple_of(2);
    bytes.extend(long(directory_at));
    bytes.extend(data);
    bytes.resize(directory_at as usize, 0);
    bytes.extend(short(all.len() as u16));
    let mut values_at = directory_at + 2 + 12 * all.len() as u32 + 4;
    let mut behind = Vec::new();
    for (tag, values) in &all {
        let is_wide = values.iter().any(|&value| value > 0xffff) || (*tag == 273 || *tag == 279);
        bytes.extend(short(*tag));
        bytes.extend(short(if is_wide { 4 } else { 3 }));
        bytes.extend(long(values.len() as u32));
        let mut value_bytes: Vec<u8> = values
            .iter()
            .flat_map(|&value| {
                if is_wide {
                    long(value).to_vec()
                } else {
                    short(value as u16).to_vec()
                }
            })
            .collect();
        if value_bytes.len() <= 4 {
            value_bytes.resize(4, 0);
            bytes.extend(value_bytes);
        } else {
            bytes.extend(long(values_at));
            values_at += value_bytes.len() as u32;
            behind.extend(value_bytes);
        }
    }
    bytes.extend(long(0));
    bytes.extend(behind);
    bytes
}

/// Fields of a picture that is stored plainly.
fn plain<'a>(
    width: &'a [u32],
    height: &'a [u32],
    bits: &'a [u32],
    photometric: &'a [u32],
    n_samples: &'a [u32],
) -> Vec<(u16, &'a [u32])> {
    vec![
        (256, width),
        (257, height),
        (258, bits),
        (259, &[1]),
        (262, photometric),
        (277, n_samples),
        (278, height),
    ]
}

#[track_caller]
fn check_row(file: &[u8], expected: &[[u8; 3]], notes: &[ImageNote]) {
    let image = accept(file);
    assert_eq!(image.notes, notes);
    assert_eq!(image.media_type, MediaType::Png);
    let picture = decoded(&image);
    let row: Vec<[u8; 3]> = picture
        .rows()
        .next()
        .unwrap()
        .map(|pixel| pixel.0)
        .collect();
    assert_eq!(row, expected);
}

#[test]
fn tiff_of_every_kind_of_samples_comes_out_right() {
    for is_big_endian in [false, true] {
        let tiff = |fields: &[(u16, &[u32])], data: &[u8]| tiff_of(fields, data, is_big_endian);
        let grey = |level: u8| [level; 3];
        // Black is zero, then white is zero; 1, 2, 4 and 8 bits.
        check_row(
            &tiff(&plain(&[3], &[1], &[1], &[1], &[1]), &[0b0100_0000]),
            &[grey(0), grey(255), grey(0)],
            &[],
        );
        check_row(
            &tiff(&plain(&[3], &[1], &[1], &[0], &[1]), &[0b0100_0000]),
            &[grey(255), grey(0), grey(255)],
            &[],
        );
        check_row(
            &tiff(&plain(&[4], &[1], &[2], &[1], &[1]), &[0b0001_1011]),
            &[grey(0), grey(85), grey(170), grey(255)],
            &[],
        );
        check_row(
            &tiff(&plain(&[3], &[1], &[4], &[1], &[1]), &[0x0f, 0x80]),
            &[grey(0), grey(255), grey(136)],
            &[],
        );
        check_row(
            &tiff(&plain(&[2], &[1], &[8], &[1], &[1]), &[7, 200]),
            &[grey(7), grey(200)],
            &[],
        );
        check_row(
            &tiff(&plain(&[2], &[1], &[8], &[0], &[1]), &[7, 200]),
            &[grey(248), grey(55)],
            &[],
        );
        // 16 bits in the file's byte order.
        let deep: Vec<u8> = [0_u16, 32_896, 65_535]
            .iter()
            .flat_map(|value| {
                if is_big_endian {
                    value.to_be_bytes()
                } else {
                    value.to_le_bytes()
                }
            })
            .collect();
        check_row(
            &tiff(&plain(&[3], &[1], &[16], &[1], &[1]), &deep),
            &[grey(0), grey(128), grey(255)],
            &[ImageNote::DepthReduced],
        );
        check_row(
            &tiff(&plain(&[1], &[1], &[16, 16, 16], &[2], &[3]), &deep),
            &[[0, 128, 255]],
            &[ImageNote::DepthReduced],
        );
        check_row(
            &tiff(
                &plain(&[2], &[1], &[8, 8, 8], &[2], &[3]),
                &[1, 2, 3, 250, 251, 252],
            ),
            &[[1, 2, 3], [250, 251, 252]],
            &[],
        );
        // Plane by plane.
        let mut planes = plain(&[2], &[1], &[8, 8, 8], &[2], &[3]);
        planes.extend([(284, &[2][..]), (273, &[8, 10, 12]), (279, &[2, 2, 2])]);
        check_row(
            &tiff(&planes, &[1, 250, 2, 251, 3, 252]),
            &[[1, 2, 3], [250, 251, 252]],
            &[],
        );
        // Straight transparency, and colours multiplied by it.
        let mut straight = plain(&[2], &[1], &[8, 8, 8, 8], &[2], &[4]);
        straight.push((338, &[2]));
        check_row(
            &tiff(&straight, &[255, 0, 0, 128, 9, 9, 9, 255]),
            &[[255, 127, 127], [9, 9, 9]],
            &[ImageNote::Flattened],
        );
        let mut multiplied = plain(&[3], &[1], &[8, 8, 8, 8], &[2], &[4]);
        multiplied.push((338, &[1]));
        check_row(
            &tiff(&multiplied, &[128, 0, 0, 128, 9, 9, 9, 255, 0, 0, 0, 0]),
            &[[255, 127, 127], [9, 9, 9], [255; 3]],
            &[ImageNote::Flattened],
        );
        let mut grey_alpha = plain(&[2], &[1], &[8, 8], &[1], &[2]);
        grey_alpha.push((338, &[2]));
        check_row(
            &tiff(&grey_alpha, &[0, 51, 80, 255]),
            &[grey(204), grey(80)],
            &[ImageNote::Flattened],
        );
        // Palettes: all reds, all greens, all blues, of 16 bits; and by mistake of 8.
        let mut palette = plain(&[4], &[1], &[2], &[3], &[1]);
        palette.push((320, &[0, 65_535, 0, 32_896, 0, 0, 65_535, 0, 0, 0, 0, 257]));
        check_row(
            &tiff(&palette, &[0b0001_1011]),
            &[[0; 3], [255, 0, 0], [0, 255, 0], [128, 0, 1]],
            &[],
        );
        let mut shallow = plain(&[2], &[1], &[1], &[3], &[1]);
        shallow.push((320, &[10, 200, 20, 210, 30, 220]));
        check_row(
            &tiff(&shallow, &[0b0100_0000]),
            &[[10, 20, 30], [200, 210, 220]],
            &[],
        );
        // Inks, 255 = full; without a profile (1 − ink) × (1 − black).
        check_row(
            &tiff(
                &plain(&[2], &[1], &[8, 8, 8, 8], &[5], &[4]),
                &[0, 255, 255, 0, 0, 0, 0, 128],
            ),
            &[[255, 0, 0], [127; 3]],
            &[ImageNote::ColourConverted],
        );
        // YCbCr of full resolution, by ITU-R BT.601.
        let mut ycbcr = plain(&[2], &[1], &[8, 8, 8], &[6], &[3]);
        ycbcr.push((530, &[1, 1]));
        check_row(
            &tiff(&ycbcr, &[76, 85, 255, 128, 128, 128]),
            &[[254, 0, 0], [128; 3]],
            &[],
        );
    }
}

#[test]
fn tiff_in_every_compression_of_the_encoder_comes_out_exact() {
    use ::tiff::encoder::compression::DeflateLevel;
    let picture = photo(67, 41);
    for compression in [
        Compression::Uncompressed,
        Compression::Lzw,
        Compression::Deflate(DeflateLevel::Fast),
        Compression::Packbits,
    ] {
        let mut file = Cursor::new(Vec::new());
        TiffEncoder::new(&mut file)
            .unwrap()
            .with_compression(compression)
            .write_image::<RGB8>(67, 41, picture.as_raw())
            .unwrap();
        let image = accept(&file.into_inner());
        assert_eq!(
            decode_normalised(&image.bytes).unwrap().as_rgb(),
            picture.as_raw()
        );
        assert_eq!(image.original.format, PictureFormat::Tiff);
    }
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap();
    encoder.write_image::<Gray8>(2, 1, &[5, 6]).unwrap();
    encoder.write_image::<Gray16>(2, 1, &[5, 6]).unwrap();
    encoder.write_image::<RGB16>(1, 1, &[5, 6, 7]).unwrap();
    encoder.write_image::<RGBA8>(1, 1, &[5, 6, 7, 8]).unwrap();
    encoder.write_image::<CMYK8>(1, 1, &[5, 6, 7, 8]).unwrap();
    let image = accept(&file.into_inner());
    assert_eq!(image.notes, [ImageNote::FirstFrameOnly]);
    assert_eq!(
        (image.original.n_frames, image.original.is_animated),
        (5, true)
    );
    assert_eq!(
        decode_normalised(&image.bytes).unwrap().as_rgb(),
        [5, 5, 5, 6, 6, 6]
    );
}

/// A TIFF whose one strip is this JPEG.
fn jpeg_in_tiff(jpeg: &[u8], side: u32, photometric: u32) -> Vec<u8> {
    let (sides, photometric) = ([side], [photometric]);
    let mut fields = plain(&sides, &sides, &[8, 8, 8], &photometric, &[3]);
    fields[3].1 = &[7];
    fields.push((530, &[1, 1]));
    tiff_of(&fields, jpeg, false)
}

#[test]
fn jpeg_in_tiff_is_read_and_held_to_its_strip() {
    let red = flat_jpeg(&[76, 85, 255], None);
    let image = accept(&jpeg_in_tiff(&red, 8, 6));
    assert_eq!(image.media_type, MediaType::Jpeg);
    let pixel = decoded(&image).get_pixel(4, 4).0;
    assert!(pixel[0] > 250 && pixel[1] < 5 && pixel[2] < 5, "{pixel:?}");
    // Its own frame claims 65,535 × 65,535.
    let mut large = red.clone();
    let frame = large
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .unwrap();
    large[frame + 5..frame + 9].fill(0xff);
    refuse(&jpeg_in_tiff(&large, 8, 6), "image_broken");
}

#[test]
fn orientation_position_and_metadata_of_a_tiff_are_seen() {
    let mut fields = plain(&[2], &[1], &[8, 8, 8], &[2], &[3]);
    // Orientation 6, a description, a position.
    fields.extend([(274, &[6][..]), (270, &[65, 66, 67]), (0x8825, &[8])]);
    let image = accept(&tiff_of(&fields, &[255, 0, 0, 0, 0, 255], true));
    assert_eq!((image.width_px, image.height_px), (1, 2));
    assert_eq!((image.original.width_px, image.original.height_px), (2, 1));
    assert_eq!(
        image.notes,
        [
            ImageNote::Rotated,
            ImageNote::MetadataRemoved,
            ImageNote::PositionRemoved
        ]
    );
    assert_eq!(decoded(&image).get_pixel(0, 0).0, [255, 0, 0]);
    let mut credentials = plain(&[1], &[1], &[8], &[1], &[1]);
    credentials.push((52_545, &[1, 2, 3]));
    let image = accept(&tiff_of(&credentials, &[9], false));
    assert_eq!(image.notes, [ImageNote::CredentialsRemoved]);
}

#[test]
fn raw_files_of_cameras_are_refused_by_name() {
    let picture = || plain(&[1], &[1], &[8], &[1], &[1]);
    for raw in [
        // A digital negative, a small copy of the true picture, a colour filter array.
        vec![(50_706, &[1, 4, 0, 0][..])],
        vec![(254, &[1]), (330, &[8])],
    ] {
        let fields = [picture(), raw].concat();
        let error = refuse(&tiff_of(&fields, &[9], false), "image_unsupported");
        assert!(error.voter_message().contains("raw file"), "{error}");
    }
    let mosaic = plain(&[1], &[1], &[16], &[32_803], &[1]);
    refuse(&tiff_of(&mosaic, &[9, 9], false), "image_unsupported");
    // A small copy alone is a picture.
    let mut small = picture();
    small.push((254, &[1]));
    accept(&tiff_of(&small, &[9], false));
}

#[test]
fn forms_of_tiff_that_are_not_read_are_refused_in_words() {
    for (fields, data) in [
        // Floats, signed numbers, L*a*b*, 12 bits.
        (
            [plain(&[1], &[1], &[32], &[1], &[1]), vec![(339, &[3][..])]].concat(),
            &[0; 4][..],
        ),
        (
            [plain(&[1], &[1], &[8], &[1], &[1]), vec![(339, &[2])]].concat(),
            &[0; 1],
        ),
        (plain(&[1], &[1], &[8, 8, 8], &[8], &[3]), &[0; 3]),
        (plain(&[2], &[1], &[12], &[1], &[1]), &[0; 3]),
    ] {
        let error = refuse(&tiff_of(&fields, data, false), "image_unsupported");
        assert!(
            error.voter_message().contains("unusual kind of TIFF"),
            "{error}"
        );
    }
}

#[test]
fn bombs_in_tiff_are_refused_before_anything_is_unpacked() {
    let with = |changes: &[(u16, &[u32])], data: &[u8]| {
        let mut fields: Vec<(u16, Vec<u32>)> = plain(&[8], &[8], &[8], &[1], &[1])
            .into_iter()
            .map(|(tag, values)| (tag, values.to_vec()))
            .collect();
        for (tag, values) in changes {
            fields.retain(|(known, _)| known != tag);
            fields.push((*tag, values.to_vec()));
        }
        let fields: Vec<(u16, &[u32])> = fields
            .iter()
            .map(|(tag, values)| (*tag, values.as_slice()))
            .collect();
        tiff_of(&fields, data, false)
    };
    let data = [0; 64];
    for (changes, code) in [
        (
            &[(256, &[65_535_u32][..]), (257, &[65_535])][..],
            "image_side_too_long",
        ),
        (
            &[(256, &[12_000]), (257, &[12_000])],
            "image_too_many_pixels",
        ),
        (&[(256, &[u32::MAX])], "image_side_too_long"),
        (&[(256, &[0])], "image_broken"),
        // Many strips of the same bytes.
        (
            &[(278, &[1]), (273, &[8; 8]), (279, &[64; 8])],
            "image_broken",
        ),
        // A tile of 16 GB, and 60,000 samples a pixel.
        (
            &[
                (322, &[65_536]),
                (323, &[65_536]),
                (324, &[8]),
                (325, &[64]),
            ],
            "image_too_costly",
        ),
        (
            &[(256, &[6000]), (257, &[6000]), (277, &[60_000])],
            "image_too_costly",
        ),
        // A strip beyond the file's end.
        (&[(273, &[60_000]), (279, &[64])], "image_broken"),
    ] {
        let start = Instant::now();
        refuse(&with(changes, &data), code);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    // Directories in a circle.
    let mut circle = with(&[], &data);
    let directory_at = u32::from_le_bytes(*circle[4..].first_chunk().unwrap());
    let n_fields = usize::from(u16::from_le_bytes(
        *circle[directory_at as usize..].first_chunk().unwrap(),
    ));
    let next_at = directory_at as usize + 2 + 12 * n_fields;
    circle[next_at..next_at + 4].copy_from_slice(&directory_at.to_le_bytes());
    refuse(&circle, "image_broken");
}

/// A BMP with a header of 40 bytes and the given rest.
fn bmp_of(
    width: i32,
    height: i32,
    n_bits: u16,
    compression: u32,
    palette: &[u8],
    data: &[u8],
) -> Vec<u8> {
    let pixels_at = 54 + palette.len() as u32;
    let mut bytes = b"BM".to_vec();
    bytes.extend((pixels_at + data.len() as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(pixels_at.to_le_bytes());
    bytes.extend(40_u32.to_le_bytes());
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(n_bits.to_le_bytes());
    bytes.extend(compression.to_le_bytes());
    bytes.extend([0; 12]);
    bytes.extend((palette.len() as u32 / 4).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(palette);
    bytes.extend(data);
    bytes
}

#[test]
fn bmp_of_every_depth_comes_out_right() {
    // Blue, green, red, and a fourth byte that says nothing.
    let palette = [0, 0, 255, 0, 255, 0, 0, 0];
    let expected = [[255, 0, 0], [0, 0, 255]];
    check_row(
        &bmp_of(2, 1, 1, 0, &palette, &[0b0100_0000, 0, 0, 0]),
        &expected,
        &[],
    );
    check_row(
        &bmp_of(2, 1, 4, 0, &palette, &[0x01, 0, 0, 0]),
        &expected,
        &[],
    );
    check_row(&bmp_of(2, 1, 8, 0, &palette, &[0, 1, 0, 0]), &expected, &[]);
    // Run lengths: one of entry 0, one of entry 1, the end.
    check_row(
        &bmp_of(2, 1, 8, 1, &palette, &[1, 0, 1, 1, 0, 1]),
        &expected,
        &[],
    );
    check_row(
        &bmp_of(2, 1, 16, 0, &[], &[0, 0x7c, 0x1f, 0]),
        &expected,
        &[],
    );
    check_row(
        &bmp_of(2, 1, 24, 0, &[], &[0, 0, 255, 255, 0, 0, 0, 0]),
        &expected,
        &[],
    );
    check_row(
        &bmp_of(2, 1, 32, 0, &[], &[0, 0, 255, 0, 255, 0, 0, 0]),
        &expected,
        &[],
    );
    // Rows from the bottom, and from the top.
    let rows = [0, 0, 255, 0, 255, 0, 0, 0];
    check_row(&bmp_of(1, 2, 32, 0, &[], &rows), &[[0, 0, 255]], &[]);
    check_row(&bmp_of(1, -2, 32, 0, &[], &rows), &[[255, 0, 0]], &[]);
    let trailing = [
        bmp_of(2, 1, 24, 0, &[], &[0, 0, 255, 255, 0, 0, 0, 0]),
        b"PK\x03\x04".to_vec(),
    ]
    .concat();
    check_row(&trailing, &expected, &[ImageNote::TrailingDataRemoved]);
}

#[test]
fn a_bmp_that_is_transparent_everywhere_is_shown_opaque() {
    let bmp = |alpha: [u8; 2]| {
        encoded(
            RgbaImage::from_fn(2, 1, |x, _| Rgba([10, 20, 30, alpha[x as usize]])),
            ImageFormat::Bmp,
        )
    };
    let ink = [10, 20, 30];
    check_row(&bmp([0, 0]), &[ink, ink], &[]);
    check_row(&bmp([0, 255]), &[[255; 3], ink], &[ImageNote::Flattened]);
}

#[test]
fn bombs_in_bmp_are_refused_before_anything_is_unpacked() {
    for (file, code) in [
        (
            bmp_of(i32::MAX, i32::MAX, 24, 0, &[], &[]),
            "image_side_too_long",
        ),
        (
            bmp_of(12_000, -12_000, 24, 0, &[], &[]),
            "image_too_many_pixels",
        ),
        (
            bmp_of(16_000, i32::MIN, 1, 0, &[], &[]),
            "image_side_too_long",
        ),
        (bmp_of(-5, 5, 24, 0, &[], &[0; 100]), "image_broken"),
        (bmp_of(0, 5, 24, 0, &[], &[0; 100]), "image_broken"),
        (bmp_of(5, 5, 24, 0, &[], &[0; 3]), "image_broken"),
        (bmp_of(5, 5, 0, 4, &[], &[0; 100]), "image_unsupported"),
    ] {
        let start = Instant::now();
        refuse(&file, code);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
