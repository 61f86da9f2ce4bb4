//! The mechanism that an engine computes, and the noise of an argmax.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use shield_bfv::advice::{self, Against, Planned, Wishes};
use shield_bfv::trustees::Trustees;
use shield_core::parameters::Noise;
use shield_core::shared_noise::bits::WeightedBits;
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::{Epsilon, Setting, Votes};
use shield_privacy::mechanism::ArgmaxOfShares;
use shield_privacy::{Mechanism, Usage, calibrate};
use shield_protocol::engine::{BallotKind, EngineName, EngineSpec, MechanismName, NoisyArgmax};

use super::MechanismArgs;
use crate::failure::Failure;

/// Noise in votes where none is given.
const DEFAULT_NOISE: f64 = 40.0;

/// The mechanism that an engine computes, with its parameters.
#[derive(Args, Debug)]
pub(crate) struct SpecArgs {
    /// The mechanism: shield, or noisy-argmax (SPEED's exact argmax of counts with noise in shares)
    /// [default: shield]
    #[arg(long = "mechanism", value_name = "NAME")]
    name: Option<MechanismName>,

    #[command(flatten)]
    setting: MechanismArgs,

    #[command(flatten)]
    noise: NoiseArgs,

    /// What a teacher of a noisy-argmax on bfv sends: checked (a ciphertext of megabytes per batch)
    /// or tiny (about 22 bytes per vote, hidden by its own share of the noise)
    #[arg(long, value_name = "KIND", default_value = "checked")]
    ballots: BallotKind,

    /// Ballots prove that they are well formed and that their makers know them; for votes on bfv
    #[arg(long)]
    proofs: bool,

    /// Trustees who hold the key together, with --backend bfv: how many, or how many of them open,
    /// such as 3/5 [default: the student holds it; of up to three trustees all open, of more of
    /// them more than half]
    #[arg(long, value_name = "[T/]K", value_parser = trustees)]
    trustees: Option<Trustees>,
}

/// Trustees as `3`, or `3/5` for three of five.
fn trustees(text: &str) -> Result<Trustees, String> {
    let number = |text: &str| {
        let known = text.parse::<u32>();
        known.map_err(|_| format!("`{text}` is no number of trustees; write 3, or 3/5 for 3 of 5"))
    };
    let found = match text.split_once('/') {
        None => Trustees::default_of(number(text)?),
        Some((needed, count)) => Trustees::new(number(count)?, number(needed)?),
    };
    found.map_err(|error| error.to_string())
}

impl SpecArgs {
    /// SHIELD's setting.
    pub(crate) fn setting(&self) -> Setting {
        self.setting.mechanism()
    }

    /// The mechanism on an engine, for that many teachers.
    pub(crate) fn spec(&self, engine: EngineName, teachers: usize) -> Result<EngineSpec, Failure> {
        let argmax = match self.name.unwrap_or_default() {
            MechanismName::Shield if self.noise.threshold.is_some() => {
                return Err(Failure::bad_input(
                    "--threshold is for --mechanism noisy-argmax; SHIELD is silent where its \
                     --polynomial has no term of degree 1",
                ));
            }
            MechanismName::Shield => None,
            MechanismName::NoisyArgmax => {
                let teachers = u32::try_from(teachers).map_err(Failure::bad_input)?;
                let ArgmaxOfShares { noise, threshold } =
                    self.noise.argmax(teachers, engine.noise_law())?;
                Some(NoisyArgmax { noise, counts: None, threshold })
            }
        };
        self.named(engine, argmax)
    }

    /// A mechanism on an engine, with the trustees, the proofs and the ballots that were asked for.
    pub(crate) fn named(
        &self,
        engine: EngineName,
        argmax: Option<NoisyArgmax>,
    ) -> Result<EngineSpec, Failure> {
        let spec = EngineSpec::new(engine, argmax)?.held_by(self.trustees)?;
        Ok(spec.with_proofs(self.proofs)?.with_ballots(self.ballots)?)
    }

