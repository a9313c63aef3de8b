//! The one way to a tool: what has to come before a call runs, in one order.
//!
//! Decides what comes next of a call; [`decide`] names the steps. Promises: the calls of a model, of a delegate and of the
//! page's own code take this way, again after each answer. They differ by facts only. Leaves to others: asking, and keeping
//! what is answered (`run`, `harness`). The limit of tools at work is theirs as well, because a run waits for a place and
//! the page's code does not.

use super::definition::{Definition, OnResume, Origin};
use super::gate::{Checked, gate};
use super::pages::{DELETE, empties};
use super::policy::{Policy, bound_to, destination, fingerprint};
use super::registry::Registry;
use crate::error::{Code, ErrorInfo};
use crate::journal::{AskReason, Outside, Verdict};
use crate::json::texts;
use crate::list::Listed;
use crate::workspace::Seen;
use serde_json::Value;

/// A call that somebody wants.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The arguments, as JSON text.
    pub arguments: &'a str,
    /// What has been answered about it.
    pub answers: &'a Answers,
    /// How often in a row it has failed in just the same way.
    pub failed: usize,
    /// Whether its page went away while it ran.
    pub lost: bool,
}

/// What has been answered about a call so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The page's own schema has found nothing wrong with its arguments.
    pub valid: bool,
    /// What the page's `decide` has said.
    pub judged: Option<Verdict>,
    /// What the tool's `explanation` has said to the person who is asked; empty: nothing.
    pub explained: Option<String>,
    /// The definition of the tool that a person has allowed.
    pub allowed: Option<String>,
    /// Which text of a page was in sight then.
    pub seen: Option<Seen>,
}

/// What a call is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The tools there are.
    pub tools: &'a Registry,
    /// What may be done, and what is asked about.
    pub policy: &'a Policy,
    /// What a person has always allowed.
    pub grants: &'a [Grant],
    /// Who wants the call.
    pub caller: Caller<'a>,
}

/// Who wants a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller<'a> {
    /// A model.
    Model {
        /// Where the text from outside comes from that it has read: that may have asked for the call.
        outside: &'a Outside,
    },
    /// The page's own code, which no text from outside tells what to do.
    Page,
}

/// What a person has always allowed, until the agent is stopped or the conversation cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The tool's name.
    pub tool: String,
    /// The definition that was allowed; another is not.
    pub definition: String,
    /// The SHA-256 of the arguments that said where the call sends something, if its tool names them.
    pub destination: Option<String>,
    /// Where the text from outside came from that the conversation held then.
    pub outside: Outside,
}

impl Grant {
    /// Whether it allows a tool of this name and definition that says nowhere where it sends something, where a conversation
    /// holds this text from outside.
    pub fn covers(&self, tool: &str, definition: &str, outside: &Outside) -> bool {
        self.tool == tool && self.definition == definition && outside.is_within(&self.outside)
    }

    /// Whether a person has seen where this call sends something. A tool that does not say where: whether that person has
    /// seen each origin of the text from outside.
    fn foresees(&self, destination: Option<&str>, outside: &Outside) -> bool {
        match destination {
            Some(_) => self.destination.as_deref() == destination,
            None => outside.is_within(&self.outside),
        }
    }
}

