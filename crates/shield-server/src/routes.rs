//! The list of routes: the router is made from it, and the OpenAPI document is held against it.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, post, put};

use crate::service::Service;
use crate::{
    about, accounts, audits, elections, evidence, health, objects, page, rehearsals, tokens,
    upkeep, upload,
};

/// Routes, and what they are.
#[derive(Default)]
pub(crate) struct Routes {
    pub(crate) router: Router<Arc<Service>>,
    /// Method and path of each.
    pub(crate) list: Vec<(&'static str, &'static str)>,
}

impl Routes {
    fn add(
        mut self,
        method: &'static str,
        path: &'static str,
        route: MethodRouter<Arc<Service>>,
    ) -> Self {
        self.list.push((method, path));
        Self { router: self.router.route(path, route), list: self.list }
    }

    fn get<H: Handler<T, Arc<Service>>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add("get", path, get(handler))
    }

    fn post<H: Handler<T, Arc<Service>>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add("post", path, post(handler))
    }

    fn put<H: Handler<T, Arc<Service>>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add("put", path, put(handler))
    }

    fn delete<H: Handler<T, Arc<Service>>, T: 'static>(
        self,
        path: &'static str,
        handler: H,
    ) -> Self {
        self.add("delete", path, delete(handler))
    }
}

/// What answers without a bearer token: health, and the page's way to ask for one.
pub(crate) fn open() -> Routes {
    Routes::default()
        .get("/healthz", health::ready)
        .get("/livez", health::live)
        .get("/readyz", health::ready)
        .get("/", page::show)
        .post("/session", page::sign_in)
        .post("/session/end", page::sign_out)
}

/// What answers only callers with a valid token.
pub(crate) fn guarded() -> Routes {
    Routes::default()
        .get("/metrics", about::metrics_text)
        .get("/v1/openapi.json", about::openapi)
        .get("/v1/whoami", about::whoami)
        .get("/v1/ledger", accounts::ledger)
        .get("/v1/ledger/export", upkeep::ledger)
        .get("/v1/audit-log", upkeep::log)
        .get("/v1/tokens", tokens::list)
        .post("/v1/tokens", tokens::add)
        .delete("/v1/tokens/{token}", tokens::revoke)
        .post("/v1/tokens/{token}/rotate", tokens::rotate)
        .get("/v1/uploads/{hash}", upload::received)
        .get("/v1/incidents", about::incidents)
        .post("/v1/price", accounts::price)
        .post("/v1/calculator", page::calculate)
        .post("/v1/elections", elections::create)
        .get("/v1/elections", elections::list)
        .get("/v1/elections/{election}", elections::status)
        .delete("/v1/elections/{election}", elections::withdraw)
        .get("/v1/elections/{election}/file", elections::file)
        .post("/v1/elections/{election}/close", elections::close)
        .post("/v1/elections/{election}/tokens", elections::reissue)
        .post("/v1/elections/{election}/erase", upkeep::erase)
        .post("/v1/elections/{election}/schedule", upkeep::schedule)
        .put("/v1/elections/{election}/keys/{kind}", objects::put_key)
        .get("/v1/elections/{election}/keys/{kind}", objects::get_key)
        .put("/v1/elections/{election}/ballots/{teacher}/{batch}", objects::put_ballot)
        .get("/v1/elections/{election}/results/{batch}", objects::get_result)
        .get("/v1/elections/{election}/ballots/{teacher}/{batch}", evidence::ballot)
        .get("/v1/elections/{election}/seed", evidence::seed)
        .get("/v1/elections/{election}/transcript", evidence::transcript)
        .get("/v1/elections/{election}/rehearsal", rehearsals::hold)
        .post("/v1/elections/{election}/rehearsal", rehearsals::confirm)
        .post("/v1/elections/{election}/audits", audits::ask)
        .post("/v1/elections/{election}/audits/{round}/answer", audits::answer)
        .get("/v1/elections/{election}/audits/{round}/checks/{batch}", audits::checks)
        .get("/v1/elections/{election}/audits/{round}/results/{batch}", audits::results)
        .post("/v1/groups/{group}/budget", accounts::change_budget)
}
