//! What the answer of a run has to be, where its page has said so.
//!
//! Decides what of an answer is its value, how loosely that is read, and whether it fits. Promises: the same answer gives
//! the same value on every page. What is mended cannot change what was meant. Leaves to others: what follows when it
//! does not fit (the machine), and asking a page's own schema (`harness/`).

use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json;
use crate::list::Listed;
use crate::model::Block;
use crate::object::Object;
use crate::ports::PatternEngine;
use crate::rooms::{Room, enter};
use crate::tools::definition::object_schema;
use crate::tools::schema::{Options, Repaired, Schema};
use serde_json::Value;

/// What an answer has to be.
#[derive(Clone, Debug)]
pub struct Output {
    /// The JSON Schema, as the text it came as: models write members in its order.
    pub schema: String,
    /// Whether the schema is that of an object which an answer was put into: the value is its only member.
    wraps: bool,
    /// The page's function that says whether an answer fits, in place of the schema; gone with its page.
    pub validate: Option<u32>,
    /// `None`: it cannot be used here, because there are no regular expressions.
    compiled: Option<Schema>,
}

impl PartialEq for Output {
    fn eq(&self, other: &Output) -> bool {
        self.schema == other.schema && self.validate == other.validate && self.wraps == other.wraps
    }
}

impl Eq for Output {}

fn compile(schema: &str, engine: &PatternEngine) -> Result<Schema, ErrorInfo> {
    let options = Options { patterns: engine.patterns(), formats: false, recorded: false, documents: &[] };
    Schema::compile(&json::parse(schema).unwrap_or_default(), &options)
}

impl Output {
    /// Reads `{ json, validate?, wraps? }` as the client sends it. Gives what the journal keeps of it.
    ///
    /// # Errors
    /// `invalid_schema`, naming the place in it.
    pub fn parse(value: &Value, engine: &PatternEngine) -> Result<Value, ErrorInfo> {
        let schema = object_schema(value.get("json").unwrap_or(&Value::Null), "sendMessage", "schema")?;
        compile(&schema, engine).map_err(|mut error| {
            error.message = ["the schema of sendMessage: ", &error.message].concat();
            error
        })?;
        let validate = value.get("validate").and_then(|function| function.get("$fn")).cloned();
        let wraps = value.get("wraps").cloned();
        Ok(Object::new().text("json", &schema).maybe("validate", validate).maybe("wraps", wraps).done())
    }

    /// What the journal has kept.
    pub fn from_record(record: &Value, engine: &PatternEngine) -> Option<Output> {
        let schema = record.get("json")?.as_str()?.to_owned();
        let validate = record.get("validate").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let wraps = record.get("wraps") == Some(&Value::Bool(true));
        Some(Output { compiled: compile(&schema, engine).ok(), schema, validate, wraps })
    }

    /// Whether the value is the only member of an object, `value`.
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// The same for a run that goes on with this one: the page's function was given for this one alone.
    pub fn record(&self) -> Value {
        let wraps = self.wraps.then_some(Value::Bool(true));
        Object::new().text("json", &self.schema).maybe("wraps", wraps).done()
    }

    /// The value of an answer. `elsewhere`: whether it fits is not the JSON Schema's to say. A door of the room `past`.
    ///
    /// # Errors
    /// `invalid_output`: what does not fit.
    #[inline(never)]
    pub fn value(&self, answer: &[Block], elsewhere: bool) -> Result<Value, ErrorInfo> {
        enter(Room::Past);
        let wrong =
            |what: &str| ErrorInfo::new(Code::InvalidOutput, ["the answer does not fit: ", what].concat());
        let schema = self.compiled.as_ref().ok_or_else(|| wrong("its schema cannot be used here"))?;
        let value = read(answer).ok_or_else(|| wrong("it is no JSON"))?;
        let Repaired { mut value, report, .. } = schema.coerce(value);
        match report.is_valid() || elsewhere || self.validate.is_some() {
            true if self.wraps => Ok(value.get_mut("value").map(Value::take).unwrap_or_default()),
            true => Ok(value),
            false => Err(wrong(&find::replace(&report.told(), "the arguments", "the answer"))),
        }
    }
}

/// The JSON that an answer says: with its last text, else with all of them.
fn read(answer: &[Block]) -> Option<Value> {
    let text = |block: &'_ Block| if let Block::Text(text) = block { Some(text.clone()) } else { None };
    let texts: Vec<String> = answer.iter().filter_map(text).list();
    json_of(texts.last()?).or_else(|| json_of(&texts.concat()))
}

