//! What is known of models: how much they take, what they can, what they cost.
//!
//! Decides how a model is found by its id, and what an answer costs. Promises: money is counted in whole numbers. A
//! model that is not known is no error, it has no price. Leaves to others: the figures (`models.json`, or the page's
//! own in the same form), and what follows from them (`harness/`).

use super::Usage;
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::json;
use serde_json::{Map, Value};

/// What this package knows.
const OWN: &str = include_str!("models.json");

/// What a model may be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// It calls tools.
    Tools,
    /// It sees images.
    Images,
    /// It reads documents, PDF for one.
    Documents,
    /// It thinks before it answers.
    Reasoning,
    /// It answers by a JSON Schema.
    Structured,
}

/// The words for [`Ability`], in its order.
const ABILITIES: [&str; 5] = ["tools", "images", "documents", "reasoning", "structured"];

/// Millionths of a millionth of a dollar: what one token costs of the input, of the output, read from the cache and
/// written to it. So a price in dollars for a million tokens is whole to its sixth digit.
type Prices = [u64; 4];

/// Of [`Prices`], what makes a nano-dollar.
const NANO: u64 = 1_000;

/// What is known of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// How many tokens a request and its answer may have together.
    pub context: Option<u64>,
    /// How many tokens an answer may have.
    pub output: Option<u64>,
    prices: Option<Prices>,
    /// What a request costs whose prompt has more tokens than this.
    long: Option<(u64, Prices)>,
    /// What one of its provider's web searches costs, in nano-dollars.
    search: Option<u64>,
    /// A bit for each ability; none where nobody has said.
    abilities: Option<u8>,
    /// Whether it chooses itself how much it thinks; `Some(false)`: it has to be given a number of tokens. None where
    /// nobody has said.
    pub adaptive: Option<bool>,
}

impl Known {
    /// Whether it has an ability. `None`: nobody has said.
    pub fn can(&self, ability: Ability) -> Option<bool> {
        self.abilities.map(|abilities| abilities & 1 << ability as u8 != 0)
    }

    /// Whether it has a price.
    pub fn has_price(&self) -> bool {
        self.prices.is_some()
    }

    /// The same model where it costs nothing.
    fn free(self) -> Known {
        Known { prices: Some(Prices::default()), long: None, search: None, ..self }
    }

    /// What an answer costs, in nano-dollars, rounded. What was read from a cache or written to it has its own price,
    /// where none is given that of the input. `None`: there is no price, or nobody has counted the tokens.
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } = *usage;
        if *usage == Usage::default() {
            // What costs nothing need not be counted.
            return self.prices.filter(|prices| prices.iter().all(|price| *price == 0)).map(|_| 0);
        }
        let long = self.long.as_ref().filter(|(most, _)| usage.read() > *most).map(|(_, prices)| prices);
        let prices = long.or(self.prices.as_ref())?;
        let tokens = [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens];
        let cost = tokens.iter().zip(prices).fold(0_u64, |sum, (tokens, price)| {
            // Thinking is part of the output.
            sum.saturating_add(tokens.saturating_mul(*price))
        });
        // A search of no known price is left out, as all fees are that nobody has said.
        let fees = self.search.unwrap_or_default().saturating_mul(usage.searches);
        Some((cost.saturating_add(NANO / 2) / NANO).saturating_add(fees))
    }
}

/// What is known of many models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog(Value);

impl Catalog {
    /// What this package knows.
    pub fn own() -> Catalog {
        // A test reads every model of it.
        Catalog(json::parse(OWN).unwrap_or_default())
    }

    /// What a page knows, in the form of `models.json`. `name`: what the page calls it.
    ///
    /// # Errors
    /// `invalid_config`, naming the member that is wrong.
    pub fn read(value: &Value, name: &str) -> Result<Catalog, ErrorInfo> {
        for (provider, models) in members(value, name)? {
            if provider.starts_with('$') || models.is_string() {
                continue;
            }
            let path = [name, ".", provider].concat();
            for (id, facts) in members(models, &path)? {
                known(facts, &[&path, ".", id].concat())?;
            }
        }
        Ok(Catalog(value.clone()))
    }

