//! What machines say about content: pictures made fit to use, answers labelled.
//!
//! [`image::normalise`] is the only way in for a picture: whatever the voter uploaded becomes one upright, flat, metadata-free JPEG or PNG, or is refused in words.
//! Nothing else in the workspace decodes pictures.
//!
//! [`annotate`] labels text: [`annotate::style`] counts tokens and Markdown elements, the input of style control; [`annotate::identity`] finds answers that say who gives them.
//! [`annotate::category`] and [`annotate::refusal`] say what a prompt asks for and whether an answer declines; [`question`] asks a vision model instead, and leaves the sending to its caller.
//! [`annotate::agreement`] compares two annotators.
//!
//! Everything here is synchronous, takes and returns plain values, and reads neither clock, environment nor disk.
//! [`image::normalise`] needs tens to hundreds of milliseconds of one core: call it in a bounded pool of blocking threads.

pub mod annotate;
pub mod image;
pub mod question;
