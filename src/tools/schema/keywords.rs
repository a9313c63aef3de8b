//! The keywords of JSON Schema 2020-12 that decide something, as one table.
//!
//! Decides what each keyword takes, which vocabulary it is of, whether it is rare, and in which order they are looked at: the
//! order of the table. Promises: a keyword with a wrong value is refused with a sentence. Leaves to others: what they mean
//! (`validate`, `rare`). What is not in the table says nothing about validity and is not looked at.

use crate::protocol::args::whole;
use serde_json::{Map, Value};

/// What a keyword takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Types,
    Any,
    Values,
    Number,
    Positive,
    Count,
    Flag,
    Text,
    Names,
    NamesByName,
    Schema,
    Schemas,
    SchemaByName,
}

impl Takes {
    /// Whether a value is of this form, and else what the form is, for a sentence. What the schemas in it are is not
    /// looked at.
    pub(super) fn check(self, value: &Value) -> Result<(), &'static str> {
        let texts = |value: &Value| value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
        let (fits, what) = match self {
            Takes::Types => (types(value).is_some(), "the name of a type, or a list of such"),
            Takes::Any => (true, ""),
            Takes::Values => (value.is_array(), "a list of values"),
            Takes::Number => (value.is_number(), "a number"),
            Takes::Positive => (value.as_f64().is_some_and(|number| number > 0.0), "a number above 0"),
            Takes::Count => (whole(value).is_some(), "a whole number"),
            Takes::Flag => (value.is_boolean(), "true or false"),
            Takes::Text => (value.is_string(), "a string"),
            Takes::Names => (texts(value), "a list of names"),
            Takes::NamesByName => {
                (value.as_object().is_some_and(|map| map.values().all(texts)), "an object of lists of names")
            }
            Takes::Schema => (value.is_object() || value.is_boolean(), "a schema"),
            Takes::Schemas => {
                (value.as_array().is_some_and(|list| !list.is_empty()), "a list of schemas, not an empty one")
            }
            Takes::SchemaByName => (value.is_object(), "an object of schemas"),
        };
        if fits { Ok(()) } else { Err(what) }
    }
}

/// A row of the table.
pub(super) struct Keyword {
    pub(super) key: Key,
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) vocabulary: Vocabulary,
    kind: Kind,
}

/// How many schemas have a keyword.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Rare,
}

macro_rules! keywords {
    ($( $kind:ident $vocabulary:ident $name:ident = $text:literal $takes:ident ;)*) => {
        /// A keyword; the last is what a schema that is just `false` has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Key { $( $name, )* False }

        /// All keywords, in the order in which they are looked at.
        pub(super) static KEYWORDS: &[Keyword] = &[ $( Keyword {
            key: Key::$name,
            name: $text,
            takes: Takes::$takes,
            vocabulary: Vocabulary::$vocabulary,
            kind: Kind::$kind,
        }, )* ];
    };
}

keywords! {
    Rare Core Defs = "$defs" SchemaByName;
    Rare Core Ref = "$ref" Text;
    Rare Core DynamicRef = "$dynamicRef" Text;
    Plain Validation Type = "type" Types;
    Plain Validation Const = "const" Any;
    Plain Validation Enum = "enum" Values;
    Plain Validation Minimum = "minimum" Number;
    Plain Validation Maximum = "maximum" Number;
    Plain Validation ExclusiveMinimum = "exclusiveMinimum" Number;
    Plain Validation ExclusiveMaximum = "exclusiveMaximum" Number;
    Rare Validation MultipleOf = "multipleOf" Positive;
    Plain Validation MinLength = "minLength" Count;
    Plain Validation MaxLength = "maxLength" Count;
    Rare Validation Pattern = "pattern" Text;
    Rare Format Format = "format" Text;
    Plain Validation MinItems = "minItems" Count;
    Plain Validation MaxItems = "maxItems" Count;
    Rare Validation UniqueItems = "uniqueItems" Flag;
    Plain Validation MinProperties = "minProperties" Count;
    Plain Validation MaxProperties = "maxProperties" Count;
    Plain Validation Required = "required" Names;
    Rare Validation DependentRequired = "dependentRequired" NamesByName;
    Plain Applicator Properties = "properties" SchemaByName;
    Rare Applicator PatternProperties = "patternProperties" SchemaByName;
    Plain Applicator AdditionalProperties = "additionalProperties" Schema;
    Rare Applicator PropertyNames = "propertyNames" Schema;
    Rare Applicator PrefixItems = "prefixItems" Schemas;
    Plain Applicator Items = "items" Schema;
    Rare Applicator Contains = "contains" Schema;
    Rare Validation MinContains = "minContains" Count;
    Rare Validation MaxContains = "maxContains" Count;
    Rare Applicator DependentSchemas = "dependentSchemas" SchemaByName;
    Rare Applicator AllOf = "allOf" Schemas;
    Rare Applicator AnyOf = "anyOf" Schemas;
    Rare Applicator OneOf = "oneOf" Schemas;
    Rare Applicator Not = "not" Schema;
    Rare Applicator If = "if" Schema;
    Rare Applicator Then = "then" Schema;
    Rare Applicator Else = "else" Schema;
    Rare Unevaluated UnevaluatedItems = "unevaluatedItems" Schema;
    Rare Unevaluated UnevaluatedProperties = "unevaluatedProperties" Schema;
}

