//! Which languages a service reads. A text in another one is not screened, which is not the same as clean.

use super::exchange::Trouble;

/// The languages that a service is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    accepted: Vec<String>,
    when_unknown: Option<String>,
}

impl Languages {
    /// These codes, such as `en` or `pt-BR`. A text whose language is not known is refused.
    pub fn new(accepted: &[&str]) -> Self {
        Self {
            accepted: accepted.iter().map(|code| (*code).to_owned()).collect(),
            when_unknown: None,
        }
    }

    /// Takes a text whose language is not known for one in this language.
    #[must_use]
    pub fn when_unknown(mut self, code: &str) -> Self {
        self.when_unknown = Some(code.to_owned());
        self
    }

    /// The code to send: as given, or without its region.
    pub(super) fn choose(&self, language: Option<&str>) -> Result<&str, Trouble> {
        let Some(language) = language else {
            return self
                .when_unknown
                .as_deref()
                .ok_or_else(|| Trouble::unsupported("the language of the text is not known"));
        };
        let base = language.split(['-', '_']).next().unwrap_or(language);
        let find = |code: &str| {
            self.accepted
                .iter()
                .find(|accepted| accepted.eq_ignore_ascii_case(code))
        };
        find(language)
            .or_else(|| find(base))
            .map(String::as_str)
            .ok_or_else(|| {
                Trouble::unsupported(format!(
                    "the language of the text is not read by the service: expected `{}`",
                    self.accepted.join("`, `")
                ))
            })
    }
}
