//! What the formats are: the ten that are asserted when asked. Any other says nothing.
//!
//! Decides by the RFCs that the standard names, as strictly as they are. No leap second passes on another minute than
//! the last of a day in UTC, and no address with a display name. Leaves to others: whether anything is there under an
//! address.

use crate::list::Listed;
use crate::ports::Patterns;

/// A format.
#[derive(Debug)]
pub(in crate::tools::schema) struct Format {
    pub(in crate::tools::schema) name: &'static str,
    /// What a text must be.
    pub(super) says: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    DateTime,
    Date,
    Time,
    Email,
    Uri,
    Uuid,
    Ipv4,
    Ipv6,
    Hostname,
    Regex,
}

const fn format(kind: Kind, name: &'static str, says: &'static str) -> Format {
    Format { name, says, kind }
}

static FORMATS: [Format; 10] = [
    format(Kind::DateTime, "date-time", "a date-time such as 2026-01-31T12:00:00Z"),
    format(Kind::Date, "date", "a date such as 2026-01-31"),
    format(Kind::Time, "time", "a time with its offset such as 12:00:00Z"),
    format(Kind::Email, "email", "an email address"),
    format(Kind::Uri, "uri", "a URI with its scheme, such as https://example.com/"),
    format(Kind::Uuid, "uuid", "a UUID"),
    format(Kind::Ipv4, "ipv4", "an IPv4 address such as 192.0.2.1"),
    format(Kind::Ipv6, "ipv6", "an IPv6 address such as 2001:db8::1"),
    format(Kind::Hostname, "hostname", "a host name"),
    format(Kind::Regex, "regex", "a regular expression"),
];

impl Format {
    /// The format of this name.
    pub(super) fn parse(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Whether a text is of this format.
    pub(super) fn fits(&self, text: &str, patterns: &dyn Patterns) -> bool {
        let mut reader = Reader(text.as_bytes());
        let read = match self.kind {
            Kind::DateTime => reader.date_time(),
            Kind::Date => reader.date(),
            Kind::Time => reader.time(),
            Kind::Email => return email(text),
            Kind::Uri => return uri(text),
            Kind::Uuid => reader.uuid(),
            Kind::Ipv4 => return ipv4(text),
            Kind::Ipv6 => return ipv6(text),
            Kind::Hostname => return hostname(text),
            Kind::Regex => return patterns.test(text, true, None).is_ok(),
        };
        read.is_some() && reader.0.is_empty()
    }
}

/// Reads from the front. `None`: something else comes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        bytes.contains(first).then_some(*first)
    }

    /// Two digits, at most this.
    fn two(&mut self, most: u32) -> Option<u32> {
        let mut digit = || self.one_of(b"0123456789").map(|byte| u32::from(byte - b'0'));
        let number = digit()? * 10 + digit()?;
        (number <= most).then_some(number)
    }

    fn date(&mut self) -> Option<()> {
        let year = self.two(99)? * 100 + self.two(99)?;
        self.one_of(b"-")?;
        let month = self.two(12)?;
        self.one_of(b"-")?;
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let days = match month {
            0 => return None,
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (self.two(days)? > 0).then_some(())
    }

    fn time(&mut self) -> Option<()> {
        let hour = self.two(23)?;
        self.one_of(b":")?;
        let minute = self.two(59)?;
        self.one_of(b":")?;
        let second = self.two(60)?;
        if self.0.first() == Some(&b'.') {
            let digits = self.0.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
            self.0 = self.0.get(1 + digits..).filter(|_| digits > 0)?;
        }
        let sign = self.one_of(b"zZ+-")?;
        let mut minutes = hour * 60 + minute;
        if matches!(sign, b'+' | b'-') {
            let offset = self.two(23)? * 60;
            self.one_of(b":")?;
            let offset = offset + self.two(59)?;
            minutes = (minutes + 1440 + if sign == b'-' { offset } else { 0 }
                - if sign == b'+' { offset } else { 0 })
                % 1440;
        }
        (second < 60 || minutes == 1439).then_some(())
    }

    fn date_time(&mut self) -> Option<()> {
        self.date()?;
        self.one_of(b"tT")?;
        self.time()
    }

    fn uuid(&mut self) -> Option<()> {
        for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            if at > 0 {
                self.one_of(b"-")?;
            }
            for _ in 0..length {
                self.one_of(b"0123456789abcdefABCDEF")?;
            }
        }
        Some(())
    }
}

