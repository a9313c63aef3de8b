//! What a tool is, apart from what it does.
//!
//! Decides which members a tool may have, their defaults, and its three forms: as the page registers it, as
//! the page sees it listed, as the journal records it. Promises: a member that is unknown, wrong, or comes
//! with a later version is refused by name. Leaves to others: whether the schema can be used (`registry`),
//! and the order of tools.

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json::{self, json};
use crate::object::Object;
use crate::ports::MAX_DELAY_MS;
use crate::protocol::Args;
use serde_json::{Map, Value};

/// Where the text of a tool's result comes from, and so how far it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The workspace or the page's own code.
    Workspace,
    /// The world outside.
    External,
    /// The harness.
    System,
}

impl Source {
    /// Its public name.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Workspace => "Workspace",
            Source::External => "External",
            Source::System => "System",
        }
    }

    /// The source of this name.
    pub fn parse(text: &str) -> Option<Source> {
        [Source::Workspace, Source::External, Source::System]
            .into_iter()
            .find(|source| source.as_str() == text)
    }
}

/// What becomes of a call when the page was lost while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnResume {
    /// Run it again.
    Rerun,
    /// Ask a person.
    Ask,
    /// Tell the model that nobody knows.
    Fail,
}

impl OnResume {
    /// Its public name.
    pub fn as_str(self) -> &'static str {
        match self {
            OnResume::Rerun => "rerun",
            OnResume::Ask => "ask",
            OnResume::Fail => "fail",
        }
    }

    /// The rule of this name.
    pub fn parse(text: &str) -> Option<OnResume> {
        [OnResume::Rerun, OnResume::Ask, OnResume::Fail].into_iter().find(|rule| rule.as_str() == text)
    }
}

/// Who carries out a tool's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This crate, on the workspace's pages.
    Page,
    /// The function that the client knows by this number.
    Host(u32),
    /// A person, or code of the page, by `tools.resolve`.
    Person,
    /// Another run.
    Delegate,
    /// The skills that the page gave.
    Skill,
    /// What is remembered.
    Memory,
}

impl Origin {
    /// Those that have a name in the journal.
    const NAMED: [(&str, Origin); 3] =
        [("delegate", Origin::Delegate), ("skill", Origin::Skill), ("memory", Origin::Memory)];
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for, for the model; not empty.
    pub description: String,
    /// The JSON Schema of its arguments, as JSON text; always with `"type": "object"`.
    pub input_schema: String,
    /// Where its results come from.
    pub source: Source,
    /// What must be held for it.
    pub capability: Option<String>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether what it takes away may be gone for good: it is asked about unless someone has said otherwise.
    pub destructive: bool,
    /// Whether it can send something out of the page.
    pub open_world: bool,
    /// The arguments that say where it sends that. Empty: nothing says it.
    pub destination: Vec<String>,
    /// Whether it may run beside others of the same turn.
    pub parallel: bool,
    /// How long a call may take, in milliseconds; `None`: the harness's default.
    pub timeout_ms: Option<u64>,
    /// What becomes of a call that was lost.
    pub on_resume: OnResume,
    /// Whether arguments that mean the right thing in the wrong form are repaired.
    pub coerce: bool,
    /// Whether the schema's `format` counts.
    pub formats: bool,
    /// Whether the page is told its arguments while they come.
    pub stream_arguments: bool,
    /// The function that knows whether a lost call took effect.
    pub lookup: Option<u32>,
    /// The function that says whether arguments are valid, in place of the schema.
    pub validate: Option<u32>,
    /// The function that says to a person what a call would do.
    pub explanation: Option<u32>,
    /// Who carries it out.
    pub origin: Origin,
}

