//! Providers that are known by name: data, not code.
//!
//! Decides which names there are, how each provider speaks, where it is and whether it needs a key. And in what
//! it differs from others on the same wire. Leaves to others: writing and reading (the codecs).

use super::Wire;

/// A provider that is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The `kind` of a provider.
    pub kind: &'static str,
    /// Its `preset`; empty: the kind alone.
    pub preset: &'static str,
    /// How it speaks.
    pub wire: Wire,
    /// Where it is; `None`: the page has to say.
    pub base_url: Option<&'static str>,
    /// Whether it answers nobody without a key.
    pub needs_key: bool,
    /// Whether the page has to name a model.
    pub needs_model: bool,
    /// Whether an organization may be barred from calls by browsers, and allows them in the provider's console.
    pub bars_browsers: bool,
    /// Its habits.
    pub dialect: Dialect,
}

/// In what one server differs from another on the same wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The member that limits the output.
    pub limit: &'static str,
    /// Whether it takes `stream_options`; without, some servers send no usage.
    pub stream_options: bool,
    /// The role of the system prompt.
    pub system_role: &'static str,
    /// How it is told how hard to think.
    pub effort: Effort,
    /// How its own thinking goes back to it.
    pub thinking: Replay,
    /// What it takes as the id of a tool call.
    pub ids: Ids,
    /// The members that stand for the signature of a turn's first call where another has made it: without one that is
    /// refused. Empty: nothing is signed.
    pub unsigned: &'static str,
    /// Whether any of its models may be asked for sealed thinking. Elsewhere those that do not think refuse that.
    pub sealed: bool,
    /// Whether it refuses a person's message right after a tool's result: something of the assistant must stand between.
    pub bridge: bool,
    /// Whether its models see images, where nothing else is known of them.
    pub images: bool,
    /// The same for documents.
    pub documents: bool,
    /// The path that asks for a good key, where the list of models is open to all.
    pub key_path: Option<&'static str>,
    /// How it is held to a JSON Schema for its answer.
    pub structured: Structured,
    /// How Azure has it, where it is there.
    pub azure: Option<Azure>,
    /// The tools that the provider runs itself, by their common names: the list of a body that each stands in, and its item
    /// there.
    pub served: &'static [(&'static str, &'static str, &'static str)],
    /// The types of the items that its list `tools` has for what the provider runs. `#` is a digit; `*` at the end is anything.
    pub hosted: &'static [&'static str],
}

/// The common names of tools that providers run themselves, each with what else it is called.
pub const SERVED: [(&str, &str); 3] =
    [("web_search", "google_search"), ("web_fetch", "url_context"), ("code_execution", "code_interpreter")];

/// What OpenAI and what is like it calls a tool that runs programs.
const INTERPRETER: &str = r#"{"type":"code_interpreter","container":{"type":"auto"}}"#;

/// How Azure has an API of OpenAI's: below a path of its own, with a version in the query and the key in `api-key`. What it
/// lists is what could be deployed; a model is asked for by the name of its deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Azure {
    /// Where the API is, below the address of the resource.
    pub root: &'static str,
    /// Whether each deployment has a path of its own below that.
    pub deployments: bool,
    /// The version of the API where the page names none.
    pub version: &'static str,
}

/// How a server is held to a JSON Schema for its answer, where nothing else is known of the model. A model that is known
/// not to be able to is never asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// By the wire's own member, beside tools too; it tells the model itself.
    Own,
    /// The same, but only where the model is known to be able to: what is behind the server differs.
    Known,
    /// As [`Structured::Own`], where the schema does not refer to itself and has no more than this. What is not
    /// required may be absent.
    Light {
        /// Members that are not required.
        optional: u32,
        /// Unions of types.
        unions: u32,
    },
    /// By the wire's own member, beside tools too. The model hears of it from us.
    Told,
    /// The same where there are no tools: beside them it would keep the model from calling any.
    Alone,
    /// Not by the wire: it has no such member, or takes none while it streams.
    Tool,
}

/// How a server is told how hard to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// `reasoning_effort: "low"`.
    Flat,
    /// `reasoning: { effort: "low" }`.
    Nested,
    /// `thinking: { type: "enabled" }` beside `reasoning_effort`; off is `thinking: { type: "disabled" }`.
    Switched,
    /// By variables of the model's chat template, `enable_thinking` and `reasoning_effort`, and by the member of
    /// that name for models that the server treats apart.
    Template,
}

/// How an assistant's own thinking goes back to the server that it came from. `reasoning_details` go back wherever
/// they came from, in place of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Not at all.
    Never,
    /// As the text of this member of the message.
    Member(&'static str),
    /// The same; and a message with tool calls that lacks the member is refused, so there it is at least empty.
    Needed(&'static str),
    /// As a part of the content.
    Parts,
}

/// What a server takes as the id of a tool call. What it does not take is mapped, always to the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Up to this many letters, digits, `_` and `-`.
    Plain(usize),
    /// Nine letters and digits.
    Nine,
}

