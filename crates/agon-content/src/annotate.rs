//! Annotators label content; they never gate it. Each has a name and a version, kept beside every label it gives.

pub mod agreement;
pub mod category;
pub mod duplicates;
pub mod identity;
pub mod language;
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

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person who asks.
    User,
    /// The model that answers.
    Assistant,
}

/// One message of a conversation, as annotators read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Who wrote it.
    pub role: Role,
    /// What it says.
    pub text: &'a str,
}

#[cfg(test)]
pub(crate) mod tests;
