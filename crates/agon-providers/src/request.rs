//! What is asked of a model, in no vendor's words.

use std::fmt;

use bytes::Bytes;

use crate::{Error, ErrorKind};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person at the arena.
    User,
    /// The model, in an earlier turn.
    Assistant,
}

/// An image as it is sent to a provider: already screened, turned upright, stripped and re-encoded.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestImage {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// The encoded file.
    pub bytes: Bytes,
    /// Width in pixels.
    pub width_px: u32,
    /// Height in pixels.
    pub height_px: u32,
}

impl fmt::Debug for RequestImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The pixels are the user's; a debug print ends up in logs.
        f.debug_struct("RequestImage")
            .field("media_type", &self.media_type)
            .field("n_bytes", &self.bytes.len())
            .field("width_px", &self.width_px)
            .field("height_px", &self.height_px)
            .finish()
    }
}

/// One message of a conversation.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// What it says. May be empty only beside an image.
    pub text: String,
    /// The image shown with it; only a user shows one.
    pub image: Option<RequestImage>,
}

impl Message {
    /// A user's message without an image.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            text: text.into(),
            image: None,
        }
    }

    /// A model's earlier answer.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            text: text.into(),
            image: None,
        }
    }

    /// The same message with an image.
    #[must_use]
    pub fn with_image(mut self, image: RequestImage) -> Self {
        self.image = Some(image);
        self
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words are the user's or the model's; a debug print ends up in logs.
        f.debug_struct("Message")
            .field("role", &self.role)
            .field("n_text_bytes", &self.text.len())
            .field("image", &self.image)
            .finish()
    }
}

/// A conversation so far, and how the next answer is to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The messages, from first to last. The last is a user's.
    pub messages: Vec<Message>,
    /// Instructions in front of the conversation.
    pub system: Option<String>,
    /// The most tokens the answer may have.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// Nucleus sampling mass; `None` leaves it to the provider.
    pub top_p: Option<f64>,
}

impl Request {
    /// A request for an answer to the last of `messages`, with the provider's own sampling.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            system: None,
            max_output_tokens: None,
            temperature: None,
            top_p: None,
        }
    }

    /// Checks what every vendor would refuse.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |message: &str| Err(Error::new(ErrorKind::RejectedRequest, message));
        let Some(last) = self.messages.last() else {
            return refuse("the request has no message: expected at least one");
        };
        if last.role != Role::User {
            return refuse(
                "the last message is an assistant's: expected a user's, which is to be answered",
            );
        }
        for message in &self.messages {
            if message.role == Role::Assistant && message.image.is_some() {
                return refuse("an assistant's message holds an image: only a user shows one");
            }
            if message.role == Role::User && message.text.is_empty() && message.image.is_none() {
                return refuse("a user's message is empty: expected text, an image or both");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_no_vendor_could_answer_is_refused() {
        let image = RequestImage {
            media_type: "image/png".to_owned(),
            bytes: Bytes::from_static(b"secret pixels"),
            width_px: 1,
            height_px: 1,
        };
        let check = |messages: Vec<Message>, expected: Option<&str>| {
            let error = Request::new(messages).check().err();
            assert_eq!(
                error.map(|error| error.message),
                expected.map(ToOwned::to_owned)
            );
        };
        check(
            vec![],
            Some("the request has no message: expected at least one"),
        );
        check(
            vec![Message::user("hi"), Message::assistant("hello")],
            Some("the last message is an assistant's: expected a user's, which is to be answered"),
        );
        check(
            vec![Message::user("")],
            Some("a user's message is empty: expected text, an image or both"),
        );
        check(
            vec![
                Message::assistant("x").with_image(image.clone()),
                Message::user("y"),
            ],
            Some("an assistant's message holds an image: only a user shows one"),
        );
        check(vec![Message::user("").with_image(image)], None);
        check(
            vec![
                Message::user("a"),
                Message::assistant(""),
                Message::user("b"),
            ],
            None,
        );
    }

    #[test]
    fn a_debug_print_shows_no_words_and_no_pixels() {
        let message = Message::user("my private question").with_image(RequestImage {
            media_type: "image/png".to_owned(),
            bytes: Bytes::from_static(b"pixels"),
            width_px: 2,
            height_px: 3,
        });
        let shown = format!("{:?}", Request::new(vec![message]));
        assert!(!shown.contains("private"), "{shown}");
        assert!(!shown.contains("pixels\""), "{shown}");
        assert!(shown.contains("n_bytes: 6"), "{shown}");
    }
}
