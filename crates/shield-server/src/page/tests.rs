//! The page without a browser: who gets in, and what goes out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shield_protocol::credentials::Role;
use ureq::http::StatusCode;

use crate::tests::{Running, cookie, header, text, token};

#[test]
fn strangers_see_a_form_and_nothing_else() {
    let server = Running::start();
    server.service.incident(None, "a secret mishap");
    let answer = server.send("GET", "/", &[("cookie", "shield=1234; other=5")], "");
    assert_eq!(answer.status(), 401);
    assert_eq!(header(&answer, "content-type"), "text/html; charset=utf-8");
    assert!(answer.body().contains("action=\"/session\""));
    for secret in ["mishap", "lection", "Version", env!("CARGO_PKG_VERSION"), "<script"] {
        assert!(!answer.body().contains(secret), "{secret}");
    }
    // A bearer token is for programs; the page takes the cookie alone.
    assert_eq!(server.ask("GET", "/", &server.operator, "").status(), 401);
}

#[test]
fn the_operator_gets_in_and_out() {
    let server = Running::start();
    let answer = server.sign_in(server.operator.secret(), &[]);
    assert_eq!((answer.status().as_u16(), header(&answer, "location")), (303, "/"));
    let set = header(&answer, "set-cookie");
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(set.contains(attribute), "{set}");
    }
    assert!(!set.contains("Secure"), "a browser would not send it over plain HTTP");
    assert!(!set.contains(&server.operator.secret()[7..]));
    let cookie = cookie(&answer);
    let page = server.send("GET", "/", &[("cookie", &cookie)], "");
    assert_eq!(page.status(), 200);
    assert!(page.body().contains("Privacy ledger"));
    assert!(!page.body().contains("{{"), "a gap was forgotten");
    let policy = header(&page, "content-security-policy");
    let nonce = policy.split("script-src 'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert_eq!(nonce.len(), 32);
    assert!(page.body().contains(&format!("<script nonce=\"{nonce}\">")));
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("unsafe"));
    let again = server.send("GET", "/", &[("cookie", &cookie)], "");
    assert!(!header(&again, "content-security-policy").contains(nonce));

    let origin = server.origin();
    let from_elsewhere = [("cookie", &*cookie), ("origin", "https://evil.example")];
    assert_eq!(server.send("POST", "/session/end", &from_elsewhere, "").status(), 403);
    assert_eq!(server.send("GET", "/", &[("cookie", &cookie)], "").status(), 200);
    let from_here = [("cookie", &*cookie), ("origin", &*origin)];
    let out = server.send("POST", "/session/end", &from_here, "");
    assert_eq!(out.status(), 303);
    assert!(header(&out, "set-cookie").contains("Max-Age=0"));
    assert_eq!(server.send("GET", "/", &[("cookie", &cookie)], "").status(), 401);
}

#[test]
fn over_tls_the_cookie_is_bound_to_it() {
    let server = Running::start_tls();
    let answer = server.sign_in(server.operator.secret(), &[]);
    assert_eq!(answer.status(), 303);
    let set = header(&answer, "set-cookie");
    assert!(set.starts_with("__Host-shield=") && set.contains("; Secure"), "{set}");
    let cookie = cookie(&answer);
    assert_eq!(server.send("GET", "/", &[("cookie", &cookie)], "").status(), 200);
    let plain = cookie.replace("__Host-", "");
    assert_eq!(server.send("GET", "/", &[("cookie", &plain)], "").status(), 401);
}

#[test]
fn behind_a_proxy_that_speaks_tls_the_cookie_is_bound_to_it() {
    let server = Running::start();
    let proxy = ("x-forwarded-proto", "https");
    let answer = server.sign_in(server.operator.secret(), &[proxy]);
    let set = header(&answer, "set-cookie");
    assert!(set.starts_with("__Host-shield=") && set.contains("; Secure"), "{set}");
    let cookie = cookie(&answer);
    assert_eq!(server.send("GET", "/", &[("cookie", &cookie), proxy], "").status(), 200);
    assert_eq!(server.send("GET", "/", &[("cookie", &cookie)], "").status(), 401);
}

