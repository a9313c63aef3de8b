//! How long a model may keep silent.
//!
//! Decides when an answer is given up (no head, no first byte, a silence in the middle), and when a run has no time
//! left. Promises: what counts is the clock, never the number of timers, so that a hidden page or a machine that slept
//! is right too. A page that was asleep hears what has come meanwhile, once, before the model is given up. Nothing of a
//! run begins after its time. Leaves to others: aborting, and whether the call is made again (`run`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::CallKey;
use crate::harness::calls::Calls;
use crate::harness::config::Timeouts;
use crate::harness::core::Core;
use crate::harness::setup::Setup;
use crate::ports::Millis;

/// How late a timer may be before it is taken for one that was held up, and how long what came meanwhile may take to be
/// heard, in milliseconds.
const LATE_MS: Millis = 1_000;

/// What an answer has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connecting,
    Begun,
    Streaming,
}

/// The watch over one model call.
#[derive(Clone, Copy, Debug)]
pub(in crate::harness) struct Watch {
    timeouts: Option<Timeouts>,
    stage: Stage,
    heard: Millis,
    /// Whether it was given more time since then, to hear what came while the page was asleep.
    listened: bool,
    /// When it is looked at next. It is not moved by every piece that comes: then each would cost a timer.
    look: Millis,
}

impl Watch {
    /// Over a call that begins now. Without timeouts nothing is given up.
    fn new(now: Millis, timeouts: Option<Timeouts>) -> Watch {
        let mut watch = Watch { timeouts, stage: Stage::Connecting, heard: now, listened: false, look: 0 };
        watch.look = watch.until().unwrap_or(Millis::MAX);
        watch
    }

    /// The watch over a call that goes to the provider of this name.
    pub fn over(core: &Core, setup: &Setup, on: Option<&str>) -> Watch {
        Watch::new(core.now, setup.timeouts(on))
    }

    /// How long this stage may take.
    fn limit(&self) -> Option<Millis> {
        self.timeouts.map(|timeouts| match self.stage {
            Stage::Connecting => timeouts.connect,
            Stage::Begun => timeouts.first_byte,
            Stage::Streaming => timeouts.silence,
        })
    }

    /// When it is given up if nothing more comes.
    fn until(&self) -> Option<Millis> {
        self.limit().map(|limit| self.heard.saturating_add(limit))
    }

    /// When it is to be looked at.
    pub(in crate::harness) fn due(&self) -> Option<Millis> {
        self.timeouts.map(|_| self.look)
    }

    /// Something has come. `bytes`: of the answer's body; else its head.
    pub(in crate::harness) fn heard(&mut self, now: Millis, bytes: bool) {
        let stage = if bytes { Stage::Streaming } else { Stage::Begun };
        (self.heard, self.listened) = (now, false);
        if stage != self.stage {
            self.stage = stage;
            self.look = self.look.min(self.until().unwrap_or(self.look));
        }
    }

    /// Why it is given up, if it is.
    pub fn look(&mut self, now: Millis) -> Option<ErrorInfo> {
        let until = self.until()?;
        if until > now {
            self.look = until;
            return None;
        }
        // Once: in a hidden page every timer is late.
        if now.saturating_sub(self.look) > LATE_MS && !self.listened {
            (self.look, self.listened) = (now + LATE_MS, true);
            return None;
        }
        let (what, option) = match self.stage {
            Stage::Connecting => ("the provider did not answer", "connectMs"),
            Stage::Begun => ("the provider began to answer and sent nothing", "firstByteMs"),
            Stage::Streaming => ("the provider went silent in the middle of the answer", "silenceMs"),
        };
        let ms = self.limit().unwrap_or_default();
        let error = ErrorInfo::new(Code::Timeout, [what, " within ", &ms.to_string(), " ms"].concat());
        Some(error.hint(["try again, or raise timeouts.", option].concat()))
    }
}

impl Calls {
    /// Something of an answer has come: bytes of its body, or else its head.
    pub fn heard(&mut self, core: &mut Core, now: Millis, call: CallKey, bytes: bool) {
        core.set_now(now);
        if let Some(model) = self.models.get_mut(call) {
            model.asked.watch.heard(core.now, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUTS: Timeouts = Timeouts { connect: 100, first_byte: 200, silence: 50, run: None };

    fn message(error: Option<ErrorInfo>) -> String {
        error.map(|error| error.message.clone()).unwrap_or_default()
    }

    #[test]
    fn each_stage_has_its_own_time() {
        let mut watch = Watch::new(1_000, Some(TIMEOUTS));
        assert_eq!(watch.due(), Some(1_100));
        assert_eq!(watch.look(1_099), None);
        assert!(message(watch.clone().look(1_100)).contains("did not answer within 100 ms"));
        watch.heard(1_050, false);
        assert_eq!(watch.look(1_100), None);
        assert_eq!(watch.due(), Some(1_250));
        watch.heard(1_060, true);
        assert_eq!(watch.due(), Some(1_110), "the next stage is shorter");
        watch.heard(1_100, true);
        assert_eq!(watch.look(1_110), None);
        assert_eq!(watch.due(), Some(1_150));
        assert!(message(watch.look(1_150)).contains("silent"));
    }

    #[test]
    fn a_page_that_slept_listens_first() {
        let mut watch = Watch::new(0, Some(TIMEOUTS));
        assert_eq!(watch.look(60_000), None);
        assert_eq!(watch.due(), Some(61_000));
        let mut answered = watch;
        answered.heard(60_010, true);
        assert_eq!(answered.look(60_055), None);
        assert!(watch.look(61_000).is_some(), "and gives up then");
    }

    #[test]
    fn a_page_that_always_wakes_late_listens_once_a_silence() {
        let mut watch = Watch::new(0, Some(TIMEOUTS));
        assert_eq!(watch.look(60_000), None);
        watch.heard(60_500, true);
        // Every timer of a page that is hidden for long is late.
        assert_eq!(watch.look(120_000), None, "something came since");
        assert!(watch.look(180_000).is_some());
    }

    #[test]
    fn nothing_is_given_up_without_timeouts() {
        let watch = Watch::new(0, None);
        assert_eq!(watch.due(), None);
    }
}