    /// What is known of a provider's model: under its preset, under its kind, and where the id names the vendor before
    /// a slash, as gateways do, under that. Each first by the whole id, then without a date or `-latest` at its end.
    /// What a gateway gives away, `:free`, costs nothing.
    pub fn find(&self, kind: &str, preset: &str, id: &str) -> Option<Known> {
        let free = id.strip_suffix(":free");
        let id = free.unwrap_or(id);
        let own = [preset, kind].iter().find_map(|provider| self.facts(provider, id));
        let facts = own.or_else(|| {
            let (vendor, id) = find::split(id, "/")?;
            self.facts(vendor, id)
        });
        let known = known(facts?, "").ok()?;
        Some(if free.is_some() { known.free() } else { known })
    }

    /// The same of a model on a server of the user's own. It costs nothing where no price is given under its preset or
    /// kind, also when its vendor takes money for it elsewhere. A model that the server only passes on has its vendor's
    /// price: the names of Ollama's end with `cloud`.
    pub fn find_local(&self, kind: &str, preset: &str, id: &str) -> Option<Known> {
        let known = self.find(kind, preset, id);
        let priced =
            |provider: &&str| self.facts(provider, id).is_some_and(|facts| facts.get("price").is_some());
        if id.ends_with("cloud") || [preset, kind].iter().any(priced) {
            return known;
        }
        Some(known.unwrap_or_default().free())
    }

    fn facts(&self, provider: &str, id: &str) -> Option<&Value> {
        let models = self.0.get(provider)?;
        let models = models.as_str().map_or(Some(models), |other| self.0.get(other))?.as_object()?;
        let by = |id: &str| {
            let is = |names: &str| names.split(' ').any(|name| same(name, id));
            models.iter().find(|(names, _)| is(names)).map(|(_, facts)| facts)
        };
        by(id).or_else(|| by(undated(id)?))
    }
}

/// Whether two ids are the same, where gateways write `4.6` for `4-6`.
fn same(one: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'.' { b'-' } else { byte };
    one.bytes().map(plain).eq(other.bytes().map(plain))
}

/// The id without the date that it ends with, or `-latest`.
fn undated(id: &str) -> Option<&str> {
    ["-latest", "-00000000", "-0000-00-00"].iter().find_map(|form| {
        let (name, end) = id.split_at_checked(id.len().checked_sub(form.len())?)?;
        let fits = |(have, want): (u8, u8)| if want == b'0' { have.is_ascii_digit() } else { have == want };
        end.bytes().zip(form.bytes()).all(fits).then_some(name)
    })
}

/// Reads what is known of one model.
fn known(facts: &Value, path: &str) -> Result<Known, ErrorInfo> {
    let mut known = Known::default();
    for (name, value) in members(facts, path)? {
        let path = [path, ".", name].concat();
        match name.as_str() {
            "context" => known.context = Some(some(value, &path)?),
            "output" => known.output = Some(some(value, &path)?),
            "price" => known.prices = Some(prices(items(value), &path)?),
            "long" => {
                let (most, rest) = items(value).split_first().unwrap_or((value, &[]));
                known.long = Some((count(most, &path)?, prices(rest, &path)?));
            }
            "can" => {
                let mut abilities = Some(0).filter(|_| value.is_array());
                for word in items(value) {
                    let at = ABILITIES.iter().position(|ability| word.as_str() == Some(ability));
                    abilities = abilities.zip(at).map(|(all, at)| all | 1 << at);
                }
                if abilities.is_none() {
                    let words = find::join(&ABILITIES, "\", \"");
                    return Err(wrong(&path, &["must be a list of \"", &words, "\""].concat()));
                }
                known.abilities = abilities;
            }
            "search" => {
                let dollars = value.as_f64().filter(|dollars| (0.0..=1e6).contains(dollars));
                let dollars =
                    dollars.ok_or_else(|| wrong(&path, "must be dollars for a thousand searches"))?;
                known.search = Some((dollars * 1e6).round() as u64);
            }
            "adaptive" if value.is_boolean() => known.adaptive = value.as_bool(),
            "adaptive" => return Err(wrong(&path, "must be true or false")),
            // For people: nothing is decided by it.
            "ends" if value.is_string() => {}
            "ends" => return Err(wrong(&path, "must be a day, \"YYYY-MM-DD\"")),
            _ => return Err(wrong(&path, "does not exist")),
        }
    }
    Ok(known)
}

