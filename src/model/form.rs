//! An answer that has to be JSON of a given schema: how a provider is held to it.
//!
//! Decides the means: the wire's own member, else a tool that stands for the answer, else words alone. Decides what is
//! sent of a schema where a provider takes less than all of JSON Schema. Promises: the shape of what is sent is the
//! schema's. What a provider does not take of it is told in words at its place. What cannot be said in its subset at all
//! goes the other way, so that no request is refused for its schema. Leaves to others: whether an answer fits (`run/`),
//! and the prompt.

use super::json::{Members, text};
use super::{Ability, Effort, Known, Peer, Reasoning, Structured, ToolSpec};
use crate::find;
use crate::json::{Reader, push_text};
use crate::list::Listed;
use crate::rooms::{Room, enter};

/// What the answer to one request has to be, and how the model is held to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// How.
    pub means: Means,
    /// Whether the model has to be told in words: nobody else tells it.
    pub told: bool,
}

/// How a model is held to a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// By the wire's own member, which takes this schema (JSON text).
    Schema {
        /// The schema, as far as the provider takes it.
        schema: String,
        /// Whether the provider is to keep to it without fail.
        strict: bool,
    },
    /// By a tool whose arguments are the answer.
    Tool {
        /// Its name.
        name: String,
        /// Whether it has to be called.
        forced: bool,
    },
    /// By words alone: the model takes no schema and calls no tools.
    Words,
}

/// What the tool is called that stands for the answer.
const TOOL: &str = "final_answer";

impl Form {
    /// How this provider's model is held to a schema (JSON text). `tools`: what the model is offered; a tool that stands
    /// for the answer comes to it. `served`: whether it is offered what its provider runs as well. A door of the room `past`.
    #[inline(never)]
    pub fn of(
        peer: &Peer,
        known: Option<&Known>,
        reasoning: Option<Reasoning>,
        schema: &str,
        tools: &mut Vec<ToolSpec>,
        served: bool,
    ) -> Form {
        enter(Room::Past);
        let alone = tools.is_empty() && !served;
        let can = known.and_then(|known| known.can(Ability::Structured));
        let narrowed = |all: bool| narrow(schema, all).map(|(schema, _)| schema);
        let own = match peer.dialect.structured {
            _ if can == Some(false) => None,
            Structured::Tool => None,
            Structured::Known if can.is_none() => None,
            Structured::Alone if !alone => None,
            Structured::Light { optional, unions } => narrow(schema, false)
                .filter(|(_, weight)| weight.is_within(optional, unions))
                .map(|(schema, _)| (schema, true)),
            Structured::Own | Structured::Known => {
                Some(narrowed(true).map_or((schema.to_owned(), false), |schema| (schema, true)))
            }
            Structured::Alone => Some((narrowed(false).unwrap_or_else(|| schema.to_owned()), false)),
            Structured::Told => Some((schema.to_owned(), false)),
        };
        if let Some((schema, strict)) = own {
            let told = matches!(peer.dialect.structured, Structured::Alone | Structured::Told);
            return Form { means: Means::Schema { schema, strict }, told };
        }
        if known.and_then(|known| known.can(Ability::Tools)) == Some(false) {
            return Form { means: Means::Words, told: true };
        }
        let mut name = TOOL.to_owned();
        while tools.iter().any(|tool| tool.name == name) {
            name.push('_');
        }
        // A model that thinks must not be told which tool to call; these think unless they are told not to.
        let thinks = match reasoning {
            Some(reasoning) => reasoning != Reasoning::Off,
            None => peer.dialect.effort == Effort::Switched,
        };
        let forced = alone && !thinks;
        tools.push(ToolSpec {
            name: name.clone(),
            description: "Gives your answer to the person: its arguments are the answer. Call it once, alone, when you have all that you need.".into(),
            input_schema: schema.into(),
        });
        Form { means: Means::Tool { name, forced }, told: true }
    }

