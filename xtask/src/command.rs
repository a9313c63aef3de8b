//! Running other programs, with errors that name the program and what it was to do.
//!
//! Promises: a thread can say who shows its lines. Then all that it says goes there, and all that its programs
//! print. So threads beside each other do not write into each other's lines.

use anyhow::{Context, Result, bail, ensure};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind, PipeReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

type Show = Box<dyn Fn(&str)>;

thread_local! {
    /// None: the terminal.
    static SHOWN: RefCell<Option<Show>> = const { RefCell::new(None) };
}

/// From here on this thread's lines go to `show`, which must not say anything itself.
pub fn show_by(show: impl Fn(&str) + 'static) {
    SHOWN.set(Some(Box::new(show)));
}

/// For the person who looks on.
pub fn say(text: impl AsRef<str>) {
    SHOWN.with_borrow(|show| match show {
        Some(show) => text.as_ref().lines().for_each(show),
        None => println!("{}", text.as_ref()),
    });
}

pub struct Cmd {
    inner: Command,
}

/// The cargo that runs xtask, so that a toolchain chosen by hand stays chosen.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

impl Cmd {
    pub fn new(program: impl AsRef<OsStr>) -> Cmd {
        Cmd { inner: Command::new(program) }
    }

    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Cmd {
        self.inner.args(args);
        self
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Cmd {
        self.inner.arg(arg);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Cmd {
        self.inner.env(name, value);
        self
    }

    pub fn envs(mut self, pairs: &[(&str, &str)]) -> Cmd {
        self.inner.envs(pairs.iter().copied());
        self
    }

    pub fn without_env(mut self, name: &str) -> Cmd {
        self.inner.env_remove(name);
        self
    }

    pub fn in_dir(mut self, dir: &Path) -> Cmd {
        self.inner.current_dir(dir);
        self
    }

    /// Runs it with our terminal as its own, or its lines shown by who shows this thread's; an exit code other than 0 is
    /// an error.
    pub fn run(mut self) -> Result<()> {
        let shown = self.to_string();
        let status = if SHOWN.with_borrow(Option::is_some) {
            self.watched(|line| say(line))?
        } else {
            self.inner.status().map_err(|error| self.cannot_start(error))?
        };
        ensure!(status.success(), "`{shown}` failed ({status})");
        Ok(())
    }

    /// Runs it in silence and gives what it wrote; on failure, what it complained of is the error.
    pub fn captured(mut self) -> Result<String> {
        let output = self.inner.stdin(Stdio::null()).output().map_err(|error| self.cannot_start(error))?;
        if !output.status.success() {
            let (out, err) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            bail!("`{self}` failed ({})\n{}{}", output.status, out, err);
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` wrote no UTF-8"))
    }

    /// Runs it and hands each line that it prints, of either kind, to `each` as it comes.
    pub fn watched(mut self, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
        let (output, input) = std::io::pipe()?;
        self.inner.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
        let mut child = self.inner.spawn().map_err(|error| self.cannot_start(error))?;
        // It holds our copies of the pipe's other end.
        drop(self);
        let (sender, lines) = channel();
        thread::spawn(move || read_lines(output, &sender));
        loop {
            match lines.recv_timeout(Duration::from_millis(500)) {
                Ok(line) => each(&line),
                Err(RecvTimeoutError::Disconnected) => return Ok(child.wait()?),
                // What a program leaves running in the background keeps the pipe open: nobody waits for that.
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(status) = child.try_wait()? {
                        return Ok(status);
                    }
                }
            }
        }
    }

    fn cannot_start(&self, error: std::io::Error) -> anyhow::Error {
        let program = self.inner.get_program().to_string_lossy().into_owned();
        match error.kind() {
            ErrorKind::NotFound => anyhow::anyhow!("`{program}` is not installed, or not on the PATH"),
            _ => anyhow::Error::new(error).context(format!("cannot start `{program}`")),
        }
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = Path::new(self.inner.get_program());
        write!(f, "{}", program.file_name().unwrap_or(program.as_os_str()).to_string_lossy())?;
        self.inner.get_args().try_for_each(|arg| write!(f, " {}", arg.to_string_lossy()))
    }
}

/// Until there are no more, or nobody takes them.
fn read_lines(output: PipeReader, to: &Sender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if to.send(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()).is_err() {
            return;
        }
        line.clear();
    }
}

/// The first folder of the PATH that has this program.
pub fn which(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(&name)).find(|path| path.is_file())
}

/// `npm`, quiet about everything that is not a failure.
pub fn npm(dir: &Path) -> Cmd {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    Cmd::new(program).in_dir(dir).env("npm_config_audit", "false").env("npm_config_fund", "false")
}

/// Installs what `dir/package-lock.json` names, unless that has been done since it changed.
pub fn npm_ci(dir: &Path) -> Result<()> {
    node()?;
    for file in ["package.json", "package-lock.json"] {
        ensure!(
            dir.join(file).is_file(),
            "{} has no {file}: what it needs from npm must be locked",
            dir.display()
        );
    }
    let stamp = crate::stamp::Stamp::at(dir.join("node_modules/.installed"));
    let inputs = crate::stamp::digest(&[dir.join("package.json"), dir.join("package-lock.json")])?;
    if stamp.holds(&inputs) {
        return Ok(());
    }
    say(format!("installing {}/node_modules", dir.display()));
    npm(dir).args(["ci", "--loglevel=error"]).captured().map(drop)?;
    stamp.set(&inputs)
}

/// A program that one of the packages installed in `dir` brings.
pub fn npm_bin(dir: &Path, name: &str) -> Cmd {
    let extension = if cfg!(windows) { "cmd" } else { "" };
    Cmd::new(dir.join("node_modules/.bin").join(name).with_extension(extension))
}

/// Node is the one thing besides Rust that we cannot bring ourselves.
pub fn node() -> Result<()> {
    let version = Cmd::new("node").arg("--version").captured().context("Node 20 or newer is needed")?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|n| n.parse::<u32>().ok());
    ensure!(major.is_some_and(|major| major >= 20), "Node 20 or newer is needed, this is {}", version.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn sh(script: &str) -> Cmd {
        Cmd::new("sh").args(["-c", script])
    }

    #[test]
    fn both_outputs_of_a_program_are_read_and_what_it_leaves_behind_is_not_waited_for() {
        let mut lines = Vec::new();
        let status = sh("echo out; echo err >&2; sleep 600 & echo $!; echo last; exit 3");
        let status = status.watched(|line| lines.push(line.to_owned())).unwrap();
        assert_eq!(status.code(), Some(3));
        let left_behind = lines.remove(2);
        assert_eq!(lines, ["out", "err", "last"]);
        Cmd::new("sh").args(["-c", &format!("kill {left_behind}")]).run().unwrap();
    }

    #[test]
    fn what_a_thread_says_and_runs_is_shown_by_who_it_named() {
        let shown = Rc::new(RefCell::new(Vec::new()));
        let sink = shown.clone();
        show_by(move |line| sink.borrow_mut().push(line.to_owned()));
        say("one\ntwo");
        sh("echo three").run().unwrap();
        assert!(sh("echo four; exit 1").run().is_err());
        assert_eq!(*shown.borrow(), ["one", "two", "three", "four"]);
    }
}
