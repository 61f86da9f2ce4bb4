//! The table of routes: the router and the API's description are both made from it.

use std::sync::Arc;

use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use serde_json::Value;
use shield_privacy::explore;
use shield_protocol::audit_log::LogLine;
use shield_protocol::job::audit::{Answer, Question};
use shield_protocol::messages::{AuditStatus, NewElection, NewToken, Status};
use shield_protocol::rehearsal::Rehearsed;

use crate::account::Account;
use crate::description::Content::Nothing;
use crate::description::{
    ANY_JSON, ANY_TOKEN, ANYBODY, BYTES, Content, HTML, Operation, TEXT, form, json, list, table,
    told,
};
use crate::service::{Incident, Service};
use crate::store::Turn;
use crate::{
    about, accounts, audits, description, elections, evidence, health, objects, page, rehearsals,
    tokens, upkeep, upload,
};

/// A method, as the description and the router call it.
type Method = (&'static str, MethodFilter);
const GET: Method = ("get", MethodFilter::GET);
const POST: Method = ("post", MethodFilter::POST);
const PUT: Method = ("put", MethodFilter::PUT);
const DELETE: Method = ("delete", MethodFilter::DELETE);

const SIGNED_IN: &[&str] = &["operator (signed in)"];
const OPERATOR: &[&str] = &["operator"];
const STUDENT: &[&str] = &["student"];
const EITHER: &[&str] = &["operator", "student"];
const PARTIES: &[&str] = &["operator", "student", "teacher"];

/// Routes, and what is said of them.
pub(crate) struct Routes {
    pub(crate) router: Router<Arc<Service>>,
    pub(crate) operations: Vec<Operation>,
    /// Whether they answer without a token.
    is_open: bool,
    tag: &'static str,
}

impl Routes {
    fn new(is_open: bool) -> Self {
        Self { router: Router::new(), operations: Vec::new(), is_open, tag: "" }
    }

    /// The subject of the routes that follow.
    fn about(self, tag: &'static str) -> Self {
        Self { tag, ..self }
    }

    fn on<H: Handler<T, Arc<Service>>, T: 'static>(
        mut self,
        (method, filter): Method,
        path: &'static str,
        handler: H,
        mut told: Operation,
    ) -> Self {
        (told.method, told.path) = (method, path);
        (told.is_open, told.tag) = (self.is_open, self.tag);
        self.operations.push(told);
        Self { router: self.router.route(path, on(filter, handler)), ..self }
    }
}

/// The API's description as an OpenAPI document, for programs and the people who write them.
pub fn openapi() -> Value {
    description::document(open().operations.into_iter().chain(guarded().operations))
}

async fn describe() -> Json<Value> {
    Json(openapi())
}

/// What answers without a bearer token: health, and the page's way to ask for one.
pub(crate) fn open() -> Routes {
    let ready = "Database, disk and lock, as of two seconds ago at most: answered at once, \
        whatever is down.";
    Routes::new(true)
        .about("running")
        .on(GET, "/healthz", health::ready, {
            told("health", ANYBODY, "The same as `/readyz`")
                .gives(200, "It is.", TEXT)
                .refuses(&[503])
        })
        .on(GET, "/livez", health::live, {
            told("live", ANYBODY, "Whether the process answers")
                .more("Says nothing of the database: for whoever restarts what hangs.")
                .gives(200, "It is.", TEXT)
        })
        .on(GET, "/readyz", health::ready, {
            told("ready", ANYBODY, "Whether the server can do its work")
                .more(ready)
                .gives(200, "It is.", TEXT)
                .refuses(&[503])
        })
        .about("page")
        .on(GET, "/", page::show, {
            told("page", SIGNED_IN, "The page for the people who run the server")
                .more(
                    "Elections, privacy ledger and recent errors as HTML. Signed in by a cookie, \
                     not by a bearer token; without it a form, and nothing else.",
                )
                .with(&["fragment"])
                .gives(200, "The page.", HTML)
                .gives(401, "The form to sign in.", HTML)
        })
        .on(POST, "/session", page::sign_in, {
            told("signIn", OPERATOR, "Sign in at the page")
                .more(
                    "Only from the page itself: the header `Origin` must name this server. A wrong \
                     token is refused after half a second. The session is a cookie (HttpOnly, \
                     SameSite=Strict, Secure over TLS). It ends after 12 hours without use, and \
                     when the server restarts.",
                )
                .takes(form::<page::SignIn>())
                .gives(303, "Signed in; go to `/`.", Nothing)
                .gives(401, "Not the operator's token: the form again.", HTML)
                .gives(429, "Too many wrong tokens wait for their refusal: the form again.", HTML)
                .refuses(&[403])
        })
        .on(POST, "/session/end", page::sign_out, {
            told("signOut", SIGNED_IN, "Sign out")
                .more("Only from the page itself, as for signing in.")
                .gives(303, "Signed out; go to `/`.", Nothing)
                .refuses(&[403])
        })
}

