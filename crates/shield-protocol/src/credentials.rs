//! Bearer tokens: who may do what. The server keeps only their hashes.

use std::fmt;
use std::str::FromStr;

use rand::{CryptoRng, RngCore};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::hex::{hex, unhex};
use crate::name::Name;

/// What the bearer of a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs the server: creates, watches and closes elections. Never sees a label.
    Operator,
    /// Reads `/metrics`, nothing else.
    Monitor,
    /// Holds the secret key of one election: uploads keys, closes it, fetches its results.
    Student {
        /// The election.
        election: Name,
    },
    /// May submit one ballot to one election.
    Teacher {
        /// The election.
        election: Name,
        /// The teacher's number in the election file.
        teacher: u32,
    },
}

impl Role {
    /// The role's name, as in invitations and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Monitor => "monitor",
            Self::Student { .. } => "student",
            Self::Teacher { .. } => "teacher",
        }
    }

    /// The election it is bound to; operators and monitors are bound to none.
    pub fn election(&self) -> Option<&Name> {
        match self {
            Self::Operator | Self::Monitor => None,
            Self::Student { election } | Self::Teacher { election, .. } => Some(election),
        }
    }
}

/// 32 random bytes that open a role. Written as `shield_` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Token(String);

const PREFIX: &str = "shield_";

/// Text that is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this is not a token; a token is `shield_` and 64 hexadecimal digits")]
pub struct TokenError;

impl Token {
    /// A fresh token.
    pub fn random<R: RngCore + CryptoRng>(rng: &mut R) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        let token = Self(format!("{PREFIX}{}", hex(&bytes)));
        bytes.zeroize();
        token
    }

    /// The token as it is sent. Never log it.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// What the server keeps. A token has 256 random bits, so a plain hash cannot be searched.
    pub fn hash(&self) -> TokenHash {
        TokenHash(hex(&blake3::derive_key("shield 2026 token v1", self.0.as_bytes())))
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let digits = text.strip_prefix(PREFIX).ok_or(TokenError)?;
        let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() == 64 && digits.bytes().all(lower_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TokenError)
        }
    }
}

/// The hash of a token: tells tokens apart, opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
#[serde(try_from = "String", into = "String")]
pub struct TokenHash(String);

impl TokenHash {
    /// 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TokenHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match unhex::<32>(&text) {
            Some(bytes) => Ok(Self(hex(&bytes))),
            None => Err("a token's hash is 64 hexadecimal digits"),
        }
    }
}

impl From<TokenHash> for String {
    fn from(hash: TokenHash) -> Self {
        hash.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn tokens_round_trip_and_hide() {
        let token = Token::random(&mut StdRng::seed_from_u64(1));
        assert_eq!(token.secret().parse::<Token>().unwrap(), token);
        assert_eq!(format!("{token:?}"), "Token(secret)");
        assert!(!token.hash().as_str().contains(&token.secret()[PREFIX.len()..]));
        for bad in ["", "shield_", &token.secret()[1..], &format!("{}0", token.secret())] {
            assert!(bad.parse::<Token>().is_err());
        }
    }
}
