//! The keys of an election file that choose engine and mechanism.

use shield::parameters::Noise;
use shield::shared_noise::NoiseFamily;
use shield::shared_noise::SharedNoise;

use super::reader::Reader;
use crate::engine::{Choice, EngineName, Mechanism, MechanismName, ReleaseMode, Upload};

/// What a file says about engine and mechanism; `None` where it says nothing.
pub(super) struct EngineKeys {
    engine: Option<EngineName>,
    mechanism: Option<MechanismName>,
    noise: Option<Noise>,
    noise_law: Option<NoiseFamily>,
    dropouts: Option<u32>,
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
            }
            MechanismName::NoisyArgmax => {
                let reason = format!("the mechanism `{mechanism}` has no rounds");
                reader.refuse_keys(&["polynomial", "offset", "sampling"], &reason);
                if self.noise.is_none() && reader.is_fine() {
                    reader.mistake_at("mechanism", format!("`{mechanism}` needs `noise = 40.0`"));
                }
            }
        }
        let mechanism = match mechanism {
            MechanismName::Shield => Mechanism::Shield,
            MechanismName::NoisyArgmax => {
                let law = self.noise_law.unwrap_or(engine.default_noise_law());
                let dropouts = self.dropouts.unwrap_or(0);
                let noise = SharedNoise::of(law, self.noise?, teachers, dropouts);
                let noise = noise.map_err(|error| reader.mistake_at("noise", error.to_string()));
                Mechanism::NoisyArgmax(noise.ok()?)
            }
        };
        if let Mechanism::NoisyArgmax(noise) = mechanism
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
}
