//! What the tests of annotators share: the shared test data, and fixtures in lines.

use std::path::PathBuf;

use serde_json::Value;

/// The bytes of a file of the shared test data, or `None` after saying that it is absent.
pub(crate) fn shared(path: &str) -> Option<Vec<u8>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test reads where the shared data are"
    )]
    let folder = std::env::var("AGON_TESTDATA");
    let Ok(folder) = folder else {
        println!("AGON_TESTDATA is not set: `{path}` is not read");
        return None;
    };
    Some(std::fs::read(PathBuf::from(folder).join(path)).unwrap())
}

/// The values of a file with one JSON value a line.
pub(crate) fn json_lines(bytes: &[u8]) -> Vec<Value> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The fields of each line of a fixture; `\n` in a field is a line break, `\\` a backslash.
pub(crate) fn tab_separated(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            line.split('\t')
                .map(|field| {
                    field
                        .replace("\\\\", "\u{1}")
                        .replace("\\n", "\n")
                        .replace('\u{1}', "\\")
                })
                .collect()
        })
        .collect()
}