const KNOWN: &[&str] = &[
    "name",
    "title",
    "description",
    "inputSchema",
    "execute",
    "source",
    "capability",
    "readOnly",
    "destructive",
    "openWorld",
    "destination",
    "annotations",
    "timeoutMs",
    "concurrency",
    "coerce",
    "formats",
    "streamArguments",
    "onResume",
    "lookup",
    "explanation",
];
const HINTS: &[&str] = &["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
const READ_ONLY_PREFIXES: &[&str] = &["get_", "list_", "search_", "read_", "describe_"];

impl Definition {
    /// A tool of this crate, where it says nothing else: it changes something, one call at a time, and reaches the
    /// workspace only.
    pub(super) fn built_in(
        name: &str,
        description: &str,
        input_schema: String,
        source: Source,
        origin: Origin,
    ) -> Definition {
        Definition {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema,
            source,
            capability: None,
            read_only: false,
            destructive: false,
            open_world: false,
            destination: Vec::new(),
            parallel: false,
            timeout_ms: None,
            // A change of pages and its outcome are one commit: without an outcome there was no change.
            on_resume: OnResume::Rerun,
            coerce: true,
            formats: false,
            stream_arguments: false,
            lookup: None,
            validate: None,
            explanation: None,
            origin,
        }
    }

    /// Reads what the client sends for `tools.register`. `replace` is allowed and left to the caller: it is
    /// about the registry, not about the tool.
    #[expect(clippy::too_many_lines, reason = "the members of a tool, each with its default")]
    pub fn parse(value: &Value) -> Result<Definition, ErrorInfo> {
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
        let what = if name.is_empty() { "a tool".to_string() } else { format!("the tool '{name}'") };
        let invalid = |text: String| ErrorInfo::new(Code::InvalidTool, text);
        let args = Args::open(value, Code::InvalidTool, &what, KNOWN)?;
        let name = args.required_text("name")?;
        check_name(name, Code::InvalidTool, "tool")?;
        let description = args.required_text("description")?;
        if description.trim().is_empty() {
            return Err(invalid(format!("{what} has an empty 'description'"))
                .hint("say what the tool does: the model chooses by it"));
        }
        let Some(schema) = args.get("inputSchema") else { return Err(args.missing("inputSchema")) };
        let input_schema = object_schema(schema, &what, "inputSchema")?;
        let function = |name: &str| match args.get(name) {
            None => Ok(None),
            Some(value) => {
                let number = value.get("$fn").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
                number.map(Some).ok_or_else(|| args.wrong(name, "a function"))
            }
        };
        let source = match args.text("source")? {
            None => Source::Workspace,
            Some(text) => Source::parse(text).ok_or_else(|| {
                invalid(format!("{what}: 'source' must be Workspace, External or System, not '{text}'"))
            })?,
        };
        let theirs = [&what, "'s annotations"].concat();
        let hints = match args.get("annotations") {
            None => None,
            Some(hints) => Some(Args::open(hints, Code::InvalidTool, &theirs, HINTS)?),
        };
        // Our own word counts, then MCP's.
        let flag = |ours: &str, theirs: &str| match (args.flag(ours)?, &hints) {
            (None, Some(hints)) => hints.flag(theirs),
            (flag, _) => Ok::<_, ErrorInfo>(flag),
        };
        let said_to_read = flag("readOnly", "readOnlyHint")?;
        let read_only =
            said_to_read.unwrap_or_else(|| READ_ONLY_PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
        let parallel = match args.text("concurrency")? {
            None => read_only,
            Some("parallel") => true,
            Some("serial") => false,
            Some(text) => {
                return Err(invalid(format!(
                    "{what}: 'concurrency' must be parallel or serial, not '{text}'"
                )));
            }
        };
        let timeout_ms = args.whole("timeoutMs", 1)?;
        if timeout_ms.is_some_and(|timeout| timeout > MAX_DELAY_MS) {
            return Err(invalid(format!("{what}: 'timeoutMs' must be at most {MAX_DELAY_MS}")));
        }
        let again = read_only
            || hints.as_ref().map(|hints| hints.flag("idempotentHint")).transpose()?.flatten() == Some(true);
        let on_resume = match args.text("onResume")? {
            None if again => OnResume::Rerun,
            None => OnResume::Ask,
            Some(text) => OnResume::parse(text).ok_or_else(|| {
                invalid(format!("{what}: 'onResume' must be rerun, ask or fail, not '{text}'"))
            })?,
        };
        let capability = args.text("capability")?;
        if capability.is_some_and(|capability| capability.trim().is_empty()) {
            return Err(invalid(format!("{what}: 'capability' is empty")));
        }
        args.flag("replace")?;
        let destination = match args.get("destination") {
            None => Vec::new(),
            Some(names) => destination(names, &input_schema).ok_or_else(|| {
                invalid(format!("{what}: 'destination' must name arguments of its inputSchema"))
            })?,
        };
        Ok(Definition {
            name: name.into(),
            title: args.text("title")?.map(String::from),
            description: description.into(),
            input_schema,
            source,
            capability: capability.map(String::from),
            read_only,
            destructive: flag("destructive", "destructiveHint")?.unwrap_or(false),
            // What has a destination sends something there, also where it only reads. So does what looks outside by its
            // arguments, and a name is nobody's word that it does not.
            open_world: flag("openWorld", "openWorldHint")?.unwrap_or(
                !read_only
                    || !destination.is_empty()
                    || (said_to_read.is_none() && source == Source::External),
            ),
            destination,
            parallel,
            timeout_ms,
            coerce: args.flag("coerce")?.unwrap_or(true),
            formats: args.flag("formats")?.unwrap_or(false),
            stream_arguments: args.flag("streamArguments")?.unwrap_or(false),
            on_resume,
            lookup: function("lookup")?,
            validate: function("validate")?,
            explanation: function("explanation")?,
            origin: function("execute")?.map_or(Origin::Person, Origin::Host),
        })
    }

    /// The public form (`ToolDefinition` of `index.d.ts`).
    pub fn to_json(&self, available: bool) -> Value {
        self.named()
            .value("inputSchema", self.schema())
            .flag("available", available)
            .maybe_text("capability", self.capability.as_deref())
            .maybe_text("title", self.title.as_deref())
            .maybe("explains", self.explanation.map(|_| true.into()))
            .done()
    }

    /// What both forms have.
    fn named(&self) -> Object {
        let mut object = Object::new();
        object
            .text("name", &self.name)
            .text("description", &self.description)
            .text("source", self.source.as_str())
            .flag("readOnly", self.read_only);
        object
    }

    /// The form for the journal; it reads back exactly.
    pub fn to_record(&self) -> Value {
        let function = match self.origin {
            Origin::Page => None,
            Origin::Host(function) => Some(function.into()),
            Origin::Person => Some(Value::Null),
            named => {
                Origin::NAMED.iter().find(|(_, origin)| *origin == named).map(|(name, _)| (*name).into())
            }
        };
        self.named()
            .text("inputSchema", &self.input_schema)
            .maybe_text("capability", self.capability.as_deref())
            .flag("destructive", self.destructive)
            .flag("openWorld", self.open_world)
            .maybe("destination", (!self.destination.is_empty()).then(|| self.destination.as_slice().into()))
            .flag("parallel", self.parallel)
            .flag("coerce", self.coerce)
            .flag("formats", self.formats)
            .maybe("streamArguments", self.stream_arguments.then_some(Value::Bool(true)))
            .maybe("lookup", self.lookup.map(Value::from))
            .maybe("validate", self.validate.map(Value::from))
            .maybe("explanation", self.explanation.map(Value::from))
            .text("onResume", self.on_resume.as_str())
            .maybe_text("title", self.title.as_deref())
            .maybe("timeoutMs", self.timeout_ms.map(Value::from))
            .maybe("fn", function)
            .done()
    }

    /// Reads the form for the journal.
    pub fn from_record(record: &Value) -> Result<Definition, ErrorInfo> {
        let bad = |name: &str| {
            ErrorInfo::new(
                Code::Corrupt,
                format!("a recorded tool cannot be read: {name} is missing or wrong"),
            )
        };
        let text = |name: &str| record.get(name).and_then(Value::as_str).ok_or_else(|| bad(name));
        let flag = |name: &str| record.get(name).and_then(Value::as_bool).ok_or_else(|| bad(name));
        let function = |number: &Value| number.as_u64().and_then(|n| u32::try_from(n).ok());
        let numbered =
            |name: &str| record.get(name).map(|number| function(number).ok_or_else(|| bad(name))).transpose();
        let named = |word: &Value| {
            let word = word.as_str();
            Origin::NAMED.iter().find(|(name, _)| Some(*name) == word).map(|(_, origin)| *origin)
        };
        Ok(Definition {
            name: text("name")?.into(),
            title: record.get("title").map(|_| text("title")).transpose()?.map(String::from),
            description: text("description")?.into(),
            input_schema: text("inputSchema")?.into(),
            source: Source::parse(text("source")?).ok_or_else(|| bad("source"))?,
            capability: record.get("capability").map(|_| text("capability")).transpose()?.map(String::from),
            read_only: flag("readOnly")?,
            destructive: flag("destructive")?,
            open_world: flag("openWorld")?,
            destination: match record.get("destination") {
                None => Vec::new(),
                Some(names) => json::texts(names).ok_or_else(|| bad("destination"))?,
            },
            parallel: flag("parallel")?,
            coerce: flag("coerce")?,
            formats: flag("formats")?,
            stream_arguments: record.get("streamArguments") == Some(&Value::Bool(true)),
            lookup: numbered("lookup")?,
            validate: numbered("validate")?,
            explanation: numbered("explanation")?,
            timeout_ms: match record.get("timeoutMs") {
                None => None,
                Some(timeout) => Some(timeout.as_u64().ok_or_else(|| bad("timeoutMs"))?),
            },
            on_resume: OnResume::parse(text("onResume")?).ok_or_else(|| bad("onResume"))?,
            origin: match record.get("fn") {
                None => Origin::Page,
                Some(Value::Null) => Origin::Person,
                Some(word @ Value::String(_)) => named(word).ok_or_else(|| bad("fn"))?,
                Some(number) => Origin::Host(function(number).ok_or_else(|| bad("fn"))?),
            },
        })
    }

    /// The schema as a tree; an empty one if the text is none, which [`Definition::parse`] rules out.
    fn schema(&self) -> Value {
        json::parse(&self.input_schema).unwrap_or_else(|| Value::Object(Map::new()))
    }
}

/// The arguments that say where a tool sends something. `None`: they are not names of arguments that its schema has.
fn destination(names: &Value, schema: &str) -> Option<Vec<String>> {
    let schema = json::parse(schema)?;
    let texts = json::texts(names)?;
    let is_known = |name: &String| schema.get("properties").is_some_and(|known| known.get(name).is_some());
    (!texts.is_empty() && texts.len() == names.as_array()?.len() && texts.iter().all(is_known))
        .then_some(texts)
}

/// A name that every provider takes.
pub(crate) fn check_name(name: &str, code: Code, what: &str) -> Result<(), ErrorInfo> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=64).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    let shown = find::beginning(name, 80);
    Err(ErrorInfo::new(code, format!("'{shown}' is no name for a {what}"))
        .hint("a name has 1 to 64 letters, digits, hyphens and underscores"))
}

