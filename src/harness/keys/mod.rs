//! Keys: those of the vault, and those that are tried.
//!
//! Decides what the page may ask of the vault, and that a provider without a key takes the vault's. Promises:
//! no entry, event or error has a key in it. This harness knows the vault's names only. Leaves to others: keeping
//! keys, and sending them (`browser/`).

mod trials;

use crate::error::{Code, ErrorInfo};
use crate::harness::action::{Action, CallKey, VaultAsk};
use crate::harness::core::Core;
use crate::maps::Few;
use crate::model::errors::check_header;
use crate::protocol::Request;
use trials::Trial;

/// How long a name in the vault may be, and how long a key, in bytes.
const NAME_BYTES: usize = 200;
const KEY_BYTES: usize = 8 * 1024;

/// What commands do with keys.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The trials under way.
    tried: Few<CallKey, Trial>,
}

impl Keys {
    /// Keeps a key in the vault.
    pub fn set(&self, core: &mut Core, id: u32, request: &Request) -> Result<(), ErrorInfo> {
        let (of, key) = (named(request)?, request.args().needed("key").trim_ascii());
        if key.trim().is_empty() || key.len() > KEY_BYTES {
            return Err(request.invalid("needs a key"));
        }
        check_header("key", key).map_err(|mut error| {
            error.code = Code::InvalidArguments;
            error
        })?;
        core.secrets.keep(key);
        core.outbox.act(Action::Vault { id, ask: VaultAsk::Set(of, key.into()) });
        Ok(())
    }

    /// Takes a key out of the vault, or looks at what another tab has done with it.
    pub fn ask(
        &self,
        core: &mut Core,
        id: u32,
        request: &Request,
        ask: fn(String) -> VaultAsk,
    ) -> Result<(), ErrorInfo> {
        core.outbox.act(Action::Vault { id, ask: ask(named(request)?) });
        Ok(())
    }

    /// Says which names the vault has.
    pub fn list(&self, core: &mut Core, id: u32) {
        core.outbox.act(Action::Vault { id, ask: VaultAsk::List });
    }
}

