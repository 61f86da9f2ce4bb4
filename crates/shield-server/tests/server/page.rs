//! The page in a real browser: signing in, watching an aggregation, on a phone, in the dark,
//! without scripts.
//!
//! Pictures of it are left in `target/page`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_core::engine::Presence;
use shield_core::{Class, Seed};
use shield_protocol::credentials::{Role, Token};
use shield_protocol::engine::faults;
use shield_protocol::hex::hex;
use shield_protocol::ledger::Budget;
use shield_protocol::turnout::VoterCounts;
use shield_protocol::{ElectionFile, Name, PlannedElection};
use shield_server::Settings;
use shield_server::store::{Roll, Store};

use crate::browser::Browser;
use crate::harness::{Running, settings, wait};

const HOSTILE: &str = "<script>document.title='owned'</script><img src=x \
    onerror=\"document.title='owned'\"> & \"quotes\"";

/// Contrast of all text with what is behind it, by WCAG's formula: whatever has less than 4.5.
pub(crate) const LOW_CONTRAST: &str = r#"
    const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
    const luminance = (colour) => {
        const [r, g, b] = channels(colour).map((value) => value / 255)
            .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (channels(colour)[3] !== 0) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const low = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!own || ["SCRIPT", "STYLE"].includes(element.tagName) || !element.checkVisibility()) continue;
        const [a, b] = [luminance(getComputedStyle(element).color), luminance(ground(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const name = `${element.tagName}.${element.className}`;
        if (contrast < 4.5) low.push(`${name} ${contrast.toFixed(2)}`);
    }
    return low.join(", ");
"#;

pub(crate) fn text(
    name: &str,
    group: &str,
    samples: usize,
    quorum: u32,
    teachers: &[&str],
) -> String {
    format!(
        "name = \"{name}\"\ngroup = \"{group}\"\nclasses = 10\nsamples = {samples}\noffset = \
         20\nquorum = {quorum}\n\
         deadline = 2099-03-01T12:00:00Z\nteachers = {teachers:?}\n"
    )
}

/// The first teacher's token of an election.
fn teacher_token(name: &Name) -> Token {
    let number = name.as_str().bytes().fold(1, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte));
    Token::random(&mut StdRng::seed_from_u64(number))
}

/// A store whose folder and database belong together, as a server makes them at its first start.
pub(crate) async fn open_store(folder: &Path) -> Store {
    let store = Store::open(folder, None).await.unwrap();
    store.claim("tests").await.unwrap();
    std::fs::write(folder.join("identity"), "tests").unwrap();
    store
}

pub(crate) async fn create(store: &Store, text: &str) -> (ElectionFile, Name) {
    let file = ElectionFile::parse(text).unwrap();
    let name = file.name().clone();
    let role = Role::Teacher { election: name.clone(), teacher: 0 };
    store.create_election(&file, &[(teacher_token(&name).hash(), role)]).await.unwrap();
    (file, name)
}

async fn keys(store: &Store, name: &Name, id: &str, public: &[u8], evaluation: &[u8]) {
    for (kind, bytes) in [("public", public), ("evaluation", evaluation)] {
        let mut incoming = store.incoming().unwrap();
        incoming.write(bytes).unwrap();
        store.add_key(name, kind, id, incoming).await.unwrap();
    }
}

async fn ballot(store: &Store, name: &Name, place: (u32, u32), presence: &Presence, bytes: &[u8]) {
    let mut incoming = store.incoming().unwrap();
    incoming.write(bytes).unwrap();
    store.add_ballot(name, place.0, place.1, presence, incoming).await.unwrap();
}

async fn close(store: &Store, name: &Name, samples: u64) {
    let judge = async |roll: &Roll| -> Result<VoterCounts, shield_server::store::StoreError> {
        Ok(vec![(u32::try_from(roll.voters.len()).unwrap(), samples)])
    };
    store.close(name, &Seed::from_bytes([1; 32]), judge).await.unwrap();
}

/// Elections in every stage; the one called `ward-7`, which is given, has keys and ballots of
/// several batches.
async fn prepare(folder: &Path) -> PlannedElection {
    let store = open_store(folder).await;
    let five = ["amber", "birch", "cedar", "dogwood", "elm"];
    let everybody = |samples: usize| Presence::new((0..samples).map(|_| true));

    create(&store, &text("paediatrics-2027", "clinics", 40, 2, &["north", "south", "harbour"]))
        .await;

    let long = "a-name-of-sixty-four-letters-that-nobody-would-choose-but-may-ok";
    let (_, name) =
        create(&store, &text(long, "clinics", 100, 2, &["north", "south", "harbour"])).await;
    keys(&store, &name, "00", b"public", b"evaluation").await;
    ballot(&store, &name, (1, 0), &everybody(100), b"south").await;

    let (_, name) = create(&store, &text("ward-3", "hospitals", 60, 3, &five)).await;
    keys(&store, &name, "00", b"public", b"evaluation").await;
    for teacher in 0..3 {
        ballot(&store, &name, (teacher, 0), &everybody(60), format!("{teacher}").as_bytes()).await;
    }
    close(&store, &name, 60).await;
    store.finish(&name, Some(HOSTILE)).await.unwrap();

    let (_, name) = create(&store, &text("ward-4", "hospitals", 100, 3, &five)).await;
    keys(&store, &name, "00", b"public", b"evaluation").await;
    for teacher in 0..5 {
        ballot(&store, &name, (teacher, 0), &everybody(100), format!("{teacher}").as_bytes()).await;
    }
    close(&store, &name, 100).await;
    store.add_release(&name, 0, b"release").await.unwrap();
    store.finish(&name, None).await.unwrap();

    let (_, name) = create(&store, &text("ward-5", "hospitals", 100, 3, &five)).await;
    store.withdraw(&name).await.unwrap();

    // The batches of the engine without encryption are small, so that there are several.
    let ward = text("ward-7", "hospitals", 16, 2, &five) + faults::engine_line();
    let (file, name) = create(&store, &ward).await;
    let file = file.plan();
    let engine = file.engine();
    assert!(engine.batches() >= 3, "an aggregation that can be watched has several batches");
    let mut rng = StdRng::seed_from_u64(7);
    let made = engine.make_keys(&mut rng).unwrap();
    keys(&store, &name, &hex(made.id.as_bytes()), &made.public, &made.evaluation).await;
    store.set_rehearsed(&name).await.unwrap();
    let voting = Arc::clone(engine).voting(&made.public).unwrap();
    for (batch, number) in (0..engine.batches()).zip(0..) {
        for teacher in 0..3_u16 {
            let votes = engine.batch(batch).map(|_| Some(Class(teacher))).collect::<Vec<_>>();
            let bytes = voting.encrypt(batch, teacher.into(), &votes, &mut rng).unwrap();
            let presence = engine.check_ballot(&bytes, batch, made.id).unwrap();
            ballot(&store, &name, (teacher.into(), number), &presence, &bytes).await;
        }
    }
    file
}

/// A server for a browser, with the usual budget.
pub(crate) fn served(data: &Path) -> Running {
    Running::start_plain(Settings { budget: Budget::default(), ..settings(data) })
}

/// The same, with the operator signed in.
pub(crate) fn signed_in(data: &Path, browser: &Browser) -> Running {
    let server = served(data);
    browser.page.goto(&server.url);
    sign_in(browser, server.operator.token.secret());
    browser.until("document.title === 'SHIELD server'");
    server
}

#[test]
fn people_who_run_the_server_see_how_it_goes() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let ward_7 = wait(prepare(&data));
    let server = served(&data);
    let address = server.url.as_str();
    // A ballot that is none, for the list of errors.
    let ward: Name = "ward-7".parse().unwrap();
    let refused = ureq::put(format!("{address}/v1/elections/{ward}/ballots/amber/0"))
        .header("authorization", format!("Bearer {}", teacher_token(&ward).secret()))
        .send("not a ballot");
    assert!(matches!(refused, Err(ureq::Error::StatusCode(422))), "{refused:?}");

    let token = server.operator.token.secret();
    signing_in(&browser, address, token);
    everything_is_shown(&browser);
    looks_right_everywhere(&browser);
    an_aggregation_is_watched(&browser, &ward_7);
    works_without_scripts(&browser, address);
    signing_out(&browser, address);

    browser.page.goto(address);
    sign_in(&browser, token);
    browser.until("document.querySelectorAll('article').length > 0");
    server.stop();
    browser.until("!document.getElementById('connection').hidden");
    browser.picture("server-gone");
}

