//! The one integration binary: stories of the whole product, as its users see it.
//!
//! One binary, because each links the whole application.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on stops, and says when it did not run"
)]

mod api_surface;
mod browser;
mod cli;
mod http;
mod real_models;
mod screening_interleavings;
mod test_arena;
mod tidy;
mod voted;