/// The text of a schema for an object; providers refuse any other, and want the type said. A schema that comes as text
/// keeps its order: models read the properties of a tool in it.
pub(crate) fn object_schema(schema: &Value, what: &str, member: &str) -> Result<String, ErrorInfo> {
    let invalid =
        |text: &str| ErrorInfo::new(Code::InvalidSchema, [what, ": '", member, "' must ", text].concat());
    let parsed = schema.as_str().and_then(json::parse);
    let Some(map) = parsed.as_ref().unwrap_or(schema).as_object() else {
        return Err(invalid("be an object with a JSON Schema"));
    };
    let text = match schema {
        Value::String(text) => text.trim().to_owned(),
        _ => json(schema),
    };
    match map.get("type") {
        Some(Value::String(kind)) if kind == "object" => Ok(text),
        None => {
            let rest = text.strip_prefix('{').unwrap_or_default();
            let comma = if map.is_empty() { "" } else { "," };
            Ok(["{\"type\":\"object\"", comma, rest].concat())
        }
        Some(_) => Err(invalid("have type \"object\": put it into a member of one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> Value {
        json!({
            "name": "add_to_cart",
            "description": "Puts a product into the cart.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "execute": {"$fn": 3},
        })
    }

    fn with(member: &str, value: Value) -> Value {
        let mut tool = tool();
        tool[member] = value;
        tool
    }

    #[test]
    fn a_schema_keeps_the_order_of_its_text() {
        let of = |text: &str| {
            Definition::parse(&with("inputSchema", text.into()))
                .map(|tool| tool.input_schema)
                .map_err(|e| e.code)
        };
        let text = r#"{"properties":{"why":{},"answer":{}},"type":"object"}"#;
        assert_eq!(of(text).unwrap(), text);
        assert_eq!(of(r#" {"z":1,"a":2}"#).unwrap(), r#"{"type":"object","z":1,"a":2}"#);
        assert_eq!(of("{ }").unwrap(), r#"{"type":"object" }"#);
        assert_eq!(of("[]"), Err(Code::InvalidSchema));
        assert_eq!(of("no json"), Err(Code::InvalidSchema));
        assert_eq!(of(r#"{"type":"string"}"#), Err(Code::InvalidSchema));
    }

    #[test]
    fn a_tool_has_defaults() {
        let parsed = Definition::parse(&tool()).unwrap();
        assert_eq!(
            parsed,
            Definition {
                name: "add_to_cart".into(),
                title: None,
                description: "Puts a product into the cart.".into(),
                input_schema: tool()["inputSchema"].to_string(),
                source: Source::Workspace,
                read_only: false,
                open_world: true,
                destination: vec![],
                parallel: false,
                timeout_ms: None,
                capability: None,
                destructive: false,
                coerce: true,
                formats: false,
                stream_arguments: false,
                lookup: None,
                validate: None,
                explanation: None,
                on_resume: OnResume::Ask,
                origin: Origin::Host(3),
            }
        );
        for name in ["get_x", "list_x", "search_x", "read_x", "describe_x"] {
            let parsed = Definition::parse(&with("name", name.into())).unwrap();
            assert!(parsed.read_only && !parsed.open_world && parsed.parallel, "{name}");
            assert_eq!(parsed.on_resume, OnResume::Rerun);
            // What looks outside sends its address there, whatever it is called.
            let mut tool = with("name", name.into());
            tool["source"] = "External".into();
            assert!(Definition::parse(&tool).unwrap().open_world, "{name}");
            tool["readOnly"] = true.into();
            assert!(!Definition::parse(&tool).unwrap().open_world, "{name}");
        }
        assert!(!Definition::parse(&with("name", "getter".into())).unwrap().read_only);
    }

    #[test]
    fn what_is_said_wins() {
        let mut tool = tool();
        for (member, value) in [
            ("name", json!("get_it")),
            ("title", json!("Get it")),
            ("readOnly", json!(false)),
            ("source", json!("External")),
            ("timeoutMs", json!(5000)),
            ("concurrency", json!("parallel")),
            ("onResume", json!("fail")),
            ("replace", json!(true)),
        ] {
            tool[member] = value;
        }
        let parsed = Definition::parse(&tool).unwrap();
        assert_eq!(parsed.title.as_deref(), Some("Get it"));
        assert!(!parsed.read_only && parsed.open_world && parsed.parallel);
        assert_eq!(
            (parsed.source, parsed.timeout_ms, parsed.on_resume),
            (Source::External, Some(5000), OnResume::Fail)
        );
    }

    #[test]
    fn the_words_of_mcp_are_read_as_ours() {
        let hints =
            json!({"title": "T", "readOnlyHint": true, "openWorldHint": true, "destructiveHint": false});
        let parsed = Definition::parse(&with("annotations", hints)).unwrap();
        assert!(parsed.read_only && parsed.open_world && !parsed.destructive);
        let mut tool = with("annotations", json!({"destructiveHint": true, "idempotentHint": true}));
        let parsed = Definition::parse(&tool).unwrap();
        assert!(parsed.destructive && parsed.on_resume == OnResume::Rerun);
        // Our own word counts.
        tool["destructive"] = false.into();
        assert!(!Definition::parse(&tool).unwrap().destructive);
        let error = Definition::parse(&with("annotations", json!({"safeHint": true}))).unwrap_err();
        assert!(error.message.contains("annotations does not know 'safeHint'"), "{}", error.message);
    }

    #[test]
    fn a_tool_without_a_function_is_answered_by_a_person() {
        let mut tool = tool();
        tool.as_object_mut().unwrap().remove("execute");
        assert_eq!(Definition::parse(&tool).unwrap().origin, Origin::Person);
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        for (member, value, message) in [
            ("name", json!(""), "'' is no name for a tool"),
            ("name", json!("a b"), "'a b' is no name for a tool"),
            ("name", json!("ä"), "'ä' is no name for a tool"),
            ("name", json!("a".repeat(65)), "is no name for a tool"),
            ("name", json!(1), "a tool: 'name' must be a string, not a number"),
            ("name", Value::Null, "a tool: missing 'name' field"),
            ("description", Value::Null, "the tool 'add_to_cart': missing 'description' field"),
            ("description", json!(" "), "has an empty 'description'"),
            ("inputSchema", Value::Null, "missing 'inputSchema' field"),
            ("execute", json!(1), "'execute' must be a function, not a number"),
            ("execute", json!({"$fn": -1}), "'execute' must be a function, not an object"),
            ("source", json!("Internet"), "'source' must be Workspace, External or System, not 'Internet'"),
            ("readOnly", json!("yes"), "'readOnly' must be true or false, not a string"),
            ("concurrency", json!("both"), "'concurrency' must be parallel or serial, not 'both'"),
            ("timeoutMs", json!(0), "'timeoutMs' must be a whole number of at least 1, not 0"),
            ("timeoutMs", json!(1e15), "'timeoutMs' must be at most 2147483647"),
            ("onResume", json!("later"), "'onResume' must be rerun, ask or fail, not 'later'"),
            ("replace", json!(1), "'replace' must be true or false"),
            ("capability", json!(" "), "'capability' is empty"),
            ("coerce", json!(1), "'coerce' must be true or false"),
            ("lookup", json!(true), "'lookup' must be a function"),
            ("inputschema", json!({}), "the tool 'add_to_cart' does not know 'inputschema'; it takes name,"),
        ] {
            let error = Definition::parse(&with(member, value)).unwrap_err();
            assert_eq!(error.code, Code::InvalidTool, "{member}");
            assert!(error.message.contains(message), "{}", error.message);
        }
        let known = Definition::parse(&with("inputschema", json!({}))).unwrap_err().message.clone();
        assert!(
            known.ends_with(", onResume, lookup, explanation"),
            "what the client adds is not named: {known}"
        );
        assert_eq!(Definition::parse(&json!("x")).unwrap_err().code, Code::InvalidTool);
        for (schema, message) in [
            (json!(true), "'inputSchema' must be an object with a JSON Schema"),
            (json!({"type": "string"}), "'inputSchema' must have type \"object\""),
            (json!({"type": ["object"]}), "'inputSchema' must have type \"object\""),
        ] {
            let error = Definition::parse(&with("inputSchema", schema)).unwrap_err();
            assert_eq!(error.code, Code::InvalidSchema);
            assert!(error.message.contains(message), "{}", error.message);
        }
    }

    #[test]
    fn the_public_form_has_the_names_of_the_contract() {
        let parsed = Definition::parse(&with("inputSchema", json!({"properties": {}}))).unwrap();
        assert_eq!(
            parsed.to_json(true),
            json!({
                "name": "add_to_cart",
                "description": "Puts a product into the cart.",
                "inputSchema": {"properties": {}, "type": "object"},
                "source": "Workspace",
                "readOnly": false,
                "available": true,
            })
        );
        let explained = Definition::parse(&with("explanation", json!({ "$fn": 4 }))).unwrap();
        assert_eq!(explained.to_json(false)["explains"], true);
    }

    #[test]
    fn a_tool_reads_back_from_its_record() {
        let host = Definition::parse(&tool()).unwrap();
        let page = Definition {
            title: Some("T".into()),
            timeout_ms: Some(9),
            source: Source::System,
            origin: Origin::Page,
            capability: Some("Mail".into()),
            destructive: true,
            coerce: false,
            formats: true,
            lookup: Some(4),
            ..host.clone()
        };
        let person = Definition { origin: Origin::Person, ..host.clone() };
        for tool in [&host, &page, &person] {
            assert_eq!(&Definition::from_record(&tool.to_record()).unwrap(), tool);
        }
        let record = Definition { title: Some("T".into()), timeout_ms: Some(9), ..host }.to_record();
        for member in record.as_object().unwrap().keys() {
            let mut damaged = record.clone();
            damaged[member] = json!([]);
            let error = Definition::from_record(&damaged).unwrap_err();
            assert_eq!(error.code, Code::Corrupt);
            assert!(error.message.contains(&format!(": {member} is")), "{}", error.message);
        }
    }
}
