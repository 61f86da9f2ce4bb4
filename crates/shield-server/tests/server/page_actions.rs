//! What an operator does at the page, in a real browser: create, invite, reissue, close, call off,
//! and find one election among many.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use shield_client::Invitation;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::{ElectionFile, Name};
use shield_server::store::Store;
use shield_server::{Service, serve};

use crate::browser::Browser;
use crate::page::{LOW_CONTRAST, click_and_agree, create, settings, sign_in, text, token};

/// The texts of the files in an archive that compresses nothing.
fn stored_files(archive: &[u8]) -> Vec<(String, String)> {
    let number = |at: usize, size: usize| -> usize {
        (0..size).rev().fold(0, |sum, i| 256 * sum + usize::from(archive[at + i]))
    };
    let (mut files, mut at) = (Vec::new(), 0);
    while archive[at..].starts_with(b"PK\x03\x04") {
        let (size, name) = (number(at + 18, 4), number(at + 26, 2));
        let text = |from: usize, size: usize| {
            String::from_utf8(archive[from..from + size].to_vec()).unwrap()
        };
        files.push((text(at + 30, name), text(at + 30 + name, size)));
        at += 30 + name + size;
    }
    assert!(archive[at..].starts_with(b"PK\x01\x02"), "a directory follows the files");
    files
}

/// The role that the server gives a token, if it knows it.
fn role(address: &str, token: &str) -> Option<String> {
    let asked = ureq::get(format!("{address}/v1/whoami"))
        .header("authorization", format!("Bearer {token}"))
        .call();
    let answer: serde_json::Value = asked.ok()?.body_mut().read_json().ok()?;
    Some(answer["role"].as_str()?.to_owned())
}