/// What comes next of a call.
#[derive(Clone, Debug)]
pub enum Permit<'a> {
    /// It is not run, and this is why.
    Refuse(ErrorInfo),
    /// The page's own schema is asked about its arguments.
    Inspect {
        /// The schema's function.
        function: u32,
        /// The arguments.
        args: Value,
    },
    /// The page's `decide` is asked about it, and told what the rules ask about.
    Consult(Checked<'a>, AskReason),
    /// The tool's `explanation` is called, because a person will be asked.
    Explain {
        /// Its function.
        function: u32,
        /// The arguments.
        args: Value,
    },
    /// A person is asked about it, for just these arguments and this definition.
    Ask {
        /// Why.
        reason: AskReason,
        /// The arguments' hash.
        arguments: String,
        /// The definition's.
        definition: String,
        /// That of the arguments which say where the call sends something, if its tool names them.
        destination: Option<String>,
    },
    /// It runs.
    Run(Checked<'a>),
}

/// How often a call may fail in the same way before it is not tried again.
const IN_A_ROW: usize = 3;

/// What comes next of a call: the first of these steps that does not pass it on.
///
/// 1. What [`gate`] checks: name, process type, capability, arguments.
/// 2. The page's own code has no use of a tool that is made for a model.
/// 3. A lost call that may not simply run again is asked about.
/// 4. What a person has allowed runs, if the tool is the same and the rules do not deny it by now.
/// 5. The page's own schema is asked.
/// 6. A call that has failed too often in the same way is refused.
/// 7. The rules have their say, then the page's `decide`, then a person.
///
/// A task for a delegate gives it no more than is held here, also when a person has allowed it.
pub fn decide<'a>(wanted: &Wanted<'_>, facts: &Facts<'a>) -> Permit<'a> {
    let checked = match gate(facts.tools, facts.policy, wanted.name, wanted.arguments) {
        Ok(checked) => checked,
        Err(error) => return Permit::Refuse(error),
    };
    let (tool, answers) = (checked.definition, wanted.answers);
    let by_page = facts.caller == Caller::Page;
    if by_page && matches!(tool.origin, Origin::Person | Origin::Delegate | Origin::Skill | Origin::Memory) {
        let message = format!("{} is of use to a model only", tool.name);
        let error = ErrorInfo::new(Code::ToolFailed, message);
        return Permit::Refuse(error.hint("let a model call it, in a run"));
    }
    if wanted.lost && tool.on_resume != OnResume::Rerun {
        return ask(checked, answers, AskReason::UnknownOutcome);
    }
    if let Some(definition) = &answers.allowed {
        let changed = *definition != fingerprint(tool);
        return match by_rules(tool, &checked.args, facts).verdict {
            // To the page's own code, an answer about another tool is none, also where the rules allow or deny it.
            _ if changed && by_page => ask(checked, answers, AskReason::DefinitionChanged),
            Verdict::Deny => Permit::Refuse(not_allowed(tool, by_page)),
            _ if changed => ask(checked, answers, AskReason::DefinitionChanged),
            Verdict::Allow | Verdict::Ask => run(checked, facts.policy),
        };
    }
    if let Some(function) = tool.validate.filter(|_| !answers.valid) {
        return Permit::Inspect { function, args: checked.args };
    }
    if wanted.failed >= IN_A_ROW {
        // Not in the words of what failed: they may be an outsider's.
        let message = format!("not run: this very call has failed {IN_A_ROW} times in a row in the same way");
        let error = ErrorInfo::new(Code::ToolFailed, message);
        return Permit::Refuse(error.hint("do something else, or tell the person"));
    }
    let Judged { mut verdict, mut reason, granted } = by_rules(tool, &checked.args, facts);
    if facts.policy.decides && verdict != Verdict::Deny {
        match answers.judged {
            None => return Permit::Consult(checked, reason),
            // Nothing that a page decides in advance lifts what an outsider's text may have asked for.
            Some(Verdict::Allow) if reason == AskReason::ExternalText => {}
            Some(judged) => (verdict, reason) = (judged, AskReason::Decide),
        }
    }
    match verdict {
        Verdict::Deny => Permit::Refuse(not_allowed(tool, by_page)),
        Verdict::Ask if !granted => ask(checked, answers, reason),
        Verdict::Allow | Verdict::Ask => run(checked, facts.policy),
    }
}

/// What is said of a call before anybody is asked about it.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// What the rules say.
    pub verdict: Verdict,
    /// Why.
    pub reason: AskReason,
    /// Whether a person has always allowed it.
    granted: bool,
}

impl Judged {
    /// The higher, the less may be done.
    fn strictness(self) -> u8 {
        match self.verdict {
            Verdict::Allow => 0,
            Verdict::Ask if self.granted => 1,
            Verdict::Ask => 2,
            Verdict::Deny => 3,
        }
    }
}

/// Whether a call leaves nothing of a page's text.
pub fn empties_page(tool: &Definition, args: &Value) -> bool {
    tool.origin == Origin::Page && empties(&tool.name, args)
}