    /// The tool that stands for the answer, if one does.
    pub fn tool(&self) -> Option<&str> {
        match &self.means {
            Means::Tool { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The schema that the wire's own member takes, and whether it is strict.
    pub(super) fn schema(&self) -> Option<(&str, &'static str)> {
        match &self.means {
            Means::Schema { schema, strict } => Some((schema, if *strict { "true" } else { "false" })),
            _ => None,
        }
    }

    /// The tool that has to be called.
    pub(super) fn forced(&self) -> Option<&str> {
        match &self.means {
            Means::Tool { name, forced: true } => Some(name),
            _ => None,
        }
    }
}

/// What a provider may find too much.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    optional: u32,
    unions: u32,
    recursive: bool,
}

impl Weight {
    fn is_within(self, optional: u32, unions: u32) -> bool {
        self.optional <= optional && self.unions <= unions && !self.recursive
    }
}

/// The schema in what the providers' subsets have in common: types, closed objects, lists, `enum`, `const`, `anyOf`,
/// references. `all`: every member has to be required, so one that may be absent may be `null`, which is mended when it
/// comes. `None`: it says something that cannot be said so.
fn narrow(schema: &str, all: bool) -> Option<(String, Weight)> {
    let root = Members::of(schema)?;
    if ["anyOf", "oneOf", "$ref"].into_iter().any(|name| root.has(name)) {
        return None;
    }
    let mut narrowing = Narrowing { all, weight: Weight::default(), defining: false };
    let mut out = String::with_capacity(schema.len() + 64);
    narrowing.schema(schema, DEEPEST, &mut out)?;
    Some((out, narrowing.weight))
}

/// How deep a schema may be; OpenAI refuses what is deeper.
const DEEPEST: u8 = 10;

struct Narrowing {
    all: bool,
    weight: Weight,
    /// In a definition: what refers to one from here may refer to itself.
    defining: bool,
}

impl Narrowing {
    #[expect(clippy::too_many_lines, reason = "what becomes of each keyword, side by side")]
    fn schema(&mut self, schema: &str, depth: u8, out: &mut String) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let members = Members::of(schema)?;
        if members.has("$ref") {
            let to = members.text("$ref");
            self.weight.recursive |= self.defining || to == "#";
            if to != "#" && !to.starts_with("#/$defs/") && !to.starts_with("#/definitions/") {
                return None;
            }
            out.push_str(r#"{"$ref":"#);
            push_text(out, &to);
            out.push('}');
            return Some(());
        }
        let is = |kind: &str| members.get("type").is_some_and(|kinds| find::has(kinds, kind));
        let object = is("\"object\"") || members.has("properties");
        let known = ["type", "enum", "const", "anyOf", "oneOf", "properties"];
        // A list without items is one of anything.
        if !known.iter().any(|name| members.has(name)) || is("\"array\"") && !members.has("items") {
            return None;
        }
        out.push('{');
        let mut told = String::new();
        for (name, value) in members.all() {
            match name {
                "type" | "title" => {
                    self.weight.unions += u32::from(value.starts_with('['));
                    key(name, out);
                    out.push_str(value);
                }
                "enum" | "const" => {
                    // Some want a type with them, and no values that are not plain.
                    let types = types(value).filter(|_| name == "enum" || !value.starts_with('['))?;
                    if !members.has("type") {
                        key("type", out);
                        out.push_str(&types);
                    }
                    key(name, out);
                    out.push_str(value);
                }
                "anyOf" | "oneOf" => {
                    self.weight.unions += 1;
                    key("anyOf", out);
                    self.list(value, depth, out)?;
                }
                "items" => {
                    key(name, out);
                    self.schema(value, depth, out)?;
                }
                "$defs" | "definitions" => {
                    key(name, out);
                    let outer = std::mem::replace(&mut self.defining, true);
                    self.named(value, depth, out, |_| false)?;
                    self.defining = outer;
                }
                "additionalProperties" if value == "false" => {}
                // Members of any name, items by their place and what holds besides cannot be said.
                "additionalProperties"
                | "patternProperties"
                | "prefixItems"
                | "allOf"
                | "$id"
                | "$anchor"
                | "$dynamicRef"
                | "$dynamicAnchor" => return None,
                "properties" | "required" | "description" | "$schema" | "$comment" => {}
                _ => {
                    told.push_str(if told.is_empty() { "{" } else { "," });
                    push_text(&mut told, name);
                    told.push(':');
                    told.push_str(value);
                }
            }
        }
        if object {
            // An object without members is an object of any members.
            self.object(&members, depth, out)?;
        }
        let mut description = members.text("description").into_owned();
        if !told.is_empty() {
            description.push_str(if description.is_empty() { "" } else { "\n\n" });
            description.push_str(&told);
            description.push('}');
        }
        if !description.is_empty() {
            key("description", out);
            push_text(out, &description);
        }
        out.push('}');
        Some(())
    }

    fn list(&mut self, schemas: &str, depth: u8, out: &mut String) -> Option<()> {
        for (at, schema) in items(schemas)?.into_iter().enumerate() {
            out.push(if at == 0 { '[' } else { ',' });
            self.schema(schema, depth, out)?;
        }
        out.push(']');
        Some(())
    }

    /// Schemas by name; those that are asked for may be `null` too.
    fn named(
        &mut self,
        schemas: &str,
        depth: u8,
        out: &mut String,
        or_null: impl Fn(&str) -> bool,
    ) -> Option<()> {
        out.push('{');
        for (name, schema) in Members::of(schemas)?.all() {
            key(name, out);
            let null = or_null(name);
            out.push_str(if null { r#"{"anyOf":["# } else { "" });
            self.schema(schema, depth, out)?;
            out.push_str(if null { r#",{"type":"null"}]}"# } else { "" });
        }
        out.push('}');
        Some(())
    }

    fn object(&mut self, object: &Members<'_>, depth: u8, out: &mut String) -> Option<()> {
        let properties = object.object("properties");
        let required = object.get("required").map_or(Some(Vec::new()), items)?;
        let required: Vec<_> = required.into_iter().map(text).list();
        let is_required = |name: &str| required.iter().any(|required| required == name);
        let all = self.all;
        key("properties", out);
        self.named(object.get("properties")?, depth, out, |name| all && !is_required(name))?;
        key("required", out);
        out.push('[');
        for (name, _) in properties.all() {
            if !all && !is_required(name) {
                self.weight.optional += 1;
                continue;
            }
            if !out.ends_with('[') {
                out.push(',');
            }
            push_text(out, name);
        }
        out.push_str(r#"],"additionalProperties":false"#);
        Some(())
    }
}

/// Begins a member.
fn key(name: &str, out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
    push_text(out, name);
    out.push(':');
}

/// The items of a list, as text.
fn items(list: &str) -> Option<Vec<&str>> {
    let (mut reader, mut items) = (Reader::new(list), Vec::new());
    reader.space();
    while reader.item(b'[', b']', items.is_empty())? {
        items.push(reader.value()?);
    }
    Some(items)
}

/// The types of one value or of a list of them; none where one of them is no plain value.
fn types(values: &str) -> Option<String> {
    let values = if values.starts_with('[') { items(values)? } else { vec![values] };
    let mut types: Vec<&str> = Vec::new();
    for value in values {
        let kind = match value.bytes().next()? {
            b'"' => "\"string\"",
            b't' | b'f' => "\"boolean\"",
            b'n' => "\"null\"",
            b'{' | b'[' => return None,
            _ => "\"number\"",
        };
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    Some(match types.as_slice() {
        [one] => (*one).to_owned(),
        types => ["[", &find::join(types, ","), "]"].concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Catalog, PRESETS};
    use super::*;
    use serde_json::{Value, json};

    fn narrowed(schema: Value, all: bool) -> Option<Value> {
        narrow(&schema.to_string(), all).map(|(text, _)| serde_json::from_str(&text).unwrap())
    }

    fn object(properties: Value, required: Value) -> Value {
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    #[test]
    fn what_may_be_absent_may_be_null_where_all_is_required() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]});
        let (a, b) = (json!({"type": "string"}), json!({"type": "number"}));
        assert_eq!(narrowed(schema.clone(), false), Some(object(json!({"a": a, "b": b}), json!(["a"]))));
        let or_null = json!({"anyOf": [b, {"type": "null"}]});
        assert_eq!(narrowed(schema, true), Some(object(json!({"a": a, "b": or_null}), json!(["a", "b"]))));
    }

    #[test]
    fn what_a_provider_does_not_take_is_told_at_its_place() {
        let text = json!({"type": "string", "description": "A name.", "minLength": 2, "pattern": "^a"});
        let list = json!({"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3});
        let schema = json!({"$schema": "x", "type": "object", "title": "T", "properties": {"n": text, "l": list}, "required": ["n", "l"]});
        let narrowed = narrowed(schema, true).unwrap();
        assert_eq!(
            narrowed["properties"]["n"],
            json!({"type": "string", "description": "A name.\n\n{\"minLength\":2,\"pattern\":\"^a\"}"})
        );
        let items = json!({"type": "integer", "description": "{\"minimum\":1}"});
        assert_eq!(
            narrowed["properties"]["l"],
            json!({"type": "array", "items": items, "description": "{\"maxItems\":3}"})
        );
        assert_eq!((&narrowed["title"], &narrowed["$schema"]), (&json!("T"), &Value::Null));
    }

    #[test]
    fn members_stay_in_their_order() {
        let schema = r##"{"type":"object","properties":{"z":{"const":1},"a":{"enum":["x",null]},"$ref":{"$ref":"#/$defs/d"}},"required":["$ref","z","a"],"$defs":{"d":{"oneOf":[{"type":"null"},{"type":"boolean"}]}}}"##;
        let (narrowed, weight) = narrow(schema, true).unwrap();
        assert_eq!(
            narrowed,
            r##"{"type":"object","$defs":{"d":{"anyOf":[{"type":"null"},{"type":"boolean"}]}},"properties":{"z":{"type":"number","const":1},"a":{"type":["string","null"],"enum":["x",null]},"$ref":{"$ref":"#/$defs/d"}},"required":["z","a","$ref"],"additionalProperties":false}"##
        );
        assert!(weight.is_within(24, 16));
    }

    #[test]
    fn what_cannot_be_said_is_not_said() {
        let with = |schema: Value| json!({"type": "object", "properties": {"a": schema}, "required": ["a"]});
        for schema in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!({"type": "array"}),
            json!({"type": "array", "items": true}),
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}),
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"allOf": [{"type": "string"}]}),
            json!({"enum": [[1]]}),
            json!({"$ref": "https://example.org/s"}),
            json!({"description": "anything"}),
        ] {
            assert_eq!(narrowed(with(schema.clone()), true), None, "{schema}");
        }
        assert_eq!(narrowed(json!({"type": "object", "anyOf": [{"type": "object"}]}), true), None);
        let deep = (0..10).fold(json!({"type": "string"}), |inner, _| with(inner));
        assert_eq!(narrowed(deep, true), None);
    }

    #[test]
    fn what_is_too_much_is_seen() {
        let weight = |schema: Value| narrow(&schema.to_string(), false).unwrap().1;
        let many = |n: usize, of: Value| {
            let members: serde_json::Map<_, _> = (0..n).map(|n| (format!("m{n:02}"), of.clone())).collect();
            json!({"type": "object", "properties": members})
        };
        assert!(weight(many(24, json!({"type": "string"}))).is_within(24, 16));
        assert!(!weight(many(25, json!({"type": "string"}))).is_within(24, 16));
        let mut unions = many(17, json!({"type": ["string", "null"]}));
        unions["required"] = (0..17).map(|n| format!("m{n:02}")).collect::<Vec<_>>().into();
        assert!(!weight(unions).is_within(24, 16));
        let tree = json!({"type": "object", "properties": {"child": {"$ref": "#"}}, "required": ["child"]});
        assert!(!weight(tree).is_within(24, 16));
        let node =
            json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]});
        let list = json!({"type": "object", "properties": {"first": {"$ref": "#/$defs/node"}}, "required": ["first"], "$defs": {"node": node}});
        assert!(!weight(list).is_within(24, 16));
    }

