//! What machines say about content: pictures made fit to use, answers labelled.
//!
//! [`image::normalise`] is the only way in for a picture: whatever the voter uploaded becomes one upright, flat, metadata-free JPEG or PNG, or is refused in words.
//! Nothing else in the workspace decodes pictures.
//!
//! [`perceptual_hash`] finds pictures again that were scaled, re-encoded or turned, alone or among millions; [`known_image`] compares them with lists of known abuse images.
//!
//! [`detect`] says what a detector of pictures is.
//!
//! [`annotate`] labels text: [`annotate::style`] counts tokens and Markdown elements, the input of style control; [`annotate::language`] tells languages; [`annotate::duplicates`] finds prompts that were asked before; [`annotate::identity`] finds answers that say who gives them.
//! [`annotate::category`] and [`annotate::refusal`] say what a prompt asks for and whether an answer declines; [`question`] asks a vision model instead, and leaves the sending to its caller.
//! [`annotate::agreement`] compares two annotators.
//!
//! Everything here is synchronous, takes and returns plain values, and reads neither clock, environment nor disk.
//! [`image::normalise`] needs tens to hundreds of milliseconds of one core: call it in a bounded pool of blocking threads.

pub mod annotate;
pub mod detect;
mod hexadecimal;
pub mod image;
pub mod known_image;
pub mod moderation;
pub mod perceptual_hash;
pub mod question;