/// What the rules say of a call. One that leaves nothing of a page's text is as strictly judged as the call that deletes it,
/// because its text is as gone.
pub fn by_rules(tool: &Definition, args: &Value, facts: &Facts<'_>) -> Judged {
    let own = judged(tool, args, facts);
    if !empties_page(tool, args) {
        return own;
    }
    let other = match facts.tools.get(DELETE).map(|tool| &tool.definition) {
        Some(tool) if facts.policy.offers(tool) && facts.policy.missing(tool).is_none() => {
            judged(tool, args, facts)
        }
        _ => Judged { verdict: Verdict::Deny, reason: AskReason::Policy, granted: false },
    };
    if own.strictness() > other.strictness() { own } else { other }
}

fn judged(tool: &Definition, args: &Value, facts: &Facts<'_>) -> Judged {
    let mut grants = facts.grants.iter().filter(|grant| grant.tool == tool.name).list();
    if !grants.is_empty() {
        // For the tool as it is now.
        let definition = fingerprint(tool);
        grants.retain(|grant| grant.definition == definition);
    }
    let outside = match facts.caller {
        Caller::Model { outside } if !outside.is_empty() => {
            let destination = destination(tool, args);
            !grants.iter().any(|grant| grant.foresees(destination.as_deref(), outside))
        }
        _ => false,
    };
    let (verdict, reason) = facts.policy.verdict(tool, outside);
    let unseen = outside && (tool.open_world || tool.destructive);
    Judged { verdict, reason, granted: !grants.is_empty() && !unseen }
}

/// A person is asked, as soon as the tool has said what about.
fn ask<'a>(checked: Checked<'a>, answers: &Answers, reason: AskReason) -> Permit<'a> {
    let Checked { definition: tool, args, .. } = checked;
    if let Some(function) = tool.explanation.filter(|_| answers.explained.is_none()) {
        return Permit::Explain { function, args };
    }
    let (arguments, definition) = (bound_to(&args), fingerprint(tool));
    Permit::Ask { reason, arguments, definition, destination: destination(tool, &args) }
}

/// It runs, unless it would give another run more than is held here.
fn run<'a>(checked: Checked<'a>, policy: &Policy) -> Permit<'a> {
    let delegates = checked.definition.origin == Origin::Delegate;
    let given = checked.args.get("capabilities").filter(|_| delegates).and_then(texts).unwrap_or_default();
    match given.iter().find(|name| !policy.holds(name)) {
        Some(name) => {
            let message = format!("the capability {name} is not held here, so nobody else gets it");
            Permit::Refuse(ErrorInfo::new(Code::PermissionDenied, message).hint("leave it out"))
        }
        None => Permit::Run(checked),
    }
}

