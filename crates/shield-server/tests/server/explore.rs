//! `explore` in a real browser: every control, the curves, the law that one drags, and how fast the
//! first answer comes.

use std::process::{Child, Stdio};

use crate::browser::Browser;
use crate::page::LOW_CONTRAST;
use crate::programs::{found_in, shield};

/// `shield explore`, which ends with the test.
struct Explorer(Child);

impl Drop for Explorer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Explorer {
    /// Starts it; gives it and the address that it prints.
    fn start() -> (Self, String) {
        let mut process = shield().arg("explore").stdout(Stdio::piped()).spawn().unwrap();
        let output = process.stdout.take().expect("its output is a pipe");
        let explorer = Self(process);
        let url = found_in(output, "where it serves", |line| Some(line.trim_end().to_owned()));
        (explorer, url)
    }
}

fn set(browser: &Browser, name: &str, value: &str) {
    let script = format!(
        "const field = document.querySelector('[name=\"{name}\"]'); field.value = '{value}';\
         field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
    );
    browser.page.execute(&script).unwrap();
}

fn text(browser: &Browser, part: &str) -> String {
    let script = format!("return document.querySelector('[data-part=\"{part}\"]').textContent");
    browser.page.execute(&script).unwrap().as_str().unwrap().to_owned()
}

/// Waits for the first answer to what was just changed, and gives the milliseconds it took.
fn answered(browser: &Browser, before: u64) -> f64 {
    browser.until(&format!("+document.getElementById('calculator').dataset.answered > {before}"));
    let script = "return +document.getElementById('calculator').dataset.milliseconds";
    browser.page.execute(script).unwrap().as_f64().unwrap()
}

fn number(browser: &Browser) -> u64 {
    browser.number("return +document.getElementById('calculator').dataset.answered")
}

#[test]
fn people_turn_the_knobs_of_a_setting() {
    let Some(browser) = Browser::start() else { return };
    let (_explorer, url) = Explorer::start();
    let root = url.trim_end_matches('/').rsplit_once('/').expect("a key after the address").0;
    browser.page.goto(&url);
    answered(&browser, 0);

    // All curves come, and the proof takes the estimate's place.
    browser.until("document.querySelectorAll('[data-part=rows] tr').length === 5");
    let estimate: f64 = text(&browser, "epsilon").parse().unwrap();
    browser.until("document.getElementById('calculator').dataset.proven > 0");
    let proven: f64 = text(&browser, "epsilon").parse().unwrap();
    // By the moments of some pairs: tight composition of all pairs proves a little less.
    assert!((0.8..1.2).contains(&(estimate / proven)), "{estimate} {proven}");
    assert!(text(&browser, "certainty").contains("proven"));
    assert_eq!(browser.number("return document.querySelectorAll('path.line').length"), 5);

    // Every control is answered. How quickly is for docs/performance.md, on a quiet machine.
    let mut fastest = f64::INFINITY;
    for (name, value) in [
        ("offset", "8"),
        ("offset", "12"),
        ("offset-slider", "20"),
        ("queries", "500"),
        ("epsilon", "4"),
        ("epsilon-slider", "0.5"),
        ("polynomial", "2X^3+3X^2+X"),
    ] {
        let before = number(&browser);
        set(&browser, name, value);
        fastest = fastest.min(answered(&browser, before));
    }
    eprintln!("the first answer to a moved control took {fastest} ms at best");
    let commands = text(&browser, "commands");
    for word in [
        "shield bound --teachers 250 --classes 10",
        "--polynomial 2X^3+3X^2+X",
        "--offset 20",
        "--queries 500",
    ] {
        assert!(commands.contains(word), "{commands}");
    }

    // One class gets more votes, by keys and by dragging; the others share what is left.
    let votes = "return [...document.querySelectorAll('.handle')].map((h) => +h.ariaValueNow)";
    let read =
        || -> Vec<u64> { serde_json::from_value(browser.page.execute(votes).unwrap()).unwrap() };
    let before = read();
    // An answer that comes just then puts a new handle in the place of the one that was found.
    for attempt in 0.. {
        let handle = browser.page.find(".handle[data-class='1']");
        match handle.send_keys("\u{e013}") {
            Ok(_) => break,
            Err(error) => assert!(attempt < 100, "{error}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    browser.until(&format!(
        "+document.querySelectorAll('.handle')[1].ariaValueNow === {}",
        before[1] + 1
    ));
    let drag = "const handle = document.querySelector(\".handle[data-class='2']\");\
        const box = handle.getBoundingClientRect();\
        const at = (y) => ({ clientX: box.x + 5, clientY: y, bubbles: true, pointerId: 1 });\
        handle.dispatchEvent(new PointerEvent('pointerdown', at(box.bottom - 10)));\
        window.dispatchEvent(new PointerEvent('pointermove', at(box.top + box.height / 2)));\
        window.dispatchEvent(new PointerEvent('pointerup', at(box.top)));";
    browser.page.execute(drag).unwrap();
    browser.until("+document.querySelectorAll('.handle')[2].ariaValueNow > 100");
    assert_eq!(read().iter().sum::<u64>(), 250, "every teacher has one vote");

    // What cannot be is said, and stays said until it is put right.
    set(&browser, "polynomial", "8Y");
    browser.until("!document.querySelector('[data-part=problem]').hidden");
    assert!(text(&browser, "problem").contains("polynomial"));
    set(&browser, "polynomial", "8X^4+6X^3+4X^2+X");
    browser.until("document.querySelector('[data-part=problem]').hidden");
    // Two refusals of a bad polynomial are what the browser noted.
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|complaint| complaint.contains("422")), "{complaints:?}");

    browser.until("document.querySelectorAll('[data-part=rows] tr').length === 5");
    for (name, width, mobile) in [("desktop", 1280, false), ("phone", 320, true)] {
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            browser.screen(width, mobile);
            let widest = browser.number("return document.scrollingElement.scrollWidth");
            browser.picture(&format!("explore-{name}-{scheme}"));
            assert!(widest <= u64::from(width), "{name} scrolls sideways: {widest}");
            let low = browser.page.execute(LOW_CONTRAST).unwrap();
            assert_eq!(low, "", "{name}, {scheme}");
        }
    }
    let unnamed = "return [...document.querySelectorAll('input')].filter((field) => \
        !field.labels.length && !field.ariaLabel).length";
    assert_eq!(browser.number(unnamed), 0, "every control has a name");

    // Nobody else: not without the key in the address, and not under another name.
    let refused = ureq::get(format!("{root}/")).call();
    assert!(matches!(refused, Err(ureq::Error::StatusCode(404))), "{refused:?}");
    let refused = ureq::get(&url).header("host", "evil.example:80").call();
    assert!(matches!(refused, Err(ureq::Error::StatusCode(403))), "{refused:?}");
}
