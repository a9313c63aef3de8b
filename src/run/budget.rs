//! What a run and a session may use up.
//!
//! Decides when there is nothing left for another model call. Promises: it goes by the journal's sums alone, so what was
//! spent before a reload counts. Money that nobody can count is not spent. Leaves to others: counting (`journal`), and
//! what an answer costs (`model`).

use crate::error::{Code, ErrorInfo};
use crate::journal::{Limit, Spender, Sums, Word};
use crate::ports::Millis;
use serde_json::Value;

/// The limits of a run or a session; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget([Option<u64>; 5]);

/// Nano-dollars in a dollar.
const NANO: f64 = 1e9;

impl Budget {
    /// Reads a recorded budget; a value that is no limit limits nothing.
    pub fn from_record(record: Option<&Value>) -> Budget {
        Budget(Limit::ALL.map(|limit| {
            let number = record?.get(limit.as_str())?.as_f64().filter(|number| *number >= 0.0)?;
            Some(if limit == Limit::Cost { (number * NANO).round() as u64 } else { number as u64 })
        }))
    }

    /// Whether it limits money.
    pub fn limits_cost(&self) -> bool {
        let [_, _, _, cost, _] = self.0;
        cost.is_some()
    }

    /// What is used up: which limit, how much was spent, and the limit. `since`: how long it has taken.
    pub(super) fn exceeded(&self, sums: &Sums, since: Millis) -> Option<(Limit, u64, u64)> {
        let usage = &sums.usage;
        let input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
        let unknown = if sums.turns == 0 { 0 } else { u64::MAX };
        let spent = [sums.turns, input, usage.output_tokens, sums.cost.unwrap_or(unknown), since];
        let limits = Limit::ALL.into_iter().zip(spent).zip(self.0);
        let mut over = limits.filter_map(|((which, spent), limit)| Some((which, spent, limit?)));
        over.find(|(_, spent, limit)| spent >= limit)
    }
}

/// Why a run cannot go on.
pub(super) fn exceeded(of: &Word<Spender>, what: &Word<Limit>, spent: u64, limit: u64) -> ErrorInfo {
    let unit = match what.known() {
        Some(Limit::Turns) => " turns",
        Some(Limit::InputTokens) => " input tokens",
        Some(Limit::OutputTokens) => " output tokens",
        Some(Limit::WallMs) => " ms",
        Some(Limit::Cost) | None => "",
    };
    let is_cost = *what == Limit::Cost;
    let amount = |number: u64| match number {
        _ if !is_cost => number.to_string(),
        u64::MAX => "an unknown part".into(),
        // Written by hand: printing a float takes nine kilobytes of the module.
        _ => {
            let parts = number.saturating_add(50_000) / 100_000;
            format!("${}.{:04}", parts / 10_000, parts % 10_000)
        }
    };
    let (name, what) = (of.as_str(), what.as_str());
    let message = format!("the {name} has used up its budget: {} of {}{unit}", amount(spent), amount(limit));
    if is_cost && spent == u64::MAX {
        let hint =
            ["ask a model that counts its tokens and has a price, or take budgets.", name, ".cost away"];
        return ErrorInfo::new(Code::BudgetExceeded, message).hint(hint.concat());
    }
    let hint = match of.known() {
        Some(Spender::Run) => "resume it or send another message, which has a budget of its own",
        _ => "start the agent with a larger budget",
    };
    ErrorInfo::new(Code::BudgetExceeded, message).hint(format!("{hint}, or raise budgets.{name}.{what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Usage;
    use serde_json::json;

    fn sums() -> Sums {
        let usage = Usage { input_tokens: 70, output_tokens: 20, cache_read_tokens: 30, ..Usage::default() };
        let mut sums = Sums::default();
        sums.add((&usage, Some(2_500_000)));
        sums
    }

    fn budget(record: &Value) -> Option<(Limit, u64, u64)> {
        Budget::from_record(Some(record)).exceeded(&sums(), 5_000)
    }

    #[test]
    fn each_limit_counts_what_it_says() {
        assert_eq!(budget(&json!({})), None);
        assert_eq!(budget(&json!({ "turns": 1 })), Some((Limit::Turns, 1, 1)));
        assert_eq!(budget(&json!({ "inputTokens": 101 })), None);
        assert_eq!(
            budget(&json!({ "inputTokens": 100 })),
            Some((Limit::InputTokens, 100, 100)),
            "cached ones too"
        );
        assert_eq!(budget(&json!({ "outputTokens": 20.0 })), Some((Limit::OutputTokens, 20, 20)));
        assert_eq!(budget(&json!({ "cost": 0.0025 })), Some((Limit::Cost, 2_500_000, 2_500_000)));
        assert_eq!(budget(&json!({ "cost": 0.0026, "wallMs": 4_000 })), Some((Limit::WallMs, 5_000, 4_000)));
    }

    #[test]
    fn money_that_nobody_can_count_is_not_spent() {
        let budget = Budget::from_record(Some(&json!({ "cost": 10 })));
        assert!(budget.limits_cost());
        assert_eq!(budget.exceeded(&Sums::default(), 0), None);
        let mut unknown = Sums::default();
        unknown.add((&Usage::default(), None));
        let (what, spent, limit) = budget.exceeded(&unknown, 0).unwrap();
        let error = exceeded(&Spender::Run.into(), &what.into(), spent, limit);
        assert_eq!(error.message, "the run has used up its budget: an unknown part of $10.0000");
        assert!(!error.hint.as_deref().unwrap().contains("raise"), "no limit is high enough");
    }

    #[test]
    fn the_message_says_what_was_spent_and_the_hint_what_to_do() {
        let error = exceeded(&Spender::Session.into(), &Limit::InputTokens.into(), 1_204, 1_000);
        assert_eq!(error.message, "the session has used up its budget: 1204 of 1000 input tokens");
        assert!(error.hint.as_deref().unwrap().contains("budgets.session.inputTokens"));
        assert_eq!(error.code, Code::BudgetExceeded);
    }
}
