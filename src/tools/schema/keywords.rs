//! The keywords of JSON Schema 2020-12 that decide something, as one table.
//!
//! Decides what each keyword takes, which vocabulary it is of, and in which order they are looked at: the order of the
//! table. Promises: a keyword with a wrong value is refused with a sentence. Leaves to others: what they mean
//! (`validate`). What is not in the table says nothing about validity and is not looked at.

use crate::protocol::args::whole;
use serde_json::Value;

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

macro_rules! keywords {
    ($( $vocabulary:ident $name:ident = $text:literal $takes:ident ;)*) => {
        /// A keyword; the last is what a schema that is just `false` has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Key { $( $name, )* False }

        /// All keywords, in the order in which they are looked at.
        pub(super) const KEYWORDS: &[(Key, &str, Takes, Vocabulary)] =
            &[ $( (Key::$name, $text, Takes::$takes, Vocabulary::$vocabulary), )* ];
    };
}

keywords! {
    Core Defs = "$defs" SchemaByName;
    Core Ref = "$ref" Text;
    Core DynamicRef = "$dynamicRef" Text;
    Validation Type = "type" Types;
    Validation Const = "const" Any;
    Validation Enum = "enum" Values;
    Validation Minimum = "minimum" Number;
    Validation Maximum = "maximum" Number;
    Validation ExclusiveMinimum = "exclusiveMinimum" Number;
    Validation ExclusiveMaximum = "exclusiveMaximum" Number;
    Validation MultipleOf = "multipleOf" Positive;
    Validation MinLength = "minLength" Count;
    Validation MaxLength = "maxLength" Count;
    Validation Pattern = "pattern" Text;
    Format Format = "format" Text;
    Validation MinItems = "minItems" Count;
    Validation MaxItems = "maxItems" Count;
    Validation UniqueItems = "uniqueItems" Flag;
    Validation MinProperties = "minProperties" Count;
    Validation MaxProperties = "maxProperties" Count;
    Validation Required = "required" Names;
    Validation DependentRequired = "dependentRequired" NamesByName;
    Applicator Properties = "properties" SchemaByName;
    Applicator PatternProperties = "patternProperties" SchemaByName;
    Applicator AdditionalProperties = "additionalProperties" Schema;
    Applicator PropertyNames = "propertyNames" Schema;
    Applicator PrefixItems = "prefixItems" Schemas;
    Applicator Items = "items" Schema;
    Applicator Contains = "contains" Schema;
    Validation MinContains = "minContains" Count;
    Validation MaxContains = "maxContains" Count;
    Applicator DependentSchemas = "dependentSchemas" SchemaByName;
    Applicator AllOf = "allOf" Schemas;
    Applicator AnyOf = "anyOf" Schemas;
    Applicator OneOf = "oneOf" Schemas;
    Applicator Not = "not" Schema;
    Applicator If = "if" Schema;
    Applicator Then = "then" Schema;
    Applicator Else = "else" Schema;
    Unevaluated UnevaluatedItems = "unevaluatedItems" Schema;
    Unevaluated UnevaluatedProperties = "unevaluatedProperties" Schema;
}

impl Key {
    /// The keyword as a schema has it; empty for `False`, which is none.
    pub(super) fn text(self) -> &'static str {
        KEYWORDS.get(self as usize).map_or("", |(_, text, ..)| text)
    }
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
