//! `explore` in a real browser: every control, the curves, the law that one drags, and how fast the
//! first answer comes.

use std::net::TcpListener;

use fantoccini::Locator;
use shield_server::Explorer;
use shield_server::calculator::Calculator;

use crate::browser::Browser;
use crate::page::LOW_CONTRAST;

async fn set(browser: &Browser, name: &str, value: &str) {
    let script = format!(
        "const field = document.querySelector('[name=\"{name}\"]'); field.value = '{value}';\
         field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
    );
    browser.page.execute(&script, vec![]).await.unwrap();
}

async fn text(browser: &Browser, part: &str) -> String {
    let script = format!("return document.querySelector('[data-part=\"{part}\"]').textContent");
    browser.page.execute(&script, vec![]).await.unwrap().as_str().unwrap().to_owned()
}

/// Waits for the first answer to what was just changed, and gives the milliseconds it took.
async fn answered(browser: &Browser, before: u64) -> f64 {
    browser
        .until(&format!("+document.getElementById('calculator').dataset.answered > {before}"))
        .await;
    let script = "return +document.getElementById('calculator').dataset.milliseconds";
    browser.page.execute(script, vec![]).await.unwrap().as_f64().unwrap()
}

async fn number(browser: &Browser) -> u64 {
    browser.number("return +document.getElementById('calculator').dataset.answered").await
}

#[tokio::test(flavor = "multi_thread")]
async fn people_turn_the_knobs_of_a_setting() {
    let Some(browser) = Browser::start().await else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let explorer = Explorer::new(listener, Calculator::new(None));
    let url = explorer.url().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(explorer.serve(async {
        let _ = stopped.await;
    }));
    browser.page.goto(&url).await.unwrap();
    answered(&browser, 0).await;

    // All curves come, and the proof takes the estimate's place.
    browser.until("document.querySelectorAll('[data-part=rows] tr').length === 5").await;
    let estimate: f64 = text(&browser, "epsilon").await.parse().unwrap();
    browser.until("document.getElementById('calculator').dataset.proven > 0").await;
    let proven: f64 = text(&browser, "epsilon").await.parse().unwrap();
    assert!(estimate <= proven && proven < 1.1 * estimate, "{estimate} {proven}");
    assert!(text(&browser, "certainty").await.contains("proven"));
    assert_eq!(browser.number("return document.querySelectorAll('path.line').length").await, 5);

    // Every control is answered, the first time within a tenth of a second.
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
        let before = number(&browser).await;
        set(&browser, name, value).await;
        fastest = fastest.min(answered(&browser, before).await);
    }
    assert!(fastest < 100.0, "the first answer took {fastest} ms");
    eprintln!("the first answer to a moved control took {fastest} ms at best");
    let commands = text(&browser, "commands").await;
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
    let read = async || -> Vec<u64> {
        serde_json::from_value(browser.page.execute(votes, vec![]).await.unwrap()).unwrap()
    };
    let before = read().await;
    let handle = browser.page.find(Locator::Css(".handle[data-class='1']")).await.unwrap();
    handle.send_keys("\u{e013}").await.unwrap();
    browser
        .until(&format!(
            "+document.querySelectorAll('.handle')[1].ariaValueNow === {}",
            before[1] + 1
        ))
        .await;
    let drag = "const handle = document.querySelector(\".handle[data-class='2']\");\
        const box = handle.getBoundingClientRect();\
        const at = (y) => ({ clientX: box.x + 5, clientY: y, bubbles: true, pointerId: 1 });\
        handle.dispatchEvent(new PointerEvent('pointerdown', at(box.bottom - 10)));\
        window.dispatchEvent(new PointerEvent('pointermove', at(box.top + box.height / 2)));\
        window.dispatchEvent(new PointerEvent('pointerup', at(box.top)));";
    browser.page.execute(drag, vec![]).await.unwrap();
    browser.until("+document.querySelectorAll('.handle')[2].ariaValueNow > 100").await;
    assert_eq!(read().await.iter().sum::<u64>(), 250, "every teacher has one vote");

    // What cannot be is said, and stays said until it is put right.
    set(&browser, "polynomial", "8Y").await;
    browser.until("!document.querySelector('[data-part=problem]').hidden").await;
    assert!(text(&browser, "problem").await.contains("polynomial"));
    set(&browser, "polynomial", "8X^4+6X^3+4X^2+X").await;
    browser.until("document.querySelector('[data-part=problem]').hidden").await;
    // Two refusals of a bad polynomial are what the browser noted.
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|complaint| complaint.contains("422")), "{complaints:?}");

    browser.until("document.querySelectorAll('[data-part=rows] tr').length === 5").await;
    for (name, width, mobile) in [("desktop", 1280, false), ("phone", 320, true)] {
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            browser.screen(width, mobile).await;
            let widest = browser.number("return document.scrollingElement.scrollWidth").await;
            browser.picture(&format!("explore-{name}-{scheme}")).await;
            assert!(widest <= u64::from(width), "{name} scrolls sideways: {widest}");
            let low = browser.page.execute(LOW_CONTRAST, vec![]).await.unwrap();
            assert_eq!(low, "", "{name}, {scheme}");
        }
    }
    let unnamed = "return [...document.querySelectorAll('input')].filter((field) => \
        !field.labels.length && !field.ariaLabel).length";
    assert_eq!(browser.number(unnamed).await, 0, "every control has a name");

    // Nobody else: not without the key in the address, and not under another name.
    let refused = ureq::get(format!("http://127.0.0.1:{port}/")).call();
    assert!(matches!(refused, Err(ureq::Error::StatusCode(404))), "{refused:?}");
    let refused = ureq::get(&url).header("host", "evil.example:80").call();
    assert!(matches!(refused, Err(ureq::Error::StatusCode(403))), "{refused:?}");
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}
