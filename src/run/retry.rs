//! When a model call that came to nothing is made again, and by whom.
//!
//! Decides how often, after how long, and which failures another provider may not have. Promises: a call that has shown
//! anything is made again by itself only where its answer was cut, and no tool of such an answer has had an effect. What costs
//! money or needs a person is not tried twice. Leaves to others: waiting (`harness/`).

use crate::error::{Code, ErrorInfo};
use crate::model::errors::is_sealed;
use crate::ports::Millis;

/// How often one provider is asked for one answer.
const TRIES: u64 = 3;

/// The first wait, and the longest, in milliseconds, where the provider does not say how long.
const FIRST_WAIT: Millis = 500;
const LONGEST_WAIT: Millis = 8_000;

/// The longest wait that a provider may ask for, in milliseconds: a person before the page should know sooner.
const LONGEST_ASKED: Millis = 120_000;

/// When a provider is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// At this time.
    At(Millis),
    /// As soon as there is a network.
    Online,
}

/// A model call that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broke {
    /// Why.
    pub error: ErrorInfo,
    /// Whether anything of the answer was shown.
    pub shown: bool,
    /// Whether a tool call of the answer was seen to begin.
    pub began: bool,
    /// Whether the provider has run a tool for it that may have had an effect.
    pub acted: bool,
    /// The draw of its wait, from 0 to 999.
    pub draw: u64,
    /// It is decided what follows.
    pub decided: bool,
}

impl Broke {
    /// Whether anything of it was shown or done.
    pub(super) fn left_something(&self) -> bool {
        self.shown || self.began || self.acted
    }

    /// Whether what was shown of it stays, so that this provider is not asked again by the run itself.
    fn stays(&self, cut: bool) -> bool {
        let is_cut = self.error.code == Code::StreamBroken || self.error.provider.offline;
        // No tool of the page has run: that waits until all of its answer is stored. A tool of the provider may have.
        self.left_something() && !(cut && is_cut && !self.acted)
    }

    /// Whether it is made again as soon as there is a network, and is no try. `cut`: as in [`wait`](Broke::wait).
    pub(super) fn awaits_network(&self, cut: bool) -> bool {
        self.error.provider.offline && !self.stays(cut)
    }

    /// How long to wait before the same provider is asked again; `None`: it is not. `tries`: how often it was asked; `cut`:
    /// whether an answer that was cut in the middle is asked for again.
    pub(super) fn wait(&self, tries: u64, cut: bool) -> Option<Millis> {
        if self.stays(cut) || tries >= TRIES {
            return None;
        }
        if is_sealed(&self.error) {
            // The next request does without (`Session::name_of`).
            return Some(0);
        }
        if !self.error.retryable() {
            return None;
        }
        let asked = self.error.provider.retry_after.filter(|ms| *ms > 0);
        let own = || {
            let wait = (FIRST_WAIT << tries.saturating_sub(1).min(8)).min(LONGEST_WAIT);
            // Up to a quarter less, so that those who failed together do not come again together.
            wait - wait * self.draw.min(999) / 4_000
        };
        Some(asked.unwrap_or_else(own)).filter(|wait| *wait <= LONGEST_ASKED)
    }

    /// Whether another provider may do better.
    pub(super) fn falls_back(&self) -> bool {
        let theirs = matches!(
            self.error.code,
            Code::Auth
                | Code::Permission
                | Code::NotFound
                | Code::RateLimit
                | Code::Quota
                | Code::Overloaded
                | Code::Server
                | Code::Network
                | Code::Timeout
                | Code::StreamBroken
                | Code::Protocol
                | Code::TooLarge
                | Code::NotConfigured
        );
        theirs && !self.left_something()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broke(code: Code, draw: u64) -> Broke {
        Broke {
            error: ErrorInfo::new(code, "m"),
            shown: false,
            began: false,
            acted: false,
            draw,
            decided: false,
        }
    }

    #[test]
    fn waits_double_and_are_drawn_a_little_shorter() {
        assert_eq!(broke(Code::Overloaded, 0).wait(1, true), Some(500));
        assert_eq!(broke(Code::Overloaded, 0).wait(2, true), Some(1000));
        assert_eq!(broke(Code::Overloaded, 999).wait(2, true), Some(751));
        assert_eq!(broke(Code::Overloaded, 0).wait(3, true), None, "three tries in all");
    }

    #[test]
    fn the_provider_says_how_long_but_not_for_ever() {
        let mut limited = broke(Code::RateLimit, 500);
        limited.error.provider.retry_after = Some(3_000);
        assert_eq!(limited.wait(1, true), Some(3_000));
        limited.error.provider.retry_after = Some(0);
        assert!(limited.wait(1, true).is_some_and(|ms| ms > 375), "no time at all is not said");
        limited.error.provider.retry_after = Some(3_600_000);
        assert_eq!(limited.wait(1, true), None);
    }

    #[test]
    fn what_a_person_must_mend_or_has_seen_is_not_tried_again() {
        for code in [Code::Auth, Code::Permission, Code::Quota, Code::InvalidRequest, Code::Protocol] {
            assert_eq!(broke(code, 0).wait(1, true), None, "{code:?}");
        }
        for code in [
            Code::RateLimit,
            Code::Overloaded,
            Code::Server,
            Code::Network,
            Code::Timeout,
            Code::StreamBroken,
        ] {
            assert!(broke(code, 0).wait(1, true).is_some(), "{code:?}");
            assert_eq!(Broke { shown: true, ..broke(code, 0) }.wait(1, false), None, "{code:?}");
        }
        let mut asked = broke(Code::Server, 0);
        asked.error.provider.retry = Some(false);
        assert_eq!(asked.wait(1, true), None);
        let mut odd = broke(Code::InvalidRequest, 0);
        odd.error.provider.retry = Some(true);
        assert_eq!(odd.wait(1, true), Some(500));
    }

    #[test]
    fn an_answer_that_was_cut_is_asked_for_again() {
        let cut = |code| Broke { shown: true, ..broke(code, 0) };
        assert_eq!(cut(Code::StreamBroken).wait(2, true), Some(1000));
        assert_eq!(cut(Code::StreamBroken).wait(3, true), None, "it counts as a try");
        assert_eq!(cut(Code::StreamBroken).wait(1, false), None);
        for code in [Code::Overloaded, Code::Server, Code::RateLimit, Code::Timeout, Code::Network] {
            assert_eq!(cut(code).wait(1, true), None, "{code:?}: its provider has ended it, or nobody has");
        }
        let in_call = |code| Broke { began: true, ..broke(code, 0) };
        assert_eq!(in_call(Code::StreamBroken).wait(1, true), Some(500));
        assert_eq!(in_call(Code::StreamBroken).wait(1, false), None);
        assert_eq!(in_call(Code::Overloaded).wait(1, true), None);
        let acted = Broke { acted: true, ..broke(Code::StreamBroken, 0) };
        assert_eq!(acted.wait(1, true), None, "its provider may have done something");
        assert!(!acted.falls_back());
    }

    #[test]
    fn another_provider_cannot_mend_a_request_or_a_refusal() {
        for code in
            [Code::InvalidRequest, Code::ContextLength, Code::Refused, Code::Aborted, Code::InvalidConfig]
        {
            assert!(!broke(code, 0).falls_back(), "{code:?}");
        }
        assert!(broke(Code::Quota, 0).falls_back());
        assert!(!Broke { shown: true, ..broke(Code::Server, 0) }.falls_back());
    }
}