fn token_of(text: &str) -> String {
    text.split("token = \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

async fn downloaded(folder: &Path, name: &str) -> Vec<u8> {
    for _ in 0..2400 {
        if let Ok(bytes) = std::fs::read(folder.join(name))
            && !bytes.is_empty()
        {
            return bytes;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let found: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    panic!("{name} was never saved: {found:?}");
}

fn fill(browser: &Browser, name: &str, value: &str) {
    let script = format!(
        "const field = document.getElementById('create').elements['{name}'];\
         field.value = {value:?}; field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
    );
    browser.page.execute(&script).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn people_run_elections_at_the_page() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved");
    std::fs::create_dir(&saved).unwrap();
    browser.save_to(&saved);
    let settings = settings(folder.path().join("data"));
    let service = Service::open(&settings).await.unwrap();
    service.add_operator(&token(0).hash()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(serve(Arc::clone(&service), listener, None, async {
        let _ = stopped.await;
    }));
    browser.page.goto(&address);
    sign_in(&browser, token(0).secret()).await;
    browser.until("document.title === 'SHIELD server'").await;
    browser.complaints();

    creating(&browser, &saved, &address).await;
    reissuing(&browser, &saved, &address).await;
    calling_off(&browser, &address).await;
    assert_eq!(browser.complaints(), Vec::<String>::new());
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}

async fn creating(browser: &Browser, saved: &Path, address: &str) {
    browser.page.find("#new summary").click().unwrap();
    for (name, value) in [
        ("name", "ward-9"),
        ("group", "hospitals"),
        ("classes", "cat, dog, owl"),
        ("samples", "30"),
        ("offset", "1"),
        ("quorum", "2"),
        ("teachers", "amber birch, cedar"),
    ] {
        fill(browser, name, value);
    }
    let price = "document.getElementById('price').textContent";
    browser.until(&format!("{price}.includes('It does not fit')")).await;
    fill(browser, "offset", "40");
    browser.until(&format!("{price}.includes('more labels like these')")).await;
    browser.screen(1280, false);
    browser.picture("new-election");
    fill(browser, "quorum", "9");
    browser.until(&format!("{price}.includes('it must be from 1 to 3')")).await;
    fill(browser, "quorum", "2");
    browser.until(&format!("{price}.startsWith('Costs epsilon')")).await;
    browser.complaints();
    let button = browser.page.find("#create button");
    button.click().unwrap();
    browser.until(&format!("{price}.startsWith('ward-9 is created')")).await;
    let files = stored_files(&downloaded(saved, "ward-9-invitations.zip").await);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["student.toml", "teacher-amber.toml", "teacher-birch.toml", "teacher-cedar.toml"];
    assert_eq!(names, expected);
    // The browser's hashes are the server's: the tokens open what they should.
    assert_eq!(role(address, &token_of(&files[0].1)).as_deref(), Some("student"));
    for (_, text) in &files[1..] {
        assert_eq!(role(address, &token_of(text)).as_deref(), Some("teacher"));
    }
    let path = saved.join(&files[1].0);
    std::fs::write(&path, &files[1].1).unwrap();
    let amber = Invitation::read_file(&path).expect("an invitation as the program writes it");
    assert_eq!(amber.server, address);
    let amber_teacher: Name = "amber".parse().unwrap();
    assert_eq!(amber.teacher, Some(amber_teacher));
    browser.until("document.getElementById('election-ward-9') !== null").await;
    // What was sent to the server had no token in it: nothing there starts like one.
    let page = browser.source().await;
    assert!(!page.contains("shield_") || !page.contains(&token_of(&files[1].1)), "a token");
}

async fn reissuing(browser: &Browser, saved: &Path, address: &str) {
    let old = std::fs::read_to_string(saved.join("teacher-amber.toml")).unwrap();
    let choose = "const s = document.getElementById('party-ward-9'); s.value = 'amber';";
    browser.page.execute(choose).unwrap();
    click_and_agree(browser, "reissue-ward-9").await;
    let fresh = downloaded(saved, "ward-9-teacher-amber.toml").await;
    let fresh = String::from_utf8(fresh).unwrap();
    assert_eq!(role(address, &token_of(&fresh)).as_deref(), Some("teacher"));
    assert_eq!(role(address, &token_of(&old)), None, "the old one has stopped");
}

async fn calling_off(browser: &Browser, address: &str) {
    click_and_agree(browser, "call-off-ward-9").await;
    let stage = "document.getElementById('election-ward-9').closest('article')\
        .querySelector('.stage').textContent";
    browser.until(&format!("{stage} === 'Called off'")).await;
    let listed = ureq::get(format!("{address}/v1/elections/ward-9"))
        .header("authorization", format!("Bearer {}", token(0).secret()))
        .call();
    let status: serde_json::Value = listed.unwrap().body_mut().read_json().unwrap();
    assert_eq!(status["stage"], "withdrawn");
}

/// The row of a token, by its name: the first digits of its hash.
fn name_of(token: &Token) -> String {
    token.hash().as_str()[..12].to_owned()
}

/// Rotates a token at the page, and gives the new one.
async fn rotate(browser: &Browser, saved: &Path, old: &Token, file: &str) -> Token {
    let button = format!("rotate-{}", name_of(old));
    browser.until(&format!("document.getElementById('{button}') !== null")).await;
    click_and_agree(browser, &button).await;
    let text = String::from_utf8(downloaded(saved, file).await).unwrap();
    token_of(&text).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_take_tokens_back_at_the_page() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved");
    std::fs::create_dir(&saved).unwrap();
    browser.save_to(&saved);
    let data = folder.path().join("data");
    let store = Store::open(&data, None).await.unwrap();
    let file = ElectionFile::parse(&text("ward", "clinics", 20, 2, &["amber", "birch"])).unwrap();
    let role_of = Role::Teacher { election: file.name().clone(), teacher: 0 };
    store.create_election(&file, &[(token(2).hash(), role_of)]).await.unwrap();
    drop(store);
    let service = Service::open(&settings(data)).await.unwrap();
    service.add_operator(&token(0).hash()).await.unwrap();
    service.add_monitor(&token(1).hash()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(serve(service, listener, None, std::future::pending()));
    browser.page.goto(&address);
    sign_in(&browser, token(0).secret()).await;
    browser.until("document.title === 'SHIELD server'").await;
    browser.page.find("#tokens-card summary").click().unwrap();
    browser.picture("tokens");
    browser.complaints();

    // A monitor's, which belongs to no election: the file is an invitation, the old one stops.
    let monitor = rotate(&browser, &saved, &token(1), "monitor.toml").await;
    let invitation = Invitation::read_file(&saved.join("monitor.toml")).unwrap();
    assert_eq!((invitation.role.as_str(), &invitation.server), ("monitor", &address));
    assert_eq!(role(&address, monitor.secret()).as_deref(), Some("monitor"));
    assert_eq!(role(&address, token(1).secret()), None, "the old one has stopped");
    // A teacher's.
    let amber = rotate(&browser, &saved, &token(2), "ward-teacher-amber.toml").await;
    assert_eq!(role(&address, amber.secret()).as_deref(), Some("teacher"));
    assert_eq!(role(&address, token(2).secret()), None);
    // Taken back, for good.
    let button = format!("revoke-{}", name_of(&monitor));
    browser.until(&format!("document.getElementById('{button}') !== null")).await;
    click_and_agree(&browser, &button).await;
    browser.until(&format!("document.getElementById('{button}') === null")).await;
    assert_eq!(role(&address, monitor.secret()), None);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // Nobody locks everybody out, and the page says why not.
    click_and_agree(&browser, &format!("revoke-{}", name_of(&token(0)))).await;
    let said = "document.getElementById('action-problem').textContent";
    browser.until(&format!("{said}.includes('the only operator')")).await;
    assert_eq!(role(&address, token(0).secret()).as_deref(), Some("operator"));
    // One's own: whoever is signed in with the old one is a stranger, and signs in with the new.
    let operator = rotate(&browser, &saved, &token(0), "operator.toml").await;
    browser.until("document.title === 'Sign in'").await;
    sign_in(&browser, operator.secret()).await;
    browser.until("document.title === 'SHIELD server'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_election_is_found_among_forty() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let store = Store::open(&data, None).await.unwrap();
    let names: Vec<String> = (0..250).map(|number| format!("clinic-{number:03}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    for number in 0..40 {
        let group = "clinics";
        let teachers = if number == 7 { &all[..] } else { &all[..3] };
        create(&store, &text(&format!("study-{number:02}"), group, 20, 2, teachers)).await;
    }
    drop(store);
    let settings = settings(data);
    let service = Service::open(&settings).await.unwrap();
    service.add_operator(&token(0).hash()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(serve(service, listener, None, std::future::pending()));
    browser.page.goto(&address);
    sign_in(&browser, token(0).secret()).await;
    browser.until("document.querySelectorAll('#elections article').length === 40").await;
    let shown =
        "[...document.querySelectorAll('#elections article')].filter((card) => !card.hidden)";
    let find = |words: &str| {
        format!(
            "const field = document.getElementById('filter'); field.value = '{words}';\
             field.dispatchEvent(new Event('input'));"
        )
    };
    browser.page.execute(&find("clinic-200")).unwrap();
    browser.until(&format!("{shown}.length === 1 && {shown}[0].dataset.name === 'study-07'")).await;
    // It stays found when the page is fetched again.
    tokio::time::sleep(Duration::from_secs(3)).await;
    browser.until(&format!("{shown}.length === 1")).await;
    browser.screen(320, true);
    browser.picture("found-phone");
    let widest = browser.number("return document.scrollingElement.scrollWidth");
    assert!(widest <= 320, "it scrolls sideways: {widest}");
    assert_eq!(browser.page.execute(LOW_CONTRAST).unwrap(), "");
    browser.page.execute(&find("")).unwrap();
    let order = "const sort = document.getElementById('sort'); sort.value = 'name';\
        sort.dispatchEvent(new Event('change'));";
    browser.page.execute(order).unwrap();
    browser
        .until(&format!("{shown}.length === 40 && {shown}[39].dataset.name === 'study-39'"))
        .await;
    // The ledger is a picture over time, with the labels that are left; the calculator is here.
    let ledger = "document.querySelector('.history').getAttribute('aria-label')";
    browser.until(&format!("{ledger}.includes('after 40 elections')")).await;
    browser.until("document.getElementById('ledger').textContent.includes('labels left')").await;
    let calculator = browser.page.find("#explore summary");
    calculator.click().unwrap();
    browser.until("document.getElementById('calculator').dataset.answered > 0").await;
    browser.screen(1280, false);
    browser.colours("dark");
    browser.picture("forty-dark");
    assert_eq!(browser.page.execute(LOW_CONTRAST).unwrap(), "");
    assert_eq!(browser.complaints().iter().filter(|line| !line.contains("401")).count(), 0);
}