/// Why a call is not run that the rules deny.
fn not_allowed(tool: &Definition, by_page: bool) -> ErrorInfo {
    let message = [&tool.name, " is not allowed here; it was not run"].concat();
    let error = ErrorInfo::new(Code::PermissionDenied, message);
    if by_page { error } else { error.hint("go on without it, and say so") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Process;
    use crate::tools::own;
    use serde_json::json;

    /// A call and what it is judged by.
    #[derive(Clone)]
    struct Case {
        tool: Value,
        config: Value,
        name: &'static str,
        arguments: &'static str,
        answers: Answers,
        failed: usize,
        lost: bool,
        grants: Vec<Grant>,
        caller: Who,
    }

    /// Who wants it, and which marks of text from outside there are.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Who {
        Model(&'static [&'static str]),
        Page,
    }

    const MODEL: Who = Who::Model(&[]);
    const OUTSIDE: Who = Who::Model(&["context", "tool:fetch"]);

    fn marks(names: &[&str]) -> Outside {
        Outside::from_json(&json!(names)).unwrap()
    }

    /// What is found of it, and what puts that right.
    type Step = (&'static str, fn(&mut Case));

    impl Case {
        fn new(caller: Who) -> Case {
            Case {
                tool: json!({"name": "send", "description": "d", "inputSchema": {}, "capability": "Mail",
                    "execute": {"$fn": 1}, "validate": {"$fn": 9}, "onResume": "rerun"}),
                config: json!({"permissions": {}}),
                name: "send",
                arguments: "{}",
                answers: Answers::default(),
                failed: 0,
                lost: false,
                grants: Vec::new(),
                caller,
            }
        }

        /// With this said about what `send` may do.
        fn rule(mut self, verdict: &str) -> Case {
            self.config["permissions"]["tools"] = json!({"send": verdict});
            self
        }

        fn fingerprint(&self) -> String {
            fingerprint(&Definition::parse(&self.tool).unwrap())
        }

        /// Allowed for good, where the conversation held these marks, with these arguments.
        fn granted(&self, outside: &[&str], args: &Value) -> Vec<Grant> {
            let tool = Definition::parse(&self.tool).unwrap();
            let destination = destination(&tool, args);
            let definition = fingerprint(&tool);
            vec![Grant { tool: "send".into(), definition, destination, outside: marks(outside) }]
        }

        /// What comes next, in a few words.
        fn next(&self) -> String {
            self.next_under(&Policy::from_record(&self.config))
        }

        fn next_under(&self, policy: &Policy) -> String {
            let mut tools = Registry::new();
            for tool in [Definition::parse(&self.tool).unwrap(), own::delegate()] {
                tools.register(tool, false).unwrap();
            }
            let Case { name, arguments, failed, lost, caller, .. } = *self;
            let wanted = Wanted { name, arguments, answers: &self.answers, failed, lost };
            let outside = if let Who::Model(names) = caller { marks(names) } else { Outside::default() };
            let caller = match caller {
                Who::Model(_) => Caller::Model { outside: &outside },
                Who::Page => Caller::Page,
            };
            match decide(&wanted, &Facts { tools: &tools, policy, grants: &self.grants, caller }) {
                Permit::Refuse(error) => format!("refuse {}: {}", error.code.as_str(), error.message),
                Permit::Inspect { function, args } => format!("inspect {function} {args}"),
                Permit::Consult(checked, reason) => format!("consult {} {}", reason.as_str(), checked.args),
                Permit::Explain { function, args } => format!("explain {function} {args}"),
                Permit::Ask { reason, arguments, definition, .. } => {
                    assert_eq!(arguments, bound_to(&crate::json::parse(self.arguments).unwrap()));
                    assert_eq!(definition, self.fingerprint());
                    format!("ask {}", reason.as_str())
                }
                Permit::Run(checked) => format!("run {}", checked.args),
            }
        }
    }

    /// Everything is wrong with the call. What is found is put right, and only then the next is found.
    #[test]
    fn each_step_comes_before_all_that_are_after_it() {
        let mut case = Case::new(OUTSIDE).rule("deny");
        (case.name, case.arguments, case.failed) = ("sned", "{\"to\": 7", 3);
        case.config["capabilities"] = json!([]);
        case.config["processType"] = json!("Researcher");
        case.config["permissions"]["decide"] = json!(true);
        let steps: [Step; 11] = [
            ("refuse tool_not_found: no tool is called 'sned'", |case| case.name = "send"),
            ("refuse permission_denied: a Researcher only reads, and send changes something", |case| {
                case.config["processType"] = json!("Worker");
            }),
            ("refuse permission_denied: send is unavailable: it requires the Mail capability", |case| {
                case.config["capabilities"] = json!(["Mail"]);
            }),
            ("refuse invalid_arguments: invalid arguments for send: no valid JSON: {\"to\": 7", |case| {
                case.arguments = "{\"to\": 7}";
            }),
            ("inspect 9 {\"to\":7}", |case| case.answers.valid = true),
            (
                "refuse tool_failed: not run: this very call has failed 3 times in a row in the same way",
                |case| case.failed = 2,
            ),
            ("refuse permission_denied: send is not allowed here; it was not run", |case| {
                case.config["permissions"]["tools"] = json!({"send": "allow"});
            }),
            ("consult external_text {\"to\":7}", |case| case.answers.judged = Some(Verdict::Allow)),
            ("ask external_text", |case| case.answers.judged = Some(Verdict::Ask)),
            ("ask decide", |case| case.grants = case.granted(&["context", "tool:fetch"], &json!({}))),
            ("run {\"to\":7}", |case| case.answers.judged = Some(Verdict::Deny)),
        ];
        for (step, put_right) in steps {
            assert_eq!(case.next(), step);
            put_right(&mut case);
        }
        // What a person has always allowed does not lift what the page denies.
        assert_eq!(case.next(), "refuse permission_denied: send is not allowed here; it was not run");
    }

    /// A person has the last word, but not about another tool, nor against the rules.
    #[test]
    fn what_a_person_has_allowed_is_asked_about_no_more() {
        let denied = "refuse permission_denied: send is not allowed here; it was not run";
        for (caller, rule, same, next) in [
            (OUTSIDE, "ask", true, "run {}"),
            (OUTSIDE, "deny", true, denied),
            (OUTSIDE, "ask", false, "ask definition_changed"),
            (OUTSIDE, "deny", false, denied),
            (Who::Page, "ask", true, "run {}"),
            (Who::Page, "deny", true, denied),
            (Who::Page, "ask", false, "ask definition_changed"),
            (Who::Page, "deny", false, "ask definition_changed"),
        ] {
            let mut case = Case::new(caller).rule(rule);
            case.config["permissions"]["decide"] = json!(true);
            case.failed = 3;
            case.answers.allowed = Some(if same { case.fingerprint() } else { "another".into() });
            assert_eq!(case.next(), next, "{caller:?} {rule} {same}");
            case.config["capabilities"] = json!([]);
            assert!(case.next().contains("requires the Mail capability"));
        }
    }

    /// This comes before all other reasons: it may have taken effect already.
    #[test]
    fn a_lost_call_that_may_not_run_twice_is_asked_about_first() {
        let mut case = Case::new(OUTSIDE).rule("deny");
        (case.lost, case.failed) = (true, 3);
        case.tool["onResume"] = json!("ask");
        case.answers.allowed = Some("another".into());
        assert_eq!(case.next(), "ask unknown_outcome");
        case.config["capabilities"] = json!([]);
        assert!(case.next().contains("requires the Mail capability"));
        // A call that may run twice takes the way of every call.
        let mut case = Case::new(MODEL);
        case.lost = true;
        assert_eq!(case.next(), "inspect 9 {}");
    }

    #[test]
    fn text_from_outside_counts_for_a_model_until_a_person_has_allowed_the_tool_with_it() {
        for (caller, rule, granted, next) in [
            (MODEL, "allow", None, "run {}"),
            (MODEL, "ask", None, "ask policy"),
            (MODEL, "ask", Some(&[][..]), "run {}"),
            (OUTSIDE, "allow", None, "ask external_text"),
            (OUTSIDE, "allow", Some(&["context"][..]), "ask external_text"),
            (OUTSIDE, "ask", Some(&["context", "file:a.txt", "tool:fetch"][..]), "run {}"),
            (Who::Page, "allow", None, "run {}"),
            (Who::Page, "ask", None, "ask policy"),
            (Who::Page, "ask", Some(&[][..]), "run {}"),
        ] {
            let mut case = Case::new(caller).rule(rule);
            case.answers.valid = true;
            case.grants = granted.map(|outside| case.granted(outside, &json!({}))).unwrap_or_default();
            assert_eq!(case.next(), next, "{caller:?} {rule} {granted:?}");
            // What was allowed of another definition is not allowed.
            if granted.is_some() {
                case.tool["description"] = json!("e");
                assert!(case.next().starts_with("ask "), "{caller:?} {rule}");
            }
        }
        // It does not count for a tool that can send nothing out.
        let mut case = Case::new(OUTSIDE);
        case.answers.valid = true;
        case.tool["openWorld"] = json!(false);
        assert_eq!(case.next(), "run {}");
        // What destroys is asked about again all the same, unless the page's own rule allows it.
        case.tool["destructive"] = json!(true);
        for (granted, next) in [
            (&["context", "tool:fetch"][..], "run {}"),
            (&["context"], "ask destructive"),
            (&[], "ask destructive"),
        ] {
            case.grants = case.granted(granted, &json!({}));
            assert_eq!(case.next(), next, "{granted:?}");
        }
        assert_eq!(case.rule("allow").next(), "run {}");
    }

    /// Where a tool says where it sends something, that counts, whatever was read since.
    #[test]
    fn what_is_sent_where_a_person_has_seen_it_sent_is_asked_about_no_more() {
        let mut case = Case::new(OUTSIDE);
        case.answers.valid = true;
        case.tool["destination"] = json!(["to"]);
        case.tool["inputSchema"] = json!({"properties": {"to": {}, "text": {}}});
        for (args, next) in [
            (r#"{"to":"a@b.c","text":"1"}"#, "run {\"text\":\"1\",\"to\":\"a@b.c\"}"),
            (r#"{"text":"2","to":"a@b.c"}"#, "run {\"text\":\"2\",\"to\":\"a@b.c\"}"),
            (r#"{"to":"x@b.c","text":"1"}"#, "ask external_text"),
            (r#"{"to":["a@b.c","x@b.c"]}"#, "ask external_text"),
            (r#"{"text":"1"}"#, "ask external_text"),
        ] {
            case.grants = case.granted(&[], &json!({"to": "a@b.c", "text": "0"}));
            case.arguments = args;
            assert_eq!(case.next(), next, "{args}");
            case.grants.extend(case.granted(&["context", "tool:fetch"], &json!({"to": "y"})));
            assert_eq!(case.next(), next, "another destination is not seen with it: {args}");
            case.grants.clear();
            assert_eq!(case.next(), "ask external_text", "{args}");
        }
        // Without text from outside it is the tool that is allowed.
        case.caller = MODEL;
        case = case.rule("ask");
        case.grants = case.granted(&[], &json!({"to": "a@b.c"}));
        case.arguments = r#"{"to":"x@b.c"}"#;
        assert_eq!(case.next(), "run {\"to\":\"x@b.c\"}");
    }

    #[test]
    fn the_pages_own_code_has_no_use_of_what_is_made_for_a_model() {
        let useless = "refuse tool_failed: ask_boss is of use to a model only";
        let mut case = Case::new(Who::Page);
        case.tool =
            json!({"name": "ask_boss", "description": "d", "inputSchema": {}, "validate": {"$fn": 9}});
        case.config["permissions"] = json!({"default": "deny", "decide": true});
        (case.name, case.arguments) = ("ask_boss", "[]");
        assert!(case.next().starts_with("refuse invalid_arguments"), "before its arguments are looked at");
        case.arguments = "{}";
        assert_eq!(case.next(), useless);
        case.answers.allowed = Some(case.fingerprint());
        assert_eq!(case.next(), useless);
        case.caller = MODEL;
        case.config["permissions"] = json!({});
        assert_eq!(case.next(), "run {}");
    }

    /// The page's own code has no conversation to say it in.
    #[test]
    fn a_model_is_told_what_to_do_without_the_tool() {
        for (caller, hint) in [(MODEL, Some("go on without it, and say so")), (Who::Page, None)] {
            let tool = Definition::parse(&Case::new(caller).tool).unwrap();
            assert_eq!(not_allowed(&tool, caller == Who::Page).hint.as_deref(), hint);
        }
    }

    #[test]
    fn a_delegate_counts_what_it_holds_itself() {
        let mut case = Case::new(MODEL);
        case.answers.valid = true;
        let held = Policy::from_record(&json!({"capabilities": ["Mail", "Pay"]}));
        assert_eq!(case.next_under(&held.delegated(Some(Process::Worker), None)), "run {}");
        let less = held.delegated(Some(Process::Worker), Some(&["Pay".into()]));
        assert!(case.next_under(&less).contains("requires the Mail capability"));
        assert!(
            case.next_under(&held.delegated(Some(Process::Researcher), None))
                .contains("a Researcher only reads")
        );
    }

    /// A task gives nobody more than is held here; a person who has allowed it does not change that.
    #[test]
    fn a_task_gives_no_more_than_is_held() {
        let mut case = Case::new(MODEL);
        case.config = json!({"processType": "Orchestrator", "capabilities": ["Mail"], "permissions": {"default": "ask"}});
        case.name = own::DELEGATE;
        case.arguments = r#"{"process":"Worker","task":"t","capabilities":["Mail","Pay"]}"#;
        case.tool["name"] = json!("other");
        let refused = "refuse permission_denied: the capability Pay is not held here, so nobody else gets it";
        case.answers.allowed = Some(fingerprint(&own::delegate()));
        assert_eq!(case.next(), refused);
        case.answers.allowed = None;
        case.config["permissions"] = json!({});
        assert_eq!(case.next(), refused);
        case.config["capabilities"] = json!(["Mail", "Pay"]);
        assert!(case.next().starts_with("run "));
    }
}
