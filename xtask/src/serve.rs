//! A file server for this machine: the workbench at `/`, the package at `/lodger/`, the documents at `/docs/`.
//!
//! By hand, because it is a page of code and a server crate is not. It answers GET and HEAD, one request per
//! connection, and tells browsers the types and the policy that the workbench is built for. Nothing is cached: what
//! was built last is what is shown.

use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What the page finds its local model by, in the head of the document.
const LOCAL_MODEL: &str = "<meta name=\"local-model\" content=\"local-model/\">";

/// The documents, as their generator writes them: scripts and styles in the page, and nothing from elsewhere.
const POLICY_OF_DOCUMENTS: &str = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'";

/// What a page with Lodger needs at least. `connect-src` is open because a person may type any base URL. An example is
/// one file, with its script and its style in it. The engine of a local model is a worker that it makes from a text. A page
/// lets the address of a worker pass in its default policy.
fn policy(target: &str, local_model: bool) -> String {
    if target.starts_with("/docs/") {
        return POLICY_OF_DOCUMENTS.into();
    }
    let inline = if target.starts_with("/examples/") { " 'unsafe-inline'" } else { "" };
    let blob = if local_model { " blob:" } else { "" };
    let default = if local_model || target.contains("host=worker") { " default" } else { "" };
    format!(
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'{inline}; style-src 'self'{inline}; worker-src 'self'{blob}; \
         connect-src *; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types lit-html dompurify lodger{default} 'allow-duplicates'"
    )
}

/// A request head longer than this is not from a browser.
const HEAD_LIMIT: u64 = 64 * 1024;

pub struct Server {
    listener: TcpListener,
    roots: Arc<Roots>,
}

struct Roots {
    www: PathBuf,
    pkg: PathBuf,
    docs: PathBuf,
    local_model: Option<PathBuf>,
}

impl Server {
    /// Port 0 takes a free one.
    pub fn bind(port: u16, www: PathBuf, pkg: PathBuf, docs: PathBuf) -> Result<Server> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
                ErrorKind::AddrInUse => {
                    anyhow::anyhow!("port {port} is in use: stop what uses it, or choose another with --port")
                }
                _ => anyhow::Error::new(error).context(format!("cannot listen on 127.0.0.1:{port}")),
            })?;
        Ok(Server { listener, roots: Arc::new(Roots { www, pkg, docs, local_model: None }) })
    }

    /// With a model for the page, whose files lie in this folder, under `local-model/`; the page is told.
    pub fn with_local_model(self, dir: PathBuf) -> Server {
        let Roots { www, pkg, docs, .. } = &*self.roots;
        let roots = Roots { www: www.clone(), pkg: pkg.clone(), docs: docs.clone(), local_model: Some(dir) };
        Server { roots: Arc::new(roots), ..self }
    }

    pub fn address(&self) -> Result<String> {
        let port = self.listener.local_addr().context("the server has no address")?.port();
        Ok(format!("http://127.0.0.1:{port}/"))
    }

    /// Serves until the process ends.
    pub fn run(self) {
        for stream in self.listener.incoming().flatten() {
            let roots = Arc::clone(&self.roots);
            // A browser that goes away in the middle is no event.
            thread::spawn(move || drop(answer(&stream, &roots)));
        }
    }
}

fn answer(stream: &TcpStream, roots: &Roots) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut head = BufReader::new(stream.take(HEAD_LIMIT));
    let mut request = String::new();
    head.read_line(&mut request)?;
    // Everything is read before the answer, or closing the connection would reset it.
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, kind, mut body) = match (method, roots.find(target)) {
        ("GET" | "HEAD", Some(path)) => match fs::read(&path) {
            Ok(body) => ("200 OK", mime(&path), body),
            Err(_) => {
                ("404 Not Found", "text/plain; charset=utf-8", format!("no {target} here\n").into_bytes())
            }
        },
        ("GET" | "HEAD", None) => ("404 Not Found", "text/plain; charset=utf-8", b"no such path\n".to_vec()),
        _ => ("405 Method Not Allowed", "text/plain; charset=utf-8", b"GET and HEAD only\n".to_vec()),
    };
    let page = kind.starts_with("text/html");
    if page && roots.local_model.is_some() {
        body =
            String::from_utf8_lossy(&body).replace("</head>", &format!("{LOCAL_MODEL}</head>")).into_bytes();
    }
    let mut out = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n",
        body.len()
    );
    if page {
        out.push_str("Content-Security-Policy: ");
        out.push_str(&policy(target, roots.local_model.is_some()));
        out.push_str("\r\n");
    }
    out.push_str("\r\n");
    let mut stream = stream;
    stream.write_all(out.as_bytes())?;
    if method == "GET" {
        stream.write_all(&body)?;
    }
    stream.flush()
}

impl Roots {
    /// The file for a request target, or `None` for what leads out of the folders.
    fn find(&self, target: &str) -> Option<PathBuf> {
        let path = decode(target.split(['?', '#']).next()?)?;
        let path = path.strip_prefix('/')?;
        let below = |folder: &str| path.strip_prefix(folder);
        let (root, path) = match (below("lodger/"), below("docs/"), below("local-model/"), &self.local_model)
        {
            (Some(inside), ..) => (&self.pkg, inside),
            (_, Some(inside), ..) => (&self.docs, inside),
            (.., Some(inside), Some(model)) => (model, inside),
            _ => (&self.www, path),
        };
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let file = root.join(path);
        match inside {
            false => None,
            true if file.is_dir() => Some(file.join("index.html")),
            true => Some(file),
        }
    }
}

