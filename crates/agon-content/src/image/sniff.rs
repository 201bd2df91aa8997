//! What kind of file some bytes are, judged by the bytes alone. The file's name and declared media type are never asked.

use std::fmt;

/// A picture format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PictureFormat {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG or APNG.
    Png,
    /// GIF 87a or 89a.
    Gif,
    /// WebP, lossy or lossless.
    WebP,
    /// BMP of Windows or OS/2.
    Bmp,
    /// TIFF, not larger than 4 GB.
    Tiff,
}

impl PictureFormat {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Jpeg,
        Self::Png,
        Self::Gif,
        Self::WebP,
        Self::Bmp,
        Self::Tiff,
    ];

    /// Its name as people write it, such as `JPEG`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::Gif => "GIF",
            Self::WebP => "WebP",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
        }
    }
}

/// A kind of file that is not read, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForeignKind {
    /// HEIC or HEIF, what most phones write.
    Heic,
    /// AVIF.
    Avif,
    /// JPEG XL.
    JpegXl,
    /// JPEG 2000.
    Jpeg2000,
    /// A camera's raw file.
    CameraRaw,
    /// BigTIFF, for files of more than 4 GB.
    BigTiff,
    /// A Windows icon or cursor.
    Ico,
    /// A Photoshop document.
    Photoshop,
    /// SVG: a drawing as text, able to carry scripts.
    Svg,
    /// PDF or PostScript.
    Pdf,
    /// A Word, Excel, PowerPoint or OpenDocument file.
    Office,
    /// ZIP, 7z, RAR, gzip and other archives.
    Archive,
    /// A web page.
    Html,
    /// A video.
    Video,
    /// A sound.
    Audio,
    /// An executable program.
    Program,
    /// Plain text.
    Text,
    /// Another picture format, seldom met.
    OtherPicture,
    /// None of these.
    Unknown,
}

impl ForeignKind {
    /// What it is, with its article, such as `a HEIC photo`.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Heic => "a HEIC photo",
            Self::Avif => "an AVIF picture",
            Self::JpegXl => "a JPEG XL picture",
            Self::Jpeg2000 => "a JPEG 2000 picture",
            Self::CameraRaw => "a camera's raw file",
            Self::BigTiff => "a BigTIFF picture",
            Self::Ico => "an icon file",
            Self::Photoshop => "a Photoshop document",
            Self::Svg => "an SVG drawing",
            Self::Pdf => "a PDF or PostScript document",
            Self::Office => "an office document",
            Self::Archive => "an archive such as ZIP",
            Self::Html => "a web page",
            Self::Video => "a video",
            Self::Audio => "a sound file",
            Self::Program => "a program",
            Self::Text => "a text file",
            Self::OtherPicture => "a picture in a rare format",
            Self::Unknown => "a file of an unknown kind",
        }
    }

    /// What the voter can do instead, as a sentence.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Heic => {
                "In the Photos app, share or export it as JPEG (on an iPhone: Settings, Camera, Formats, Most Compatible), or take a screenshot of it."
            }
            Self::Avif | Self::JpegXl | Self::Jpeg2000 | Self::OtherPicture => {
                "Open it in a picture viewer and save it as JPEG or PNG, or take a screenshot of it."
            }
            Self::CameraRaw => {
                "Export it as JPEG from the camera's program, or take a screenshot of it."
            }
            Self::BigTiff | Self::Ico | Self::Photoshop => {
                "Open it in a picture editor and save it as PNG or JPEG."
            }
            Self::Svg => {
                "Export it as PNG from the program that drew it, or take a screenshot of it."
            }
            Self::Pdf | Self::Office | Self::Html => {
                "Take a screenshot of the page that you want to ask about."
            }
            Self::Archive => "Unpack it first and upload the picture inside.",
            Self::Video => "Take a screenshot of the moment that you want to ask about.",
            Self::Text => "Paste the text into the question instead.",
            Self::Audio | Self::Program | Self::Unknown => "Choose a picture file instead.",
        }
    }
}

impl fmt::Display for ForeignKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.describe())
    }
}