/// The name of a provider, as the vault has it.
fn named(request: &Request) -> Result<String, ErrorInfo> {
    let name = request.args().needed("provider");
    match name.is_empty() || name.len() > NAME_BYTES {
        true => Err(request.invalid("needs \"provider\": the kind of one, or its name in providers")),
        false => Ok(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{By, Given, Harness, Input, ModelRequest, Options};
    use crate::ports::{Commit, MemoryStore, Table, Write};
    use crate::protocol::read;
    use serde_json::{Value, json};

    /// A harness, its store, and what it wants of the world besides.
    struct World {
        harness: Harness,
        store: MemoryStore,
        asked: Vec<Action>,
        last: u32,
        now: u64,
    }

    impl World {
        /// With keys of these names in the vault.
        fn new(names: &[&str]) -> World {
            let options = Options {
                name: "w".into(),
                page_tools: false,
                holder: "t".into(),
                operator: Options::local_operator(),
            };
            let mut store = MemoryStore::new();
            let put = |name: &&str| Write::Put {
                table: Table::Keys,
                key: vec![(*name).into()],
                value: String::new(),
            };
            store.commit(&Commit { writes: names.iter().map(put).collect(), ..Commit::default() }).unwrap();
            World { harness: Harness::new(options), store, asked: Vec::new(), last: 0, now: 0 }
        }

        fn input(&mut self, input: Input) -> Option<Result<Value, ErrorInfo>> {
            let mut reply = None;
            self.now += 1_000;
            self.harness.handle(self.now, input);
            while let Some(action) = self.harness.poll(self.now) {
                let input = match action {
                    Action::Lock { .. } => Input::Locked(true),
                    Action::Room(room) => Input::Room { room, result: Ok(()) },
                    Action::Account { id, .. } => Input::Account { read: id, result: Ok(Vec::new()) },
                    Action::Commit { id, commit } => {
                        Input::Committed { commit: id, result: self.store.commit(&commit) }
                    }
                    Action::Read { id, reads } => {
                        let rows = reads.iter().map(|read| self.store.read(read)).collect();
                        Input::Read { read: id, result: Ok(rows) }
                    }
                    Action::Reply { result, .. } => {
                        let value =
                            |json: Option<String>| json.map_or(Value::Null, |json| json.parse().unwrap());
                        reply = Some(result.map(value));
                        continue;
                    }
                    Action::Tell(_) => continue,
                    other => {
                        self.asked.push(other);
                        continue;
                    }
                };
                self.harness.handle(self.now, input);
            }
            reply
        }

        fn command(&mut self, name: &str, args: Value) -> Option<Result<Value, ErrorInfo>> {
            self.last += 1;
            let fresh = format!("f{}", self.last);
            self.input(Input::Command { id: self.last, request: read(name, args), fresh, by: By::Here })
        }

        fn configured(&mut self) -> bool {
            let settings = self.command("settings", json!({})).unwrap().unwrap();
            settings["api_key_configured"] == true
        }

        /// Whether a message leads to a call of the model.
        fn calls(&mut self) -> bool {
            self.asked.clear();
            self.command("sendMessage", json!({ "text": "Hello" })).unwrap().unwrap();
            self.asked.iter().any(|action| matches!(action, Action::CallModel { .. }))
        }

        fn journal(&self) -> String {
            let rows = self.store.read(&crate::ports::Read::all(Table::Entries, Vec::new()));
            rows.into_iter().map(|(_, row)| row).collect()
        }
    }

    #[test]
    fn a_start_finds_the_vaults_key_of_its_kind() {
        for (names, configured) in
            [(&["openai", "anthropic"][..], true), (&["openai"][..], false), (&[][..], false)]
        {
            let mut world = World::new(names);
            world.command("startAgent", json!({ "provider": { "kind": "anthropic" } })).unwrap().unwrap();
            assert_eq!(world.configured(), configured, "{names:?}");
            assert_eq!(world.calls(), configured, "{names:?}");
            let said = format!("\"configured\":{configured}");
            assert!(world.journal().contains(&said), "the answer is recorded: {}", world.journal());
        }
    }

    #[test]
    fn a_key_that_comes_later_counts_from_the_next_call_on() {
        let mut world = World::new(&[]);
        world.command("startAgent", json!({ "provider": { "kind": "anthropic" } })).unwrap().unwrap();
        assert!(!world.calls());
        world.input(Input::Vault { name: "openai".into(), held: true });
        assert!(!world.configured());
        world.input(Input::Vault { name: "anthropic".into(), held: true });
        assert!(world.configured() && world.calls());
        world.command("interrupt", json!({})).unwrap().unwrap();
        world.input(Input::Vault { name: "anthropic".into(), held: false });
        assert!(!world.configured() && !world.calls());
        world
            .command("configureAgent", json!({ "provider": { "kind": "openai", "model": "m" } }))
            .unwrap()
            .unwrap();
        assert!(world.configured(), "another kind, whose key came before");
    }

    #[test]
    fn a_key_goes_to_the_vault_and_nowhere_else() {
        let mut world = World::new(&[]);
        let key = "sk-marked-0123456789";
        assert_eq!(world.command("keys.set", json!({ "provider": "xai", "key": key })), None);
        let set = VaultAsk::Set("xai".into(), key.into());
        let [Action::Vault { id: 1, ask }] = &world.asked[..] else { panic!("{:?}", world.asked) };
        assert_eq!(*ask, set);
        assert!(!format!("{:?}", world.asked).contains(key));
        assert_eq!(world.harness.secrets().scrubbed(format!("it was {key}.")), "it was [REDACTED].");
        world.asked.clear();
        world.command("keys.remove", json!({ "provider": "xai" }));
        world.command("keys.list", Value::Null);
        world.command("keys.look", json!({ "provider": "groq" }));
        let asks: Vec<_> = world.asked.iter().map(|action| format!("{action:?}")).collect();
        let said = ["Vault { id: 2, ask: xai }", "Vault { id: 3, ask: list }", "Vault { id: 4, ask: groq }"];
        assert_eq!(asks, said);
    }

    #[test]
    fn what_fetch_trims_is_trimmed() {
        let key = "sk-marked-0123456789";
        let around = format!(" \t{key} \r\n");
        let mut world = World::new(&[]);
        world.command("keys.set", json!({ "provider": "xai", "key": around }));
        let set = VaultAsk::Set("xai".into(), key.into());
        assert!(matches!(&world.asked[..], [Action::Vault { ask, .. }] if *ask == set));
        let is_out = |world: &World| world.harness.secrets().scrubbed(format!("[{key}]")) == "[[REDACTED]]";
        assert!(is_out(&world));

        let mut world = World::new(&[]);
        world
            .command("startAgent", json!({ "provider": { "kind": "anthropic", "apiKey": around } }))
            .unwrap()
            .unwrap();
        assert!(is_out(&world));
        assert!(world.calls());
        let Some(Action::CallModel { request: ModelRequest::Http { http, .. }, .. }) = world.asked.first()
        else {
            panic!("{:?}", world.asked)
        };
        assert_eq!(http.key, Some(Given::Text(key.into())));

        let mut world = World::new(&[]);
        let headers = json!({ "authorization": format!("Bearer\t{around}") });
        world
            .command("startAgent", json!({ "provider": { "kind": "anthropic", "headers": headers } }))
            .unwrap()
            .unwrap();
        assert!(is_out(&world));
    }

    #[test]
    fn what_is_no_name_or_no_key_is_refused_unquoted() {
        let mut world = World::new(&[]);
        let long = "k".repeat(KEY_BYTES + 1);
        for (name, args) in [
            ("keys.set", json!({ "provider": "xai" })),
            ("keys.set", json!({ "provider": "xai", "key": 7 })),
            ("keys.set", json!({ "provider": "xai", "key": " " })),
            ("keys.set", json!({ "provider": "xai", "key": "sk-secret\nvalue" })),
            ("keys.set", json!({ "provider": "xai", "key": long })),
            ("keys.set", json!({ "provider": "", "key": "sk-secret" })),
            ("keys.set", json!({ "provider": "p".repeat(201), "key": "sk-secret" })),
            ("keys.set", json!({ "provider": "xai", "key": "sk-secret", "name": "x" })),
            ("keys.remove", json!({})),
            ("keys.list", json!({ "provider": "xai" })),
            ("keys.models", json!({ "provider": { "kind": "custom", "stream": { "$fn": 1 } }, "x": 1 })),
        ] {
            let error = world.command(name, args.clone()).unwrap().unwrap_err();
            assert_eq!(error.code, Code::InvalidArguments, "{name} {args}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
        for provider in
            [json!(null), json!("anthropic"), json!({ "kind": "llama" }), json!({ "kind": "custom" })]
        {
            for name in ["keys.validate", "keys.models"] {
                let error = world.command(name, json!({ "provider": provider })).unwrap().unwrap_err();
                assert_eq!(error.code, Code::InvalidConfig, "{provider}");
            }
        }
        assert!(world.asked.is_empty(), "{:?}", world.asked);
    }
}
