//! Skills: what an agent knows how to do, told in two steps.
//!
//! Decides what a skill may be and how its template becomes a text. Promises: a template that names a variable nobody
//! gave is refused when it comes, not when it is used. The same skills and tools give the same bytes. Leaves to others:
//! when a skill is read (`use_skill`, a tool like any other), and where an account's skills are kept (`browser/`).

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::sha256;
use crate::json::{self, json};
use crate::list::Listed;
use crate::object::{self, Object};
use crate::protocol::Args;
use crate::rooms::{Room, enter};
use crate::tools::definition::check_name;
use crate::tools::own::USE_SKILL;
use crate::tools::{Policy, Registry};
use serde_json::Value;

/// The skill that is always there, unless the page gives one of this name.
pub const ASSISTANT: &str = "general_assistant";

const ASSISTANT_TEMPLATE: &str = "You work in a web page, for the person in front of it, with the tools that the page gives you.\n\n## Available Tools\n\n{{tools}}";

/// The variable that stands for the tools there are.
const TOOLS: &str = "tools";

/// Where a skill is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In this workspace.
    Workspace,
    /// In all workspaces of the origin.
    Account,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// When it is of use, for the model.
    pub description: String,
    /// What it says; `{{name}}` stands for a variable.
    pub template: String,
    /// The values of the variables.
    pub variables: Vec<(String, String)>,
    /// The tools that it works with; none: all there are.
    pub tools: Vec<String>,
    /// Where it is known.
    pub scope: Scope,
}

/// How many skills there may be: each one is told in every request.
const MOST: usize = 100;

impl Skill {
    /// Reads `skills` of the configuration.
    pub fn all(value: &Value) -> Result<Vec<Skill>, ErrorInfo> {
        let Some(skills) = value.as_array().filter(|skills| skills.len() <= MOST) else {
            return Err(invalid(format!("skills must be an array of at most {MOST} skills")));
        };
        let mut all: Vec<Skill> = Vec::new();
        for skill in skills {
            let skill = Skill::parse(skill)?;
            if all.iter().any(|other| other.name == skill.name && other.scope == skill.scope) {
                return Err(invalid(format!("there are two skills called '{}'", skill.name)));
            }
            all.push(skill);
        }
        Ok(all)
    }

    /// Reads one. A door of the room `more`.
    #[inline(never)]
    pub fn parse(value: &Value) -> Result<Skill, ErrorInfo> {
        enter(Room::More);
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
        let what = if name.is_empty() { "a skill".to_owned() } else { format!("the skill '{name}'") };
        let known = ["name", "description", "template", "variables", "tools", "scope"];
        let args = Args::open(value, Code::InvalidConfig, &what, &known)?;
        check_name(args.required_text("name")?, Code::InvalidConfig, "skill")?;
        let description = args.required_text("description")?;
        let template = args.required_text("template")?;
        if description.trim().is_empty() || template.trim().is_empty() {
            return Err(invalid(format!("{what} has an empty description or template")));
        }
        let mut variables = Vec::new();
        for (name, value) in args.get("variables").and_then(Value::as_object).into_iter().flatten() {
            let Some(text) = value.as_str() else {
                return Err(invalid(format!("{what}: the variable '{name}' must be a text")));
            };
            variables.push((name.clone(), text.to_owned()));
        }
        let texts = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|name| name.as_str().map(String::from)).whole()
        };
        let tools = match args.get("tools") {
            None => Vec::new(),
            Some(names) => texts(names).ok_or_else(|| args.wrong("tools", "an array of names"))?,
        };
        let scope = match args.text("scope")? {
            None | Some("workspace") => Scope::Workspace,
            Some("account") => Scope::Account,
            Some(_) => return Err(args.wrong("scope", "\"workspace\" or \"account\"")),
        };
        if args.get("variables").is_some_and(|variables| !variables.is_object()) {
            return Err(args.wrong("variables", "an object of texts"));
        }
        let skill = Skill {
            name: name.into(),
            description: description.into(),
            template: template.into(),
            variables,
            tools,
            scope,
        };
        skill.check(&what)?;
        Ok(skill)
    }

    /// Every variable that the template names has a value, and every value a place.
    fn check(&self, what: &str) -> Result<(), ErrorInfo> {
        let named = named(&self.template)
            .ok_or_else(|| invalid(format!("{what}: its template has \"{{{{\" without \"}}}}\"")))?;
        let has = |name: &str| self.variables.iter().any(|(known, _)| known == name);
        if let Some(name) = named.iter().find(|name| **name != TOOLS && !has(name)) {
            let error =
                invalid(format!("{what}: its template names the variable '{name}', which has no value"));
            return Err(error.hint("give it in variables"));
        }
        match self.variables.iter().find(|(name, _)| !named.contains(&name.as_str())) {
            Some((name, _)) => {
                Err(invalid(format!("{what}: its template does not name the variable '{name}'"))
                    .hint("write {{name}} where its value belongs, or leave it out"))
            }
            None => Ok(()),
        }
    }

    /// What the journal and the account keep: it reads back by [`Skill::parse`].
    pub fn to_json(&self) -> Value {
        let mut variables = Object::new();
        for (name, value) in &self.variables {
            variables.text(name, value);
        }
        let account = self.scope == Scope::Account;
        Object::new()
            .text("name", &self.name)
            .text("description", &self.description)
            .text("template", &self.template)
            .maybe("variables", (!self.variables.is_empty()).then(|| variables.done()))
            .maybe("tools", (!self.tools.is_empty()).then(|| self.tools.as_slice().into()))
            .maybe_text("scope", account.then_some("account"))
            .done()
    }

    /// Its text, as a run gets it that has this policy.
    fn body(&self, registry: &Registry, policy: &Policy) -> String {
        let tools = if find::has(&self.template, TOOLS) {
            listed(registry, policy, &self.tools)
        } else {
            String::new()
        };
        filled(&self.template, |name| match name {
            TOOLS => Some(&tools),
            _ => self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()),
        })
    }
}

