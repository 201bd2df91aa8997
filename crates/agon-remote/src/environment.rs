//! Credentials and endpoints, as the environment gives them.

use std::{collections::BTreeMap, fmt};

/// The first parts of the names of variables that are used.
const PREFIXES: [&str; 4] = ["AWS_", "AZURE_", "GOOGLE_", "HF_"];

/// Parts of the names of variables whose values are secret.
const SECRET_PARTS: [&str; 7] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "SAS",
    "ACCOUNT",
    "PASSWORD",
    "CREDENTIAL",
];

/// Secrets that are shorter are not looked for in texts, as too much would be taken for them.
const SECRET_BYTES_MIN: usize = 6;

/// The environment variables that say how to reach and pay for what lies elsewhere: those that begin with `AWS_`, `AZURE_`, `GOOGLE_` and `HF_`.
///
/// Their names are those of the vendors' own tools, among them `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`, `HF_TOKEN`, `HF_ENDPOINT`.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Keeps those of the given variables that matter here. Empty ones count as not set.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(
            variables
                .into_iter()
                .filter(|(name, value)| {
                    !value.is_empty() && PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.0.contains_key(*name))
    }

    /// The variables with one prefix, the names in small letters.
    pub(crate) fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = (String, &str)> {
        self.0
            .iter()
            .filter(move |(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
    }

    /// A text of somebody else without the secrets in it.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            let is_secret = SECRET_PARTS.iter().any(|part| name.contains(part));
            if is_secret && value.len() >= SECRET_BYTES_MIN {
                text = text.replace(value, "[secret]");
            }
        }
        text
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
