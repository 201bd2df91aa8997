//! Stories over HTTP, against a real server on a loopback port.

mod annotation;
mod attacks;
mod battles;
mod consent;
mod durability;
mod images;
mod leaderboard;
mod load;
mod screening;
mod streams;