/// A number of tokens.
fn count(value: &Value, path: &str) -> Result<u64, ErrorInfo> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..9e15).contains(number));
    number.map(|number| number as u64).ok_or_else(|| wrong(path, "must be a whole number of tokens"))
}

/// The same of what is of no use with none.
fn some(value: &Value, path: &str) -> Result<u64, ErrorInfo> {
    match count(value, path)? {
        0 => Err(wrong(path, "must be at least 1")),
        tokens => Ok(tokens),
    }
}

/// Dollars for a million tokens: input and output, and if they differ from the input what the cache costs.
fn prices(items: &[Value], path: &str) -> Result<Prices, ErrorInfo> {
    let mut whole = (2..=4).contains(&items.len());
    let mut prices = Prices::default();
    for (at, price) in prices.iter_mut().enumerate() {
        let item = items.get(at).or(items.first()).and_then(Value::as_f64);
        let dollars = item.filter(|dollars| (0.0..=1e6).contains(dollars));
        whole &= dollars.is_some();
        *price = (dollars.unwrap_or_default() * 1e6).round() as u64;
    }
    if !whole {
        return Err(wrong(path, "must be a list of two to four prices, in dollars for a million tokens"));
    }
    Ok(prices)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn members<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, ErrorInfo> {
    value.as_object().ok_or_else(|| wrong(path, "must be an object"))
}

fn wrong(path: &str, what: &str) -> ErrorInfo {
    ErrorInfo::new(Code::InvalidConfig, [path, " ", what].concat()).hint("see ModelCatalog in index.d.ts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn usage(input: u64, output: u64, read: u64, write: u64) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: write,
            reasoning_tokens: output / 2,
            searches: 0,
        }
    }

    fn own(kind: &str, preset: &str, id: &str) -> Option<Known> {
        Catalog::own().find(kind, preset, id)
    }

    #[test]
    fn every_model_of_the_package_reads_and_is_found() {
        let Catalog(own_models) = Catalog::own();
        let catalog = Catalog::read(&own_models, "models").unwrap();
        let mut found = 0;
        for (provider, models) in own_models.as_object().unwrap() {
            let Some(models) = models.as_object() else {
                let other = models.as_str().unwrap();
                assert!(provider == "$comment" || own_models[other].is_object(), "{provider} is nobody");
                continue;
            };
            for end in models.values().filter_map(|facts| facts["ends"].as_str()) {
                assert_eq!(undated(&format!("-{end}")), Some(""), "{end} is no day");
            }
            let ids: Vec<&str> = models.keys().flat_map(|ids| ids.split(' ')).collect();
            for (at, id) in ids.iter().enumerate() {
                assert!(!ids[..at].iter().any(|other| same(other, id)), "{id} is there twice");
                let known = catalog.find(provider, "", id).unwrap();
                let Some([input, output, read, write]) = known.prices else { panic!("{id} has no price") };
                if provider == "custom" {
                    assert_eq!(known.cost(&Usage::default()), Some(0), "{id} runs in the page");
                    continue;
                }
                assert!(read < input && input < output && input <= write, "{id}");
                assert!(known.context.is_none_or(|context| known.output.is_none_or(|most| most < context)));
                if let Some((most, long)) = known.long {
                    assert!(known.context.unwrap() > most, "{id}");
                    assert!(long.iter().zip([input, output, read, write]).all(|(long, short)| *long > short));
                }
                assert_eq!(known.can(Ability::Tools), Some(true), "{id}");
                found += 1;
            }
        }
        assert!(found > 40, "{found}");
        for id in ["claude-sonnet-4-6", "claude-opus-5-5", "claude-haiku-5-5"] {
            assert!(own("anthropic", "", id).is_some(), "{id}");
        }
    }

    #[test]
    fn a_model_is_found_by_what_people_call_it() {
        let sonnet = own("anthropic", "", "claude-sonnet-4-6").unwrap();
        assert_eq!((sonnet.context, sonnet.output), (Some(1_000_000), Some(128_000)));
        for (kind, preset, id) in [
            ("anthropic", "", "claude-sonnet-4-6-20260217"),
            ("openai-compatible", "openrouter", "anthropic/claude-sonnet-4.6"),
            ("custom", "", "anthropic/claude-sonnet-4-6"),
        ] {
            assert_eq!(own(kind, preset, id).as_ref(), Some(&sonnet), "{id}");
        }
        assert_eq!(sonnet.adaptive, None);
        for id in ["claude-haiku-4-5-20251001", "claude-sonnet-4-5", "claude-opus-4-5", "claude-opus-4.5"] {
            assert_eq!(own("anthropic", "", id).unwrap().adaptive, Some(false), "{id}");
        }
        let gpt = own("openai", "", "gpt-4.1").unwrap();
        assert_eq!(own("openai", "", "gpt-4.1-2025-04-14"), Some(gpt));
        assert_eq!(own("openai-responses", "", "gpt-4.1"), Some(gpt));
        assert_eq!(own("xai", "chat", "grok-4.7"), own("openai-compatible", "openrouter", "x-ai/grok-4.7"));
        assert!(own("xai", "chat", "grok-4.7").is_some());
        let flash = own("gemini", "", "gemini-3.8-flash").unwrap();
        assert_eq!(own("openai-compatible", "google", "gemini-3.8-flash"), Some(flash));
        assert_eq!(own("openai-compatible", "openrouter", "google/gemini-3.8-flash"), Some(flash));
        assert!(own("openai-compatible", "groq", "openai/gpt-oss-120b").is_some());
        assert!(own("openai-compatible", "mistral", "mistral-small-latest").is_some());
        let free = own("openai-compatible", "openrouter", "deepseek/deepseek-flash:free").unwrap();
        assert_eq!(free.cost(&usage(1_000_000, 5, 0, 0)), Some(0));
        for (kind, id) in [
            ("anthropic", "claude-sonnet-4-60"),
            ("anthropic", "claude-sonnet-4-6-2026021"),
            ("anthropic", "claude-sonnet-4-6-2026-0217"),
            ("anthropic", "claude-opus-5-5 claude-opus-5"),
            ("anthropic", "gpt-6-sol"),
            ("openai", "gpt-6-sol:nitro"),
            ("openai", ""),
            ("openai", "/"),
            ("$comment", "tokens"),
            ("ollama", "llama3.2"),
            ("", "gpt-6-sol"),
        ] {
            assert_eq!(own(kind, "", id), None, "{kind} {id}");
        }
    }

    /// By the prices of the providers' own pages, worked out by hand.
    #[test]
    fn an_answer_costs_what_its_provider_says() {
        let cost = |kind: &str, id: &str, usage: Usage| own(kind, "", id).unwrap().cost(&usage);
        // $3, $15, $0.30 and $3.75 a million: 2,000 in, 500 out, 10,000 read, 4,000 written
        // are 0.006 + 0.0075 + 0.003 + 0.015 dollars.
        let all = usage(2_000, 500, 10_000, 4_000);
        assert_eq!(cost("anthropic", "claude-sonnet-4-6", all), Some(31_500_000));
        // $2 and $10, no own price for writing where OpenAI bills none: $5, $30, $0.50.
        assert_eq!(cost("openai", "gpt-6.1-sol", usage(1_000, 1_000, 0, 0)), Some(12_000_000));
        assert_eq!(cost("openai", "gpt-5.5", usage(1_000, 100, 1_000, 1_000)), Some(13_500_000));
        // A prompt of more than 272,000 tokens: all of it costs twice the input, one and a half times the output.
        assert_eq!(cost("openai", "gpt-6.1-sol", usage(272_000, 1_000, 0, 0)), Some(554_000_000));
        assert_eq!(cost("openai", "gpt-6.1-sol", usage(272_000, 1_000, 1, 0)), Some(1_103_000_200));
        // From 200,000 tokens on $4, $1 read and $12.
        assert_eq!(cost("xai", "grok-4.7", usage(100_000, 1_000, 99_999, 0)), Some(255_999_500));
        assert_eq!(cost("xai", "grok-4.7", usage(100_000, 1_000, 100_000, 0)), Some(512_000_000));
        // One token at $0.0375 a million is 37.5 nano-dollars.
        let oss = own("openai-compatible", "groq", "openai/gpt-oss-20b").unwrap();
        assert_eq!(oss.cost(&usage(0, 0, 1, 0)), Some(38));
        assert_eq!(oss.cost(&usage(0, 0, 2, 0)), Some(75));
        assert_eq!(cost("anthropic", "claude-sonnet-4-6", usage(u64::MAX, 1, 0, 0)), Some(u64::MAX / 1_000));
        assert_eq!(cost("anthropic", "claude-sonnet-4-6", Usage::default()), None, "nobody has counted");
    }

    /// $10 for a thousand searches of Anthropic's and OpenAI's, $14 of Google's.
    #[test]
    fn a_search_has_its_own_price_where_that_is_known() {
        let searched = Usage { searches: 3, ..usage(1_000, 0, 0, 0) };
        let cost = |kind: &str, preset: &str, id: &str| own(kind, preset, id).unwrap().cost(&searched);
        assert_eq!(cost("anthropic", "", "claude-sonnet-4-6"), Some(3_000_000 + 30_000_000));
        assert_eq!(cost("openai-responses", "", "gpt-6.1-sol"), Some(2_000_000 + 30_000_000));
        assert_eq!(cost("gemini", "", "gemini-3.8-flash"), Some(750_000 + 42_000_000));
        assert_eq!(cost("xai", "", "grok-4.7"), Some(2_000_000), "what nobody has said is left out");
        let given =
            Catalog::read(&json!({ "mine": { "m": { "price": [0, 0], "search": 4 } } }), "models").unwrap();
        assert_eq!(given.find("mine", "", "m").unwrap().cost(&searched), Some(12_000_000));
    }

    #[test]
    fn a_page_may_know_better() {
        let models = json!({
            "$comment": 5,
            "mine": "custom",
            "custom": { "a b": { "price": [1, 2] }, "c": { "context": 4096.0, "can": [] }, "d": {} },
        });
        let catalog = Catalog::read(&models, "models").unwrap();
        let b = catalog.find("mine", "", "b").unwrap();
        assert_eq!(b.cost(&usage(1, 1, 1, 1)), Some(5_000), "the cache at the price of the input");
        assert_eq!(b.can(Ability::Tools), None);
        let c = catalog.find("custom", "", "c").unwrap();
        assert_eq!(
            (c.context, c.can(Ability::Images), c.cost(&usage(1, 1, 1, 1))),
            (Some(4096), Some(false), None)
        );
        assert_eq!(catalog.find("custom", "", "d"), Some(Known::default()));
        assert_eq!(catalog.find("anthropic", "", "claude-sonnet-4-6"), None, "it stands in place of ours");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (models, name) in [
            (json!([]), "models must"),
            (json!({ "x": 1 }), "models.x must"),
            (json!({ "x": { "m": [] } }), "models.x.m must"),
            (json!({ "x": { "m": { "price": 3 } } }), "models.x.m.price must"),
            (json!({ "x": { "m": { "price": [1] } } }), "models.x.m.price must"),
            (json!({ "x": { "m": { "price": [1, -1] } } }), "models.x.m.price must"),
            (json!({ "x": { "m": { "price": [1, 1, 1, 1, 1] } } }), "models.x.m.price must"),
            (json!({ "x": { "m": { "long": [] } } }), "models.x.m.long must"),
            (json!({ "x": { "m": { "long": [5, 1] } } }), "models.x.m.long must"),
            (json!({ "x": { "m": { "context": 1.5 } } }), "models.x.m.context must"),
            (json!({ "x": { "m": { "can": ["fly"] } } }), "models.x.m.can must"),
            (json!({ "x": { "m": { "can": "tools" } } }), "models.x.m.can must"),
            (json!({ "x": { "m": { "adaptive": "no" } } }), "models.x.m.adaptive must"),
            (json!({ "x": { "m": { "ends": 5 } } }), "models.x.m.ends must"),
            (json!({ "x": { "m": { "search": "10" } } }), "models.x.m.search must"),
            (json!({ "x": { "m": { "cost": 5 } } }), "models.x.m.cost does not exist"),
        ] {
            let error = Catalog::read(&models, "models").unwrap_err();
            assert_eq!(error.code, Code::InvalidConfig);
            assert!(error.message.starts_with(name), "{error}");
        }
    }
}
