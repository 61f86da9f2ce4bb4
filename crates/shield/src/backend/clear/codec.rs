//! Payloads of the engines that encrypt nothing.
//!
//! | kind | payload |
//! |---|---|
//! | keys | the 32 bytes that all three are |
//! | ballot | a class per sample in 2 bytes, all ones for an abstention; of the noisy argmax a number of 8 bytes per sample and class |
//! | release | a class per sample in 2 bytes, all ones for no label |

use super::key::{ClearKey, ClearRelease, KEY_NAME};
use super::noisy_argmax::{ClearNoisyArgmax, NoisyBallot};
use super::{ClearBackend, ClearBallot};
use crate::backend::{Backend, Payloads, Presence};
use crate::framing::{KeyId, Kind, MadeFor, Reader};
use crate::parameters::{Class, Classes};

/// Bytes of a key.
const KEY: usize = 32;
/// Bytes of a class, or of none.
const CLASS: usize = 2;
/// Bytes of a noisy number.
const NUMBER: usize = 8;
/// No class. Classes are at most `Classes::MAX`, far below.
const NONE: u16 = u16::MAX;

fn write_classes(out: &mut Vec<u8>, classes: &[Option<Class>]) {
    out.extend(classes.iter().flat_map(|class| class.map_or(NONE, |class| class.0).to_le_bytes()));
}

fn read_classes(
    payload: &mut Reader,
    classes: Classes,
    count: usize,
) -> Option<Vec<Option<Class>>> {
    let class = |_| match u16::from_le_bytes(payload.array()?) {
        NONE => Some(None),
        id => classes.contains(Class(id)).then_some(Some(Class(id))),
    };
    (0..count).map(class).collect()
}

/// What the two engines write and read the same way.
macro_rules! keys_and_release {
    () => {
        const KEY_NAME: &'static str = KEY_NAME;

        fn binding(&self) -> &[u8; 32] {
            &self.binding
        }

        fn secret_key_id(&self, key: &ClearKey) -> KeyId {
            key.id()
        }

        fn public_key_id(&self, key: &ClearKey) -> KeyId {
            key.id()
        }

        fn evaluation_key_id(&self, key: &ClearKey) -> KeyId {
            key.id()
        }

        fn release_made_for(&self, release: &ClearRelease) -> MadeFor {
            release.made_for
        }

        fn write_secret_key(&self, out: &mut Vec<u8>, key: &ClearKey) {
            out.extend(key.0);
        }

        fn write_public_key(&self, out: &mut Vec<u8>, key: &ClearKey) {
            out.extend(key.0);
        }

        fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &ClearKey) {
            out.extend(key.0);
        }

        fn write_release(&self, out: &mut Vec<u8>, release: &ClearRelease) {
            write_classes(out, &release.labels);
        }

        fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<ClearKey> {
            Some(ClearKey(payload.array()?)).filter(|key| key.id() == id)
        }

        fn read_public_key(&self, payload: &mut Reader, _: KeyId) -> Option<ClearKey> {
            Some(ClearKey(payload.array()?))
        }

        fn read_evaluation_key(&self, payload: &mut Reader, _: KeyId) -> Option<ClearKey> {
            Some(ClearKey(payload.array()?))
        }

        fn read_release(&self, payload: &mut Reader, made_for: MadeFor) -> Option<ClearRelease> {
            let samples = self.batch(made_for.batch).len();
            let labels = read_classes(payload, self.election().classes(), samples)?;
            Some(ClearRelease { labels, made_for })
        }
    };
}

impl Payloads for ClearBackend {
    keys_and_release!();

    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        match kind {
            Kind::SecretKey | Kind::PublicKey | Kind::EvaluationKey => KEY,
            Kind::Ballot | Kind::Release => CLASS * samples,
            Kind::Audit | Kind::Verdict => 0,
        }
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &ClearBallot) {
        write_classes(out, &ballot.votes);
    }

    fn read_votes(
        &self,
        payload: &mut Reader,
        presence: Presence,
        made_for: MadeFor,
    ) -> Option<ClearBallot> {
        let votes = read_classes(payload, self.election().classes(), presence.len())?;
        let voted = Presence::new(votes.iter().map(Option::is_some));
        (voted == presence).then_some(ClearBallot { votes, presence, made_for })
    }
}

impl Payloads for ClearNoisyArgmax {
    keys_and_release!();

    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        match kind {
            Kind::SecretKey | Kind::PublicKey | Kind::EvaluationKey => KEY,
            Kind::Ballot => NUMBER * samples * self.election().classes().count(),
            Kind::Release => CLASS * samples,
            Kind::Audit | Kind::Verdict => 0,
        }
    }

    fn accepts(&self, presence: &Presence) -> bool {
        presence.is_complete()
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &NoisyBallot) {
        out.extend(ballot.numbers.iter().flat_map(|number| number.to_le_bytes()));
    }

    fn read_votes(
        &self,
        payload: &mut Reader,
        presence: Presence,
        made_for: MadeFor,
    ) -> Option<NoisyBallot> {
        let count = presence.len() * self.election().classes().count();
        let number = |_| Some(i64::from_le_bytes(payload.array()?));
        let numbers = (0..count).map(number).collect::<Option<_>>()?;
        Some(NoisyBallot { numbers, presence, made_for })
    }
}
