//! What an app gives: a configuration, messages, tools, answers.
//!
//! Their members are those of the interfaces of these names in `js/index.d.ts`, which says more of each.

use super::{Misfit, Named, Shape, shapes};
use crate::journal::words::words;
use crate::object::Object;
use serde_json::{Map, Value};

words! {
    /// Where memories are.
    MemoryScope {
        /// Of this workspace.
        Workspace = "workspace",
        /// Of all workspaces of the origin.
        Account = "account",
    }
    /// How much a model thinks.
    Reasoning {
        /// Not at all.
        Off = "off",
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// A lot.
        High = "high",
    }
    /// What kind of work an agent does.
    ProcessType {
        /// It may delegate.
        Orchestrator = "Orchestrator",
        /// It has the tools that only read.
        Researcher = "Researcher",
        /// It has all tools.
        Worker = "Worker",
        /// It has the tools that only read.
        SkillComposer = "SkillComposer",
    }
    /// What a rule says of a call.
    Rule {
        /// It runs.
        Allow = "allow",
        /// A person is asked.
        Ask = "ask",
        /// It does not run.
        Deny = "deny",
    }
    /// For whom a skill is there.
    SkillScope {
        /// For this workspace.
        Workspace = "workspace",
        /// For all workspaces of this origin.
        Account = "account",
    }
    /// How a session without a name is called.
    Titles {
        /// By its first words.
        Words = "words",
        /// By a title that its provider is asked for.
        Auto = "auto",
    }
    /// What happens to a run that a lost page left.
    Resume {
        /// It waits to be resumed.
        Hold = "hold",
        /// It goes on by itself.
        Auto = "auto",
    }
    /// What a start does where the agent runs already.
    IfRunning {
        /// It follows, and goes on when that tab is gone.
        Join = "join",
        /// It is refused.
        Reject = "reject",
        /// The agent comes to this tab.
        Takeover = "takeover",
    }
    /// What becomes of a message while a run works.
    WhenBusy {
        /// It is refused.
        Reject = "reject",
        /// It waits, and begins a run of its own.
        Queue = "queue",
        /// It enters the run that works.
        Steer = "steer",
    }
    /// Where comes from what a tool says.
    ToolSource {
        /// From the workspace.
        Workspace = "Workspace",
        /// From the world outside.
        External = "External",
        /// From the app itself.
        System = "System",
    }
    /// Whether a tool may run beside others.
    Concurrency {
        /// It may.
        Parallel = "parallel",
        /// It may not.
        Serial = "serial",
    }
    /// What becomes of a call whose page was lost while it ran.
    OnResume {
        /// It runs again.
        Rerun = "rerun",
        /// A person is asked.
        Ask = "ask",
        /// The model is told that it has failed.
        Fail = "fail",
    }
    /// How a session goes on after a failure.
    RecoverAction {
        /// It goes on with the run that was lost or has failed.
        Reconnect = "reconnect",
        /// It is idle, and a lost run is held.
        Resume = "resume",
    }
}

/// A function of the app, as a configuration holds it: what `Workspace::ask`, `decide`, `model` and `function` give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(pub(crate) u32);

impl Function {
    /// Its member in JSON.
    pub(crate) const SIGN: &str = "$fn";
}

impl Shape for Function {
    fn read(value: Value) -> Result<Function, Misfit> {
        let number =
            value.get(Function::SIGN).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
        number.map(Function).ok_or_else(|| Misfit::new("a function"))
    }
    fn write(&self) -> Value {
        Object::new().number(Function::SIGN, self.0.into()).done()
    }
}

/// A text, or a function that is asked for one.
#[derive(Clone, Debug, PartialEq)]
pub enum Text {
    /// This text.
    Fixed(String),
    /// What the function says, whenever the text is needed.
    Asked(Function),
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::Fixed(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::Fixed(text)
    }
}

impl From<Function> for Text {
    fn from(function: Function) -> Text {
        Text::Asked(function)
    }
}

