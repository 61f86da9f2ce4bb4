//! The keys of an election file that say who signs: public lines of all parties, or of none.

use shield_board::{Digest, Parties, Party, PublicLine, Role};

use super::reader::{Entry, Reader};

/// Who signs in a signed election, and how many auditors must agree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signers {
    pub(super) parties: Parties,
    pub(super) audits: u32,
}

impl Signers {
    /// Takes the keys out of a file. `None` of an unsigned election, and of mistakes.
    pub(super) fn read(reader: &mut Reader, teachers: &[Entry]) -> Option<Self> {
        let operator = reader.optional("operator", Reader::text::<PublicLine>);
        let student = reader.optional("student", Reader::text::<PublicLine>);
        let auditors = reader.optional("auditors", Reader::parties).unwrap_or_default();
        let audits = reader.optional("audits", |reader, key| {
            reader.whole(key, |count| Ok(u32::try_from(count).unwrap_or(u32::MAX)))
        });
        let given = ["operator", "student", "auditors", "audits"];
        let any_given = given.iter().any(|key| reader.was_taken(key));
        if !any_given && teachers.iter().all(|teacher| teacher.keys.is_none()) {
            return None;
        }
        for (key, missing) in [("operator", operator.is_none()), ("student", student.is_none())] {
            if missing && !reader.was_taken(key) {
                reader.mistake_at(
                    "teachers",
                    format!(
                        "a signed election needs `{key} = \"name shield1...\"`, its public line"
                    ),
                );
            }
        }
        let mut parties = Vec::new();
        for (key, role, entries) in [
            ("auditors", Role::Auditor, auditors.as_slice()),
            ("teachers", Role::Teacher, teachers),
        ] {
            for Entry { name, keys } in entries {
                match keys {
                    Some(keys) => {
                        let line = PublicLine { name: name.clone(), keys: *keys };
                        parties.push(Party::new(role, line));
                    }
                    None => reader.mistake_at(
                        key,
                        format!(
                            "`{name}` has no public keys: write the public line that `shield \
                             identity new` gave `{name}`, or give nobody's"
                        ),
                    ),
                }
            }
        }
        let most = u32::try_from(auditors.len()).unwrap_or(u32::MAX);
        let audits = audits.unwrap_or(most);
        if audits > most {
            let problem = format!("`audits` is {audits}, and there are {most} auditors");
            reader.mistake_at("audits", problem);
        }
        parties.push(Party::new(Role::Operator, operator?));
        parties.push(Party::new(Role::Student, student?));
        // The digest follows from all of the file: it is known later.
        let parties = Parties::new(Digest([0; 32]), parties);
        let parties = parties.map_err(|error| reader.mistake_at("teachers", error.to_string()));
        Some(Self { parties: parties.ok()?, audits })
    }
}