/// Kinds told by a fixed run of bytes at the start.
const PREFIXES: &[(&[u8], ForeignKind)] = &[
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", ForeignKind::JpegXl),
    (b"\xff\x0a", ForeignKind::JpegXl),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", ForeignKind::Jpeg2000),
    (b"\xff\x4f\xff\x51", ForeignKind::Jpeg2000),
    (b"II\x2b\x00", ForeignKind::BigTiff),
    (b"MM\x00\x2b", ForeignKind::BigTiff),
    (b"IIRO", ForeignKind::CameraRaw),
    (b"IIU\x00", ForeignKind::CameraRaw),
    (b"FUJIFILMCCD-RAW", ForeignKind::CameraRaw),
    (b"\x00\x00\x01\x00", ForeignKind::Ico),
    (b"\x00\x00\x02\x00", ForeignKind::Ico),
    (b"8BPS", ForeignKind::Photoshop),
    (b"%!PS", ForeignKind::Pdf),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ForeignKind::Office),
    (b"{\\rtf", ForeignKind::Office),
    (b"7z\xbc\xaf\x27\x1c", ForeignKind::Archive),
    (b"Rar!\x1a\x07", ForeignKind::Archive),
    (b"\x1f\x8b", ForeignKind::Archive),
    (b"BZh", ForeignKind::Archive),
    (b"\xfd7zXZ\x00", ForeignKind::Archive),
    (b"\x28\xb5\x2f\xfd", ForeignKind::Archive),
    (b"\x1a\x45\xdf\xa3", ForeignKind::Video),
    (b"FLV\x01", ForeignKind::Video),
    (b"\x00\x00\x01\xba", ForeignKind::Video),
    (b"\x00\x00\x01\xb3", ForeignKind::Video),
    (b"ID3", ForeignKind::Audio),
    (b"OggS", ForeignKind::Audio),
    (b"fLaC", ForeignKind::Audio),
    (b"\x7fELF", ForeignKind::Program),
    (b"MZ", ForeignKind::Program),
    (b"\xcf\xfa\xed\xfe", ForeignKind::Program),
    (b"#!", ForeignKind::Program),
    (b"\x76\x2f\x31\x01", ForeignKind::OtherPicture),
    (b"qoif", ForeignKind::OtherPicture),
    (b"#?RADIANCE", ForeignKind::OtherPicture),
    (b"DDS ", ForeignKind::OtherPicture),
    (b"farbfeld", ForeignKind::OtherPicture),
    (b"\xd7\xcd\xc6\x9a", ForeignKind::OtherPicture),
];

/// How far into a file the marks of text formats and containers are looked for, in bytes.
const LOOK_BYTES: usize = 4096;

/// Tells what `bytes` are. `bytes` must not be empty.
pub(super) fn sniff(bytes: &[u8]) -> Result<PictureFormat, ForeignKind> {
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Ok(PictureFormat::Jpeg);
    }
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Ok(PictureFormat::Png);
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Ok(PictureFormat::Gif);
    }
    // A bitmap's two reserved numbers are zero; "BM" alone could open any text.
    if bytes.starts_with(b"BM") && bytes.len() >= 18 && bytes[6..10] == [0; 4] {
        return Ok(PictureFormat::Bmp);
    }
    if bytes.starts_with(b"II\x2a\x00") || bytes.starts_with(b"MM\x00\x2a") {
        return if bytes.get(8..10) == Some(b"CR") {
            Err(ForeignKind::CameraRaw)
        } else {
            Ok(PictureFormat::Tiff)
        };
    }
    if bytes.starts_with(b"RIFF") {
        return match bytes.get(8..12) {
            Some(b"WEBP") => Ok(PictureFormat::WebP),
            Some(b"AVI ") => Err(ForeignKind::Video),
            Some(b"WAVE") => Err(ForeignKind::Audio),
            _ => Err(ForeignKind::Unknown),
        };
    }
    Err(foreign(bytes))
}

fn foreign(bytes: &[u8]) -> ForeignKind {
    let head = &bytes[..bytes.len().min(LOOK_BYTES)];
    if head.get(4..8) == Some(b"ftyp") {
        return box_file(head);
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        const OFFICE: [&[u8]; 5] = [
            b"[Content_Types].xml",
            b"word/",
            b"xl/",
            b"ppt/",
            b"application/vnd.oasis.opendocument",
        ];
        return if OFFICE.iter().any(|mark| holds(head, mark)) {
            ForeignKind::Office
        } else {
            ForeignKind::Archive
        };
    }
    // Readers of PDF accept its mark anywhere in the first kilobyte.
    if holds(&head[..head.len().min(1024)], b"%PDF-") {
        return ForeignKind::Pdf;
    }
    if let Some(&(_, kind)) = PREFIXES.iter().find(|(prefix, _)| head.starts_with(prefix)) {
        return kind;
    }
    if head.first() == Some(&b'P')
        && matches!(head.get(1), Some(b'1'..=b'7'))
        && head.get(2).is_some_and(u8::is_ascii_whitespace)
    {
        return ForeignKind::OtherPicture;
    }
    text_kind(bytes, head)
}

/// The kind of an ISO base media file, from its major and compatible brands.
fn box_file(head: &[u8]) -> ForeignKind {
    let size = head
        .first_chunk()
        .map_or(0, |size| u32::from_be_bytes(*size) as usize);
    let end = size.clamp(12, 256).min(head.len());
    let brands = || {
        head.get(8..end)
            .unwrap_or_default()
            .chunks_exact(4)
            .enumerate()
            // The second word is the major brand's version.
            .filter_map(|(idx, brand)| (idx != 1).then_some(brand))
    };
    if brands().any(|brand| brand == b"avif" || brand == b"avis") {
        return ForeignKind::Avif;
    }
    const HEIC: [&[u8]; 10] = [
        b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1",
    ];
    if brands().any(|brand| HEIC.contains(&brand)) {
        return ForeignKind::Heic;
    }
    match brands().next() {
        Some(b"crx ") => ForeignKind::CameraRaw,
        Some(b"M4A " | b"M4B ") => ForeignKind::Audio,
        _ => ForeignKind::Video,
    }
}

