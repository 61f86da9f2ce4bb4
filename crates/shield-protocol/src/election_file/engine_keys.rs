//! The keys of an election file that choose engine and mechanism.

use shield_core::parameters::Noise;
use shield_core::shared_noise::NoiseFamily;
use shield_core::shared_noise::SharedNoise;

use super::reader::Reader;
use crate::engine::{Counts, EngineName, EngineSpec, MechanismName, NoisyArgmax, Protects};

/// What a file says about engine and mechanism; `None` where it says nothing.
pub(super) struct EngineKeys {
    engine: Option<EngineName>,
    mechanism: Option<MechanismName>,
    proofs: Option<bool>,
    noise: Option<Noise>,
    noise_law: Option<NoiseFamily>,
    dropouts: Option<u32>,
    threshold: Option<u32>,
    voters_per_teacher: Option<u64>,
    protects: Option<Protects>,
}

impl EngineKeys {
    /// Takes the keys out of a file.
    pub(super) fn read(reader: &mut Reader) -> Self {
        Self {
            engine: reader.optional("engine", Reader::text::<EngineName>),
            mechanism: reader.optional("mechanism", Reader::text::<MechanismName>),
            proofs: reader.optional("proofs", Reader::boolean),
            noise: reader.optional("noise", |reader, key| reader.number(key, Noise::new)),
            noise_law: reader.optional("noise_law", Reader::text::<NoiseFamily>),
            dropouts: reader.optional("dropouts", |reader, key| {
                reader.whole(key, |count| Ok(u32::try_from(count).unwrap_or(u32::MAX)))
            }),
            threshold: reader.optional("threshold", |reader, key| {
                reader.whole(key, |count| Ok(u32::try_from(count).unwrap_or(u32::MAX)))
            }),
            voters_per_teacher: reader
                .optional("voters_per_teacher", |reader, key| reader.whole(key, Ok)),
            protects: reader.optional("protects", Reader::text::<Protects>),
        }
    }

    /// The engine and mechanism for that many teachers, of whom the quorum must vote.
    pub(super) fn spec(
        &self,
        reader: &mut Reader,
        teachers: u32,
        quorum: u32,
    ) -> Option<EngineSpec> {
        let mechanism = self.mechanism.unwrap_or_default();
        let argmax = match mechanism {
            MechanismName::Shield => {
                let reason = format!("the mechanism `{mechanism}` has no noise");
                reader.refuse_keys(&["noise", "noise_law", "dropouts", "threshold"], &reason);
                let (argmax, engine) = (MechanismName::NoisyArgmax, EngineName::Bfv);
                let reason =
                    format!("only the mechanism `{argmax}` on the engine `{engine}` takes counts");
                reader.refuse_keys(&["voters_per_teacher", "protects"], &reason);
                None
            }
            MechanismName::NoisyArgmax => {
                let reason = format!("the mechanism `{mechanism}` has no rounds");
                reader.refuse_keys(&["polynomial", "offset", "sampling"], &reason);
                if self.noise.is_none() && reader.is_fine() {
                    reader.mistake_at("mechanism", format!("`{mechanism}` needs `noise = 40.0`"));
                }
                Some(self.noisy_argmax(reader, teachers, quorum)?)
            }
        };
        let spec = EngineSpec::new(self.engine.unwrap_or_default(), argmax);
        let spec = spec.map_err(|error| reader.mistake_at("engine", error.to_string())).ok()?;
        let spec = spec.with_proofs(self.proofs.unwrap_or(false));
        spec.map_err(|error| reader.mistake_at("proofs", error.to_string())).ok()
    }

    fn noisy_argmax(&self, reader: &mut Reader, teachers: u32, quorum: u32) -> Option<NoisyArgmax> {
        let law = self.noise_law.unwrap_or_default();
        let noise = SharedNoise::of(law, self.noise?, teachers, self.dropouts.unwrap_or(0));
        let noise = noise.map_err(|error| reader.mistake_at("noise", error.to_string())).ok()?;
        if quorum < noise.shares() {
            let (teachers, dropouts, shares) = (noise.teachers(), noise.dropouts(), noise.shares());
            let problem = format!(
                "the quorum is {quorum}, and {teachers} teachers of whom {dropouts} may be missing \
                 share the noise: it must be at least {shares}"
            );
            reader.mistake_at("quorum", problem);
        }
        let Some(voters) = self.voters_per_teacher else {
            let reason = "without `voters_per_teacher` a teacher has one vote per sample";
            reader.refuse_keys(&["protects"], reason);
            return Some(NoisyArgmax { noise, counts: None, threshold: self.threshold });
        };
        let counts = Counts::new(voters, self.protects.unwrap_or_default(), law);
        let counts = counts.map_err(|error| {
            reader.mistake_at("voters_per_teacher", error.to_string());
        });
        Some(NoisyArgmax { noise, counts: Some(counts.ok()?), threshold: self.threshold })
    }
}
