//! A pump and everything that it tells.

use crate::faults;
use lodger::browser::{self, Deliver, Opening, Pump, Scope};
use lodger::error::{Code, ErrorInfo};
use lodger::harness::{Action, By, Notice, Options};
use lodger::ports::Durability;
use lodger::protocol::read;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What a host says, owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Reply(u32, Result<Value, ErrorInfo>),
    Call(u32, &'static str, Value),
    Abort(u32),
    Status(Value),
    Event(&'static str, Value),
    Closed(Option<ErrorInfo>),
    Other,
}

fn parsed(json: Option<&str>) -> Value {
    json.map_or(Value::Null, |json| serde_json::from_str(json).unwrap())
}

impl Told {
    fn new(message: &Deliver<'_>) -> Told {
        match message {
            Deliver::Reply(id, result) => {
                Told::Reply(*id, result.as_ref().map(|json| parsed(json.as_deref())).map_err(Clone::clone))
            }
            Deliver::Call(call, _, kind, json, _) => {
                let json = json.as_ref().and_then(|json| json.as_string());
                Told::Call(*call, kind, parsed(json.as_deref()))
            }
            Deliver::Abort(call) => Told::Abort(*call),
            Deliver::Closed(error) => Told::Closed(error.clone()),
            Deliver::Action(Action::Tell(Notice::Status(json))) => Told::Status(parsed(Some(json))),
            Deliver::Action(Action::Tell(Notice::Event(name, json))) => Told::Event(name, parsed(Some(json))),
            Deliver::Action(_) | Deliver::File(..) => Told::Other,
        }
    }
}

pub struct Host {
    pub pump: Pump,
    told: Rc<RefCell<Vec<Told>>>,
    last: Cell<u32>,
}

/// A provider whose answers the test itself streams.
pub fn custom() -> Value {
    json!({ "provider": { "kind": "custom", "stream": { "$fn": 1 } } })
}

impl Host {
    /// A host of a workspace in IndexedDB that holds nothing of former test runs.
    pub async fn fresh(name: &str) -> Host {
        browser::delete(name).await.unwrap();
        Host::open(name).await.unwrap()
    }

    pub async fn open(name: &str) -> Result<Host, ErrorInfo> {
        let told = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&told);
        let sink = move |message: Deliver<'_>| log.borrow_mut().push(Told::new(&message));
        let opening = Opening {
            in_memory: false,
            durability: Durability::Relaxed,
            rejects: false,
            page_tools: false,
            operator: Options::local_operator(),
            limits: lodger::model::Limits::default(),
        };
        let pump = Pump::open(name.into(), opening, Scope::new(), Box::new(sink)).await?;
        Ok(Host { pump, told, last: Cell::new(0) })
    }

    /// All that was told so far.
    pub fn told(&self) -> Vec<Told> {
        self.told.borrow().clone()
    }

    /// Sends a command without waiting for its answer.
    pub fn send(&self, name: &str, args: Value) -> u32 {
        self.last.set(self.last.get() + 1);
        self.pump.command(self.last.get(), read(name, args), By::Here);
        self.last.get()
    }

    /// The answer to a command, if there is one.
    pub fn reply(&self, id: u32) -> Option<Result<Value, ErrorInfo>> {
        self.told.borrow().iter().find_map(|told| match told {
            Told::Reply(of, result) if *of == id => Some(result.clone()),
            _ => None,
        })
    }

    /// Sends a command and waits for its answer.
    pub async fn ask(&self, name: &str, args: Value) -> Result<Value, ErrorInfo> {
        let id = self.send(name, args);
        until(|| self.reply(id)).await
    }

    /// The code with which a command is refused.
    pub async fn refused(&self, name: &str, args: Value) -> Code {
        self.ask(name, args).await.unwrap_err().code
    }

    /// Waits for an event of this name with these members; gives its detail.
    pub async fn event(&self, name: &str, members: Value) -> Value {
        let fits = |detail: &Value| {
            members.as_object().unwrap().iter().all(|(key, value)| detail.get(key) == Some(value))
        };
        until(|| {
            self.told.borrow().iter().find_map(|told| match told {
                Told::Event(of, detail) if *of == name && fits(detail) => Some(detail.clone()),
                _ => None,
            })
        })
        .await
    }

    /// Waits for the next call of this kind after `seen` others; gives its number and arguments.
    pub async fn call(&self, kind: &str, seen: usize) -> (u32, Value) {
        until(|| {
            let told = self.told.borrow();
            let calls = told.iter().filter_map(|told| match told {
                Told::Call(call, of, args) if *of == kind => Some((*call, args.clone())),
                _ => None,
            });
            calls.into_iter().nth(seen)
        })
        .await
    }

    /// The last status that was told.
    pub fn status(&self) -> Value {
        let told = self.told.borrow();
        let last = told.iter().rev().find_map(|told| match told {
            Told::Status(status) => Some(status.clone()),
            _ => None,
        });
        last.unwrap_or(Value::Null)
    }

    /// Whether the host is gone, and why.
    pub fn closed(&self) -> Option<Option<ErrorInfo>> {
        self.told.borrow().iter().find_map(|told| match told {
            Told::Closed(error) => Some(error.clone()),
            _ => None,
        })
    }

    /// Closes it, so that the next test finds no lock or connection in its way.
    pub async fn close(self) {
        self.ask("close", json!({})).await.unwrap();
        assert_eq!(self.closed(), Some(None));
    }
}

/// Waits, task by task, until there is something. The runner's time limit bounds it.
pub async fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(value) = found() {
            return value;
        }
        faults::task().await;
    }
}
