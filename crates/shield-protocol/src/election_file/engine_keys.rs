//! The keys of an election file that choose engine and mechanism.

use shield::parameters::Noise;
use shield::shared_noise::NoiseFamily;
use shield::shared_noise::SharedNoise;

use super::reader::Reader;
use crate::engine::{
    Choice, Counts, EngineName, Mechanism, MechanismName, NoisyArgmax, Protects, ReleaseMode,
    Upload,
};

/// What a file says about engine and mechanism; `None` where it says nothing.
pub(super) struct EngineKeys {
    engine: Option<EngineName>,
    mechanism: Option<MechanismName>,
    noise: Option<Noise>,
    noise_law: Option<NoiseFamily>,
    dropouts: Option<u32>,
    voters_per_teacher: Option<u64>,
    protects: Option<Protects>,
    release: Option<ReleaseMode>,
    upload: Option<Upload>,
}

impl EngineKeys {
    /// Takes the keys out of a file.
    pub(super) fn read(reader: &mut Reader) -> Self {
        Self {
            engine: reader.optional("engine", Reader::text::<EngineName>),
            mechanism: reader.optional("mechanism", Reader::text::<MechanismName>),
            noise: reader.optional("noise", |reader, key| reader.number(key, Noise::new)),
            noise_law: reader.optional("noise_law", Reader::text::<NoiseFamily>),
            dropouts: reader.optional("dropouts", |reader, key| {
                reader.whole(key, |count| Ok(u32::try_from(count).unwrap_or(u32::MAX)))
            }),
            voters_per_teacher: reader
                .optional("voters_per_teacher", |reader, key| reader.whole(key, Ok)),
            protects: reader.optional("protects", Reader::text::<Protects>),
            release: reader.optional("release", Reader::text::<ReleaseMode>),
            upload: reader.optional("upload", Reader::text::<Upload>),
        }
    }

    /// The engine and mechanism for that many teachers, of whom the quorum must vote.
    pub(super) fn choice(&self, reader: &mut Reader, teachers: u32, quorum: u32) -> Option<Choice> {
        let engine = self.engine.unwrap_or_default();
        let mechanism = self.mechanism.unwrap_or_default();
        if engine != EngineName::Bfv || mechanism != MechanismName::Shield {
            let (engine, shield) = (EngineName::Bfv, MechanismName::Shield);
            let reason = format!("only `{shield}` on the engine `{engine}` has release modes");
            reader.refuse_keys(&["release"], &reason);
        }
        if engine != EngineName::TfheLeveled {
            let reason = format!("only the engine `{}` has a choice", EngineName::TfheLeveled);
            reader.refuse_keys(&["upload"], &reason);
        }
        match mechanism {
            MechanismName::Shield => {
                let reason = format!("the mechanism `{mechanism}` has no noise");
                reader.refuse_keys(&["noise", "noise_law", "dropouts"], &reason);
                let (argmax, engine) = (MechanismName::NoisyArgmax, EngineName::Bfv);
                let reason =
                    format!("only the mechanism `{argmax}` on the engine `{engine}` takes counts");
                reader.refuse_keys(&["voters_per_teacher", "protects"], &reason);
            }
            MechanismName::NoisyArgmax => {
                let reason = format!("the mechanism `{mechanism}` has no rounds");
                reader.refuse_keys(&["polynomial", "offset", "sampling"], &reason);
                if self.noise.is_none() && reader.is_fine() {
                    reader.mistake_at("mechanism", format!("`{mechanism}` needs `noise = 40.0`"));
                }
            }
        }
        if mechanism == MechanismName::NoisyArgmax && engine == EngineName::TfheBootstrapped {
            let reason = format!("only the engine `{}` takes counts", EngineName::Bfv);
            reader.refuse_keys(&["voters_per_teacher", "protects"], &reason);
        } else if self.voters_per_teacher.is_none() && mechanism == MechanismName::NoisyArgmax {
            let reason = "without `voters_per_teacher` a teacher has one vote per sample";
            reader.refuse_keys(&["protects"], reason);
        }
        let mechanism = match mechanism {
            MechanismName::Shield => Mechanism::Shield,
            MechanismName::NoisyArgmax => {
                let law = self.noise_law.unwrap_or(engine.default_noise_law());
                let dropouts = self.dropouts.unwrap_or(0);
                let noise = SharedNoise::of(law, self.noise?, teachers, dropouts);
                let noise = noise.map_err(|error| reader.mistake_at("noise", error.to_string()));
                let counts = self.counts(reader, law)?;
                Mechanism::NoisyArgmax(NoisyArgmax { noise: noise.ok()?, counts })
            }
        };
        if let Mechanism::NoisyArgmax(NoisyArgmax { noise, .. }) = mechanism
            && quorum < noise.shares()
        {
            let (teachers, dropouts, shares) = (noise.teachers(), noise.dropouts(), noise.shares());
            let problem = format!(
                "the quorum is {quorum}, and {teachers} teachers of whom {dropouts} may be missing \
                 share the noise: it must be at least {shares}"
            );
            reader.mistake_at("quorum", problem);
        }
        let (release, upload) = (self.release.unwrap_or_default(), self.upload.unwrap_or_default());
        let choice = Choice::new(engine, mechanism, release, upload);
        choice.map_err(|error| reader.mistake_at("engine", error.to_string())).ok()
    }

    /// Whether ballots hold counts; the outer `None` if the file asks for what is not possible.
    #[expect(clippy::option_option, reason = "refused, votes, or counts")]
    fn counts(&self, reader: &mut Reader, law: NoiseFamily) -> Option<Option<Counts>> {
        let Some(voters) = self.voters_per_teacher else { return Some(None) };
        let counts = Counts::new(voters, self.protects.unwrap_or_default(), law);
        let mut refuse = |error: &dyn std::error::Error| {
            reader.mistake_at("voters_per_teacher", error.to_string());
        };
        Some(Some(counts.map_err(|error| refuse(&error)).ok()?))
    }
}
