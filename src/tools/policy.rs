//! What may be done, and what is asked about first.
//!
//! Decides, from the recorded configuration: which tools a process type has, whether a tool's capability is held,
//! and whether a call runs, is asked about, or is denied. Promises: a call that nobody has allowed is never allowed by
//! default where it destroys something, or could send out what an outsider's text asks for. Leaves to others: asking
//! (`run`, `harness`), and the order of all checks (`permit`).

use super::definition::{Definition, Origin, Source};
use crate::error::{Code, ErrorInfo};
use crate::journal::{AskReason, Process, Verdict, sha256};
use crate::json::{json, texts};
use crate::list::Listed;
use crate::object::Object;
use crate::work;
use serde_json::Value;

/// The rules, as the configuration gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// What is held; `None`: everything.
    capabilities: Option<Vec<String>>,
    /// The process type, if there is one.
    process: Option<Process>,
    /// The names of the tools that there are for it; `None`: all.
    only: Option<Vec<String>>,
    /// For tools that no other rule names.
    default: Option<Verdict>,
    tools: Vec<(String, Verdict)>,
    by_capability: Vec<(String, Verdict)>,
    /// Whether the page's `decide` is asked about every call that would run or be asked about.
    pub decides: bool,
    /// How many calls may run at once.
    pub parallel: Option<u64>,
}

impl Policy {
    /// Reads the rules out of a recorded configuration.
    pub fn from_record(config: &Value) -> Policy {
        let permissions = config.get("permissions").unwrap_or(&Value::Null);
        let verdict = |value: &Value| value.as_str().and_then(Verdict::parse);
        let rules = |name: &str| -> Vec<(String, Verdict)> {
            let members = permissions.get(name).and_then(Value::as_object).into_iter().flatten();
            members.filter_map(|(name, value)| Some((name.clone(), verdict(value)?))).list()
        };
        Policy {
            capabilities: config.get("capabilities").and_then(texts),
            process: config.get("processType").and_then(Value::as_str).and_then(Process::parse),
            only: None,
            default: permissions.get("default").and_then(verdict),
            tools: rules("tools"),
            by_capability: rules("capabilities"),
            decides: permissions.get("decide") == Some(&Value::Bool(true)),
            parallel: config.get("maxParallelTools").and_then(Value::as_u64),
        }
    }

    /// What a run may do that another one has begun: what that one may do, as this process type, and of its
    /// capabilities no more than these.
    pub fn delegated(&self, process: Option<Process>, capabilities: Option<&[String]>) -> Policy {
        let mut policy = self.clone();
        // A run that only reads has no delegate that writes.
        policy.process = if self.reads_only() { Some(Process::Researcher) } else { process };
        if let Some(names) = capabilities {
            policy.capabilities = Some(names.iter().filter(|name| self.holds(name)).cloned().list());
        }
        policy
    }

    /// The same with these tools and no others.
    pub fn only(self, tools: Vec<String>) -> Policy {
        Policy { only: Some(tools), ..self }
    }

    /// Whether a tool is left out by its name.
    pub fn leaves_out(&self, tool: &Definition) -> bool {
        self.only.as_ref().is_some_and(|only| !only.contains(&tool.name))
    }

    /// Whether the process type only reads.
    pub fn reads_only(&self) -> bool {
        matches!(self.process, Some(Process::Researcher | Process::SkillComposer))
    }

    /// Whether the process type has this tool, and nothing leaves it out.
    pub fn offers(&self, tool: &Definition) -> bool {
        match self.process {
            _ if self.leaves_out(tool) => false,
            Some(Process::Orchestrator) => true,
            _ if tool.origin == Origin::Delegate => false,
            _ => tool.read_only || !self.reads_only(),
        }
    }

    /// Whether a capability is held.
    pub fn holds(&self, name: &str) -> bool {
        self.capabilities.as_ref().is_none_or(|held| held.iter().any(|held| held == name))
    }

    /// The process type, for a sentence.
    pub fn process(&self) -> &'static str {
        self.process.map_or("", Process::as_str)
    }

    /// The capability that the tool needs and nobody holds.
    pub fn missing<'a>(&self, tool: &'a Definition) -> Option<&'a str> {
        tool.capability.as_deref().filter(|needed| !self.holds(needed))
    }

    /// The mark of a tool whose capability nobody holds.
    pub fn unavailable(&self, tool: &Definition) -> Option<String> {
        Some(["[UNAVAILABLE: Requires ", self.missing(tool)?, " capability]"].concat())
    }

    /// What the rules say of a tool that nobody here runs: only its name is known.
    pub fn verdict_by_name(&self, name: &str) -> Verdict {
        let named = self.tools.iter().find(|(rule, _)| rule == name).map(|(_, verdict)| *verdict);
        named.or(self.default).unwrap_or(Verdict::Allow)
    }

    /// What the rules say of a tool, and why. `outside`: text from outside may have asked for it, and no person has allowed
    /// that.
    pub fn verdict(&self, tool: &Definition, outside: bool) -> (Verdict, AskReason) {
        let named = |rules: &[(String, Verdict)], name: &str| {
            rules.iter().find(|(rule, _)| rule == name).map(|(_, verdict)| *verdict)
        };
        let by_capability = tool.capability.as_deref().and_then(|name| named(&self.by_capability, name));
        let (verdict, why) = match named(&self.tools, &tool.name).or(by_capability) {
            Some(verdict) => (verdict, AskReason::Policy),
            None if tool.destructive && self.default != Some(Verdict::Deny) => {
                (Verdict::Ask, AskReason::Destructive)
            }
            None => (self.default.unwrap_or(Verdict::Allow), AskReason::Policy),
        };
        match verdict {
            Verdict::Allow | Verdict::Ask if outside && tool.open_world => {
                (Verdict::Ask, AskReason::ExternalText)
            }
            _ => (verdict, why),
        }
    }
}