/// The skills that count: of two with one name the workspace's.
pub fn merged(own: &[Skill], account: &[Skill]) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    let of = |scope: Scope| own.iter().filter(move |skill| skill.scope == scope);
    for skill in of(Scope::Workspace).chain(of(Scope::Account)).chain(account) {
        if !skills.iter().any(|known| known.name == skill.name) {
            skills.push(skill.clone());
        }
    }
    skills
}

/// The names of the skills that `use_skill` gives.
pub fn offered(skills: &[Skill]) -> impl Iterator<Item = &Skill> {
    skills.iter().filter(|skill| skill.name != ASSISTANT)
}

/// The body of a skill, by its name.
pub fn skill(
    name: &str,
    skills: &[Skill],
    registry: &Registry,
    policy: &Policy,
) -> Result<String, ErrorInfo> {
    match offered(skills).find(|skill| skill.name == name) {
        Some(skill) => Ok(skill.body(registry, policy)),
        None => {
            let name = find::beginning(name, 80);
            Err(ErrorInfo::new(Code::ToolFailed, format!("no skill is called '{name}'")))
        }
    }
}

/// What the assistant is told of itself: the built-in skill, or the page's in its place. Nothing where it has no tools.
pub(super) fn assistant(skills: &[Skill], registry: &Registry, policy: &Policy) -> String {
    match skills.iter().find(|skill| skill.name == ASSISTANT) {
        Some(skill) => skill.body(registry, policy),
        None => {
            let tools = listed(registry, policy, &[]);
            if tools.is_empty() { tools } else { filled(ASSISTANT_TEMPLATE, |_| Some(&tools)) }
        }
    }
}

/// The list of the skills there are, which the first step shows. Nothing for who has no tool to read them by.
pub(super) fn list(skills: &[Skill], registry: &Registry, policy: &Policy) -> String {
    if !registry.definitions().any(|tool| tool.name == USE_SKILL && policy.offers(tool)) {
        return String::new();
    }
    let lines: Vec<String> =
        offered(skills).map(|skill| ["- ", &skill.name, ": ", &skill.description].concat()).list();
    if lines.is_empty() {
        return String::new();
    }
    let heading = "## Skills\n\nCall use_skill with a skill's name before you do what it is for.\n\n";
    [heading, &find::join(&lines, "\n")].concat()
}

/// A line for each tool: all there are, or these.
fn listed(registry: &Registry, policy: &Policy, names: &[String]) -> String {
    let wanted = |name: &String| names.is_empty() || names.contains(name);
    let tools = registry.definitions().filter(|tool| policy.offers(tool) && wanted(&tool.name));
    let lines: Vec<String> = tools
        .map(|tool| match policy.unavailable(tool) {
            Some(mark) => ["- ", &tool.name, ": ", &mark].concat(),
            None => ["- ", &tool.name].concat(),
        })
        .list();
    find::join(&lines, "\n")
}

/// The names that stand between `{{` and `}}`; `None`: one is not closed.
fn named(template: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = find::split(rest, "{{") {
        let (name, after) = find::split(after, "}}")?;
        names.push(name.trim());
        rest = after;
    }
    Some(names)
}

/// The template with values in place of names.
fn filled<'a>(template: &'a str, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = find::split(rest, "{{") {
        text.push_str(before);
        let (name, after) = find::split(after, "}}").unwrap_or((after, ""));
        text.push_str(value(name.trim()).unwrap_or_default());
        rest = after;
    }
    text.push_str(rest);
    text
}

fn invalid(message: String) -> ErrorInfo {
    ErrorInfo::new(Code::InvalidConfig, message)
}

/// What the journal keeps of skills.
pub fn record(skills: &[Skill]) -> Option<Value> {
    (!skills.is_empty()).then(|| skills.iter().map(Skill::to_json).array())
}

/// The format of the rows of skills. Those of before had none, and no hash.
const FORMAT: u64 = 1;

/// Reads a skill of a row. A door of the room `more`.
///
/// # Errors
/// `corrupt`: the row is not what was written; `newer_version`.
#[inline(never)]
pub fn from_row(row: &str) -> Result<Skill, ErrorInfo> {
    enter(Room::More);
    let mut value = json::parse(row).unwrap_or_default();
    let mut taken = |name: &str| value.as_object_mut().and_then(|members| object::take(members, name));
    let (format, hash) = (taken("v"), taken("hash"));
    if format.as_ref().and_then(Value::as_u64).is_some_and(|format| format > FORMAT) {
        return Err(ErrorInfo::newer(
            "a skill of the account is left out: a newer version of lodger has written it",
        ));
    }
    let is_whole = |skill: &Skill| match (&format, &hash) {
        (None, None) => true,
        (_, hash) => hash.as_ref().and_then(Value::as_str) == Some(&hash_of(skill)),
    };
    Skill::parse(&value).ok().filter(is_whole).ok_or_else(|| {
        let error =
            ErrorInfo::new(Code::Corrupt, "a skill of the account is left out: it is not what was written");
        error.hint("start the agent of the workspace that gives it: that writes it again")
    })
}

/// As a row. Another door.
#[inline(never)]
pub fn to_row(skill: &Skill) -> String {
    enter(Room::More);
    let mut value = skill.to_json();
    if let Some(members) = value.as_object_mut() {
        members.insert("hash".into(), hash_of(skill).into());
        members.insert("v".into(), FORMAT.into());
    }
    json(&value)
}

fn hash_of(skill: &Skill) -> String {
    sha256(&[&json(&skill.to_json())])
}
