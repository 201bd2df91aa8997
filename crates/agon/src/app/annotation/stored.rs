//! Labels as the store keeps them, and back.

use agon_dataset::Label;
use agon_store::Annotation;

/// A label that the store has.
pub fn label(annotation: &Annotation) -> Label {
    Label {
        annotator: annotation.annotator.clone(),
        version: annotation.version,
        label: annotation.label.clone(),
    }
}

/// A label for the store.
pub fn annotation(label: &Label) -> Annotation {
    Annotation {
        annotator: label.annotator.clone(),
        version: label.version,
        label: label.label.clone(),
    }
}
