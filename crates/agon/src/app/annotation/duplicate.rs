//! Prompts that are there more than once: a label that needs all rows at once.

use agon_content::annotate::duplicates::{DUPLICATES_ANNOTATOR, DuplicateLabel};
use agon_dataset::Label;
use serde_json::json;

use super::{Content, kept};

/// What is compared: the user's turns, one on a line.
pub fn prompt_text(content: &Content<'_>) -> String {
    content.prompts().join("\n")
}

/// A row's label as it is kept. Rows are numbered from 0 over all that were read.
pub fn label(label: &DuplicateLabel) -> Label {
    kept(
        DUPLICATES_ANNOTATOR,
        &json!({
            "cluster": label.cluster,
            "cluster_rows": label.n_cluster,
            "exact": label.exact,
            "exact_rows": label.n_exact,
            "high_freq": label.dedup_tag.high_freq,
            "sampled": label.dedup_tag.sampled,
        }),
    )
}
