//! The tools there are, in the order in which they came.
//!
//! Decides the order and that no name comes twice. Promises: `replace` keeps the place. Each tool's schema has
//! been compiled once, when the tool came. Leaves to others: whether a call may run (`gate`).

use super::definition::{Definition, Origin};
use super::policy::Policy;
use super::schema::{Options, Schema};
use crate::error::{Code, ErrorInfo};
use crate::json;
use crate::list::Listed;
use crate::model::ToolSpec;
use crate::ports::PatternEngine;
use serde_json::Value;
use std::cell::OnceCell;
use std::rc::Rc;

/// A tool that can be called.
#[derive(Clone, Debug)]
pub struct Tool {
    /// What it is.
    pub definition: Definition,
    /// What its arguments must be.
    pub schema: Schema,
}

impl Tool {
    /// Whether it is the harness's own.
    fn is_own(&self) -> bool {
        matches!(self.definition.origin, Origin::Delegate | Origin::Skill | Origin::Memory)
    }
}

/// The tools.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: Vec<Tool>,
    engine: PatternEngine,
    /// Its record, made when somebody asks; a change takes it away.
    record: OnceCell<Rc<Value>>,
}

impl Registry {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the journal keeps of the tools: enough to make every decision again.
    pub fn record(&self) -> Rc<Value> {
        let made = || Rc::new(self.definitions().map(Definition::to_record).array());
        Rc::clone(self.record.get_or_init(made))
    }

    /// None, with regular expressions for the schemas to come.
    pub fn with(engine: PatternEngine) -> Self {
        Registry { engine, ..Registry::default() }
    }

    /// The tools of a record; functions of the page are not in it.
    pub fn from_record(record: &Value, engine: &PatternEngine) -> Result<Registry, ErrorInfo> {
        let mut registry = Registry::with(engine.clone());
        for tool in json::items(record) {
            registry.add(Definition::from_record(tool)?, false, true)?;
        }
        Ok(registry)
    }

    /// Adds a tool at the end, or, with `replace`, puts it in place of the one of its name.
    pub fn register(&mut self, definition: Definition, replace: bool) -> Result<(), ErrorInfo> {
        self.add(definition, replace, false)
    }

    fn add(&mut self, definition: Definition, replace: bool, recorded: bool) -> Result<(), ErrorInfo> {
        self.record.take();
        let options = Options {
            patterns: self.engine.patterns(),
            formats: definition.formats,
            recorded,
            documents: &[],
        };
        let schema = json::parse(&definition.input_schema).unwrap_or_default();
        let schema = Schema::compile(&schema, &options).map_err(|mut error| {
            error.message = format!("the tool '{}': {}", definition.name, error.message);
            error
        })?;
        let found = self.tools.iter_mut().find(|tool| tool.definition.name == definition.name);
        match found {
            Some(tool) if !replace || (tool.is_own() && tool.definition.origin != definition.origin) => {
                Err(ErrorInfo::new(
                    Code::DuplicateTool,
                    format!("a tool called '{}' is registered already", definition.name),
                )
                .hint("register it with { replace: true }, or unregister the other first"))
            }
            Some(tool) => {
                *tool = Tool { definition, schema };
                Ok(())
            }
            None => {
                self.tools.push(Tool { definition, schema });
                Ok(())
            }
        }
    }

    /// Takes a tool of the page away; whether there was one of this name.
    pub fn unregister(&mut self, name: &str) -> bool {
        self.record.take();
        let before = self.tools.len();
        self.tools.retain(|tool| tool.is_own() || tool.definition.name != name);
        self.tools.len() < before
    }

