//! Stories on the command line, with the built binary.

mod rank;
mod release;
pub(crate) mod serve;