/// Why a call is not run that a person has denied.
pub fn denied() -> ErrorInfo {
    ErrorInfo::new(Code::PermissionDenied, "the person did not allow this call; it was not run")
}

/// A tool as it was when somebody allowed it: another description or schema is another tool.
pub fn fingerprint(tool: &Definition) -> String {
    let flags = [tool.read_only, tool.destructive, tool.open_world, tool.source == Source::External];
    let flags = flags.iter().map(|flag| if *flag { '1' } else { '0' }).collect::<String>();
    let capability = tool.capability.as_deref().unwrap_or_default();
    let mut parts =
        vec![&tool.name, "\n", &tool.description, "\n", &tool.input_schema, "\n", capability, "\n", &flags];
    for name in &tool.destination {
        parts.extend(["\n", name]);
    }
    work::did(parts.iter().map(|part| part.len() as u64 / 32).sum());
    sha256(&parts)
}

/// Where a call sends something: the arguments that its tool names for that, in one canonical form. `None`: it names none.
pub fn destination(tool: &Definition, args: &Value) -> Option<String> {
    let mut named = Object::new();
    for name in &tool.destination {
        named.maybe(name, args.get(name).cloned());
    }
    (!tool.destination.is_empty()).then(|| bound_to(&named.done()))
}

/// What an answer is bound to: the arguments in one canonical form.
pub fn bound_to(args: &Value) -> String {
    sha256(&[&json(args)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(more: Value) -> Definition {
        let mut tool = json!({"name": "send", "description": "d", "inputSchema": {}, "execute": {"$fn": 1}});
        for (name, value) in more.as_object().unwrap() {
            tool[name] = value.clone();
        }
        Definition::parse(&tool).unwrap()
    }

    fn policy(config: Value) -> Policy {
        Policy::from_record(&config)
    }

    #[test]
    fn without_rules_only_what_destroys_is_asked_about() {
        let none = Policy::default();
        assert_eq!(none.verdict(&tool(json!({})), false), (Verdict::Allow, AskReason::Policy));
        assert_eq!(
            none.verdict(&tool(json!({"destructive": true})), false),
            (Verdict::Ask, AskReason::Destructive)
        );
        assert_eq!(none.verdict(&tool(json!({})), true), (Verdict::Ask, AskReason::ExternalText));
        assert_eq!(
            none.verdict(&tool(json!({"openWorld": false})), true),
            (Verdict::Allow, AskReason::Policy)
        );
        assert_eq!(none.verdict(&tool(json!({"readOnly": true})), true), (Verdict::Allow, AskReason::Policy));
        assert!(
            none.offers(&tool(json!({}))) && none.missing(&tool(json!({"capability": "Mail"}))).is_none()
        );
    }

    #[test]
    fn the_nearest_rule_counts() {
        let mut config = json!({"permissions": {"default": "deny", "capabilities": {"Mail": "ask"}, "tools": {"send": "allow"}}});
        let mail = tool(json!({"capability": "Mail", "destructive": true}));
        assert_eq!(policy(config.clone()).verdict(&mail, false).0, Verdict::Allow);
        // A rule of the page's does not lift what an outsider's text may have asked for.
        assert_eq!(policy(config.clone()).verdict(&mail, true), (Verdict::Ask, AskReason::ExternalText));
        config["permissions"]["tools"] = json!({"other": "allow"});
        assert_eq!(policy(config.clone()).verdict(&mail, true), (Verdict::Ask, AskReason::ExternalText));
        config["permissions"]["capabilities"] = json!({});
        assert_eq!(policy(config.clone()).verdict(&mail, false), (Verdict::Deny, AskReason::Policy));
        config["permissions"]["default"] = json!("allow");
        assert_eq!(policy(config.clone()).verdict(&mail, false), (Verdict::Ask, AskReason::Destructive));
        config["permissions"]["default"] = json!("deny");
        assert_eq!(policy(config).verdict(&tool(json!({})), true), (Verdict::Deny, AskReason::Policy));
    }

    #[test]
    fn capabilities_and_process_types() {
        let mail = tool(json!({"capability": "Mail"}));
        for (held, missing) in
            [(json!(["Mail"]), None), (json!(["mail"]), Some("Mail")), (json!([]), Some("Mail"))]
        {
            assert_eq!(policy(json!({"capabilities": held})).missing(&mail), missing);
        }
        for (process, offered) in Process::WORDS.iter().zip([true, false, true, false]) {
            let policy = policy(json!({"processType": process}));
            assert_eq!(policy.offers(&mail), offered, "{process}");
            assert!(policy.offers(&tool(json!({"readOnly": true}))));
        }
    }

    #[test]
    fn another_definition_is_another_tool() {
        let plain = fingerprint(&tool(json!({})));
        assert_eq!(fingerprint(&tool(json!({"execute": {"$fn": 9}, "timeoutMs": 5}))), plain);
        for change in [
            json!({"description": "e"}),
            json!({"destructive": true}),
            json!({"source": "External"}),
            json!({"inputSchema": {"required": ["x"]}}),
            json!({"capability": "Mail"}),
        ] {
            assert_ne!(fingerprint(&tool(change)), plain);
        }
        assert_eq!(
            bound_to(&json!({"a": 1, "b": 2})),
            bound_to(&crate::json::parse("{\"b\":2, \"a\":1}").unwrap())
        );
    }
}
