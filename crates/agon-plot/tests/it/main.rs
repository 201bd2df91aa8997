//! The plots as others see them: SVG that any reader can parse, labels that do not overlap, pictures that do not change.

mod golden;
mod hostile;
mod layout;
mod pictures;
mod samples;
