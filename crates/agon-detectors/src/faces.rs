//! Faces: CenterFace when its weights are installed, otherwise a weaker detector that needs no file.
//!
//! Only places are found. Nobody is recognised, and neither mood nor age is guessed.

mod boxes;
mod centerface;
mod seeta;

use std::path::Path;

use agon_content::{detect::PictureDetector, image::Pixels};
use agon_domain::{
    DetectorFailure, DetectorIdentity, Finding, FindingKind, FindingPlace, PixelBox,
};

use crate::{Error, Runtime, error::checked_threshold, failure::internal};

/// The category of every finding.
pub const CATEGORY: &str = "face";

/// How faces are looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceOptions {
    /// The score from which a face counts as found, from 0 to 1. `None` takes the default of the detector in use: 0.35 for CenterFace, 0.5 for the other.
    pub threshold: Option<f64>,
    /// The lengths, in pixels, to which the longer side of a picture is brought before CenterFace looks at it; it looks once for each.
    ///
    /// Longer ones find smaller faces, and the time grows with their square. Each is held to 32 to 2,048. Never enlarged more than twice.
    pub sides_px: Vec<u32>,
}

impl Default for FaceOptions {
    /// One look at 736 pixels.
    fn default() -> Self {
        Self {
            threshold: None,
            sides_px: vec![736],
        }
    }
}

impl FaceOptions {
    /// Two looks, at 736 and 1,472 pixels: finds faces of half the size in five times the time. For what is going to be published.
    pub fn thorough() -> Self {
        Self {
            threshold: None,
            sides_px: vec![736, 1_472],
        }
    }
}

/// A face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face {
    /// Where, in pixels of the picture.
    pub place: PixelBox,
    /// How sure the detector is, from 0 to 1.
    pub score: f64,
}

/// The detector. Cheap to clone: weights are shared.
#[derive(Clone, Debug)]
pub struct Faces {
    engine: Engine,
    identity: DetectorIdentity,
    threshold: f64,
}

#[derive(Clone, Debug)]
enum Engine {
    CenterFace(centerface::CenterFace),
    Seeta(seeta::Seeta),
}

impl Faces {
    /// `CenterFace`, from a folder of installed models.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`] if it is not installed, or what is wrong with the file or the options.
    pub fn centerface(
        folder: &Path,
        runtime: &Runtime,
        options: &FaceOptions,
    ) -> Result<Self, Error> {
        Ok(Self {
            engine: Engine::CenterFace(centerface::CenterFace::load(
                folder,
                runtime,
                &options.sides_px,
            )?),
            identity: DetectorIdentity::new("centerface", "1"),
            threshold: checked_threshold("threshold", options.threshold.unwrap_or(0.35))?,
        })
    }

    /// `SeetaFace` from the binary itself: frontal faces from about 20 pixels, and more misses and false finds.
    ///
    /// # Errors
    ///
    /// What is wrong with the options, or [`Error::NotBuiltIn`].
    pub fn built_in(options: &FaceOptions) -> Result<Self, Error> {
        Ok(Self {
            engine: Engine::Seeta(seeta::Seeta::load()?),
            identity: DetectorIdentity::new("seetaface", "1"),
            threshold: checked_threshold("threshold", options.threshold.unwrap_or(0.5))?,
        })
    }

    /// [`Self::centerface`] if its weights are in the folder, otherwise [`Self::built_in`]. [`Self::identity`](PictureDetector::identity) tells which.
    ///
    /// # Errors
    ///
    /// What is wrong with the options, or with a file that is there.
    pub fn load(
        folder: Option<&Path>,
        runtime: &Runtime,
        options: &FaceOptions,
    ) -> Result<Self, Error> {
        match folder.map(|folder| Self::centerface(folder, runtime, options)) {
            None | Some(Err(Error::Absent { .. })) => Self::built_in(options),
            Some(loaded) => loaded,
        }
    }

    /// All faces, doubtful ones too, from the surest.
    ///
    /// # Errors
    ///
    /// A failure when the network does not run.
    pub fn faces(&self, picture: &Pixels) -> Result<Vec<Face>, DetectorFailure> {
        let found = match &self.engine {
            Engine::CenterFace(engine) => engine.faces(picture),
            Engine::Seeta(engine) => engine.faces(picture),
        };
        let found = found.map_err(|detail| internal(&self.identity, self.screens_for(), detail))?;
        Ok(boxes::without_overlaps(found)
            .into_iter()
            .filter_map(|found| {
                Some(Face {
                    place: found.in_pixels(picture.width_px(), picture.height_px())?,
                    score: f64::from(found.score).clamp(0.0, 1.0),
                })
            })
            .collect())
    }
}

impl PictureDetector for Faces {
    fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    fn screens_for(&self) -> &[FindingKind] {
        &[FindingKind::Face]
    }

    fn find(&self, picture: &Pixels) -> Result<Vec<Finding>, DetectorFailure> {
        Ok(self
            .faces(picture)?
            .into_iter()
            .map(|face| Finding {
                detector: self.identity.clone(),
                kind: FindingKind::Face,
                category: CATEGORY.to_owned(),
                score: face.score,
                threshold: self.threshold,
                place: FindingPlace::Picture(face.place),
            })
            .collect())
    }
}