/// Undoes percent-encoding; `None` where the result is no text.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains(['\0', '\\']))
}

fn mime(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "md" | "txt" | "ts" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(request: &str) -> String {
        asked(request, false)
    }

    fn asked(request: &str, local_model: bool) -> String {
        let root = std::env::temp_dir().join(format!("lodger-serve-{:?}", thread::current().id()));
        for (file, text) in [
            ("www/index.html", "<head></head><p>bench"),
            ("www/a b.css", "p{}"),
            ("pkg/lodger.wasm", "\0asm"),
            ("docs/start/html.html", "<p>page"),
            ("model/model.gguf", "GGUF"),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::write(root.join("secret"), "secret").unwrap();
        let mut server = Server::bind(0, root.join("www"), root.join("pkg"), root.join("docs")).unwrap();
        if local_model {
            server = server.with_local_model(root.join("model"));
        }
        let port = server.listener.local_addr().unwrap().port();
        thread::spawn(|| server.run());
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_page_comes_with_its_policy() {
        let answer = get("GET /?x#y HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{answer}");
        assert!(answer.contains("\r\nContent-Security-Policy: default-src 'self'; script-src"), "{answer}");
        assert!(
            answer.contains("\r\nCache-Control: no-store\r\n")
                && answer.ends_with("\r\n\r\n<head></head><p>bench"),
            "{answer}"
        );
    }

    #[test]
    fn an_example_may_hold_its_script_and_no_other_page_may() {
        let inline = |target: &str| {
            policy(target, false).contains("script-src 'self' 'wasm-unsafe-eval' 'unsafe-inline';")
        };
        assert!(inline("/examples/own-tool.html") && !inline("/") && !inline("/index.html?/examples/"));
    }

    #[test]
    fn a_page_whose_agent_is_in_a_worker_may_have_a_default_policy_and_no_other_page_may() {
        let default = |target: &str| policy(target, false).contains("lodger default 'allow");
        assert!(default("/?host=worker") && !default("/") && !default("/?workspace=worker"));
    }

    #[test]
    fn a_local_model_is_told_to_the_page_and_its_worker_allowed() {
        let answer = asked("GET / HTTP/1.1\r\n\r\n", true);
        assert!(answer.ends_with(&format!("<head>{LOCAL_MODEL}</head><p>bench")), "{answer}");
        assert!(answer.contains(&format!("Content-Length: {}\r\n", 21 + LOCAL_MODEL.len())), "{answer}");
        assert!(
            answer.contains("worker-src 'self' blob:;") && answer.contains("lodger default 'allow"),
            "{answer}"
        );
        assert!(asked("GET /local-model/model.gguf HTTP/1.1\r\n\r\n", true).ends_with("\r\n\r\nGGUF"));
        for (target, there) in [("/local-model/model.gguf", false), ("/local-model/../secret", true)] {
            let answer = asked(&format!("GET {target} HTTP/1.1\r\n\r\n"), there);
            assert!(answer.starts_with("HTTP/1.1 404"), "{target}: {answer}");
        }
        assert!(get("GET / HTTP/1.1\r\n\r\n").contains("worker-src 'self';"));
    }

    #[test]
    fn the_package_lies_under_lodger_with_the_type_that_streaming_compilation_needs() {
        let answer = get("GET /lodger/lodger.wasm HTTP/1.1\r\n\r\n");
        assert!(
            answer.contains("\r\nContent-Type: application/wasm\r\n") && answer.ends_with("\0asm"),
            "{answer}"
        );
        let answer = get("HEAD /a%20b.css HTTP/1.1\r\n\r\n");
        assert!(answer.contains("text/css") && answer.ends_with("Content-Length: 3\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"), "{answer}");
    }

    #[test]
    fn the_documents_lie_under_docs_with_a_policy_of_their_own() {
        let answer = get("GET /docs/start/html.html HTTP/1.1\r\n\r\n");
        assert!(answer.ends_with("\r\n\r\n<p>page"), "{answer}");
        assert!(answer.contains(POLICY_OF_DOCUMENTS), "{answer}");
        assert!(!get("GET / HTTP/1.1\r\n\r\n").contains(POLICY_OF_DOCUMENTS));
    }

    #[test]
    fn nothing_outside_the_folders_is_served() {
        for target in [
            "/../secret",
            "/%2e%2e/secret",
            "/lodger/../../secret",
            "/docs/../secret",
            "//etc/passwd",
            "/lodger//etc/passwd",
            "/%",
            "secret",
        ] {
            let answer = get(&format!("GET {target} HTTP/1.1\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{target}: {answer}");
        }
        assert!(get("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    }

    #[test]
    fn a_busy_port_is_named() {
        let first = Server::bind(0, PathBuf::new(), PathBuf::new(), PathBuf::new()).unwrap();
        let port = first.listener.local_addr().unwrap().port();
        let error =
            Server::bind(port, PathBuf::new(), PathBuf::new(), PathBuf::new()).err().unwrap().to_string();
        assert!(error.contains(&port.to_string()) && error.contains("--port"), "{error}");
    }
}
