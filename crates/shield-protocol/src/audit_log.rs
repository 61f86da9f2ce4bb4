//! The server's log of who did what: lines that are only ever added, each with a hash of all
//! before. Whoever has an earlier export can tell whether a line was changed or removed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hex::hex;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// Its number, from 1.
    pub number: u32,
    /// When.
    pub moment: Timestamp,
    /// The role of whoever did it.
    pub role: String,
    /// The public name of their token.
    pub who: String,
    /// From which address.
    pub address: String,
    /// What was done.
    pub action: String,
    /// About which election.
    pub election: Option<String>,
    /// The rest, for people.
    pub detail: String,
    /// A hash of this line and of the hash before it.
    pub chain: String,
}

impl LogLine {
    /// What its chain must be after that of the line before; of the first, after nothing.
    pub fn expected(&self, before: &str) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 audit log v1");
        let (number, time) = (self.number.to_string(), self.moment.as_millisecond().to_string());
        let election = self.election.as_deref().unwrap_or("");
        for field in [
            before,
            &number,
            &time,
            &self.role,
            &self.who,
            &self.address,
            &self.action,
            election,
            &self.detail,
        ] {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field.as_bytes());
        }
        hex(hasher.finalize().as_bytes())
    }
}

/// The first line whose chain does not follow from the line before: it, or one before it, was
/// changed or removed. The first line given is taken as it is unless it is the log's first.
pub fn broken_chain(lines: &[LogLine]) -> Option<u32> {
    let follows = |before: &LogLine, line: &LogLine| {
        before.number.checked_add(1) == Some(line.number)
            && line.expected(&before.chain) == line.chain
    };
    if let Some(first) = lines.first()
        && first.number == 1
        && first.expected("") != first.chain
    {
        return Some(1);
    }
    let pairs = lines.windows(2);
    let broken = pairs.into_iter().find(|pair| !follows(&pair[0], &pair[1]));
    broken.map(|pair| pair[1].number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: u32) -> Vec<LogLine> {
        let mut log: Vec<LogLine> = Vec::new();
        for number in 1..=lines {
            let text = |what: &str| format!("{what} {number}");
            let mut line = LogLine {
                number,
                moment: Timestamp::from_second(i64::from(number)).unwrap(),
                role: text("role"),
                who: text("who"),
                address: text("address"),
                action: text("action"),
                election: None,
                detail: text("detail"),
                chain: String::new(),
            };
            line.chain = line.expected(log.last().map_or("", |last| &last.chain));
            log.push(line);
        }
        log
    }

    #[test]
    fn a_changed_or_removed_line_is_found() {
        let whole = log(5);
        assert_eq!(broken_chain(&whole), None);
        assert_eq!(broken_chain(&whole[2..]), None, "the rest of a log, from an earlier export on");
        for place in 0..5 {
            let mut changed = whole.clone();
            changed[place].detail.push('!');
            // In a part of a log the first line is taken as it is; here it is the log's first.
            assert_eq!(broken_chain(&changed), Some(changed[place].number));
        }
        let mut removed = whole.clone();
        removed.remove(2);
        assert_eq!(broken_chain(&removed), Some(4));
        let mut last = whole[4..].to_vec();
        last[0].number = u32::MAX;
        last.push(whole[0].clone());
        assert_eq!(broken_chain(&last), Some(1), "numbers that end are no panic");
    }
}