impl Dialect {
    /// What is shaped like OpenAI's chat and says no more of itself.
    pub const CHAT: Dialect = Dialect {
        limit: "max_tokens",
        stream_options: true,
        system_role: "system",
        effort: Effort::Flat,
        thinking: Replay::Never,
        ids: Ids::Plain(40),
        unsigned: "",
        sealed: false,
        bridge: false,
        images: true,
        documents: false,
        key_path: None,
        structured: Structured::Known,
        azure: None,
        served: &[],
        hosted: &[],
    };

    /// What is shaped like OpenAI's Responses.
    pub const RESPONSES: Dialect = Dialect {
        ids: Ids::Plain(64),
        structured: Structured::Own,
        hosted: &[
            "web_search",
            "web_search_####_##_##",
            "web_search_preview",
            "web_search_preview_####_##_##",
            "code_interpreter",
            "file_search",
            "image_generation",
            "mcp",
            "shell",
            "tool_search",
        ],
        ..Dialect::CHAT
    };

    /// A model that the page reaches by itself.
    /// What its function makes of files is the page's affair.
    pub const CUSTOM: Dialect = Dialect { structured: Structured::Told, documents: true, ..Dialect::CHAT };

    /// Whether its provider runs what an item of this type offers.
    pub fn hosts(&self, kind: &str) -> bool {
        let fits = |known: &&str| match known.strip_suffix('*') {
            Some(start) => kind.starts_with(start),
            None => {
                let alike = |(known, sign): (u8, u8)| known == sign || known == b'#' && sign.is_ascii_digit();
                known.len() == kind.len() && known.bytes().zip(kind.bytes()).all(alike)
            }
        };
        self.hosted.iter().any(fits)
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect::CHAT
    }
}

/// A row without habits of its own.
const fn row(kind: &'static str, wire: Wire, base_url: Option<&'static str>, needs_key: bool) -> Preset {
    let dialect = Dialect::CHAT;
    Preset { kind, preset: "", wire, base_url, needs_key, needs_model: true, bars_browsers: false, dialect }
}

/// A server that is shaped like OpenAI's chat.
const fn compatible(
    preset: &'static str,
    base_url: &'static str,
    needs_key: bool,
    dialect: Dialect,
) -> Preset {
    let row = row("openai-compatible", Wire::OpenAiChat, Some(base_url), needs_key);
    Preset { preset, dialect, ..row }
}

/// A server on this machine. What holds its model to a schema is a grammar for all that it says.
const LOCAL: Dialect = Dialect { structured: Structured::Alone, ..Dialect::CHAT };

