//! Annotators label content; they never gate it. Each has a name and a version, kept beside every label it gives.

pub mod agreement;
pub mod category;
pub mod identity;
pub mod refusal;
pub mod style;

/// Who gave a label.
///
/// The version changes whenever the same content may get another label, so that labels of two versions are never mixed unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Annotator {
    /// Its name, stable, in kebab case.
    pub name: &'static str,
    /// The version of its rules.
    pub version: u32,
}

#[cfg(test)]
pub(crate) mod tests;
