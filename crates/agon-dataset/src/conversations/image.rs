//! Pictures in the shapes that published sets have them in.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{Cell, RowImage};

/// Bytes of a picture beside a log that are read at most.
const IMAGE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Folders beside a log of FastChat in which its pictures may be: its own name first.
const LOG_FOLDERS: [&str; 2] = ["serve_images", "images"];

/// What their names may end in.
const LOG_EXTENSIONS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];

/// Bytes in base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn of_base64(text: &str) -> Option<Vec<u8>> {
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(compact).ok()
}

/// How pictures are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageReading<'a> {
    /// Whether their bytes are wanted.
    pub(super) bytes: bool,
    /// The folder of the log, when it is a file.
    pub(super) folder: Option<&'a Path>,
}

impl ImageReading<'_> {
    /// Reads a picture: a group with its bytes or its name, its bytes alone, or a text that is an address, a name, or base64. `Ok(None)` where there is none.
    pub(super) fn image(&self, cell: &Cell) -> Result<Option<RowImage>, String> {
        match cell {
            Cell::Null => Ok(None),
            Cell::Bytes(bytes) => Ok(Some(RowImage {
                bytes: self.bytes.then(|| bytes.clone()),
                ..RowImage::default()
            })),
            Cell::Text(text) => self.of_text(text).map(Some),
            Cell::Group(_) => self.of_group(cell),
            other => Err(format!("{} in place of a picture", other.kind())),
        }
    }

    fn of_group(&self, group: &Cell) -> Result<Option<RowImage>, String> {
        // An address in a group of its own, as chat protocols nest it.
        for name in ["image_url", "source", "image", "inline_data", "url"] {
            if let Some(inner) = group.get(name).filter(|inner| !inner.is_null()) {
                let Some(mut image) = self.image(inner)? else {
                    continue;
                };
                if let Some(media_type) = media_type(group) {
                    image.media_type.get_or_insert(media_type);
                }
                return Ok(Some(image));
            }
        }
        let mut image = RowImage {
            path: text_of(group, &["path", "file_name", "filename", "name"]),
            media_type: media_type(group),
            ..RowImage::default()
        };
        let found = ["bytes", "data", "base64"].iter().find_map(|name| {
            let cell = group.get(name)?;
            (!cell.is_null()).then_some((*name, cell))
        });
        match found {
            Some((_, Cell::Bytes(bytes))) => {
                image.bytes = self.bytes.then(|| bytes.clone());
            }
            Some((_, Cell::Text(text))) => {
                let inner = self.of_text(text)?;
                if self.bytes && inner.bytes.is_none() {
                    return Err("a picture whose bytes are neither bytes nor base64".to_owned());
                }
                image.bytes = inner.bytes;
                image.media_type = image.media_type.or(inner.media_type);
            }
            // Bytes as a list of numbers, as some tools write them to JSON.
            Some((name, Cell::List(cells))) => {
                let bytes = cells.iter().map(|cell| match cell {
                    Cell::Number(number) => {
                        number.as_u64().and_then(|byte| u8::try_from(byte).ok())
                    }
                    _ => None,
                });
                let bytes: Option<Vec<u8>> = bytes.collect();
                let bytes =
                    bytes.ok_or_else(|| format!("`{name}` of a picture is no list of bytes"))?;
                image.bytes = self.bytes.then(|| bytes.into());
            }
            Some((name, other)) => {
                return Err(format!("`{name}` of a picture is {}", other.kind()));
            }
            None if image.path.is_none() => return Ok(None),
            None => {}
        }
        Ok(Some(image))
    }

    fn of_text(&self, text: &str) -> Result<RowImage, String> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("data:") {
            let (head, data) = rest
                .split_once(',')
                .ok_or("a data address without a comma")?;
            let media_type = head.split(';').next().filter(|kind| !kind.is_empty());
            let mut image = RowImage {
                media_type: media_type.map(str::to_owned),
                ..RowImage::default()
            };
            if self.bytes {
                let bytes = of_base64(data).filter(|_| head.ends_with(";base64"));
                image.bytes = Some(bytes.ok_or("a data address that is not base64")?.into());
            }
            return Ok(image);
        }
        // A hash as in a log of FastChat.
        if is_md5(text) {
            return Ok(self.of_md5(text));
        }
        let is_name = text.len() < 1_024 && text.contains(['.', ':']);
        if !is_name && let Some(bytes) = of_base64(text).filter(|bytes| bytes.len() >= 8) {
            return Ok(RowImage {
                bytes: self.bytes.then(|| bytes.into()),
                ..RowImage::default()
            });
        }
        if text.len() >= 4_096 {
            return Err("a picture of text that is no base64".to_owned());
        }
        Ok(RowImage {
            path: Some(text.to_owned()),
            ..RowImage::default()
        })
    }

    /// The picture of a log that is called by its hash, from the folders beside the log.
    fn of_md5(&self, md5: &str) -> RowImage {
        let mut image = RowImage {
            md5: Some(md5.to_owned()),
            ..RowImage::default()
        };
        let Some(folder) = self.folder.filter(|_| self.bytes) else {
            return image;
        };
        let names = LOG_FOLDERS.iter().flat_map(|sub| {
            LOG_EXTENSIONS
                .iter()
                .map(move |extension| format!("{sub}/{md5}.{extension}"))
        });
        for name in names {
            let path = folder.join(&name);
            let is_file = path
                .metadata()
                .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= IMAGE_BYTES_MAX);
            if is_file && let Ok(bytes) = std::fs::read(&path) {
                image.path = Some(name);
                image.bytes = Some(bytes.into());
                break;
            }
        }
        image
    }
}

/// Whether a text is 32 hexadecimal digits, and so no path whatever it says.
pub(super) fn is_md5(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn text_of(group: &Cell, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        let text = group.get(name)?.as_text()?;
        (!text.is_empty()).then(|| text.to_owned())
    })
}

fn media_type(group: &Cell) -> Option<String> {
    text_of(group, &["mimeType", "mime_type", "media_type"])
}