#[test]
fn other_tokens_do_not_open_the_page() {
    let server = Running::start();
    let (monitor, student) = (token(1), token(2));
    let election = "ward-7".parse().unwrap();
    server.wait(async {
        server.service.add(&monitor.hash(), &Role::Monitor).await.unwrap();
        let role = Role::Student { election };
        server.service.store.add_token(&student.hash(), &role).await.unwrap();
    });
    let start = Instant::now();
    let refused = [monitor.secret(), student.secret(), token(3).secret(), "", "%00", "<b>"]
        .map(|token| server.sign_in(token, &[]));
    for answer in &refused {
        assert_eq!(answer.status(), 401);
        assert_eq!(header(answer, "set-cookie"), "");
        assert!(answer.body().contains("This is not the operator"));
    }
    // All alike: who tries learns nothing of a token but that it is not the operator's.
    let bodies = refused.each_ref().map(|answer| {
        let policy = header(answer, "content-security-policy").to_owned();
        let nonce = policy.split('\'').find_map(|part| part.strip_prefix("nonce-")).unwrap();
        answer.body().replace(nonce, "")
    });
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert!(start.elapsed() >= 6 * super::DELAY);
}

/// Whoever has no token could otherwise make the server hold 16 MiB for each connection.
#[test]
fn a_form_much_longer_than_a_token_is_not_read() {
    let server = Running::start();
    let padded = |bytes: usize| format!("{}{}", server.operator.secret(), "+".repeat(bytes));
    assert_eq!(server.sign_in(&padded(100), &[]).status(), 303, "spaces at the end do no harm");
    let answer = server.sign_in(&padded(2 << 10), &[]);
    assert_eq!((answer.status().as_u16(), header(&answer, "set-cookie")), (401, ""));
}

#[test]
fn forms_from_elsewhere_are_refused() {
    let server = Running::start();
    let here = server.origin();
    let body = format!("token={}", server.operator.secret());
    let form = ("content-type", "application/x-www-form-urlencoded");
    for headers in [
        &[form][..],
        &[form, ("origin", "null")],
        &[form, ("origin", "https://evil.example")],
        &[form, ("origin", &format!("{here}.evil.example"))],
        &[form, ("origin", &here), ("sec-fetch-site", "cross-site")],
        &[form, ("origin", &here), ("sec-fetch-site", "same-site")],
    ] {
        let answer = server.send("POST", "/session", headers, &body);
        assert_eq!(answer.status(), 403, "{headers:?}");
        assert_eq!(header(&answer, "set-cookie"), "");
    }
    let headers = [form, ("origin", &*here), ("sec-fetch-site", "same-origin")];
    assert_eq!(server.send("POST", "/session", &headers, &body).status(), 303);
}

#[test]
fn trying_many_tokens_is_slow_and_does_not_lock_the_operator_out() {
    let server = Running::start();
    let (refused, start) = (AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        for number in 10..40 {
            let (server, refused) = (&server, &refused);
            scope.spawn(move || {
                while !refused.load(Ordering::Relaxed) {
                    assert!(start.elapsed() < Duration::from_mins(2), "never: one is refused");
                    match server.sign_in(token(number).secret(), &[]).status().as_u16() {
                        401 => {}
                        429 => refused.store(true, Ordering::Relaxed),
                        status => panic!("{status}"),
                    }
                }
            });
        }
        loop {
            assert_eq!(server.sign_in(server.operator.secret(), &[]).status(), 303);
            if refused.load(Ordering::Relaxed) {
                break;
            }
        }
    });
}

#[test]
fn what_others_wrote_is_shown_as_text() {
    let server = Running::start();
    let hostile =
        "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&{{version}}";
    server.service.incident(None, hostile);
    let cookie = cookie(&server.sign_in(server.operator.secret(), &[]));
    let page = server.send("GET", "/", &[("cookie", &cookie)], "");
    assert_eq!(page.body().matches("<script").count(), 1);
    assert!(!page.body().contains("<img"));
    assert!(
        page.body().contains("&#60;script&#62;document.title=&#39;owned&#39;&#60;/script&#62;")
    );
    assert!(page.body().contains("&#38;{{version}}"), "text is not a template");
}

