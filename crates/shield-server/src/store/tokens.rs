//! Tokens: who may do what, one by one.

use jiff::Timestamp;
use shield_protocol::Name;
use shield_protocol::credentials::{Role, TokenHash};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::{Store, StoreError, Stored, moment, now, small, touch};

/// How many digits of a token's hash are its public name.
const NAME: usize = 12;

/// A token as people see it: its name tells it apart and opens nothing.
#[derive(Clone, Debug)]
pub struct StoredToken {
    /// Its name: the first digits of its hash.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// When it was made.
    pub created: Timestamp,
    /// What whoever made it wrote down.
    pub note: Option<String>,
}

/// The public name of a token.
pub fn token_name(token: &TokenHash) -> &str {
    &token.as_str()[..NAME]
}

impl Store {
    /// Makes a token work.
    pub async fn add_token(&self, token: &TokenHash, role: &Role) -> Result<(), StoreError> {
        let mut connection = self.pool.acquire().await?;
        insert_token(&mut connection, token, role).await.map(drop)
    }

    /// Puts a token in the place of every other that has the same role in an election: those stop
    /// working at once.
    pub async fn replace_token(&self, token: &TokenHash, role: &Role) -> Result<(), StoreError> {
        let Some(election) = role.election() else { return Err(StoreError::NoElection) };
        let mut transaction = self.pool.begin().await?;
        touch(&mut transaction, election).await?;
        let old = match role {
            Role::Teacher { teacher, .. } => {
                sqlx::query("DELETE FROM tokens WHERE role = $1 AND election = $2 AND teacher = $3")
                    .bind(role.name())
                    .bind(election.as_str())
                    .bind(i64::from(*teacher))
            }
            _ => sqlx::query("DELETE FROM tokens WHERE role = $1 AND election = $2")
                .bind(role.name())
                .bind(election.as_str()),
        };
        old.execute(&mut *transaction).await?;
        if insert_token(&mut transaction, token, role).await? == Stored::Again {
            return Err(StoreError::Conflict { what: "this token" });
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Whose token it is.
    pub async fn role(&self, token: &TokenHash) -> Result<Option<Role>, StoreError> {
        role_of(&mut *self.pool.acquire().await?, token).await
    }

    /// Whether any token has a role that belongs to no election.
    pub async fn has_role(&self, role: &Role) -> Result<bool, StoreError> {
        let bearers: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM tokens WHERE role = $1 AND election IS NULL")
                .bind(role.name())
                .fetch_one(&self.pool)
                .await?;
        Ok(bearers > 0)
    }

    /// As many tokens as are wanted, those of the server's own people first.
    pub async fn tokens(&self, most: u32) -> Result<Vec<StoredToken>, StoreError> {
        let rows = sqlx::query(
            "SELECT hash, role, election, teacher, created, note FROM tokens ORDER BY role, \
             election, teacher, hash LIMIT $1",
        )
        .bind(i64::from(most))
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                let hash: String = row.try_get("hash")?;
                Ok(StoredToken {
                    name: hash.get(..NAME).unwrap_or(&hash).to_owned(),
                    role: role_in(row)?,
                    created: moment(row.try_get("created")?)?,
                    note: row.try_get("note")?,
                })
            })
            .collect()
    }

    /// Makes a token work, with a note; it must be a new one.
    pub async fn add_new_token(
        &self,
        token: &TokenHash,
        role: &Role,
        note: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        if insert_token(&mut transaction, token, role).await? == Stored::Again {
            return Err(StoreError::Conflict { what: "this token" });
        }
        sqlx::query("UPDATE tokens SET note = $1 WHERE hash = $2")
            .bind(note)
            .bind(token.as_str())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Takes a token back: it stops working at once. Never the last operator's.
    pub async fn revoke_token(&self, name: &str) -> Result<Role, StoreError> {
        let mut transaction = self.pool.begin().await?;
        super::schema::lock(&mut transaction).await?;
        let (hash, role) = named(&mut transaction, name).await?;
        if role == Role::Operator {
            let operators: i64 =
                sqlx::query_scalar("SELECT COUNT(*) FROM tokens WHERE role = 'operator'")
                    .fetch_one(&mut *transaction)
                    .await?;
            if operators <= 1 {
                return Err(StoreError::LastOperator);
            }
        }
        sqlx::query("DELETE FROM tokens WHERE hash = $1")
            .bind(hash.as_str())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(role)
    }

    /// Puts a new token in the place of an old one, which stops working at once.
    pub async fn rotate_token(&self, name: &str, new: &TokenHash) -> Result<Role, StoreError> {
        let mut transaction = self.pool.begin().await?;
        super::schema::lock(&mut transaction).await?;
        let (hash, role) = named(&mut transaction, name).await?;
        if insert_token(&mut transaction, new, &role).await? == Stored::Again {
            return Err(StoreError::Conflict { what: "this token" });
        }
        sqlx::query("DELETE FROM tokens WHERE hash = $1")
            .bind(hash.as_str())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(role)
    }
}

/// The one token of a name.
async fn named(
    connection: &mut AnyConnection,
    name: &str,
) -> Result<(TokenHash, Role), StoreError> {
    if name.len() < NAME || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(StoreError::NoToken);
    }
    let hashes: Vec<String> = sqlx::query_scalar("SELECT hash FROM tokens WHERE hash LIKE $1")
        .bind(format!("{name}%"))
        .fetch_all(&mut *connection)
        .await?;
    let [hash] = hashes.as_slice() else { return Err(StoreError::NoToken) };
    let hash = TokenHash::try_from(hash.clone()).map_err(|_| StoreError::Damaged("token"))?;
    let role = role_of(connection, &hash).await?.ok_or(StoreError::NoToken)?;
    Ok((hash, role))
}

pub(super) async fn role_of(
    connection: &mut AnyConnection,
    token: &TokenHash,
) -> Result<Option<Role>, StoreError> {
    let row = sqlx::query("SELECT role, election, teacher FROM tokens WHERE hash = $1")
        .bind(token.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(role_in).transpose()
}

/// The role that a token's row says.
fn role_in(row: &AnyRow) -> Result<Role, StoreError> {
    let election = || -> Result<Name, StoreError> {
        let name: Option<String> = row.try_get("election")?;
        name.and_then(|name| name.parse().ok()).ok_or(StoreError::Damaged("token"))
    };
    match row.try_get::<String, _>("role")?.as_str() {
        "operator" => Ok(Role::Operator),
        "monitor" => Ok(Role::Monitor),
        "student" => Ok(Role::Student { election: election()? }),
        "teacher" => {
            let teacher = small(row.try_get::<Option<i64>, _>("teacher")?.unwrap_or(-1))?;
            Ok(Role::Teacher { election: election()?, teacher })
        }
        _ => Err(StoreError::Damaged("token")),
    }
}

pub(super) async fn insert_token(
    connection: &mut AnyConnection,
    token: &TokenHash,
    role: &Role,
) -> Result<Stored, StoreError> {
    let teacher = match role {
        Role::Teacher { teacher, .. } => Some(i64::from(*teacher)),
        _ => None,
    };
    let inserted = sqlx::query(
        "INSERT INTO tokens (hash, role, election, teacher, created) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT DO NOTHING",
    )
    .bind(token.as_str())
    .bind(role.name())
    .bind(role.election().map(Name::as_str))
    .bind(teacher)
    .bind(now())
    .execute(connection)
    .await?;
    Ok(if inserted.rows_affected() == 1 { Stored::New } else { Stored::Again })
}
