//! What earlier lines of a board allow a later one to say.

use std::collections::{HashMap, HashSet};

use crate::digest::Digest;
use crate::error::Fault;
use crate::kinds::{Content, Kind};
use crate::line::Line;
use crate::name::Name;
use crate::statement::{Body, Seen, Statement};

/// The lines of a board so far, as far as rules need them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    hashes: Vec<Digest>,
    bodies: HashMap<Kind, Body>,
    kinds: HashSet<Kind>,
    said: HashSet<(Kind, Name)>,
    /// The lines that have bodies of their own.
    own: HashMap<Digest, u64>,
}

impl Order {
    /// The last line.
    pub(crate) fn last(&self) -> Option<Seen> {
        let hash = self.hashes.last()?;
        Some(Seen(self.hashes.len() as u64 - 1, *hash))
    }

    /// Its author saw a line of this board; the author of the first line saw none.
    pub(crate) fn check_seen(&self, statement: &Statement) -> Result<(), Fault> {
        match statement.seen {
            None if self.hashes.is_empty() => Ok(()),
            None => Err(Fault::Seen { n: 0 }),
            Some(Seen(n, hash)) => {
                let own = usize::try_from(n).ok().and_then(|n| self.hashes.get(n));
                if own == Some(&hash) { Ok(()) } else { Err(Fault::Seen { n }) }
            }
        }
    }

    /// It stands where its kind may.
    pub(crate) fn check_order(&self, statement: &Statement) -> Result<(), Fault> {
        let rule = statement.kind.rule();
        let first = self.hashes.is_empty();
        if first != (statement.kind == Kind::Election) {
            return Err(if first { Fault::Early(Kind::Election) } else { Fault::Twice });
        }
        if let Some(&missing) = rule.after.iter().find(|kind| !self.kinds.contains(kind)) {
            return Err(Fault::Early(missing));
        }
        match rule.before {
            Some(before) if self.kinds.contains(&before) => Err(Fault::Late(before)),
            _ => Ok(()),
        }
    }

    /// Its author did not say it before.
    pub(crate) fn check_once(&self, statement: &Statement) -> Result<(), Fault> {
        let key = (statement.kind, statement.by.clone());
        if self.said.contains(&key) { Err(Fault::Twice) } else { Ok(()) }
    }

    /// It has the body that its kind has, and no other line's.
    pub(crate) fn check_content(&self, statement: &Statement) -> Result<(), Fault> {
        match (statement.kind.rule().content, statement.body) {
            (Content::Nothing, None) => Ok(()),
            (Content::Nothing, Some(_)) => Err(Fault::Body(false)),
            (_, None) => Err(Fault::Body(true)),
            (Content::Own, Some(body)) => match self.own.get(&body.hash) {
                Some(&n) => Err(Fault::Copy { n }),
                None => Ok(()),
            },
            (Content::Of(kind), body) if self.bodies.get(&kind) == body.as_ref() => Ok(()),
            (Content::Of(kind), _) => Err(Fault::OtherBody(kind)),
        }
    }

    /// Takes note of a line.
    pub(crate) fn record(&mut self, line: &Line) {
        let statement = line.statement();
        let n = self.hashes.len() as u64;
        self.hashes.push(line.hash());
        self.kinds.insert(statement.kind);
        self.said.insert((statement.kind, statement.by.clone()));
        if let Some(body) = statement.body {
            self.bodies.entry(statement.kind).or_insert(body);
            if statement.kind.rule().content == Content::Own {
                self.own.entry(body.hash).or_insert(n);
            }
        }
    }
}
