//! The face detector that is always there: `SeetaFace`, whose model comes with the crate that implements it.
//!
//! `build.rs` takes the model out of that crate's source, as the crate does not hand it out.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use agon_content::image::Pixels;
use rustface::{ImageData, Model};

use super::boxes::ScoredBox;
use crate::{Error, grey};

/// The model as built in; empty when the build did not find it.
const MODEL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/seeta_fd_frontal.bin"));

/// Longest side that it looks at. Its time grows with the area.
const SIDE_MAX_PX: u32 = 1_024;

/// Smallest face, in pixels of the picture as it looks at it; the detector knows no smaller ones.
const FACE_MIN_PX: u32 = 20;

/// Its own score from which it tells of a face at all.
const RAW_SCORE_MIN: f64 = 1.0;

/// The raw score that becomes ½. It is the one at which it was found to miss and to invent equally little.
const RAW_SCORE_HALF: f64 = 2.0;

#[derive(Clone)]
pub(super) struct Seeta(Arc<Model>);

impl fmt::Debug for Seeta {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Seeta").finish_non_exhaustive()
    }
}

impl Seeta {
    pub(super) fn load() -> Result<Self, Error> {
        if MODEL.is_empty() {
            return Err(Error::NotBuiltIn);
        }
        let model = rustface::read_model(MODEL).map_err(|error| Error::BadModel {
            name: "seeta_fd_frontal_v1.0.bin",
            detail: error.to_string(),
        })?;
        Ok(Self(Arc::new(model)))
    }

    pub(super) fn faces(&self, picture: &Pixels) -> Result<Vec<ScoredBox>, String> {
        let scaled = picture.scaled_to_fit(SIDE_MAX_PX);
        let (width, height) = (scaled.width_px(), scaled.height_px());
        if width.min(height) < FACE_MIN_PX {
            return Ok(Vec::new());
        }
        let grey = grey::of(scaled.as_rgb());
        let model = Model::clone(&self.0);
        // The detector is other people's code, and one picture must not take the process with it.
        let faces = catch_unwind(AssertUnwindSafe(move || {
            let mut detector = rustface::create_detector_with_model(model);
            detector.set_min_face_size(FACE_MIN_PX);
            detector.set_score_thresh(RAW_SCORE_MIN);
            detector.set_pyramid_scale_factor(0.8);
            detector.set_slide_window_step(4, 4);
            detector.detect(&ImageData::new(&grey, width, height))
        }))
        .map_err(|_| "the detector panicked".to_owned())?;
        let factors = (
            picture.width_px() as f32 / width as f32,
            picture.height_px() as f32 / height as f32,
        );
        Ok(faces
            .iter()
            .map(|face| {
                let place = face.bbox();
                let (left, top) = (place.x() as f32, place.y() as f32);
                let raw = face.score().max(0.0);
                ScoredBox {
                    left: left * factors.0,
                    top: top * factors.1,
                    right: (left + place.width() as f32) * factors.0,
                    bottom: (top + place.height() as f32) * factors.1,
                    score: (raw / (raw + RAW_SCORE_HALF)) as f32,
                }
            })
            .collect())
    }
}
