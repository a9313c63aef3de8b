//! Changes of a stream that keep its events whole: what a fuzzer that knows only bytes seldom finds.

use libfuzzer_sys::fuzzer_mutate;

/// One time in four an event or a line is left out, said twice or moved; else bytes are changed as ever. Gives the new size.
pub fn events(bytes: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut random = fastrand::Rng::with_seed(seed.into());
    let ours = &bytes[..size];
    let end: &[u8] = if ours.windows(2).any(|two| two == b"\n\n") { b"\n\n" } else { b"\n" };
    let mut events = split(ours, end);
    if events.len() < 2 || random.u8(..4) > 0 {
        return fuzzer_mutate(bytes, size, most);
    }
    let (at, to) = (random.usize(..events.len()), random.usize(..events.len()));
    match random.u8(..3) {
        0 => drop(events.remove(at)),
        1 => events.insert(to, events[at].clone()),
        _ => events.swap(at, to),
    }
    let changed = events.concat();
    let size = changed.len().min(most);
    bytes[..size].copy_from_slice(&changed[..size]);
    size
}

/// The events, each with its end.
fn split(bytes: &[u8], end: &[u8]) -> Vec<Vec<u8>> {
    let mut events = vec![Vec::new()];
    let mut rest = bytes;
    while let Some(at) = rest.windows(end.len()).position(|window| window == end) {
        let (event, tail) = rest.split_at(at + end.len());
        *events.last_mut().unwrap() = event.to_vec();
        events.push(Vec::new());
        rest = tail;
    }
    *events.last_mut().unwrap() = rest.to_vec();
    events.retain(|event| !event.is_empty());
    events
}
