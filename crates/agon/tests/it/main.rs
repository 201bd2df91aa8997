//! The one integration binary: stories of the whole product, as its users see it.
//!
//! One binary, because each links the whole application.

mod api_surface;
mod browser;
mod cli;
mod http;
mod real_models;
mod test_arena;
mod tidy;
