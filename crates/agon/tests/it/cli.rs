//! Stories on the command line, with the built binary.

mod annotate;
mod check;
mod detectors;
mod import;
mod import_cases;
mod quarantine;
mod rank;
mod rank_checks;
mod rank_compare;
mod rank_inputs;
mod rank_methods;
mod rank_outputs;
mod rank_parts;
mod rank_reference;
mod rank_style;
mod release;
mod screen;
pub(crate) mod serve;