impl Key {
    /// The keyword as a schema has it; empty for `False`, which is none.
    pub(super) fn text(self) -> &'static str {
        KEYWORDS.get(self as usize).map_or("", |keyword| keyword.name)
    }

    /// Whether what it means is in the room that few schemas need.
    pub(super) fn is_rare(self) -> bool {
        KEYWORDS.get(self as usize).is_some_and(|keyword| keyword.kind == Kind::Rare)
    }
}

/// The meta-schemas that need not be handed in begin so. Earlier drafts are read as this one: most schemas mean the same in
/// all of them.
pub(super) const METAS: [&str; 2] = ["https://json-schema.org/draft", "http://json-schema.org/"];

/// Whether a schema gives itself a name, or names a meta-schema that may mean something else.
pub(super) fn has_names(map: &Map<String, Value>) -> bool {
    let known =
        |meta: &Value| meta.as_str().is_some_and(|meta| METAS.iter().any(|begin| meta.starts_with(begin)));
    ["$id", "$anchor", "$dynamicAnchor"].iter().any(|name| map.contains_key(*name))
        || map.get("$schema").is_some_and(|meta| !known(meta))
}

/// Whether a schema has what few have, in itself or in a schema in it: then it is compiled and used with the room for that.
/// `formats`: whether `format` counts; `deepest`: what is deeper is not looked at.
pub(super) fn is_rare(schema: &Value, formats: bool, deepest: usize) -> bool {
    let (Value::Object(map), Some(deepest)) = (schema, deepest.checked_sub(1)) else { return false };
    let rare = |keyword: &Keyword| {
        let Some(value) = map.get(keyword.name) else { return false };
        match (keyword.kind, keyword.takes, value) {
            (Kind::Rare, ..) => keyword.key != Key::Format || formats,
            (Kind::Plain, Takes::Schema, schema) => is_rare(schema, formats, deepest),
            (Kind::Plain, Takes::SchemaByName, Value::Object(schemas)) => {
                schemas.values().any(|schema| is_rare(schema, formats, deepest))
            }
            _ => false,
        }
    };
    has_names(map) || KEYWORDS.iter().any(rare)
}

/// A group of keywords that a meta-schema can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vocabulary {
    Core,
    Applicator,
    Unevaluated,
    Validation,
    Format,
}

/// The vocabularies that count for a schema, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vocabularies {
    bits: u8,
    /// `format` is of the vocabulary that asserts it.
    pub(super) asserts_format: bool,
}

/// Their names end in these; the first is always in force.
const NAMES: [&str; 5] = ["core", "applicator", "unevaluated", "validation", "format-annotation"];
const BEGINS: &str = "https://json-schema.org/draft/2020-12/vocab/";

impl Vocabularies {
    /// Those of 2020-12.
    pub(super) const STANDARD: Vocabularies = Vocabularies { bits: 0b11111, asserts_format: false };

    /// Those that a meta-schema's `$vocabulary` names; else the one that must be known and is not.
    pub(super) fn read(named: &Value) -> Result<Vocabularies, &str> {
        let mut read = Vocabularies { bits: 1, asserts_format: false };
        for (uri, required) in named.as_object().into_iter().flatten() {
            let name = uri.strip_prefix(BEGINS).unwrap_or_default();
            match NAMES.iter().position(|known| *known == name) {
                Some(bit) => read.bits |= 1 << bit,
                None if name == "format-assertion" => {
                    read.bits |= 1 << Vocabulary::Format as u8;
                    read.asserts_format = true;
                }
                // They say nothing about validity.
                None if name == "meta-data" || name == "content" => {}
                None if *required == Value::Bool(true) => return Err(uri),
                None => {}
            }
        }
        Ok(read)
    }

    pub(super) fn has(self, vocabulary: Vocabulary) -> bool {
        self.bits & (1 << vocabulary as u8) != 0
    }
}

/// The types by name. A set of them has one bit each.
pub(super) const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
pub(super) const NULL: u8 = 1;
pub(super) const OBJECT: u8 = 1 << 2;
pub(super) const ARRAY: u8 = 1 << 3;
pub(super) const NUMBER: u8 = 1 << 4;
pub(super) const STRING: u8 = 1 << 5;
pub(super) const INTEGER: u8 = 1 << 6;

/// The set that `type` names.
pub(super) fn types(value: &Value) -> Option<u8> {
    let one = |value: &Value| {
        let name = value.as_str()?;
        TYPES.iter().position(|known| *known == name).map(|bit| 1 << bit)
    };
    match value {
        Value::Array(names) if !names.is_empty() => {
            names.iter().try_fold(0, |set, name| Some(set | one(name)?))
        }
        name => one(name),
    }
}

/// The types that a value has: one, and for a whole number two.
pub(super) fn types_of(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => 1 << 1,
        Value::Object(_) => OBJECT,
        Value::Array(_) => ARRAY,
        Value::String(_) => STRING,
        Value::Number(number) => {
            let whole = number.as_f64().is_some_and(|number| number.fract() == 0.0);
            if whole { NUMBER | INTEGER } else { NUMBER }
        }
    }
}