    const SIMPLE: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    const FREE: &str = r#"{"type":"object","properties":{"n":{"type":"object"}},"required":["n"]}"#;

    fn spec() -> ToolSpec {
        ToolSpec { name: "final_answer".into(), description: "d".into(), input_schema: "{}".into() }
    }

    /// How each provider is held to a schema: to a simple one, beside tools, and to one that no subset can say.
    #[test]
    fn every_provider_has_its_means() {
        let means = |kind: &str, preset: &str, known: Option<&Known>, schema: &str, beside: bool| {
            let row = PRESETS.iter().find(|row| row.kind == kind && row.preset == preset).unwrap();
            let peer = Peer { wire: row.wire, dialect: row.dialect, name: String::new() };
            let mut tools = if beside { vec![spec()] } else { vec![] };
            let form = Form::of(&peer, known, None, schema, &mut tools, false);
            let told = if form.told { " told" } else { "" };
            match &form.means {
                Means::Schema { strict: true, .. } => format!("strict{told}"),
                Means::Schema { .. } => format!("loose{told}"),
                Means::Tool { name, forced } => {
                    let last = tools.last().unwrap();
                    assert_eq!((&last.name, last.input_schema.as_str()), (name, schema));
                    assert_eq!(name == "final_answer_", beside);
                    format!("{}{told}", if *forced { "forced" } else { "offered" })
                }
                Means::Words => format!("words{told}"),
            }
        };
        for (kind, preset, simple, beside, free) in [
            ("anthropic", "", "strict", "strict", "forced told"),
            ("openai", "", "strict", "strict", "loose"),
            ("openai-responses", "", "strict", "strict", "loose"),
            ("openai-responses", "azure", "strict", "strict", "loose"),
            ("xai", "", "strict", "strict", "loose"),
            ("xai", "chat", "strict", "strict", "loose"),
            ("gemini", "", "loose told", "offered told", "loose told"),
            ("ollama", "", "loose told", "offered told", "loose told"),
            ("openai-compatible", "", "forced told", "offered told", "forced told"),
            ("openai-compatible", "azure", "forced told", "offered told", "forced told"),
            ("openai-compatible", "openrouter", "forced told", "offered told", "forced told"),
            ("openai-compatible", "google", "loose told", "offered told", "loose told"),
            ("openai-compatible", "groq", "forced told", "offered told", "forced told"),
            // It thinks unless it is told not to, and then takes no order.
            ("openai-compatible", "deepseek", "offered told", "offered told", "offered told"),
            ("openai-compatible", "mistral", "strict", "strict", "loose"),
            ("openai-compatible", "lmstudio", "loose told", "offered told", "loose told"),
            ("openai-compatible", "llamacpp", "loose told", "offered told", "loose told"),
            ("openai-compatible", "vllm", "loose told", "offered told", "loose told"),
            ("openai-compatible", "ollama", "loose told", "offered told", "loose told"),
        ] {
            let by = |schema, beside| means(kind, preset, None, schema, beside);
            assert_eq!(
                (by(SIMPLE, false), by(SIMPLE, true), by(FREE, false)),
                (simple.into(), beside.into(), free.into()),
                "{kind} {preset}"
            );
        }
        let models = json!({"x": {
            "can": {"can": ["tools", "structured"]}, "cannot": {"can": ["tools"]},
            "untooled": {"can": ["structured"]}, "neither": {"can": []},
        }});
        let catalog = Catalog::read(&models, "models").unwrap();
        let [can, cannot, untooled, neither] =
            ["can", "cannot", "untooled", "neither"].map(|id| catalog.find("x", "", id));
        assert_eq!(means("openai-compatible", "openrouter", can.as_ref(), SIMPLE, true), "strict");
        assert_eq!(means("openai-compatible", "groq", can.as_ref(), SIMPLE, false), "forced told");
        assert_eq!(means("anthropic", "", cannot.as_ref(), SIMPLE, false), "forced told");
        assert_eq!(means("ollama", "", cannot.as_ref(), SIMPLE, false), "forced told");
        assert_eq!(means("openai", "", untooled.as_ref(), FREE, false), "loose");
        assert_eq!(means("openai-compatible", "groq", untooled.as_ref(), SIMPLE, false), "words told");
        for (kind, preset) in [("anthropic", ""), ("ollama", ""), ("openai-compatible", "openrouter")] {
            assert_eq!(means(kind, preset, neither.as_ref(), SIMPLE, false), "words told", "{kind}");
        }
        assert_eq!(PRESETS.len(), 19);
    }
}