/// What answers only callers with a valid token.
pub(crate) fn guarded() -> Routes {
    let routes = Routes::new(false);
    files(trust(elections(tokens(running(routes)))))
}

fn running(routes: Routes) -> Routes {
    routes
        .about("running")
        .on(GET, "/metrics", about::metrics_text, {
            told("metrics", &["operator", "monitor"], "Figures for Prometheus").gives(
                200,
                "OpenMetrics text.",
                Content::Any("application/openmetrics-text"),
            )
        })
        .on(GET, "/v1/openapi.json", describe, {
            told("openapi", ANY_TOKEN, "This document").gives(200, "OpenAPI 3.1.", ANY_JSON)
        })
        .on(GET, "/v1/whoami", about::whoami, {
            told("whoami", ANY_TOKEN, "Whose token this is, the server's version and its clock")
                .gives(200, "The caller and the server.", json::<about::WhoAmI>())
        })
        .on(GET, "/v1/ledger", accounts::ledger, {
            told("ledger", OPERATOR, "What each group of teachers has spent, and its budget")
                .more(
                    "Every figure is data-independent: a bound for all votes there could be, so it \
                     may be published.",
                )
                .gives(200, "One account a group.", list::<Account>())
        })
        .on(GET, "/v1/ledger/export", upkeep::ledger, {
            told("exportLedger", OPERATOR, "Every line of the ledger")
                .more("For spreadsheets (CSV) and programs (JSON).")
                .with(&["format", "after"])
                .gives(200, "The lines.", table::<upkeep::LedgerLine>())
        })
        .on(GET, "/v1/audit-log", upkeep::log, {
            told("auditLog", OPERATOR, "Who did what, when and from where")
                .more(
                    "At most 10,000 lines after a number. Lines are never changed: `chain` shows \
                     if one was.",
                )
                .with(&["format", "after"])
                .gives(200, "The lines.", table::<LogLine>())
        })
        .on(GET, "/v1/incidents", about::incidents, {
            told("incidents", OPERATOR, "What went wrong lately")
                .more("The latest 50 since the server was started, the newest first.")
                .gives(200, "The incidents.", list::<Incident>())
        })
        .on(POST, "/v1/price", accounts::price, {
            told("price", OPERATOR, "What an election would cost its group")
                .more("Nothing is created and nothing is set aside.")
                .takes(json::<accounts::Planned>())
                .gives(
                    200,
                    "The cost, alone and beside what the group has spent or set aside.",
                    json::<accounts::Quote>(),
                )
        })
        .on(POST, "/v1/calculator", page::calculate, {
            told("calculate", OPERATOR, "What a setting costs, and how good its labels are")
                .more(
                    "What the page's calculator asks. A question is answered in parts: `estimate` \
                     at once, `{\"other\": \"gnmax\"}` (or `lnmax`, `noisy-argmax`, \
                     `exponential`), and `proof`.",
                )
                .takes(json::<explore::Question>())
                .gives(200, "That part of the answer.", json::<explore::Answer>())
        })
        .on(POST, "/v1/groups/{group}/budget", accounts::change_budget, {
            told("changeBudget", OPERATOR, "Change what a group may spend")
                .more(
                    "What is spent stays spent. The change and its reason stay in the ledger. The \
                     order at which moments add up never changes.",
                )
                .takes(json::<accounts::NewBudget>())
                .gives(200, "The budget from now on.", json::<accounts::ChangedBudget>())
                .refuses(&[409])
        })
}

