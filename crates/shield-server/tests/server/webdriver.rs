//! As much of the WebDriver protocol as the tests of pages need.
//!
//! Its few requests are written out here: a library for it brought twenty crates, and changed the
//! features of those that the server itself uses, so that these were compiled twice.

use serde_json::{Value, json};

/// The key under which the protocol names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A window of a browser, which ends when this is dropped.
pub(crate) struct Page {
    /// Where the driver expects requests of this session.
    session: String,
}

/// Something on a page.
pub(crate) struct Element<'p> {
    page: &'p Page,
    id: String,
}

impl Page {
    pub(crate) fn open(driver: &str, capabilities: &Value) -> Self {
        let wanted = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let started = send(&format!("{driver}/session"), Some(&wanted)).unwrap();
        let id = started["sessionId"].as_str().expect("a session has a name");
        Self { session: format!("{driver}/session/{id}") }
    }

    /// Tells the driver something.
    pub(crate) fn tell(&self, command: &str, body: &Value) -> Result<Value, String> {
        send(&format!("{}/{command}", self.session), Some(body))
    }

    fn ask(&self, question: &str) -> Result<Value, String> {
        send(&format!("{}/{question}", self.session), None)
    }

    fn text(&self, question: &str) -> String {
        let answer = self.ask(question).unwrap();
        answer.as_str().unwrap_or_else(|| panic!("{question}: {answer}")).to_owned()
    }

    pub(crate) fn goto(&self, address: &str) {
        self.tell("url", &json!({ "url": address })).unwrap();
    }

    /// What a script returns.
    pub(crate) fn execute(&self, script: &str) -> Result<Value, String> {
        self.tell("execute/sync", &json!({ "script": script, "args": [] }))
    }

    pub(crate) fn title(&self) -> String {
        self.text("title")
    }

    pub(crate) fn source(&self) -> String {
        self.text("source")
    }

    /// A picture of what is visible: PNG, in base64.
    pub(crate) fn screenshot(&self) -> String {
        self.text("screenshot")
    }

    fn element(&self, found: Result<Value, String>) -> Element<'_> {
        let found = found.unwrap();
        let id = found[ELEMENT].as_str().unwrap_or_else(|| panic!("not an element: {found}"));
        Element { page: self, id: id.to_owned() }
    }

    /// The first element that a CSS selector finds.
    pub(crate) fn find(&self, selector: &str) -> Element<'_> {
        self.element(self.tell("element", &by(selector)))
    }

    /// The element that has the focus.
    pub(crate) fn active_element(&self) -> Element<'_> {
        self.element(self.ask("element/active"))
    }

    /// Says yes to a question of the page.
    pub(crate) fn accept_alert(&self) -> Result<Value, String> {
        self.tell("alert/accept", &json!({}))
    }

    /// The name of the window.
    pub(crate) fn window(&self) -> String {
        self.text("window")
    }

    /// Opens another tab and gives its name.
    pub(crate) fn new_window(&self) -> String {
        let made = self.tell("window/new", &json!({ "type": "tab" })).unwrap();
        made["handle"].as_str().expect("a window has a name").to_owned()
    }

    pub(crate) fn switch_to_window(&self, name: &str) {
        self.tell("window", &json!({ "handle": name })).unwrap();
    }

    pub(crate) fn close_window(&self) {
        ureq::delete(format!("{}/window", self.session)).call().unwrap();
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // The driver ends the browser; killing the driver alone would leave the browser behind.
        let _ = ureq::delete(&self.session).call();
    }
}

impl Element<'_> {
    fn tell(&self, command: &str, body: &Value) -> Result<Value, String> {
        self.page.tell(&format!("element/{}/{command}", self.id), body)
    }

    /// Fails if the page has just put another in its place.
    pub(crate) fn click(&self) -> Result<Value, String> {
        self.tell("click", &json!({}))
    }

    /// Types; fails like a click.
    pub(crate) fn send_keys(&self, keys: &str) -> Result<Value, String> {
        self.tell("value", &json!({ "text": keys }))
    }

    /// The text that people see.
    pub(crate) fn text(&self) -> String {
        self.page.text(&format!("element/{}/text", self.id))
    }

    /// The first element inside that a CSS selector finds.
    pub(crate) fn find(&self, selector: &str) -> Self {
        self.page.element(self.tell("element", &by(selector)))
    }
}

fn by(selector: &str) -> Value {
    json!({ "using": "css selector", "value": selector })
}

/// Sends a request, and gives its answer, or what the driver says is wrong.
fn send(address: &str, body: Option<&Value>) -> Result<Value, String> {
    // Answers that are no success say why in their body.
    let sent = match body {
        Some(body) => {
            ureq::post(address).config().http_status_as_error(false).build().send_json(body)
        }
        None => ureq::get(address).config().http_status_as_error(false).build().call(),
    };
    let mut answer = sent.map_err(|error| format!("{address}: {error}"))?;
    // Pictures are larger than what is read without a word.
    let read = answer.body_mut().with_config().limit(64 << 20).read_json::<Value>();
    let mut value = read.map_err(|error| format!("{address}: {error}"))?;
    if !answer.status().is_success() {
        return Err(format!("{address}: {}", value["value"]["message"]));
    }
    Ok(value["value"].take())
}