/// The table.
pub const PRESETS: &[Preset] = &[
    Preset {
        needs_model: false,
        bars_browsers: true,
        dialect: Dialect {
            documents: true,
            structured: Structured::Light { optional: 24, unions: 16 },
            // The newest types that every model takes and that need no other tool beside them.
            served: &[
                ("web_search", "tools", r#"{"type":"web_search_20250305","name":"web_search"}"#),
                ("web_fetch", "tools", r#"{"type":"web_fetch_20250910","name":"web_fetch"}"#),
                ("code_execution", "tools", r#"{"type":"code_execution_20250825","name":"code_execution"}"#),
            ],
            hosted: &[
                "web_search_########",
                "web_fetch_########",
                "code_execution_########",
                "advisor_########",
                "tool_search_tool_*",
                "mcp_toolset",
            ],
            ..Dialect::CHAT
        },
        ..row("anthropic", Wire::Anthropic, Some("https://api.anthropic.com"), true)
    },
    Preset {
        // Its reasoning models refuse the old name of the limit, and call the system prompt's role by another name.
        dialect: Dialect {
            limit: "max_completion_tokens",
            system_role: "developer",
            documents: true,
            structured: Structured::Own,
            ..Dialect::CHAT
        },
        ..row("openai", Wire::OpenAiChat, Some("https://api.openai.com/v1"), true)
    },
    Preset {
        dialect: Dialect {
            documents: true,
            served: &[
                ("web_search", "tools", r#"{"type":"web_search"}"#),
                ("code_execution", "tools", INTERPRETER),
            ],
            ..Dialect::RESPONSES
        },
        ..row("openai-responses", Wire::OpenAiResponses, Some("https://api.openai.com/v1"), true)
    },
    Preset {
        preset: "azure",
        dialect: Dialect {
            documents: true,
            azure: Some(Azure { root: "/openai/v1", deployments: false, version: "v1" }),
            // Whether its deployments search is the resource's affair.
            served: &[("code_execution", "tools", INTERPRETER)],
            ..Dialect::RESPONSES
        },
        ..row("openai-responses", Wire::OpenAiResponses, None, true)
    },
    Preset {
        dialect: Dialect {
            sealed: true,
            served: &[
                ("web_search", "tools", r#"{"type":"web_search"}"#),
                ("code_execution", "tools", r#"{"type":"code_interpreter"}"#),
            ],
            hosted: &[
                "web_search",
                "x_search",
                "code_interpreter",
                "file_search",
                "collections_search",
                "mcp",
            ],
            ..Dialect::RESPONSES
        },
        ..row("xai", Wire::OpenAiResponses, Some("https://api.x.ai/v1"), true)
    },
    Preset {
        preset: "chat",
        dialect: Dialect { structured: Structured::Own, ..Dialect::CHAT },
        ..row("xai", Wire::OpenAiChat, Some("https://api.x.ai/v1"), true)
    },
    Preset {
        dialect: Dialect {
            ids: Ids::Plain(64),
            documents: true,
            structured: Structured::Alone,
            served: &[
                ("web_search", "tools", r#"{"type":"google_search"}"#),
                ("web_fetch", "tools", r#"{"type":"url_context"}"#),
                ("code_execution", "tools", r#"{"type":"code_execution"}"#),
            ],
            hosted: &[
                "google_search",
                "google_maps",
                "url_context",
                "code_execution",
                "file_search",
                "mcp_server",
            ],
            ..Dialect::CHAT
        },
        ..row("gemini", Wire::Gemini, Some("https://generativelanguage.googleapis.com"), true)
    },
    Preset { dialect: LOCAL, ..row("ollama", Wire::Ollama, Some("http://localhost:11434"), false) },
    row("openai-compatible", Wire::OpenAiChat, None, true),
    Preset {
        preset: "azure",
        // The newest dated version that is no preview.
        dialect: Dialect {
            limit: "max_completion_tokens",
            azure: Some(Azure { root: "/openai", deployments: true, version: "2024-10-21" }),
            ..Dialect::CHAT
        },
        ..row("openai-compatible", Wire::OpenAiChat, None, true)
    },
    compatible(
        "openrouter",
        "https://openrouter.ai/api/v1",
        true,
        Dialect {
            effort: Effort::Nested,
            thinking: Replay::Member("reasoning"),
            documents: true,
            key_path: Some("/key"),
            served: &[("web_search", "plugins", r#"{"id":"web"}"#)],
            hosted: &["openrouter:*"],
            ..Dialect::CHAT
        },
    ),
    // It takes no schema beside tools. What it signs goes back as `extra_content`, which is a member of each call.
    compatible(
        "google",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        true,
        Dialect {
            unsigned: r#""extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}"#,
            structured: Structured::Alone,
            ..Dialect::CHAT
        },
    ),
    // Only some of its models take their thinking back, and the others refuse the request.
    compatible(
        "groq",
        "https://api.groq.com/openai/v1",
        true,
        Dialect {
            images: false,
            structured: Structured::Tool,
            hosted: &["browser_search", "code_interpreter"],
            ..Dialect::CHAT
        },
    ),
    compatible(
        "deepseek",
        "https://api.deepseek.com",
        true,
        Dialect {
            effort: Effort::Switched,
            thinking: Replay::Needed("reasoning_content"),
            images: false,
            structured: Structured::Tool,
            ..Dialect::CHAT
        },
    ),
    compatible(
        "mistral",
        "https://api.mistral.ai/v1",
        true,
        // It refuses every member that it does not know, and sends usage unasked.
        Dialect {
            stream_options: false,
            thinking: Replay::Parts,
            ids: Ids::Nine,
            bridge: true,
            structured: Structured::Own,
            ..Dialect::CHAT
        },
    ),
    compatible("lmstudio", "http://localhost:1234/v1", false, LOCAL),
    compatible(
        "llamacpp",
        "http://localhost:8080/v1",
        false,
        Dialect { effort: Effort::Template, thinking: Replay::Member("reasoning_content"), ..LOCAL },
    ),
    compatible(
        "vllm",
        "http://localhost:8000/v1",
        false,
        Dialect { effort: Effort::Template, thinking: Replay::Member("reasoning"), ..LOCAL },
    ),
    compatible(
        "ollama",
        "http://localhost:11434/v1",
        false,
        Dialect { thinking: Replay::Member("reasoning"), ..LOCAL },
    ),
];

impl Preset {
    /// The row of a kind and a preset; `""` where the page names none.
    pub fn find(kind: &str, preset: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|row| row.kind == kind && row.preset == preset)
    }

    /// What it is called in the journal and by `get_agent_settings`.
    pub fn name(&self) -> String {
        match self.preset {
            "" => self.kind.into(),
            preset => [self.kind, "/", preset].concat(),
        }
    }
}