fn tokens(routes: Routes) -> Routes {
    routes
        .on(GET, "/v1/tokens", tokens::list, {
            told("tokens", OPERATOR, "All tokens, by their names")
                .more("A name tells a token apart and opens nothing.")
                .gives(200, "The tokens.", list::<tokens::Known>())
        })
        .on(POST, "/v1/tokens", tokens::add, {
            told("addToken", OPERATOR, "Another operator or monitor")
                .more(
                    "The token is made by whoever will have it, or for them; the server gets its \
                     hash.",
                )
                .takes(json::<tokens::Another>())
                .gives(201, "It works from now on.", json::<tokens::Fresh>())
                .refuses(&[409])
        })
        .on(DELETE, "/v1/tokens/{token}", tokens::revoke, {
            told("revokeToken", OPERATOR, "Take a token back")
                .more("It stops working at once. The last operator's is refused.")
                .gives(204, "Revoked.", Nothing)
                .refuses(&[409])
        })
        .on(POST, "/v1/tokens/{token}/rotate", tokens::rotate, {
            told("rotateToken", OPERATOR, "Put a new token in the place of one")
                .more("The old one stops working at once.")
                .takes(json::<tokens::Replacement>())
                .gives(200, "Replaced.", json::<tokens::Fresh>())
                .refuses(&[409])
        })
}

fn elections(routes: Routes) -> Routes {
    routes
        .about("elections")
        .on(POST, "/v1/elections", elections::create, {
            told("createElection", OPERATOR, "Create an election")
                .more(
                    "Refused if the election could exceed its group's budget, with the numbers. \
                     Creating the very same again changes nothing.",
                )
                .takes(json::<NewElection>())
                .gives(200, "It was there already, the very same.", json::<elections::Created>())
                .gives(201, "Created; its cost is set aside.", json::<elections::Created>())
                .refuses(&[409])
        })
        .on(GET, "/v1/elections", elections::list, {
            told("listElections", OPERATOR, "All elections, the newest first").gives(
                200,
                "Their state.",
                list::<Status>(),
            )
        })
        .on(GET, "/v1/elections/{election}", elections::status, {
            told("electionStatus", PARTIES, "How an election stands")
                .more(
                    "A teacher does not learn who has voted, only how many, and which of its own \
                     batches have arrived.",
                )
                .gives(200, "Its state.", json::<Status>())
        })
        .on(DELETE, "/v1/elections/{election}", elections::withdraw, {
            told("withdrawElection", OPERATOR, "Call an election off")
                .more("Only before it is closed. Its budget is free again; its name is not.")
                .gives(204, "Called off.", Nothing)
                .refuses(&[409])
        })
        .on(GET, "/v1/elections/{election}/file", elections::file, {
            told("electionFile", PARTIES, "The election file, in its canonical form")
                .gives(200, "TOML.", TEXT)
        })
        .on(POST, "/v1/elections/{election}/close", elections::close, {
            told("closeElection", EITHER, "Freeze the ballots and aggregate")
                .more(
                    "The ballots are frozen and the seed is stored before anything is computed, so \
                     that a crash, a retry or a second call gives the very same results. Refused \
                     without a quorum on every sample.",
                )
                .gives(
                    202,
                    "Closed, now or before; the aggregation runs or is done.",
                    json::<Status>(),
                )
                .refuses(&[409])
        })
        .on(POST, "/v1/elections/{election}/tokens", elections::reissue, {
            told("replaceToken", OPERATOR, "Put a new token in the place of a lost one")
                .more("The old token of that party stops working at once.")
                .takes(json::<NewToken>())
                .gives(200, "Replaced.", json::<tokens::Fresh>())
                .refuses(&[409])
        })
        .on(POST, "/v1/elections/{election}/erase", upkeep::erase, {
            told("erase", OPERATOR, "Delete the ballots of an election that is over, or everything")
                .more(
                    "`ballots`: the files of its ballots; nobody can verify its draws any more. \
                     `everything`: all its files, keys, tokens and seeds. The ledger line stays.",
                )
                .takes(json::<upkeep::Deletion>())
                .gives(200, "Deleted.", json::<upkeep::Deleted>())
                .refuses(&[409])
        })
        .on(POST, "/v1/elections/{election}/schedule", upkeep::schedule, {
            told(
                "schedule",
                OPERATOR,
                "Give an election another place among those that are aggregated",
            )
            .more(
                "Elections take turns; each gets as many batches in a round as its priority says.",
            )
            .takes(json::<Turn>())
            .gives(200, "Its place from now on.", json::<Turn>())
        })
}