fn email(text: &str) -> bool {
    let Some(at) = text.bytes().rposition(|byte| byte == b'@') else { return false };
    let (Some(local), Some(host)) = (text.get(..at), text.get(at + 1..)) else { return false };
    let atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let quoted = local.len() > 1 && local.starts_with('"') && local.ends_with('"');
    let local_fits = if quoted {
        let inside = local.get(1..local.len() - 1).unwrap_or_default();
        let mut escaped = false;
        let printable = inside.bytes().all(|byte| {
            let plain = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            plain && (b' '..=b'~').contains(&byte)
        });
        printable && !escaped
    } else {
        local.split('.').all(|part| !part.is_empty() && part.bytes().all(atom))
    };
    let host_fits = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => match address.strip_prefix("IPv6:") {
            Some(address) => ipv6(address),
            None => ipv4(address),
        },
        None => hostname(host),
    };
    local_fits && host_fits
}

fn hostname(text: &str) -> bool {
    let label = |label: &str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        inner && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn ipv4(text: &str) -> bool {
    let part = |part: &str| {
        let digits = (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part.len() == 1 || !part.starts_with('0')) && part.parse::<u8>().is_ok()
    };
    text.split('.').count() == 4 && text.split('.').all(part)
}

fn ipv6(text: &str) -> bool {
    // Groups before and after the one place where zeros are left out.
    let (before, after) = match crate::find::split(text, "::") {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    };
    let count = |side: &str, last: bool| -> Option<usize> {
        if side.is_empty() {
            return Some(0);
        }
        let groups: Vec<&str> = side.split(':').list();
        let mut sum = 0;
        for (at, group) in groups.iter().enumerate() {
            let hex = group.bytes().all(|byte| byte.is_ascii_hexdigit());
            sum += match group.len() {
                1..=4 if hex => 1,
                _ if last && at + 1 == groups.len() && ipv4(group) => 2,
                _ => return None,
            };
        }
        Some(sum)
    };
    match after {
        None => count(before, true) == Some(8),
        Some(after) => {
            matches!((count(before, false), count(after, true)), (Some(a), Some(b)) if a + b <= 7)
        }
    }
}

fn uri(text: &str) -> bool {
    let Some((scheme, rest)) = crate::find::split(text, ":") else { return false };
    let scheme_fits = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let (rest, fragment) = crate::find::split(rest, "#").unwrap_or((rest, ""));
    let (hierarchy, query) = crate::find::split(rest, "?").unwrap_or((rest, ""));
    let (authority, path) = match hierarchy.strip_prefix("//") {
        Some(after) => {
            let end = after.bytes().position(|byte| byte == b'/').unwrap_or(after.len());
            after.split_at_checked(end).unwrap_or((after, ""))
        }
        None => ("", hierarchy),
    };
    scheme_fits
        && authority_fits(authority)
        && uri_part(path, b":@/")
        && uri_part(query, b":@/?")
        && uri_part(fragment, b":@/?")
}

fn authority_fits(authority: &str) -> bool {
    let (user, host) = crate::find::split(authority, "@").unwrap_or(("", authority));
    let (host_fits, port) = match host.strip_prefix('[') {
        Some(literal) => match crate::find::split(literal, "]") {
            Some((address, port)) => {
                let future = address.starts_with(['v', 'V']) && uri_part(address, b":");
                (ipv6(address) || future, port)
            }
            None => (false, ""),
        },
        None => {
            let end = host.bytes().position(|byte| byte == b':').unwrap_or(host.len());
            let (host, port) = host.split_at_checked(end).unwrap_or((host, ""));
            (uri_part(host, b""), port)
        }
    };
    let port_fits = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    uri_part(user, b":") && host_fits && port_fits
}

/// Whether a text has only what every part of a URI may have, and these.
fn uri_part(text: &str, more: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => [1, 2].iter().all(|next| bytes.get(at + next).is_some_and(u8::is_ascii_hexdigit)),
        byte => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(byte) || more.contains(byte),
    })
}
