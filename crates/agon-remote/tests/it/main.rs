//! Reading over the network, from servers of our own on this machine that behave well or badly.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod server;
mod test_bucket;
mod test_hub;
mod test_web;
mod votes;
