//! Identities of a picture: files, bytes, pixels, and the name that FastChat gives it.

use super::*;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_legacy_name_is_md5_of_rgba_pixels_whatever_the_sides() {
    for (width, height) in [(4, 2), (2, 4)] {
        for picture in [
            DynamicImage::from(RgbaImage::from_pixel(width, height, Rgba([9, 9, 9, 255]))),
            RgbImage::from_pixel(width, height, Rgb([9; 3])).into(),
            GrayImage::from_pixel(width, height, Luma([9])).into(),
        ] {
            for format in [ImageFormat::Png, ImageFormat::Bmp] {
                if format == ImageFormat::Bmp && picture.color().has_alpha() {
                    continue;
                }
                let image = accept(&encoded(picture.clone(), format));
                let name = image.legacy_md5.map(|md5| hexadecimal(&md5));
                assert_eq!(name.as_deref(), Some("ded7b5ff4547e1c2e724bbc82db34304"));
            }
        }
    }
    // Transparency is part of the name, as FastChat keeps it.
    let see_through = RgbaImage::from_pixel(3, 3, Rgba([9, 9, 9, 0]));
    let image = accept(&png(see_through.clone()));
    assert_eq!(
        image.legacy_md5.unwrap(),
        <[u8; 16]>::from(Md5::digest(see_through.as_raw()))
    );
    // FastChat keeps nothing larger, deeper or of inks.
    assert!(accept(&png(photo(1024, 2))).legacy_md5.is_some());
    assert_eq!(accept(&png(photo(1025, 2))).legacy_md5, None);
    let deep: ImageBuffer<Luma<u16>, Vec<u16>> = ImageBuffer::new(3, 3);
    assert_eq!(
        accept(&png(DynamicImage::ImageLuma16(deep))).legacy_md5,
        None
    );
    assert_eq!(accept(&flat_jpeg(&[0, 0, 0, 0], None)).legacy_md5, None);
}

#[test]
fn the_same_pixels_have_the_same_identity_in_every_lossless_format() {
    let picture = photo(60, 40);
    let as_png = accept(&png(picture.clone()));
    for format in [ImageFormat::Bmp, ImageFormat::WebP] {
        let other = accept(&encoded(picture.clone(), format));
        assert_eq!(other.pixel_sha256, as_png.pixel_sha256, "{format:?}");
        assert_eq!(other.sha256, as_png.sha256, "{format:?}");
        assert_eq!(other.perceptual_hash, as_png.perceptual_hash, "{format:?}");
        assert_ne!(other.original.sha256, as_png.original.sha256);
        assert_ne!(other.original.md5, as_png.original.md5);
    }
    let pixels = decode_normalised(&as_png.bytes).unwrap();
    assert_eq!(pixels.sha256(), as_png.pixel_sha256);
    assert_eq!(PerceptualHash::of(&pixels), as_png.perceptual_hash);
    assert_eq!(pixels.as_rgb(), picture.as_raw());
    // Sides are part of it.
    let flat = |width, height| Pixels::new(width, height, vec![7; 24]).unwrap().sha256();
    assert_ne!(flat(4, 2), flat(2, 4));
    let expected = Sha256::digest([&[0, 0, 0, 4, 0, 0, 0, 2][..], &[7; 24]].concat());
    assert_eq!(flat(4, 2), <[u8; 32]>::from(expected));
}

#[test]
fn pixels_are_as_many_as_the_sides_say() {
    assert!(Pixels::new(2, 1, vec![0; 6]).is_some());
    for (width, height, n_bytes) in [(2, 1, 5), (2, 1, 7), (0, 5, 0), (u32::MAX, u32::MAX, 6)] {
        assert!(Pixels::new(width, height, vec![0; n_bytes]).is_none());
    }
    let debug = format!("{:?}", Pixels::new(2, 1, vec![77; 6]).unwrap());
    assert!(!debug.contains("77"), "{debug}");
}

#[test]
fn what_is_no_normalised_picture_is_not_decoded_as_one() {
    for (bytes, code) in [
        (&b""[..], "image_unsupported"),
        (b"text", "image_unsupported"),
        (b"GIF89a\x01\0\x01\0\0\0\0", "image_broken"),
        (b"\x89PNG\r\n\x1a\n", "image_broken"),
    ] {
        assert_eq!(decode_normalised(bytes).unwrap_err().code(), code);
    }
    let gif = encoded(photo(5, 5), ImageFormat::Gif);
    assert_eq!(decode_normalised(&gif).unwrap_err().code(), "image_broken");
}

#[test]
fn a_stored_picture_is_made_to_fit_a_provider_measured_after_base64() {
    let base64_bytes = |bytes: &[u8]| bytes.len().div_ceil(3) * 4;
    let stored = accept(&png(noise(600, 400))).bytes;
    let roomy = ProviderLimits {
        base64_bytes_max: 5_000_000,
        side_max_px: 2048,
    };
    assert_eq!(fit_for_provider(&stored, roomy).unwrap(), None);
    let exact = ProviderLimits {
        base64_bytes_max: base64_bytes(&stored) as u64,
        ..roomy
    };
    assert_eq!(fit_for_provider(&stored, exact).unwrap(), None);
    for limits in [
        ProviderLimits {
            base64_bytes_max: base64_bytes(&stored) as u64 - 1,
            ..roomy
        },
        ProviderLimits {
            base64_bytes_max: 20_001,
            side_max_px: 1000,
        },
        ProviderLimits {
            side_max_px: 100,
            ..roomy
        },
    ] {
        let fitted = fit_for_provider(&stored, limits).unwrap().unwrap();
        assert!(base64_bytes(&fitted.bytes) as u64 <= limits.base64_bytes_max);
        assert!(fitted.width_px.max(fitted.height_px) <= limits.side_max_px);
        let pixels = decode_normalised(&fitted.bytes).unwrap();
        assert_eq!(
            (pixels.width_px(), pixels.height_px()),
            (fitted.width_px, fitted.height_px)
        );
        assert_eq!(
            MediaType::of_normalised(&fitted.bytes),
            Some(fitted.media_type)
        );
    }
    let nothing = ProviderLimits {
        base64_bytes_max: 100,
        side_max_px: 100,
    };
    let error = fit_for_provider(&stored, nothing).unwrap_err();
    assert_eq!(error.code(), "image_cannot_fit");
}