/// Browsers once spoke HTTP/2 here, sent no `Host`, and were refused with the right token.
#[test]
fn people_sign_in_over_tls() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start(settings(&data));
    browser.page.goto(&server.url);
    sign_in(&browser, server.operator.token.secret());
    browser.until("document.title === 'SHIELD server'");
    browser.page.find("header button").click().unwrap();
    browser.until("document.title === 'Sign in'");
}

/// Presses a button that asks whether one is sure. The page may put a new button in its place just
/// then, as it does whenever it is refreshed.
pub(crate) fn click_and_agree(browser: &Browser, id: &str) {
    for _ in 0..100 {
        let button = browser.page.find(&format!("#{id}"));
        if button.click().is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // On a machine with much to do, the question comes a moment later than the click returns.
    for _ in 0..1000 {
        if browser.page.accept_alert().is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{id} cannot be pressed");
}

pub(crate) fn sign_in(browser: &Browser, token: &str) {
    // Nothing is clicked: the field has the focus, and Enter sends the form.
    browser.until("document.activeElement.id === 'token'");
    let field = browser.page.active_element();
    field.send_keys(&format!("{token}\u{e007}")).unwrap();
}

fn signing_in(browser: &Browser, address: &str, token: &str) {
    browser.page.goto(address);
    let door = browser.page.find("main");
    assert_eq!(door.text(), "SHIELD\nOperator token\nSign in");
    browser.screen(1280, false);
    browser.picture("sign-in-light");
    sign_in(browser, &token.replace(|digit: char| digit.is_ascii_digit(), "a"));
    browser.until("document.querySelector('[role=alert]') !== null");
    assert_eq!(browser.page.title(), "Sign in");
    browser.colours("dark");
    assert_eq!(browser.page.execute(LOW_CONTRAST).unwrap(), "");
    browser.screen(320, true);
    browser.picture("sign-in-refused-phone-dark");
    browser.colours("light");
    assert_eq!(browser.page.execute(LOW_CONTRAST).unwrap(), "");
    sign_in(browser, token);
    browser.until("document.title === 'SHIELD server'");
    let readable = "return document.cookie.length";
    assert_eq!(browser.number(readable), 0, "no script reads the session");
    // Only the refusals to those who were not signed in.
    for complaint in browser.complaints() {
        assert!(complaint.contains("401"), "{complaint}");
    }
}

fn everything_is_shown(browser: &Browser) {
    let page = browser.page.execute("return document.body.innerText").unwrap();
    let page = page.as_str().unwrap();
    for text in [
        "Waiting for keys",
        "Taking ballots",
        "Failed",
        "Released",
        "Called off",
        "3 of 5",
        "quorum 2",
        "2099-03-01 12:00 UTC",
        "of 1 batch",
        "Privacy ledger",
        "set aside",
        "budget 10",
        "ballot of amber refused",
        env!("CARGO_PKG_VERSION"),
        HOSTILE,
    ] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
    assert_eq!(browser.page.title(), "SHIELD server", "a text became a script");
    assert_eq!(browser.number("return document.querySelectorAll('img').length"), 0);
    let voters = "#voters-ward-7";
    let list = browser.page.find(voters);
    assert!(!list.text().contains("dogwood"));
    list.find("summary").click().unwrap();
    let names = list.text();
    assert_eq!(names, "Who has voted\nVoted\namber\nbirch\ncedar\nNot yet\ndogwood\nelm");
    // Semantics: one main heading, no level left out, every control named.
    assert_eq!(browser.number("return document.querySelectorAll('h1').length"), 1);
    let levels = "return [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => +h.tagName[1])\
        .filter((level, i, all) => i > 0 && level > all[i - 1] + 1).length";
    assert_eq!(browser.number(levels), 0);
    let unnamed = "return [...document.querySelectorAll('svg:not([aria-hidden])')]\
        .filter((svg) => !svg.getAttribute('aria-label')).length";
    assert_eq!(browser.number(unnamed), 0);
}

fn looks_right_everywhere(browser: &Browser) {
    for scheme in ["light", "dark"] {
        browser.colours(scheme);
        for (name, width, mobile) in [("desktop", 1280, false), ("phone", 320, true)] {
            browser.screen(width, mobile);
            browser.picture(&format!("{name}-{scheme}"));
            let widest = "return document.scrollingElement.scrollWidth";
            assert!(browser.number(widest) <= u64::from(width), "{name} scrolls sideways");
            assert_eq!(browser.number("return innerWidth"), u64::from(width));
            let low = browser.page.execute(LOW_CONTRAST).unwrap();
            assert_eq!(low, "", "{name}, {scheme}");
        }
        let ground =
            "return getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 128";
        let dark = browser.page.execute(ground).unwrap();
        assert_eq!(dark, scheme == "dark");
    }
    browser.colours("light");
    browser.screen(1280, false);
}

fn an_aggregation_is_watched(browser: &Browser, ward: &ElectionFile) {
    // The third of four batches waits until the page was looked at.
    let held = faults::hold(ward.election(), 2);
    // Gone after a reload, and so shows that there was none.
    browser.page.execute("window.sameDocument = true").unwrap();
    // The operator closes at the page, and is asked once more.
    click_and_agree(browser, "close-ward-7");
    let card = "document.getElementById('election-ward-7').closest('article')";
    browser.until(&format!("{card}.querySelector('.stage').textContent === 'Aggregating'"));
    let aggregated = format!("{card}.querySelectorAll('dd b')[1].textContent");
    browser.until(&format!("{aggregated} === '2'"));
    browser.screen(1280, false);
    browser.picture("aggregating");
    drop(held);
    browser.until(&format!("{card}.querySelector('.stage').textContent === 'Released'"));
    browser.until(&format!("{aggregated} === '4'"));
    let same = browser.page.execute("return window.sameDocument === true").unwrap();
    assert_eq!(same, true, "the page was loaded again");
    let open = browser.page.execute("return document.getElementById('voters-ward-7').open");
    assert_eq!(open.unwrap(), true, "a refresh closed what was open");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn works_without_scripts(browser: &Browser, address: &str) {
    browser.scripts(false);
    browser.page.goto(address);
    let page = browser.source();
    assert!(page.contains("Privacy ledger") && page.contains("election-ward-7"), "{page}");
    browser.scripts(true);
}

fn signing_out(browser: &Browser, address: &str) {
    browser.page.goto(address);
    // Another window that was left open notices, too.
    let first = browser.page.window();
    let second = browser.page.new_window();
    browser.page.switch_to_window(&second);
    browser.page.goto(address);
    browser.page.find("header button").click().unwrap();
    browser.until("document.title === 'Sign in'");
    browser.page.close_window();
    browser.page.switch_to_window(&first);
    browser.until("document.title === 'Sign in'");
}