/// The JSON that a text is, or that stands in its only fence.
fn json_of(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    json::parse(text).or_else(|| {
        let (_, mut rest) = find::split(text, FENCE)?;
        let begun = rest;
        // Up to the last one: a text in the JSON may have fences of its own.
        let mut end = None;
        while let Some((_, after)) = find::split(rest, FENCE) {
            end = Some(begun.len() - after.len() - FENCE.len());
            rest = after;
        }
        let inside = begun.get(..end?)?;
        json::parse(inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric()))
    })
}

const FENCE: &str = "```";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn output(schema: Value) -> Output {
        let engine = PatternEngine::default();
        let record = Output::parse(&json!({ "json": schema.to_string() }), &engine).unwrap();
        Output::from_record(&record, &engine).unwrap()
    }

    fn said(texts: &[&str]) -> Vec<Block> {
        let mut blocks = vec![Block::Thinking { text: "{\"n\":0}".into(), signature: None }];
        blocks.extend(texts.iter().map(|text| Block::Text((*text).into())));
        blocks
    }

    #[test]
    fn the_value_is_read_loosely_where_that_changes_nothing() {
        let output = output(json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]}));
        for texts in [
            &["{\"n\":1}"][..],
            &[" \n{\"n\": 1}\n"],
            &["\u{feff}{\"n\":1}"],
            &["```json\n{\"n\":1}\n```"],
            &["```\n{\"n\":1}```"],
            &["Here it is:\n\n```json\n{\"n\":1}\n```\n\nAnything else?"],
            &["I have it.", "{\"n\":1}"],
            &["{\"n\":", "1}"],
            &["{\"n\":\"1\"}"],
        ] {
            assert_eq!(output.value(&said(texts), false), Ok(json!({"n": 1})), "{texts:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let output = output(json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]}));
        for (texts, what) in [
            (&[][..], "it is no JSON"),
            (&["Sure: {\"n\":1}"], "it is no JSON"),
            (&["{\"n\":1"], "it is no JSON"),
            (&["```\n{\"n\":1}\n``` or ```\n{\"n\":2}\n```"], "it is no JSON"),
            (&["{}"], "missing 'n' field"),
            (&["[1]"], "the answer must be an object; you sent [1]"),
            (&["{\"n\":1.5}"], "'n' must be a whole number; you sent 1.5"),
        ] {
            let error = output.value(&said(texts), false).unwrap_err();
            assert_eq!(error.code, Code::InvalidOutput);
            assert_eq!(error.message, ["the answer does not fit: ", what].concat(), "{texts:?}");
        }
    }

    #[test]
    fn what_was_put_into_an_object_is_taken_out() {
        let engine = PatternEngine::default();
        let schema =
            json!({"type": "object", "properties": {"value": {"type": "array"}}, "required": ["value"]});
        let given = json!({"json": schema.to_string(), "wraps": true});
        let record = Output::parse(&given, &engine).unwrap();
        let output = Output::from_record(&record, &engine).unwrap();
        assert_eq!(output.value(&said(&["{\"value\":[1]}"]), false), Ok(json!([1])));
        assert!(output.value(&said(&["[1]"]), false).is_err());
        assert_eq!(Output::from_record(&output.record(), &engine), Some(output));
    }

    #[test]
    fn a_fence_in_a_text_ends_nothing() {
        let output = output(json!({"properties": {"code": {"type": "string"}}}));
        let text = "```json\n{\"code\":\"```js\\nx\\n```\"}\n```";
        assert_eq!(output.value(&said(&[text]), false), Ok(json!({"code": "```js\nx\n```"})));
    }

    #[test]
    fn the_pages_function_has_the_last_word() {
        let engine = PatternEngine::default();
        let given = json!({"json": "{\"required\":[\"n\"]}", "validate": {"$fn": 7}});
        let record = Output::parse(&given, &engine).unwrap();
        let output = Output::from_record(&record, &engine).unwrap();
        assert_eq!((output.validate, output.value(&said(&["{}"]), false)), (Some(7), Ok(json!({}))));
        let alone = Output::from_record(&output.record(), &engine).unwrap();
        assert!(
            alone.validate.is_none()
                && alone.value(&said(&["{}"]), false).is_err()
                && alone.value(&said(&["{}"]), true).is_ok()
        );
    }

    #[test]
    fn a_schema_that_is_none_is_refused_at_once() {
        let engine = PatternEngine::default();
        for (schema, why) in [
            (json!(null), "sendMessage: 'schema' must be an object with a JSON Schema"),
            (json!("7"), "sendMessage: 'schema' must be an object with a JSON Schema"),
            (
                json!("{\"type\":\"array\"}"),
                "sendMessage: 'schema' must have type \"object\": put it into a member of one",
            ),
            (
                json!("{\"required\":1}"),
                "the schema of sendMessage: '/required' must be a list of names, not a number",
            ),
        ] {
            let error = Output::parse(&json!({ "json": schema }), &engine).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::InvalidSchema, why));
        }
    }
}