impl Shape for Text {
    fn read(value: Value) -> Result<Text, Misfit> {
        match value {
            Value::String(text) => Ok(Text::Fixed(text)),
            value => {
                Function::read(value).map(Text::Asked).map_err(|_| Misfit::new("a string or a function"))
            }
        }
    }
    fn write(&self) -> Value {
        match self {
            Text::Fixed(text) => text.write(),
            Text::Asked(function) => function.write(),
        }
    }
}

/// A tool that the model's provider runs itself.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerTool {
    /// By its common name: `web_search`, `web_fetch`, `code_execution`.
    Named(String),
    /// As the provider's own API takes it, with its `type`.
    Own(Map<String, Value>),
}

impl From<&str> for ServerTool {
    fn from(name: &str) -> ServerTool {
        ServerTool::Named(name.into())
    }
}

impl Shape for ServerTool {
    fn read(value: Value) -> Result<ServerTool, Misfit> {
        match value {
            Value::String(name) => Ok(ServerTool::Named(name)),
            Value::Object(own) => Ok(ServerTool::Own(own)),
            _ => Err(Misfit::new("a name, or an object with a type")),
        }
    }

    fn write(&self) -> Value {
        match self {
            ServerTool::Named(name) => name.write(),
            ServerTool::Own(own) => Value::Object(own.clone()),
        }
    }
}

/// When sessions are archived by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archive {
    /// Never.
    Never,
    /// When nobody has changed them for so many days.
    AfterDays(u64),
}

/// What is remembered from one conversation to the next.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryConfig {
    /// Nothing, or all in the workspace.
    Is(bool),
    /// It is, like this.
    By(MemoryOptions),
}

impl Shape for MemoryConfig {
    fn read(value: Value) -> Result<MemoryConfig, Misfit> {
        match value {
            Value::Bool(is) => Ok(MemoryConfig::Is(is)),
            options => Shape::read(options).map(MemoryConfig::By),
        }
    }

    fn write(&self) -> Value {
        match self {
            MemoryConfig::Is(is) => (*is).into(),
            MemoryConfig::By(options) => options.write(),
        }
    }
}

/// Whether a conversation is made shorter that fills its model's window, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum CompactionConfig {
    /// It is not.
    Never,
    /// It is, like this.
    By(CompactionOptions),
}

impl Shape for CompactionConfig {
    fn read(value: Value) -> Result<CompactionConfig, Misfit> {
        match value {
            Value::Bool(false) => Ok(CompactionConfig::Never),
            options => Shape::read(options).map(CompactionConfig::By),
        }
    }

    fn write(&self) -> Value {
        match self {
            CompactionConfig::Never => false.into(),
            CompactionConfig::By(options) => options.write(),
        }
    }
}

impl Shape for Archive {
    fn read(value: Value) -> Result<Archive, Misfit> {
        match (value.as_bool(), value.get("afterDays").and_then(Value::as_u64)) {
            (Some(false), _) => Ok(Archive::Never),
            (_, Some(days)) => Ok(Archive::AfterDays(days)),
            _ => Err(Misfit::new("false or { afterDays }")),
        }
    }
    fn write(&self) -> Value {
        match self {
            Archive::Never => false.into(),
            Archive::AfterDays(days) => Object::new().number("afterDays", *days).done(),
        }
    }
}

