//! PNG from the same SVG, with fonts that travel with the binary.

use std::{fmt, path::Path, sync::Arc};

use resvg::{tiny_skia, usvg};
use skrifa::FontRef;
use usvg::fontdb;

use crate::{Error, Plot, Theme};

/// The longest side of a PNG, in pixels.
pub const MAX_SIDE: f64 = 20_000.0;

/// The most pixels of a PNG: 400 MB of memory while it is drawn.
const MAX_PIXELS: f64 = 100e6;

/// The fonts that a PNG is drawn with.
///
/// The embedded one is Noto Sans (Latin, Greek, Cyrillic); other scripts need a font of the caller's or of the system.
/// A character that no font has is left out of the picture, never an error.
#[derive(Clone)]
pub struct Fonts {
    database: Arc<fontdb::Database>,
}

impl fmt::Debug for Fonts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Fonts")
            .field("faces", &self.database.len())
            .finish()
    }
}

impl Default for Fonts {
    fn default() -> Self {
        Self::embedded()
    }
}

impl Fonts {
    /// Only the embedded font: the same bytes on every machine.
    pub fn embedded() -> Self {
        let mut database = fontdb::Database::new();
        for bytes in [notosans::REGULAR_TTF, notosans::BOLD_TTF] {
            database.load_font_source(fontdb::Source::Binary(Arc::new(bytes)));
        }
        for set in [
            fontdb::Database::set_sans_serif_family::<&str>,
            fontdb::Database::set_serif_family::<&str>,
        ] {
            set(&mut database, "Noto Sans");
        }
        Self {
            database: Arc::new(database),
        }
    }

    /// Adds a font (TrueType, OpenType or a collection) for characters that the ones before it lack.
    ///
    /// # Errors
    ///
    /// [`Error::Font`] when the bytes are no font; `name` stands for it in the message.
    pub fn with_font(mut self, name: &str, bytes: Vec<u8>) -> Result<Self, Error> {
        if FontRef::from_index(&bytes, 0).is_err() {
            return Err(Error::Font(name.to_owned()));
        }
        let database = Arc::make_mut(&mut self.database);
        let before = database.len();
        database.load_font_data(bytes);
        if database.len() == before {
            return Err(Error::Font(name.to_owned()));
        }
        Ok(self)
    }

    /// Adds a font from a file.
    ///
    /// # Errors
    ///
    /// [`Error::FontFile`] when it cannot be read, [`Error::Font`] when it is no font.
    pub fn with_font_file(self, path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::FontFile {
            path: path.to_owned(),
            source,
        })?;
        self.with_font(&path.display().to_string(), bytes)
    }

    /// Adds the fonts of this machine. Pictures may then differ from machine to machine.
    #[must_use]
    pub fn with_system_fonts(mut self) -> Self {
        Arc::make_mut(&mut self.database).load_system_fonts();
        self
    }
}

impl Plot {
    /// The plot as PNG, `scale` pixels for each unit (2 suits most screens and papers).
    ///
    /// The same plot, theme, fonts and scale give the same bytes; there is no time stamp in them.
    ///
    /// # Errors
    ///
    /// [`Error::Scale`] when the scale is not positive, [`Error::TooLarge`] when a side would exceed [`MAX_SIDE`] pixels
    /// or the whole 100 million.
    pub fn to_png(&self, theme: Theme, scale: f32, fonts: &Fonts) -> Result<Vec<u8>, Error> {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::Scale(scale));
        }
        let factor = f64::from(scale);
        let (width, height) = ((self.width * factor).ceil(), (self.height * factor).ceil());
        if width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS {
            let by_side = MAX_SIDE / self.width.max(self.height);
            let by_area = (MAX_PIXELS / (self.width * self.height)).sqrt();
            return Err(Error::TooLarge {
                width,
                height,
                largest_scale: (by_side.min(by_area) * 100.0).floor() / 100.0,
            });
        }
        let theme = match theme {
            Theme::Dark => Theme::Dark,
            Theme::Light | Theme::Auto => Theme::Light,
        };
        let tree = self.tree(theme, fonts)?;
        let mut pixels =
            tiny_skia::Pixmap::new(width as u32, height as u32).ok_or(Error::TooLarge {
                width,
                height,
                largest_scale: 1.0,
            })?;
        resvg::render(
            &tree,
            // Not quite `scale`: the last row and column of pixels are filled as well.
            tiny_skia::Transform::from_scale(
                (width / self.width) as f32,
                (height / self.height) as f32,
            ),
            &mut pixels.as_mut(),
        );
        pixels
            .encode_png()
            .map_err(|error| Error::Draw(Box::new(error)))
    }

    pub(crate) fn tree(&self, theme: Theme, fonts: &Fonts) -> Result<usvg::Tree, Error> {
        let options = usvg::Options {
            fontdb: Arc::clone(&fonts.database),
            font_family: "Noto Sans".to_owned(),
            ..usvg::Options::default()
        };
        usvg::Tree::from_str(&self.to_svg(theme), &options)
            .map_err(|error| Error::Draw(Box::new(error)))
    }
}