    /// Whether the page has a tool of this name.
    pub fn is_taken(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| !tool.is_own())
    }

    /// Puts a tool of the harness itself there, or takes it away.
    pub fn set_own(&mut self, name: &str, definition: Option<Definition>) -> Result<(), ErrorInfo> {
        match definition {
            Some(definition) => self.register(definition, true),
            None => {
                self.record.take();
                self.tools.retain(|tool| !tool.is_own() || tool.definition.name != name);
                Ok(())
            }
        }
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.definition.name == name)
    }

    /// All tools, in order.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.iter().map(|tool| &tool.definition)
    }

    /// The tools as a model is told of them, in order: those that its process type has, and of those whose capability
    /// is not held, that it is not.
    pub fn specs(&self, policy: &Policy) -> Vec<ToolSpec> {
        let offered = self.definitions().filter(|tool| policy.offers(tool));
        offered
            .map(|tool| ToolSpec {
                name: tool.name.clone(),
                description: match policy.unavailable(tool) {
                    Some(mark) => [&mark, " ", &tool.description].concat(),
                    None => tool.description.clone(),
                },
                input_schema: tool.input_schema.clone(),
            })
            .list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> Definition {
        Definition::parse(
            &json!({"name": name, "description": description, "inputSchema": {}, "execute": {"$fn": 1}}),
        )
        .unwrap()
    }

    fn names(registry: &Registry) -> Vec<(&str, &str)> {
        registry.definitions().map(|tool| (tool.name.as_str(), tool.description.as_str())).collect()
    }

    #[test]
    fn the_record_is_made_once_and_anew_after_each_change() {
        let mut registry = Registry::new();
        let mut seen = vec![registry.record()];
        let mut see = |registry: &Registry| {
            let record = registry.record();
            assert!(Rc::ptr_eq(&record, &registry.record()));
            assert_eq!(*record, registry.definitions().map(Definition::to_record).array());
            assert!(seen.last().is_some_and(|last| *last != record));
            seen.push(record);
        };
        registry.register(tool("a", "first"), false).unwrap();
        see(&registry);
        registry.register(tool("a", "second"), true).unwrap();
        see(&registry);
        registry.register(tool("b", "first"), false).unwrap();
        see(&registry);
        assert!(registry.unregister("a"));
        see(&registry);
        let own = Definition { origin: Origin::Skill, ..tool("skill", "own") };
        registry.set_own("skill", Some(own)).unwrap();
        see(&registry);
        registry.set_own("skill", None).unwrap();
        see(&registry);
    }

    #[test]
    fn tools_stand_in_the_order_in_which_they_came() {
        let mut registry = Registry::new();
        for name in ["b", "a", "c"] {
            registry.register(tool(name, "first"), false).unwrap();
        }
        let error = registry.register(tool("a", "second"), false).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::DuplicateTool, "a tool called 'a' is registered already")
        );
        assert_eq!(names(&registry), [("b", "first"), ("a", "first"), ("c", "first")]);
        registry.register(tool("a", "second"), true).unwrap();
        assert_eq!(names(&registry), [("b", "first"), ("a", "second"), ("c", "first")]);
        registry.register(tool("d", "first"), true).unwrap();
        assert!(registry.unregister("b") && !registry.unregister("b"));
        assert_eq!(names(&registry), [("a", "second"), ("c", "first"), ("d", "first")]);
        assert_eq!(registry.get("c").unwrap().definition, tool("c", "first"));
        assert!(registry.get("b").is_none());
        let specs = registry.specs(&Policy::default());
        assert_eq!(specs.len(), 3);
        let expected = ToolSpec {
            name: "a".into(),
            description: "second".into(),
            input_schema: "{\"type\":\"object\"}".into(),
        };
        assert_eq!(specs[0], expected);
    }

    #[test]
    fn a_tool_whose_schema_is_none_stays_out() {
        let mut registry = Registry::new();
        registry.register(tool("a", "first"), false).unwrap();
        let bad = Definition { input_schema: r#"{"type":"object","required":1}"#.into(), ..tool("a", "bad") };
        let error = registry.register(bad, true).unwrap_err();
        assert_eq!(error.code, Code::InvalidSchema);
        assert_eq!(error.message, "the tool 'a': '/required' must be a list of names, not a number");
        assert_eq!(names(&registry), [("a", "first")]);
    }
}
