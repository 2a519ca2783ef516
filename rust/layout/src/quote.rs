//! Quotations from a text in messages: short, and without characters that cannot be seen.

use quasiaffine::is_hidden;

use crate::tuning::{MAX_BRIEF, MAX_WORD};

/// A word truncated for use in a message, without characters that cannot be seen.
pub fn clip(word: &str) -> String {
    let visible = |c: char| if is_hidden(c) { '\u{fffd}' } else { c };
    let end = if word.chars().nth(MAX_WORD).is_some() { "…" } else { "" };
    word.chars().take(MAX_WORD).map(visible).chain(end.chars()).collect()
}

/// A value as text, truncated for use in a message.
pub fn brief(value: &impl std::fmt::Display) -> String {
    struct Short(String);
    impl std::fmt::Write for Short {
        fn write_str(&mut self, part: &str) -> std::fmt::Result {
            let available = MAX_BRIEF.saturating_sub(self.0.len());
            let fits = part.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|&end| end <= available).last();
            self.0.push_str(&part[..fits.unwrap_or(0)]);
            if part.len() > available {
                self.0.push('…');
                return Err(std::fmt::Error);
            }
            Ok(())
        }
    }
    let mut short = Short(String::new());
    // An error means that the text was truncated.
    let _ = std::fmt::Write::write_fmt(&mut short, format_args!("{value}"));
    short.0
}