    /// Whether the mechanism is left to choose.
    pub(crate) fn is_open(&self) -> bool {
        self.name.is_none()
    }

    /// The mechanism on an engine whose labels cost at most a budget: the named one at its best, or
    /// the better one. SHIELD's setting comes beside it, and what is said of the choice.
    pub(crate) fn spec_within(
        &self,
        engine: EngineName,
        votes: &Votes,
        (budget, usage): (Epsilon, Usage),
        wishes: Wishes,
    ) -> Result<(EngineSpec, Setting, String), Failure> {
        let argmax = self.name == Some(MechanismName::NoisyArgmax)
            || matches!(wishes.against, Against::Server);
        if self.trustees.is_some() && argmax {
            return Err(Failure::bad_input(
                "--epsilon finds the noise that a label costs, and with --trustees the noisy \
                 counts are paid for; give --noise",
            ));
        }
        if let Some(MechanismName::NoisyArgmax) = self.name.filter(|_| wishes.answered.is_none()) {
            let spec = self.noisy_within(engine, votes, budget, usage)?;
            return Ok((spec, self.setting(), String::new()));
        }
        let planned = Planned::for_votes(votes, usage, budget)?;
        let decision = match self.name {
            Some(MechanismName::Shield) => advice::decide_shield(&planned, wishes.answered),
            Some(MechanismName::NoisyArgmax) => {
                advice::decide(&planned, Wishes { against: Against::Server, ..wishes })
            }
            None if self.trustees.is_some() => advice::decide_shield(&planned, wishes.answered),
            None => advice::decide(&planned, wishes),
        };
        let decision = decision.map_err(Failure::bad_input)?;
        let said = format!("{} with {}: {}", decision.name, decision.setting, decision.why);
        match decision.mechanism {
            Mechanism::Shield(setting) => Ok((self.named(engine, None)?, setting, said)),
            Mechanism::NoisyArgmax(ArgmaxOfShares { noise, threshold }) => {
                let argmax = NoisyArgmax { noise, counts: None, threshold };
                Ok((self.named(engine, Some(argmax))?, self.setting(), said))
            }
            other => Err(Failure::failed(format!("no engine computes {}", other.name()))),
        }
    }

    /// The noisy argmax on an engine with the least noise whose labels cost at most a budget, of
    /// Skellam noise where no law is named.
    fn noisy_within(
        &self,
        engine: EngineName,
        votes: &Votes,
        budget: Epsilon,
        usage: Usage,
    ) -> Result<EngineSpec, Failure> {
        let argmax = self.spec(engine, votes.teachers())?.argmax();
        let argmax = argmax.ok_or_else(|| Failure::failed("a noisy argmax has noise"))?;
        let law = match self.noise.noise_law {
            Some(LawName::Of(law)) => law,
            _ => NoiseFamily::Skellam,
        };
        let (teachers, dropouts) = (argmax.noise.teachers(), argmax.noise.dropouts());
        let classes = votes.classes().count();
        let found = calibrate::shared_noise_within(budget, usage, law, teachers, dropouts, classes);
        let (noise, _) = found.ok_or_else(|| {
            Failure::bad_input(format!(
                "no noise makes {} labels cost at most {budget}; ask for fewer labels, or allow \
                 more",
                usage.queries
            ))
        })?;
        self.named(engine, Some(NoisyArgmax { noise, ..argmax }))
    }
}

/// What is asked of a mechanism that the program chooses.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WishArgs {
    /// Whom the epsilon must hold against, with --epsilon: readers of the labels, or the server as
    /// well
    #[arg(long, value_name = "WHOM", requires = "epsilon", default_value = "readers")]
    against: AgainstName,

    /// Label at least this share of the samples, those with the clearest votes, with --epsilon: 0
    /// to 1 [default: all]
    #[arg(long, value_name = "SHARE", requires = "epsilon")]
    pub(crate) answered: Option<f64>,
}

