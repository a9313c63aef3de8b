//! What is written from the table of commands: a module for tabs and `invoke`, the types of `invoke`, a table for people.
//!
//! Decides how a row reads there. Promises: each text is a function of the table alone. It is compiled where there is a host
//! only. Leaves to others: comparing the files with it, and writing them (`tests/host/protocol.rs`).

use super::args::names;
use super::table::more;
use super::{Command, Need, Row, Subject};

/// What tabs do with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tabs {
    /// Each does it for itself: it is about that tab, or about nothing that the agent holds.
    Own,
    /// The next holder can be asked as well, whether or not the last one did it.
    Again,
    /// The same, because the journal knows by a key whether it was done.
    Keyed,
    /// It is refused as lost where its holder is gone.
    Once,
}

/// What only tabs, `invoke` and documents ask for of a command.
#[derive(Debug)]
pub(super) struct More {
    tabs: Tabs,
    /// Whether it is answered by a run that it begins.
    begins: bool,
    /// Whether it is answered at the end of a run.
    waits: bool,
    /// Its arguments as the document has them, where the spec does not say enough.
    takes: &'static str,
    gives: &'static str,
    invoked: Option<Invoked>,
    /// What the table says of it in a sentence.
    does: &'static str,
}

/// A command of `invoke`.
#[derive(Debug)]
struct Invoked {
    name: &'static str,
    /// The method behind it with its arguments: `sessions.recover(id, {action?, reason?})`. Behind a name comes its type,
    /// where that is not `string`; `{` begins the options; `*` is all arguments, at which the method looks itself.
    calls: &'static str,
    /// The type of all arguments, where `calls` does not say it.
    args: &'static str,
    value: &'static str,
    says: &'static str,
}

/// The commands of `invoke` that the client answers alone.
const OF_CLIENT: [Invoked; 3] = [
    Invoked {
        name: "initialize_workspace",
        calls: "(name)",
        args: "",
        value: "void",
        says: "Opens the workspace and makes it the one that `invoke` acts on; lets go of the one it opened before.",
    },
    Invoked { name: "get_agent_status", calls: "status()", args: "", value: "Status", says: "" },
    Invoked {
        name: "list_tools",
        calls: "tools.definitions()",
        args: "",
        value: "ToolDefinition[]",
        says: "",
    },
];

fn more_of(tabs: Tabs) -> More {
    More { tabs, begins: false, waits: false, takes: "", gives: "", invoked: None, does: "" }
}

pub(super) fn own() -> More {
    more_of(Tabs::Own)
}

pub(super) fn again() -> More {
    more_of(Tabs::Again)
}

pub(super) fn keyed() -> More {
    more_of(Tabs::Keyed)
}

pub(super) fn once() -> More {
    more_of(Tabs::Once)
}

impl More {
    pub fn begins(self) -> More {
        More { begins: true, ..self }
    }

    pub fn waits(self) -> More {
        More { waits: true, ..self }
    }

    pub fn takes(self, takes: &'static str) -> More {
        More { takes, ..self }
    }

    pub fn gives(self, gives: &'static str) -> More {
        More { gives, ..self }
    }

    pub fn invoked(self, name: &'static str, calls: &'static str, value: &'static str) -> More {
        More { invoked: Some(Invoked { name, calls, args: "", value, says: "" }), ..self }
    }

    /// Of `invoke`: the type of all arguments.
    pub fn takes_all(self, args: &'static str) -> More {
        More { invoked: self.invoked.map(|invoked| Invoked { args, ..invoked }), ..self }
    }

    /// Of `invoke`: a sentence for its types.
    pub fn says(self, says: &'static str) -> More {
        More { invoked: self.invoked.map(|invoked| Invoked { says, ..invoked }), ..self }
    }

    pub fn done(self, does: &'static str) -> More {
        More { does, ..self }
    }
}

impl Invoked {
    /// Its arguments, each with its type, as TypeScript has them.
    fn types(&self) -> Vec<(String, String)> {
        let (_, list) = self.calls.split_once('(').unwrap_or_default();
        let list = list.trim_end_matches(')').replace(['{', '}'], "");
        let typed = |member: &str| {
            let (name, kind) = member.split_once(": ").unwrap_or((member, "string"));
            (name.trim().to_owned(), kind.to_owned())
        };
        list.split(", ").filter(|member| !member.is_empty() && *member != "*").map(typed).collect()
    }

    /// The same call as `client/invoke.js` reads it: types are those of JavaScript, and a text needs none.
    fn for_js(&self) -> String {
        let mut call = self.calls.to_owned();
        for (name, kind) in self.types() {
            let in_js = match kind.as_str() {
                "string" => continue,
                "number" => ":number",
                "Blob" | "Overrides" | "object" => ":object",
                // Words are texts, and their method looks at them.
                _ => "",
            };
            call = call.replace(&format!("{name}: {kind}"), &format!("{name}{in_js}"));
        }
        call
    }
}

const BY: &str = "Written from `src/protocol/table.rs`: change that, then `LODGER_WRITE=1 cargo test --test host protocol`.";

fn rows() -> impl Iterator<Item = (&'static Row, More)> {
    Command::ALL.iter().map(|command| command.row()).zip(more())
}

