//! From the bytes of a response body to an [`Answer`].
use super::Usage;
use super::{Answer, Delta, Wire};
use crate::error::{Code, ErrorInfo};

/// Decodes the answer to one call.
#[derive(Debug)]
pub struct Decoder {
    _wire: Wire,
}

impl Decoder {
    /// A decoder for a response body of this wire.
    pub fn new(wire: Wire) -> Self {
        Decoder { _wire: wire }
    }
    /// A decoder for what a custom provider yields: chat chunks and plain text. The end is a normal end.
    pub fn custom() -> Self {
        Decoder { _wire: Wire::OpenAiChat }
    }
    /// The next bytes of the body, split anywhere.
    ///
    /// # Errors
    /// What the provider tells in the stream, or `protocol`. Nothing more can be decoded then.
    pub fn push(&mut self, _bytes: &[u8], _sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        Ok(())
    }
    /// One chat chunk of a custom provider, as JSON text.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn push_chunk(&mut self, _json: &str, _sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        Ok(())
    }
    /// Plain text of a custom provider.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn push_text(&mut self, _text: &str, _sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), ErrorInfo> {
        Ok(())
    }
    /// What has come so far, for an interrupt: tool calls that are still open are left out, `stop` is `None`.
    pub fn snapshot(&self) -> Answer {
        Answer { blocks: Vec::new(), stop: None, usage: Usage::default(), model: None, id: None }
    }
    /// The body has ended.
    ///
    /// # Errors
    /// What broke it (`stream_broken` where it just ended too soon), with what came until then.
    pub fn finish(self) -> Result<Answer, (ErrorInfo, Answer)> {
        Err((ErrorInfo::new(Code::StreamBroken, "skeleton"), self.snapshot()))
    }
}
