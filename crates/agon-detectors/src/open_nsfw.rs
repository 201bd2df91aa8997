//! Pornographic pictures, by Yahoo's `open_nsfw` network.
//!
//! One number says how likely the picture is pornographic; drawings, violence and the age of persons are not what it knows.
//! The steps before the network are those of the package that publishes it: scaled to 256 × 256, the middle 224 × 224 cut out, saved as JPEG and loaded again (`jpeg_loss.rs`), blue first, minus the means of the training set.

mod jpeg_loss;

use std::{path::Path, sync::Arc};

use agon_content::{detect::PictureDetector, image::Pixels};
use agon_domain::{
    DetectorFailure, DetectorIdentity, Finding, FindingKind, FindingPlace, PixelBox,
};

use crate::{
    Error, Runtime, error::checked_threshold, failure::internal, network::Network,
    weights::OPEN_NSFW,
};

/// The category of the score.
pub const CATEGORY: &str = "nsfw";

/// The category of a second finding with a threshold of its own, for those who want people to look at doubtful pictures.
pub const REVIEW_CATEGORY: &str = "nsfw_review";

/// The side that a picture is scaled to, whatever its aspect.
const SCALED_SIDE_PX: u32 = 256;
/// The side of the middle that the network sees.
const SIDE_PX: u32 = 224;
/// Means of blue, green and red in the training set.
const MEANS_BGR: [f32; 3] = [104.0, 117.0, 123.0];

/// How the score is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenNsfwOptions {
    /// The score from which a picture counts as found, from 0 to 1.
    pub threshold: f64,
    /// If set, the score from which there is a finding of [`REVIEW_CATEGORY`] too, from 0 to 1.
    pub review_threshold: Option<f64>,
}

impl Default for OpenNsfwOptions {
    /// 0.8, which is what the network's authors call highly likely, and no review.
    fn default() -> Self {
        Self {
            threshold: 0.8,
            review_threshold: None,
        }
    }
}

/// The detector. Cheap to clone: the network is shared.
#[derive(Clone, Debug)]
pub struct OpenNsfw {
    network: Arc<Network>,
    identity: DetectorIdentity,
    options: OpenNsfwOptions,
}

impl OpenNsfw {
    /// Loads the network from a folder of installed models.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`] if it is not installed, or what is wrong with the file or the options.
    pub fn load(folder: &Path, runtime: &Runtime, options: OpenNsfwOptions) -> Result<Self, Error> {
        checked_threshold("threshold", options.threshold)?;
        if let Some(threshold) = options.review_threshold {
            checked_threshold("review_threshold", threshold)?;
        }
        Ok(Self {
            network: Arc::new(Network::load(OPEN_NSFW, folder, runtime, Ok)?),
            identity: DetectorIdentity::new("open-nsfw", "1"),
            options,
        })
    }

    /// How likely the picture is pornographic, from 0 to 1.
    ///
    /// # Errors
    ///
    /// A failure when the network gives no such number.
    pub fn score(&self, picture: &Pixels) -> Result<f64, DetectorFailure> {
        let failed = |detail| internal(&self.identity, self.screens_for(), detail);
        let side = SIDE_PX as usize;
        let outputs = self
            .network
            .run::<2>([1, side, side, 3], input(picture), &[])
            .map_err(failed)?;
        match outputs.as_slice() {
            [output] => match output.values.as_slice() {
                [_, score] if (0.0..=1.0).contains(score) => Ok(f64::from(*score)),
                _ => Err(failed("the network gave no two shares".to_owned())),
            },
            _ => Err(failed("the network gave nothing".to_owned())),
        }
    }
}

/// What the network sees: rows of pixels, blue first.
fn input(picture: &Pixels) -> Vec<f32> {
    let margin = (SCALED_SIDE_PX - SIDE_PX) / 2;
    let scaled = picture.resized(SCALED_SIDE_PX, SCALED_SIDE_PX);
    let middle = scaled.cropped(PixelBox {
        left_px: margin,
        top_px: margin,
        width_px: SIDE_PX,
        height_px: SIDE_PX,
    });
    // The middle of 256 × 256 pixels is always there; the whole stands in for the type's sake.
    let middle = middle.unwrap_or(scaled);
    jpeg_loss::applied(middle.as_rgb(), SIDE_PX as usize)
        .as_chunks::<3>()
        .0
        .iter()
        .flat_map(|[red, green, blue]| {
            let [mean_blue, mean_green, mean_red] = MEANS_BGR;
            [
                f32::from(*blue) - mean_blue,
                f32::from(*green) - mean_green,
                f32::from(*red) - mean_red,
            ]
        })
        .collect()
}

impl PictureDetector for OpenNsfw {
    fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    fn screens_for(&self) -> &[FindingKind] {
        &[FindingKind::NsfwImage]
    }

    /// The score is always there, so that a later threshold can judge it again.
    fn find(&self, picture: &Pixels) -> Result<Vec<Finding>, DetectorFailure> {
        let score = self.score(picture)?;
        let finding = |category: &str, threshold| Finding {
            detector: self.identity.clone(),
            kind: FindingKind::NsfwImage,
            category: category.to_owned(),
            score,
            threshold,
            place: FindingPlace::Whole,
        };
        let mut findings = vec![finding(CATEGORY, self.options.threshold)];
        if let Some(threshold) = self.options.review_threshold {
            findings.push(finding(REVIEW_CATEGORY, threshold));
        }
        Ok(findings)
    }
}