fn text_kind(bytes: &[u8], head: &[u8]) -> ForeignKind {
    let lower = head.to_ascii_lowercase();
    let start = lower
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&lower)
        .trim_ascii_start();
    const HTML: [&[u8]; 7] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<body",
        b"<script",
        b"<iframe",
        b"<?php",
    ];
    if HTML.iter().any(|mark| start.starts_with(mark)) {
        return ForeignKind::Html;
    }
    let is_markup = start.starts_with(b"<");
    if is_markup && holds(start, b"<svg") || start.starts_with(b"<!doctype svg") {
        return ForeignKind::Svg;
    }
    if is_markup && HTML.iter().any(|mark| holds(start, mark)) {
        return ForeignKind::Html;
    }
    // A character may be cut where the look ends, so only whole files count as wrong UTF-8 at their end.
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && bytes.len() > head.len(),
    };
    let is_printable = !head
        .iter()
        .any(|&byte| byte < 0x20 && !byte.is_ascii_whitespace() && byte != 0x1b);
    if is_text && is_printable {
        ForeignKind::Text
    } else {
        ForeignKind::Unknown
    }
}

fn holds(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.windows(mark.len()).any(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<PictureFormat, ForeignKind>) {
        assert_eq!(
            sniff(bytes),
            expected,
            "{:?}",
            bytes.escape_ascii().to_string()
        );
    }

    #[test]
    fn accepted_formats_are_told_by_their_bytes() {
        check(b"\xff\xd8\xff\xe0....", Ok(PictureFormat::Jpeg));
        check(b"\x89PNG\r\n\x1a\n....", Ok(PictureFormat::Png));
        check(b"GIF87a....", Ok(PictureFormat::Gif));
        check(b"GIF89a....", Ok(PictureFormat::Gif));
        check(b"RIFF\x10\0\0\0WEBPVP8 ", Ok(PictureFormat::WebP));
        check(
            b"BM\x76\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0",
            Ok(PictureFormat::Bmp),
        );
        check(b"II\x2a\x00\x08\0\0\0", Ok(PictureFormat::Tiff));
        check(b"MM\x00\x2a\0\0\0\x08", Ok(PictureFormat::Tiff));
    }

    #[test]
    fn other_files_are_named() {
        use ForeignKind as Kind;
        for (bytes, kind) in [
            (&b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"[..], Kind::Heic),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heix", Kind::Heic),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif", Kind::Avif),
            (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", Kind::Avif),
            (b"\0\0\0\x18ftypmp42\0\0\0\0isommp42", Kind::Video),
            (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", Kind::Video),
            (b"\0\0\0\x18ftypM4A \0\0\0\0M4A isom", Kind::Audio),
            (b"\x1a\x45\xdf\xa3webm", Kind::Video),
            (b"RIFF\x10\0\0\0AVI LIST", Kind::Video),
            (b"RIFF\x10\0\0\0WAVEfmt ", Kind::Audio),
            (b"RIFF\x10", Kind::Unknown),
            (b"\xff\x0a\x00\x10", Kind::JpegXl),
            (b"BMW is a car, and this is text", Kind::Text),
            (b"II\x2a\x00\x10\0\0\0CR\x02\0", Kind::CameraRaw),
            (b"MM\x00\x2b\0\x08\0\0", Kind::BigTiff),
            (b"IIRO\x08\0\0\0", Kind::CameraRaw),
            (b"\0\0\x01\0\x01\0\x10\x10", Kind::Ico),
            (b"%PDF-1.7\n", Kind::Pdf),
            (b"\n\n%PDF-1.7\n", Kind::Pdf),
            (b"PK\x03\x04\x14\0\0\0photo.jpg", Kind::Archive),
            (b"PK\x03\x04\x14\0\0\0[Content_Types].xml", Kind::Office),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind::Office),
            (b"\x1f\x8b\x08\x00", Kind::Archive),
            (b"<svg xmlns='http://www.w3.org/2000/svg'>", Kind::Svg),
            (b"\xef\xbb\xbf <?xml version='1.0'?><SVG>", Kind::Svg),
            (b"<!-- drawn --><svg/>", Kind::Svg),
            (b"<!DOCTYPE html><svg>", Kind::Html),
            (b"<!-- page --><html>", Kind::Html),
            (b"<script>alert(1)</script>", Kind::Html),
            (b"MZ\x90\0", Kind::Program),
            (b"#!/bin/sh\n", Kind::Program),
            (b"P6 1 1 255\n...", Kind::OtherPicture),
            ("Was ist das für ein Vogel?".as_bytes(), Kind::Text),
            (b"\xff\xd8", Kind::Unknown),
            (b"\x89PNG\n\x1a\n", Kind::Unknown),
            (b"\0\0\0\0\0\0\0\0ftyp", Kind::Unknown),
            (b"\0", Kind::Unknown),
        ] {
            check(bytes, Err(kind));
        }
    }
}
