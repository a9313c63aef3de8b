//! What a run has said, as one row of bytes.
//!
//! Decides which bytes can still be read, and where the next ones come. Promises: the number of bytes that were ever said
//! only grows. An offset that was given once stays right. What is lost is skipped. Leaves to others: whose words these
//! are (`harness/`). It borrows them from where they are anyway. There is no second copy, and none is made while text
//! streams.

/// How many of the last bytes can be read.
pub const CAPACITY: u64 = 4 << 20;

/// The words of a run or of several, one after the other.
#[derive(Clone, Debug)]
pub struct Output<'a> {
    /// Where each begins.
    pieces: Vec<(u64, &'a str)>,
    total: u64,
    capacity: u64,
}

impl Default for Output<'_> {
    fn default() -> Self {
        Output::with_capacity(CAPACITY)
    }
}

impl<'a> Output<'a> {
    /// An output of which the last so many bytes can be read.
    pub fn with_capacity(capacity: u64) -> Output<'a> {
        Output { pieces: Vec::new(), total: 0, capacity }
    }

    /// More is said.
    pub fn push(&mut self, text: &'a str) {
        self.pieces.push((self.total, text));
        self.skip(text.len() as u64);
    }

    /// So much was said once, and is not there any more.
    pub fn skip(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
    }

    /// How many bytes were ever said.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What is there from this offset on, and where the next bytes come. The text begins with the letter that the offset
    /// is in; so many bytes of it are before the offset.
    pub fn text_from(&self, offset: u64) -> (String, usize, u64) {
        let from = offset.max(self.total.saturating_sub(self.capacity));
        let (mut text, mut before) = (String::new(), 0);
        for (at, piece) in &self.pieces {
            let start = usize::try_from(from.saturating_sub(*at)).unwrap_or(usize::MAX).min(piece.len());
            let letter = piece.floor_char_boundary(start);
            if text.is_empty() {
                before = start - letter;
            }
            text.push_str(piece.get(letter..).unwrap_or_default());
        }
        (text, before, self.total)
    }

    /// The same as bytes.
    pub fn read_from(&self, offset: u64) -> (Vec<u8>, u64) {
        let (text, before, total) = self.text_from(offset);
        (text.into_bytes().split_off(before), total)
    }

    /// The last so many bytes.
    pub fn read_tail(&self, bytes: u64) -> Vec<u8> {
        self.read_from(self.total.saturating_sub(bytes)).0
    }
}
