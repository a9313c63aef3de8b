//! Answers over HTTP that are read whole: a provider's errors, and what a trial of a key asks for.
//!
//! Decides how much of such an answer is read, for how long, and what it says. Promises: keys are out of an error before it
//! is cut, because half a key is not found again. Leaves to others: answers that stream (`streaming`), and what follows.

use crate::error::ErrorInfo;
use crate::harness::config::Http;
use crate::harness::core::Core;
use crate::model::errors::{PARTIAL, redirected};
use crate::ports::Millis;

/// How much is read of an error, in bytes.
pub(in crate::harness) const ERROR_BYTES: usize = 64 * 1024;

/// The head of an answer, and its body so far.
#[derive(Debug)]
pub(in crate::harness) struct Whole {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// How much of the body is read at most.
    most: usize,
    /// When its head came.
    since: Millis,
}

/// Whether an answer with this status is what was asked for, and all of it.
pub(in crate::harness) fn is_good(status: u16) -> bool {
    (200..300).contains(&status) && status != PARTIAL
}

impl Whole {
    /// An answer whose head has just come.
    pub fn new(now: Millis, status: u16, headers: Vec<(String, String)>, most: usize) -> Whole {
        Whole { status, headers, body: Vec::new(), most, since: now }
    }

    /// Takes more of the body. `false`: that is enough of it. It need not be read to its end, and may have none.
    pub fn take(&mut self, now: Millis, bytes: &[u8], patience: Millis) -> bool {
        let room = self.most.saturating_sub(self.body.len()).min(bytes.len());
        self.body.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.body.len() < self.most && now.saturating_sub(self.since) <= patience
    }

    /// Its body, or why it is not what was asked for. `url`: where it comes from.
    pub fn said(self, core: &Core, http: &Http, url: &str) -> Result<String, ErrorInfo> {
        let Whole { status, mut headers, body, .. } = self;
        let body = String::from_utf8_lossy(&body).into_owned();
        if is_good(status) {
            return Ok(body);
        }
        for (_, value) in &mut headers {
            core.secrets.scrub(value);
        }
        // A browser that must not follow tells neither the status nor where to.
        if status == 0 || (300..400).contains(&status) {
            let location =
                headers.iter().find(|(name, _)| name == "location").map(|(_, value)| value.as_str());
            return Err(redirected(url, location));
        }
        Err(http.preset.wire.error(status, &headers, &core.secrets.scrubbed(body), core.now))
    }
}