shapes! {
    /// How the agent works.
    given AgentConfig {
        /// Who answers.
        provider: Option<Provider>;
        /// Other providers by name: those of `fallback`, and of sessions and messages.
        providers: Option<Named<Provider>>;
        /// Names of `providers`, which take over in this order.
        fallback: Option<Vec<String>>;
        /// The model that is asked.
        model: Option<String>;
        /// The system prompt; a function is asked at the start of each run.
        instructions: Option<Text>;
        /// How many tokens an answer may have.
        max_output_tokens = "maxOutputTokens": Option<u64>;
        /// How much chance there is in an answer.
        temperature: Option<f64>;
        /// How much the model thinks.
        reasoning: Option<Reasoning>;
        /// Members of the request body, over ours.
        provider_options = "providerOptions": Option<Map<String, Value>>;
        /// Tools that the model's provider runs itself.
        server_tools = "serverTools": Option<Vec<ServerTool>>;
        /// How many model calls a run may make; default: 20.
        max_turns = "maxTurns": Option<u64>;
        /// How long a tool may take, in milliseconds; default: 60,000.
        tool_timeout_ms = "toolTimeoutMs": Option<u64>;
        /// How many tools may run at once.
        max_parallel_tools = "maxParallelTools": Option<u64>;
        /// What the agent holds; default: all.
        capabilities: Option<Vec<String>>;
        /// What kind of work it does; default: all tools.
        process_type = "processType": Option<ProcessType>;
        /// What is allowed without asking.
        permissions: Option<Permissions>;
        /// What a run and its session may use up.
        budgets: Option<Budgets>;
        /// What the agent knows how to do.
        skills: Option<Vec<Skill>>;
        /// What is known of models, in place of what lodger knows: a `ModelCatalog`.
        models: Option<Map<String, Value>>;
        /// When sessions are archived by themselves; default: never.
        archive: Option<Archive>;
        /// Whether a cut answer is asked for again.
        retry: Option<Retry>;
        /// How a conversation is made shorter that fills its model's window; default: as `CompactionOptions::default` has it.
        compaction: Option<CompactionConfig>;
        /// What is remembered from one conversation to the next; default: nothing.
        memory: Option<MemoryConfig>;
        /// What a session is called that has no name; default: its first words.
        title: Option<Titles>;
        /// What happens to a run that a lost page left; default: it is held.
        resume: Option<Resume>;
        /// What a start does where the agent runs already; default: it joins.
        if_running = "ifRunning": Option<IfRunning>;
    }

    /// A model API, or with `stream` a model of the app's own.
    given Provider {
        /// `anthropic`, `openai`, `openai-responses`, `openai-compatible`, `gemini`, `ollama`, `xai`; `custom` with `stream`.
        kind: String;
        /// Where the server of an `openai-compatible` provider is, and its habits; `chat` for `xai`, `azure` for `openai-responses`.
        preset: Option<String>;
        /// Its model.
        model: Option<String>;
        /// The key, or a function that is asked for it. Default: the vault's.
        api_key = "apiKey": Option<Text>;
        /// `bearer`: the key goes as `Authorization: Bearer`.
        auth: Option<String>;
        /// More headers; null takes one of ours away.
        headers: Option<Map<String, Value>>;
        /// `omit`, `same-origin` or `include`, as `fetch` takes it.
        credentials: Option<String>;
        /// Called in place of the global `fetch`.
        fetch: Option<Function>;
        /// Its address; default: the provider's own.
        base_url = "baseUrl": Option<String>;
        /// Allows an address with `http:` that is not this machine.
        allow_http = "allowHttp": Option<bool>;
        /// Anthropic's `anthropic-version`, or Azure's `api-version`.
        api_version = "apiVersion": Option<String>;
        /// How long it may take.
        timeouts: Option<Timeouts>;
        /// A model of the app's own: what `Workspace::model` gives.
        stream: Option<Function>;
    }

    /// How long a provider may take, in milliseconds.
    given Timeouts {
        /// Until the answer's head.
        connect_ms = "connectMs": Option<u64>;
        /// Until its first byte.
        first_byte_ms = "firstByteMs": Option<u64>;
        /// Between two pieces.
        silence_ms = "silenceMs": Option<u64>;
        /// For the whole run.
        run_ms = "runMs": Option<u64>;
    }

    /// What a run and its session may use up.
    given Budgets {
        /// A run.
        run: Option<Budget>;
        /// A session, with all of its runs.
        session: Option<Budget>;
    }

    /// What may be used up.
    given Budget {
        /// Answers of a model.
        turns: Option<u64>;
        /// Tokens that are sent, cached ones too.
        input_tokens = "inputTokens": Option<u64>;
        /// Tokens that are answered.
        output_tokens = "outputTokens": Option<u64>;
        /// Dollars.
        cost: Option<f64>;
        /// Milliseconds while a run works or waits.
        wall_ms = "wallMs": Option<u64>;
    }

    /// What is asked for again by itself.
    given Retry {
        /// An answer whose connection broke in the middle; default: true.
        cut: Option<bool>;
    }

    /// How a conversation is made shorter for its model.
    given CompactionOptions {
        /// How full the window is then: of what it has for the conversation, from 0.1 to 1; default: 0.8.
        at: Option<f64>;
        /// How many tokens of the newest part stay word for word; default: a quarter of what the window has for the conversation, at most 20,000. It is never more than half of that.
        keep: Option<u64>;
        /// What matters most in a summary.
        instructions: Option<String>;
        /// The name in `providers` of the provider that sums up; default: the provider that answers.
        provider: Option<String>;
    }

    /// What is remembered from one conversation to the next.
    given MemoryOptions {
        /// Where: of this workspace, or of all workspaces of the origin; default: of this workspace.
        scope: Option<MemoryScope>;
        /// How many memories are told at the start of a run, at most; default: 10.
        limit: Option<u64>;
    }

    /// What is allowed without asking.
    given Permissions {
        /// How long a person may think, in milliseconds; nobody's answer is a no.
        timeout_ms = "timeoutMs": Option<u64>;
        /// Where no rule says more.
        default: Option<Rule>;
        /// Rules for tools by name.
        tools: Option<Named<Rule>>;
        /// Rules for capabilities.
        capabilities: Option<Named<Rule>>;
        /// A function that is asked about each call that is not denied: what `Workspace::decide` gives.
        decide: Option<Function>;
    }

    /// What an agent knows how to do.
    given Skill {
        /// 1 to 64 letters, digits, hyphens and underscores.
        name: String;
        /// When it is of use: the model chooses by this.
        description: String;
        /// What it says. `{{name}}` stands for a variable, `{{tools}}` for the list of its tools.
        template: String;
        /// The variables of the template.
        variables: Option<Named<String>>;
        /// The tools that `{{tools}}` lists; default: all.
        tools: Option<Vec<String>>;
        /// For whom it is there; default: this workspace.
        scope: Option<SkillScope>;
    }

    /// What a session or a message has otherwise than the configuration: `Some(None)` is as the configuration says.
    given Overrides {
        /// A name in `providers`.
        provider: Option<Option<String>>;
        /// The model that is asked.
        model: Option<Option<String>>;
        /// The system prompt.
        instructions: Option<Option<String>>;
        /// The names of the tools that it has, and no others.
        tools: Option<Option<Vec<String>>>;
        /// How much the model thinks.
        reasoning: Option<Option<Reasoning>>;
        /// How much chance there is in an answer.
        temperature: Option<Option<f64>>;
        /// How many tokens an answer may have.
        max_output_tokens = "maxOutputTokens": Option<Option<u64>>;
        /// Members of the request body, over ours.
        provider_options = "providerOptions": Option<Option<Map<String, Value>>>;
        /// Tools that the model's provider runs itself.
        server_tools = "serverTools": Option<Option<Vec<ServerTool>>>;
    }

    /// How a message is sent.
    given SendOptions {
        /// The session; default: the workspace's own conversation.
        session_id = "sessionId": Option<String>;
        /// For the model, with this message only.
        context: Option<String>;
        /// Whether the app vouches for `context` and for the files.
        trusted: Option<bool>;
        /// The same key again gives the same run.
        idempotency_key = "idempotencyKey": Option<String>;
        /// What becomes of it while a run works; default: it is refused.
        when_busy = "whenBusy": Option<WhenBusy>;
        /// The id of the person's message that this one takes the place of.
        replaces: Option<String>;
        /// The JSON Schema that the answer has to fit.
        schema: Option<Value>;
        /// What it has otherwise than its session.
        overrides = "..": Overrides;
    }

    /// What a person says: a text, and what the app keeps with it.
    given UserInput {
        /// The text; with files it may be empty.
        text: String;
        /// What the app keeps with it.
        metadata: Option<Map<String, Value>>;
    }

    /// A function of the app that the agent may call.
    given Tool {
        /// Its name.
        name: String;
        /// Its name for people.
        title: Option<String>;
        /// By what the model chooses it.
        description: String;
        /// The JSON Schema of its arguments.
        input_schema = "inputSchema": Value;
        /// Where comes from what it says; default: from the workspace.
        source: Option<ToolSource>;
        /// Whether it changes nothing, so that it may run again; default: by its name.
        read_only = "readOnly": Option<bool>;
        /// What must be held for it.
        capability: Option<String>;
        /// Whether what it does away with may be gone for good.
        destructive: Option<bool>;
        /// Whether it can send something out of the page.
        open_world = "openWorld": Option<bool>;
        /// The arguments that say where it sends.
        destination: Option<Vec<String>>;
        /// MCP's words, where ours are absent.
        annotations: Option<Map<String, Value>>;
        /// How long it may take, in milliseconds; default: the agent's `toolTimeoutMs`.
        timeout_ms = "timeoutMs": Option<u64>;
        /// Whether it may run beside the other calls of its turn.
        concurrency: Option<Concurrency>;
        /// Whether arguments are mended where that cannot change their meaning; default: yes.
        coerce: Option<bool>;
        /// Whether the schema's `format` decides; default: no.
        formats: Option<bool>;
        /// Whether the app is told its arguments while they come; default: no.
        stream_arguments = "streamArguments": Option<bool>;
        /// What a call would do, said to the person who is asked: what `Workspace::ask_about` gives.
        explanation: Option<Function>;
        /// What becomes of a call whose page was lost while it ran.
        on_resume = "onResume": Option<OnResume>;
        /// Whether a call that was lost took effect: what `Workspace::ask_about` gives.
        lookup: Option<Function>;
    }

    /// What goes with an answer to a question.
    given PermissionReply {
        /// A word to the model.
        reason: Option<String>;
        /// The version of the page that the person saw.
        page_version = "pageVersion": Option<u64>;
    }

    /// How large things may be: what is larger is refused.
    given Limits {
        /// Bytes of an answer of the model; default: 16 MB.
        answer_bytes = "answerBytes": Option<u64>;
        /// Bytes of the arguments of one call; default: 4 MB.
        argument_bytes = "argumentBytes": Option<u64>;
        /// How many tools an answer may call; default: 128.
        calls_per_answer = "callsPerAnswer": Option<u64>;
        /// Bytes of what the app gives with a message; default: 8 MB.
        message_bytes = "messageBytes": Option<u64>;
        /// Bytes of what a function of the app gives; default: 16 MB.
        result_bytes = "resultBytes": Option<u64>;
    }

    /// How a session begins.
    given Launch {
        /// Its id; default: it is made.
        id: Option<String>;
        /// What it is called.
        display_name = "displayName": Option<String>;
        /// The project that it belongs to.
        project_id = "projectId": Option<String>;
        /// A conversation that it begins with, in the shape of `history()` or of another library.
        messages: Option<Vec<Value>>;
        /// What it has otherwise than the configuration.
        overrides = "..": Overrides;
    }

    /// How a session goes on after a failure, or that it has failed.
    given Recover {
        /// How it goes on.
        action: Option<RecoverAction>;
        /// As what it has failed.
        reason: Option<String>;
        /// More of it.
        detail: Option<String>;
    }

    /// A new page.
    given NewPage {
        /// What it is called.
        title: String;
        /// Its text.
        content: Option<String>;
        /// The page that it is below; default: none.
        parent_slug = "parentSlug": Option<String>;
        /// Its address; default: by its title.
        slug: Option<String>;
    }

    /// What changes in something that is remembered; of a new one its text has to be there.
    given MemoryChange {
        /// What is remembered.
        text: Option<String>;
        /// How important that is, from 0 to 1; default of a new one: 0.5.
        importance: Option<f64>;
        /// Words under which it is found besides.
        tags: Option<Vec<String>>;
        /// Where; default: as the agent's configuration has it, or in the workspace.
        scope: Option<MemoryScope>;
    }

    /// What changes in a page.
    given PageChange {
        /// Its text.
        content: Option<String>;
        /// What the app keeps with it.
        metadata: Option<Map<String, Value>>;
    }
}

impl From<&str> for UserInput {
    fn from(text: &str) -> UserInput {
        UserInput { text: text.into(), metadata: None }
    }
}

impl From<String> for UserInput {
    fn from(text: String) -> UserInput {
        UserInput { text, metadata: None }
    }
}
