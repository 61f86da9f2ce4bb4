//! What an operator does at the page, in a real browser: create, invite, reissue, close, call off,
//! and find one election among many.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use shield_client::Invitation;
use shield_protocol::Name;
use shield_protocol::credentials::Token;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::harness::{Parties, Running, election, wait};
use crate::page::{LOW_CONTRAST, click_and_agree, create, open_store, sign_in, signed_in, text};

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

fn downloaded(folder: &Path, name: &str) -> Vec<u8> {
    for _ in 0..2400 {
        if let Ok(bytes) = std::fs::read(folder.join(name))
            && !bytes.is_empty()
        {
            return bytes;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let found: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    panic!("{name} was never saved: {found:?}");
}

/// A folder, and one in it that downloads are saved to.
fn saving(browser: &Browser) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved");
    std::fs::create_dir(&saved).unwrap();
    browser.save_to(&saved);
    (folder, saved)
}

fn fill(browser: &Browser, name: &str, value: &str) {
    let script = format!(
        "const field = document.getElementById('create').elements['{name}'];\
         field.value = {value:?}; field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
    );
    browser.page.execute(&script).unwrap();
}

#[test]
fn people_run_elections_at_the_page() {
    let Some(browser) = Browser::start() else { return };
    let (folder, saved) = saving(&browser);
    let server = signed_in(&folder.path().join("data"), &browser);
    browser.complaints();

    creating(&browser, &saved, &server.url);
    reissuing(&browser, &saved, &server.url);
    calling_off(&browser, &server);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn creating(browser: &Browser, saved: &Path, address: &str) {
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
    browser.until(&format!("{price}.includes('It does not fit')"));
    fill(browser, "offset", "40");
    browser.until(&format!("{price}.includes('more labels like these')"));
    browser.screen(1280, false);
    browser.picture("new-election");
    fill(browser, "quorum", "9");
    browser.until(&format!("{price}.includes('it must be from 1 to 3')"));
    fill(browser, "quorum", "2");
    browser.until(&format!("{price}.startsWith('Costs epsilon')"));
    browser.complaints();
    let button = browser.page.find("#create button");
    button.click().unwrap();
    browser.until(&format!("{price}.startsWith('ward-9 is created')"));
    let files = stored_files(&downloaded(saved, "ward-9-invitations.zip"));
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
    browser.until("document.getElementById('election-ward-9') !== null");
    // What was sent to the server had no token in it: nothing there starts like one.
    let page = browser.source();
    assert!(!page.contains("shield_") || !page.contains(&token_of(&files[1].1)), "a token");
}

fn reissuing(browser: &Browser, saved: &Path, address: &str) {
    let old = std::fs::read_to_string(saved.join("teacher-amber.toml")).unwrap();
    let choose = "const s = document.getElementById('party-ward-9'); s.value = 'amber';";
    browser.page.execute(choose).unwrap();
    click_and_agree(browser, "reissue-ward-9");
    let fresh = downloaded(saved, "ward-9-teacher-amber.toml");
    let fresh = String::from_utf8(fresh).unwrap();
    assert_eq!(role(address, &token_of(&fresh)).as_deref(), Some("teacher"));
    assert_eq!(role(address, &token_of(&old)), None, "the old one has stopped");
}

fn calling_off(browser: &Browser, server: &Running) {
    click_and_agree(browser, "call-off-ward-9");
    let stage = "document.getElementById('election-ward-9').closest('article')\
        .querySelector('.stage').textContent";
    browser.until(&format!("{stage} === 'Called off'"));
    let status = server.client(&server.operator).get::<Value>("/v1/elections/ward-9").unwrap();
    assert_eq!(status["stage"], "withdrawn");
}

/// The row of a token, by its name: the first digits of its hash.
fn name_of(token: &Token) -> String {
    token.hash().as_str()[..12].to_owned()
}

/// Rotates a token at the page, and gives the new one.
fn rotate(browser: &Browser, saved: &Path, old: &Token, file: &str) -> Token {
    let button = format!("rotate-{}", name_of(old));
    browser.until(&format!("document.getElementById('{button}') !== null"));
    click_and_agree(browser, &button);
    let text = String::from_utf8(downloaded(saved, file)).unwrap();
    token_of(&text).parse().unwrap()
}

#[test]
fn people_take_tokens_back_at_the_page() {
    let Some(browser) = Browser::start() else { return };
    let (folder, saved) = saving(&browser);
    let server = signed_in(&folder.path().join("data"), &browser);
    let address = server.url.as_str();
    let parties = Parties::create(&server, election("ward", 2, 4, 1), folder.path());
    let old = parties.teacher(0).token;
    browser.page.find("#tokens-card summary").click().unwrap();
    browser.picture("tokens");
    browser.complaints();

    // A monitor's, which belongs to no election: the file is an invitation, the old one stops.
    let monitor = rotate(&browser, &saved, &server.monitor, "monitor.toml");
    let invitation = Invitation::read_file(&saved.join("monitor.toml")).unwrap();
    assert_eq!((&*invitation.role, &*invitation.server), ("monitor", address));
    assert_eq!(role(address, monitor.secret()).as_deref(), Some("monitor"));
    assert_eq!(role(address, server.monitor.secret()), None, "the old one has stopped");
    // A teacher's.
    let fresh = rotate(&browser, &saved, &old, "ward-teacher-t0.toml");
    assert_eq!(role(address, fresh.secret()).as_deref(), Some("teacher"));
    assert_eq!(role(address, old.secret()), None);
    // Taken back, for good.
    let button = format!("revoke-{}", name_of(&monitor));
    browser.until(&format!("document.getElementById('{button}') !== null"));
    click_and_agree(&browser, &button);
    browser.until(&format!("document.getElementById('{button}') === null"));
    assert_eq!(role(address, monitor.secret()), None);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // Nobody locks everybody out, and the page says why not.
    click_and_agree(&browser, &format!("revoke-{}", name_of(&server.operator.token)));
    let said = "document.getElementById('action-problem').textContent";
    browser.until(&format!("{said}.includes('the only operator')"));
    assert_eq!(role(address, server.operator.token.secret()).as_deref(), Some("operator"));
    // One's own: whoever is signed in with the old one is a stranger, and signs in with the new.
    let operator = rotate(&browser, &saved, &server.operator.token, "operator.toml");
    browser.until("document.title === 'Sign in'");
    sign_in(&browser, operator.secret());
    browser.until("document.title === 'SHIELD server'");
}

#[test]
fn one_election_is_found_among_forty() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let names: Vec<String> = (0..250).map(|number| format!("clinic-{number:03}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    wait(async {
        let store = open_store(&data).await;
        for number in 0..40 {
            let teachers = if number == 7 { &all[..] } else { &all[..3] };
            let text = text(&format!("study-{number:02}"), "clinics", 20, 2, teachers);
            create(&store, &text).await;
        }
    });
    let _server = signed_in(&data, &browser);
    browser.until("document.querySelectorAll('#elections article').length === 40");
    let shown =
        "[...document.querySelectorAll('#elections article')].filter((card) => !card.hidden)";
    let find = |words: &str| {
        format!(
            "const field = document.getElementById('filter'); field.value = '{words}';\
             field.dispatchEvent(new Event('input'));"
        )
    };
    browser.page.execute(&find("clinic-200")).unwrap();
    browser.until(&format!("{shown}.length === 1 && {shown}[0].dataset.name === 'study-07'"));
    // It stays found when the page is fetched again.
    let moment = "document.querySelector('#server time').dateTime";
    let before = browser.page.execute(&format!("return {moment}")).unwrap();
    browser.until(&format!("{moment} !== {before}"));
    browser.until(&format!("{shown}.length === 1"));
    browser.screen(320, true);
    browser.picture("found-phone");
    let widest = browser.number("return document.scrollingElement.scrollWidth");
    assert!(widest <= 320, "it scrolls sideways: {widest}");
    assert_eq!(browser.page.execute(LOW_CONTRAST).unwrap(), "");
    browser.page.execute(&find("")).unwrap();
    let order = "const sort = document.getElementById('sort'); sort.value = 'name';\
        sort.dispatchEvent(new Event('change'));";
    browser.page.execute(order).unwrap();
    // A row each, twenty at a time.
    browser.until(&format!("{shown}.length === 20 && {shown}[19].dataset.name === 'study-19'"));
    browser.screen(1280, false);
    let tall = browser.number("return document.getElementById('elections').offsetHeight");
    assert!(tall < 1_500, "{tall} pixels for twenty elections");
    browser.picture("forty-rows");
    // By a script: the page may put a new element in its place between finding and pressing it.
    let press = |what: &str| {
        browser.page.execute(&format!("document.querySelector('{what}').click()")).unwrap()
    };
    press("#more");
    browser.until(&format!("{shown}.length === 40 && {shown}[39].dataset.name === 'study-39'"));
    // Unfolded by hand, a row stays so, and folded again it does, too.
    let fold = "document.getElementById('fold-study-07')";
    press("#fold-study-07 > summary");
    let again = browser.page.execute(&format!("return {moment}")).unwrap();
    browser.until(&format!("{moment} !== {again} && {fold}.open"));
    browser.until(&format!("{fold}.innerText.includes('shield on bfv')"));
    press("#fold-study-07 > summary");
    browser.until(&format!("!{fold}.open"));
    // The ledger is a picture over time, with the labels that are left; the calculator is here.
    let ledger = "document.querySelector('.history').getAttribute('aria-label')";
    browser.until(&format!("{ledger}.includes('after 40 elections')"));
    browser.until("document.getElementById('ledger').textContent.includes('labels left')");
    let calculator = browser.page.find("#explore summary");
    calculator.click().unwrap();
    browser.until("document.getElementById('calculator').dataset.answered > 0");
    browser.screen(1280, false);
    browser.colours("dark");
    browser.picture("forty-dark");
    assert_eq!(browser.page.execute(LOW_CONTRAST).unwrap(), "");
    assert_eq!(browser.complaints().iter().filter(|line| !line.contains("401")).count(), 0);
}