#[test]
fn a_token_that_is_taken_away_ends_its_sessions() {
    let server = Running::start();
    let other = token(1);
    server.wait(server.service.add(&other.hash(), &Role::Operator)).unwrap();
    let (gone, stays) = (
        cookie(&server.sign_in(server.operator.secret(), &[])),
        cookie(&server.sign_in(other.secret(), &[])),
    );
    let page = |cookie: &str| server.send("GET", "/", &[("cookie", cookie)], "").status();
    assert_eq!((page(&gone), page(&stays)), (StatusCode::OK, StatusCode::OK));
    server.wait(server.service.store.revoke_token(server.operator.hash().as_str())).unwrap();
    assert_eq!((page(&gone), page(&stays)), (StatusCode::UNAUTHORIZED, StatusCode::OK));
}

fn from(origin: &str) -> (&'static str, &str) {
    ("origin", origin)
}

/// The page's script has the cookie and no token. What changes anything must come from the page.
#[test]
fn the_script_of_the_page_may_call_and_other_sites_may_not() {
    let server = Running::start();
    let cookie = cookie(&server.sign_in(server.operator.secret(), &[]));
    let (origin, json) = (server.origin(), ("content-type", "application/json"));
    let signed_in = ("cookie", &*cookie);
    assert_eq!(server.send("GET", "/v1/elections", &[signed_in], "").status(), 200);
    let plan = r#"{"file": "name = 3"}"#;
    let post = |headers: &[(&str, &str)]| server.send("POST", "/v1/price", headers, plan).status();
    assert_eq!(post(&[signed_in, json, from(&origin)]), 422, "it is read, and its mistakes named");
    assert_eq!(post(&[signed_in, json, from("https://evil.example")]), 403);
    assert_eq!(post(&[signed_in, json]), 403, "a browser would say where it comes from");
    let site = ("sec-fetch-site", "cross-site");
    assert_eq!(post(&[signed_in, json, from(&origin), site]), 403);
    assert_eq!(post(&[json, from(&origin)]), 401);
    // A wrong token is wrong, whoever is signed in.
    let wrong = ("authorization", "Bearer x");
    assert_eq!(post(&[signed_in, json, from(&origin), wrong]), 401);
    let out = server.send("POST", "/session/end", &[signed_in, from(&origin)], "");
    assert_eq!(out.status(), 303);
    assert_eq!(server.send("GET", "/v1/elections", &[signed_in], "").status(), 401);
}

#[test]
fn a_planned_election_is_priced_and_nothing_is_set_aside() {
    let server = Running::start();
    let file = "name = \"w\"\ngroup = \"g\"\nclasses = 3\nsamples = 20\nquorum = 2\nteachers = \
        [\"a\", \"b\"]\n";
    let body = serde_json::json!({ "file": file }).to_string();
    let answer = server.ask("POST", "/v1/price", &server.operator, &body);
    assert_eq!(answer.status(), 200, "{}", answer.body());
    let price: serde_json::Value = serde_json::from_str(answer.body()).unwrap();
    assert!(price["alone"].as_f64().unwrap() > 0.0, "{price}");
    assert_eq!(price["alone"], price["after"]);
    assert_eq!(price["before"], 0.0);
    let list = server.ask("GET", "/v1/elections", &server.operator, "");
    assert_eq!(list.body(), "[]", "nothing was created");
}

/// 100 labels at offset 50 once seemed to cost 35.47: their group's budget was 1,000, and so was
/// its order.
#[test]
fn a_price_says_what_an_election_costs_alone() {
    let price = |epsilon: f64| -> [f64; 2] {
        let server = Running::with(|settings| settings.budget.epsilon = epsilon);
        let file = text("w", 4, 100, 2).replace("offset = 20", "offset = 50");
        let body = serde_json::json!({ "file": file }).to_string();
        let answer = server.ask("POST", "/v1/price", &server.operator, &body);
        let price: serde_json::Value = serde_json::from_str(answer.body()).unwrap();
        ["only", "alone"].map(|key| price[key].as_f64().unwrap())
    };
    let ([only, near], [also, far]) = (price(10.0), price(1000.0));
    assert!((only - also).abs() < 1e-9, "it does not depend on the budget: {only} {also}");
    assert!(only <= near && 2.0 * near < far, "{only} {near} {far}");
}