/// What makes an election checkable.
fn trust(routes: Routes) -> Routes {
    routes
        .on(GET, "/v1/elections/{election}/transcript", evidence::transcript, {
            told("getTranscript", PARTIES, "What is published with the results")
                .more(
                    "The digest of every ballot that was counted, how many voted on every sample, \
                     the commitment to the server's part of the seed, and the audits. From the \
                     moment that the ballots are frozen.",
                )
                .gives(200, "A TOML document.", BYTES)
        })
        .on(POST, "/v1/elections/{election}/rehearsal", rehearsals::confirm, {
            told("confirmRehearsal", STUDENT, "Say that the keys work")
                .more(
                    "The student has computed a release of made-up ballots, which follows from \
                     the election and the keys alone, and has decrypted it. The server computes \
                     it from the keys that it has, and compares the digests. Before that, no \
                     ballot is taken.",
                )
                .takes(json::<Rehearsed>())
                .gives(200, "The keys work: the server has the same digest.", json::<Rehearsed>())
                .refuses(&[409, 422])
        })
        .on(POST, "/v1/elections/{election}/audits", audits::ask, {
            told("askAudit", STUDENT, "Ask whose ballots spoiled samples")
                .more(
                    "The server computes the check of every teacher alone on those samples. The \
                     same question again changes nothing.",
                )
                .takes(json::<Question>())
                .gives(202, "Under way, or done.", json::<AuditStatus>())
                .refuses(&[409])
        })
        .on(POST, "/v1/elections/{election}/audits/{round}/answer", audits::answer, {
            told("answerAudit", STUDENT, "Name the teachers whose ballots are not valid votes")
                .more(
                    "They are left out, and the samples are aggregated again, and paid for again. \
                     One answer for each audit.",
                )
                .takes(json::<Answer>())
                .gives(202, "Under way, or done.", json::<AuditStatus>())
                .refuses(&[409])
        })
}

fn files(routes: Routes) -> Routes {
    let upload = |told: Operation| {
        told.with(&["part"])
            .takes(BYTES)
            .gives(200, "The very same bytes were there already; nothing changed.", Nothing)
            .gives(201, "Stored; it survives a power cut from now on.", Nothing)
            .gives(202, "A part has arrived; more is to come.", Nothing)
            .refuses(&[409, 422])
    };
    routes
        .about("files")
        .on(GET, "/v1/uploads/{hash}", upload::received, {
            told("received", ANY_TOKEN, "How much of an upload in parts has arrived")
                .more("For the calling token; kept for an hour.")
                .gives(200, "How many bytes.", json::<upload::Arrived>())
                .refuses(&[422])
        })
        .on(PUT, "/v1/elections/{election}/keys/{kind}", objects::put_key, {
            upload(told("putKey", STUDENT, "Upload a key")).more(
                "With the second of the two the election opens. Bound to the election and checked.",
            )
        })
        .on(GET, "/v1/elections/{election}/keys/{kind}", objects::get_key, {
            told("getKey", PARTIES, "Fetch a key").gives(200, "The key's bytes.", BYTES)
        })
        .on(PUT, "/v1/elections/{election}/ballots/{teacher}/{batch}", objects::put_ballot, {
            upload(told("putBallot", &["teacher (its own)"], "Submit a ballot for one batch")).more(
                "Bound to the election and the student's key, and checked. The same bytes again \
                 are fine; other bytes, and another teacher's, are a conflict.",
            )
        })
        .on(GET, "/v1/elections/{election}/ballots/{teacher}/{batch}", evidence::ballot, {
            told("getBallot", OPERATOR, "Fetch a ballot, for an auditor")
                .more("The bytes that were frozen.")
                .gives(200, "The ballot's bytes.", BYTES)
        })
        .on(GET, "/v1/elections/{election}/results/{batch}", objects::get_result, {
            told("getResult", EITHER, "Fetch the result of one batch")
                .more("Encrypted for the student. 404 until the batch is aggregated.")
                .gives(200, "The release's bytes.", BYTES)
        })
        .on(GET, "/v1/elections/{election}/seed", evidence::seed, {
            told("getSeed", OPERATOR, "Open the server's part of the seed")
                .more(
                    "For an auditor, who must not see the labels: whoever knows the seed knows \
                     whom the server drew. The opening is logged.",
                )
                .gives(200, "A seed file.", BYTES)
        })
        .on(GET, "/v1/elections/{election}/audits/{round}/checks/{batch}", audits::checks, {
            told("getChecks", STUDENT, "Fetch the checks of an audit")
                .more("Encrypted for the student.")
                .gives(200, "The audit's bytes.", BYTES)
        })
        .on(GET, "/v1/elections/{election}/audits/{round}/results/{batch}", audits::results, {
            told("getResultAgain", EITHER, "Fetch what was aggregated again after an audit")
                .more("Encrypted for the student.")
                .gives(200, "The release's bytes.", BYTES)
        })
}