/// Whom an epsilon must hold against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AgainstName {
    /// Everyone who sees the labels; the server does not
    Readers,
    /// The server, too
    Server,
}

impl WishArgs {
    pub(crate) fn wishes(self) -> Result<Wishes, Failure> {
        if let Some(share) = self.answered.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(Failure::bad_input(format!(
                "--answered is {share}; it must be from 0 to 1"
            )));
        }
        let against = match self.against {
            AgainstName::Readers => Against::Readers,
            AgainstName::Server => Against::Server,
        };
        Ok(Wishes { against, answered: self.answered })
    }
}

/// A law of noise in shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LawName {
    /// One whose amount --noise says.
    Of(NoiseFamily),
    /// Weighted fair bits, whose amount --weights says.
    Bits,
}

impl FromStr for LawName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "bits" { Ok(Self::Bits) } else { text.parse().map(Self::Of) }
    }
}

/// The noise of an argmax.
#[derive(Args, Clone, Debug)]
pub(crate) struct NoiseArgs {
    /// Noise of a noisy argmax, in votes: the scale of Laplace noise, the standard deviation of
    /// Gaussian and of Skellam noise
    #[arg(long, value_name = "B", default_value_t = DEFAULT_NOISE)]
    pub(crate) noise: f64,

    /// The law of the noise in shares of a noisy-argmax: skellam or laplace [default: skellam
    /// with the engine bfv, else laplace]; for `bound` and `analyze` also bits (--weights)
    #[arg(long, value_name = "LAW")]
    noise_law: Option<LawName>,

    /// With --noise-law bits: what the fair bits in a teacher's share weigh, in votes
    #[arg(long, value_name = "W,...", value_delimiter = ',')]
    weights: Vec<u32>,

    /// How many teachers may be missing from a noisy-argmax: the others' shares of the noise make
    /// up for theirs
    #[arg(long, value_name = "D", default_value_t = 0)]
    pub(crate) dropouts: u32,

    /// Noisy votes that the winner must have for a label. For a noisy-argmax a whole number, which
    /// costs no privacy as long as it is not chosen on the votes; for confident-gnmax [default:
    /// half of the teachers]
    #[arg(long, value_name = "T")]
    pub(crate) threshold: Option<f64>,
}

impl NoiseArgs {
    /// SPEED's argmax with that noise and threshold.
    pub(crate) fn argmax(
        &self,
        teachers: u32,
        default: NoiseFamily,
    ) -> Result<ArgmaxOfShares, Failure> {
        let noise = self.shared(teachers, default)?;
        Ok(ArgmaxOfShares { noise, threshold: self.whole_threshold()? })
    }

    /// The threshold of a noisy argmax: a count, as those of its classes.
    fn whole_threshold(&self) -> Result<Option<u32>, Failure> {
        let whole = |votes: f64| {
            let known = (0.0..=f64::from(u32::MAX)).contains(&votes) && votes.fract() == 0.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number of the range"
            )]
            known.then_some(votes as u32).ok_or_else(|| {
                Failure::bad_input(format!(
                    "--threshold is {votes}; for a noisy-argmax it must be a whole number of votes"
                ))
            })
        };
        self.threshold.map(whole).transpose()
    }

    /// Noise in shares, one per teacher, of the law that was asked for, else of this one.
    fn shared(&self, teachers: u32, default: NoiseFamily) -> Result<SharedNoise, Failure> {
        let law = match (self.noise_law, self.weights.as_slice()) {
            (Some(LawName::Bits), []) | (None | Some(LawName::Of(_)), [_, ..]) => {
                return Err(Failure::bad_input(
                    "--noise-law bits and --weights, as in --weights 1,2,4, go together",
                ));
            }
            (Some(LawName::Bits), weights) => NoiseFamily::Bits(WeightedBits::new(weights)?),
            (Some(LawName::Of(law)), []) => law,
            (None, []) => default,
        };
        Ok(SharedNoise::of(law, Noise::new(self.noise)?, teachers, self.dropouts)?)
    }
}
