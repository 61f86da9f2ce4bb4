//! What an operator does at the page, in a real browser: create, invite, reissue, close, call off,
//! and find one election among many.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fantoccini::Locator;
use shield_client::Invitation;
use shield_protocol::Name;
use shield_server::store::Store;
use shield_server::{Service, serve};

use crate::browser::Browser;
use crate::page::{LOW_CONTRAST, create, settings, sign_in, text, token};

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
    for _ in 0..600 {
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

async fn fill(browser: &Browser, name: &str, value: &str) {
    let script = format!(
        "const field = document.getElementById('create').elements['{name}'];\
         field.value = {value:?}; field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
    );
    browser.page.execute(&script, vec![]).await.unwrap();
}

async fn click_and_agree(browser: &Browser, id: &str) {
    let button = browser.page.find(Locator::Id(id)).await.unwrap();
    button.click().await.unwrap();
    browser.page.accept_alert().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn people_run_elections_at_the_page() {
    let Some(browser) = Browser::start().await else { return };
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
    browser.page.goto(&address).await.unwrap();
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
    browser.page.find(Locator::Css("#new summary")).await.unwrap().click().await.unwrap();
    for (name, value) in [
        ("name", "ward-9"),
        ("group", "hospitals"),
        ("classes", "cat, dog, owl"),
        ("samples", "30"),
        ("offset", "1"),
        ("quorum", "2"),
        ("teachers", "amber birch, cedar"),
    ] {
        fill(browser, name, value).await;
    }
    let price = "document.getElementById('price').textContent";
    browser.until(&format!("{price}.includes('It does not fit')")).await;
    fill(browser, "offset", "40").await;
    browser.until(&format!("{price}.includes('more labels like these')")).await;
    browser.screen(1280, false).await;
    browser.picture("new-election").await;
    fill(browser, "quorum", "9").await;
    browser.until(&format!("{price}.includes('it must be from 1 to 3')")).await;
    fill(browser, "quorum", "2").await;
    browser.until(&format!("{price}.startsWith('Costs epsilon')")).await;
    browser.complaints();
    let button = browser.page.find(Locator::Css("#create button")).await.unwrap();
    button.click().await.unwrap();
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
    let page = browser.page.source().await.unwrap();
    assert!(!page.contains("shield_") || !page.contains(&token_of(&files[1].1)), "a token");
}

async fn reissuing(browser: &Browser, saved: &Path, address: &str) {
    let old = std::fs::read_to_string(saved.join("teacher-amber.toml")).unwrap();
    let choose = "const s = document.getElementById('party-ward-9'); s.value = 'amber';";
    browser.page.execute(choose, vec![]).await.unwrap();
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

#[tokio::test(flavor = "multi_thread")]
async fn one_election_is_found_among_forty() {
    let Some(browser) = Browser::start().await else { return };
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
    browser.page.goto(&address).await.unwrap();
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
    browser.page.execute(&find("clinic-200"), vec![]).await.unwrap();
    browser.until(&format!("{shown}.length === 1 && {shown}[0].dataset.name === 'study-07'")).await;
    // It stays found when the page is fetched again.
    tokio::time::sleep(Duration::from_secs(3)).await;
    browser.until(&format!("{shown}.length === 1")).await;
    browser.screen(320, true).await;
    browser.picture("found-phone").await;
    let widest = browser.number("return document.scrollingElement.scrollWidth").await;
    assert!(widest <= 320, "it scrolls sideways: {widest}");
    assert_eq!(browser.page.execute(LOW_CONTRAST, vec![]).await.unwrap(), "");
    browser.page.execute(&find(""), vec![]).await.unwrap();
    let order = "const sort = document.getElementById('sort'); sort.value = 'name';\
        sort.dispatchEvent(new Event('change'));";
    browser.page.execute(order, vec![]).await.unwrap();
    browser
        .until(&format!("{shown}.length === 40 && {shown}[39].dataset.name === 'study-39'"))
        .await;
    // The ledger is a picture over time, with the labels that are left; the calculator is here.
    let ledger = "document.querySelector('.history').getAttribute('aria-label')";
    browser.until(&format!("{ledger}.includes('after 40 elections')")).await;
    browser.until("document.getElementById('ledger').textContent.includes('labels left')").await;
    let calculator = browser.page.find(Locator::Css("#explore summary")).await.unwrap();
    calculator.click().await.unwrap();
    browser.until("document.getElementById('calculator').dataset.answered > 0").await;
    browser.screen(1280, false).await;
    browser.colours("dark");
    browser.picture("forty-dark").await;
    assert_eq!(browser.page.execute(LOW_CONTRAST, vec![]).await.unwrap(), "");
    assert_eq!(browser.complaints().iter().filter(|line| !line.contains("401")).count(), 0);
}