fn invoked() -> impl Iterator<Item = Invoked> {
    OF_CLIENT.into_iter().chain(rows().filter_map(|(_, more)| more.invoked))
}

/// `js/protocol/commands.js`.
pub fn module() -> String {
    let mut js = format!("// What tabs do with each command, and what `invoke` calls.\n//\n// {BY}\n");
    js.push_str("\nconst names = (text) => text.split(\" \");\n");
    let mut list = |what: &str, constant: &str, is: &dyn Fn(&More) -> bool| {
        let names: Vec<_> = rows().filter(|(_, more)| is(more)).map(|(row, _)| row.name).collect();
        js.push_str(&format!("\n/** {what} */\nexport const {constant} = names(\"{}\");\n", names.join(" ")));
    };
    list(
        "What each tab does for itself: it is about this tab, or about nothing that the agent holds.",
        "OWN",
        &|more| more.tabs == Tabs::Own,
    );
    list(
        "What the next holder can be asked as well, whether or not the last one did it.",
        "AGAIN",
        &|more| more.tabs == Tabs::Again,
    );
    list("The same, because the journal knows by a key whether it was done.", "KEYED", &|more| {
        more.tabs == Tabs::Keyed
    });
    list("What is answered at the end of a run.", "WAITS", &|more| more.waits);
    list("What is answered by a run that it begins.", "BEGINS", &|more| more.begins);
    js.push_str(
        "\n/** The commands of `invoke`: the method behind each, with its arguments; `client/invoke.js` reads them. */\n",
    );
    js.push_str("export const INVOKED = {\n");
    for invoked in invoked() {
        let name =
            if invoked.name.contains('.') { format!("\"{}\"", invoked.name) } else { invoked.name.into() };
        js.push_str(&format!("  {name}: \"{}\",\n", invoked.for_js()));
    }
    js.push_str("};\n");
    js
}

/// `js/commands.d.ts`. `known`: the text of `index.d.ts`, which has the types.
pub fn types(known: &str) -> String {
    let mut members = String::new();
    for invoked in invoked() {
        if !invoked.says.is_empty() {
            members.push_str(&format!("  /** {} */\n", invoked.says));
        }
        let args: Vec<_> = invoked.types().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
        let args = match (invoked.args, args.is_empty()) {
            ("", true) => "{}".to_owned(),
            ("", false) => format!("{{ {} }}", args.join("; ")),
            (all, _) => all.to_owned(),
        };
        let name =
            if invoked.name.contains('.') { format!("\"{}\"", invoked.name) } else { invoked.name.into() };
        members.push_str(&format!("  {name}: {{ args: {args}; value: {} }};\n", invoked.value));
    }
    let mut used: Vec<&str> = members
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| {
            let declared = |kind: &str| known.contains(&format!("export {kind} {word}"));
            word.starts_with(char::is_uppercase) && (declared("interface") || declared("type"))
        })
        .collect();
    used.sort_unstable();
    used.dedup();
    format!(
        "// The commands of `invoke`.\n//\n// {BY}\n\nimport type {{ {} }} from \"./index.js\";\n\n\
         /** The commands of `invoke`, their arguments and what they resolve to. */\n\
         export interface Commands {{\n{members}}}\n",
        used.join(", ")
    )
}

/// The table in `js/PROTOCOL.md`.
pub fn table() -> String {
    let mut text = String::from("| name | args | value | reaches | tabs | |\n|---|---|---|---|---|---|\n");
    for (row, more) in rows() {
        let tabs = match more.tabs {
            Tabs::Own => "own",
            Tabs::Again => "again",
            Tabs::Keyed => "keyed",
            Tabs::Once => "once",
        };
        let takes = match more.takes {
            "" => in_words(row.spec),
            takes => takes.to_owned(),
        };
        let does = more.does.trim().replace("\n ", " ").replace('|', "\\|");
        let cells = [&format!("`{}`", row.name), &takes, more.gives, &reaches(row), tabs, &does];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// `{ id, limit? }`.
fn in_words(spec: &str) -> String {
    let words: Vec<_> = spec
        .split(' ')
        .zip(names(spec))
        .map(|(word, name)| if word.contains('?') { format!("{name}?") } else { name.into() })
        .collect();
    if words.is_empty() { "`{}`".into() } else { format!("`{{ {} }}`", words.join(", ")) }
}

fn reaches(row: &Row) -> String {
    let what = match row.subject {
        Subject::None => "",
        Subject::Session | Subject::Id => "a session: ",
        Subject::SessionOrRun | Subject::Worker | Subject::IdOrRun => "a session or a run: ",
        Subject::Run => "a run: ",
    };
    let need = match (row.need, row.subject) {
        (Need::Nothing, _) => "",
        (Need::Operator, _) => "needs an operator",
        (Need::Write, Subject::None) => "needs an operator, writes",
        (Need::Read, _) => "read",
        (Need::Write, _) => "write",
        (Need::Work, _) => "work",
        (Need::Recover, _) => "write or work",
    };
    let agent = match (row.runs, what.is_empty() && need.is_empty()) {
        (false, _) => "",
        (true, true) => "needs an agent",
        (true, false) => ", with an agent",
    };
    [what, need, agent].concat()
}
