//! A real Chromium without a window, driven through chromedriver.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::programs::{found_in, program};
use crate::webdriver::Page;

/// A browser and its driver; both end when this is dropped.
pub(crate) struct Browser {
    pub(crate) page: Page,
    _driver: Driver,
    _profile: TempDir,
}

/// The driver's process, which must not outlive the test, however that ends.
struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    fn start(program: &Path) -> Self {
        let mut process = Command::new(program)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = process.stdout.take().expect("its output is a pipe");
        let mut driver = Self { process, port: 0 };
        driver.port = found_in(output, "on which port chromedriver listens", |line| {
            line.strip_suffix('.')?.rsplit_once("on port ")?.1.parse().ok()
        });
        driver
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn places(name: &str) -> [PathBuf; 2] {
    ["/usr/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(name))
}

impl Browser {
    /// Starts one, or gives none where Chromium is not installed.
    pub(crate) fn start() -> Option<Self> {
        let chromium = program("Chromium", &places("chromium"))?;
        let driver = program("chromedriver", &places("chromedriver"))?;
        let driver = Driver::start(&driver);
        let profile = tempfile::tempdir().unwrap();
        let capabilities = json!({
            // The certificate that the server makes for trying things out.
            "acceptInsecureCerts": true,
            "goog:chromeOptions": {
                "binary": chromium,
                "args": [
                    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                    "--no-first-run",
                    "--disable-background-networking", "--disable-component-update",
                    "--disable-sync",
                    "--disable-dev-shm-usage", "--window-size=1280,900",
                    format!("--user-data-dir={}", profile.path().display()),
                ],
            },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let page = Page::open(&driver.url(), &capabilities);
        Some(Self { page, _driver: driver, _profile: profile })
    }

    /// A command of the driver's own, beyond the standard.
    fn command(&self, path: &str, body: &Value) -> Value {
        self.page.tell(path, body).unwrap()
    }

    fn developer(&self, command: &str, parameters: &Value) {
        self.command("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// Looks at the page on a screen of this width, as high as the page.
    pub(crate) fn screen(&self, width: u32, mobile: bool) {
        for height in [600, 0] {
            let whole = "return document.scrollingElement.scrollHeight";
            let height = match height {
                0 => self.number(whole),
                height => height,
            };
            let metrics = json!({
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile
            });
            self.developer("Emulation.setDeviceMetricsOverride", &metrics);
        }
    }

    /// Saves downloads to a folder.
    pub(crate) fn save_to(&self, folder: &Path) {
        let behaviour = json!({ "behavior": "allow", "downloadPath": folder });
        self.developer("Browser.setDownloadBehavior", &behaviour);
    }

    /// Prefers light or dark colours.
    pub(crate) fn colours(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.developer("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Runs scripts of pages, or does not.
    pub(crate) fn scripts(&self, run: bool) {
        self.developer("Emulation.setScriptExecutionDisabled", &json!({ "value": !run }));
    }

    /// What the browser complained about since the last look.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.command("se/log", &json!({ "type": "browser" }));
        let lines = log.as_array().expect("a list of lines").iter();
        lines
            .filter(|line| line["level"] != "INFO" && line["level"] != "DEBUG")
            .map(|line| line["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    pub(crate) fn number(&self, script: &str) -> u64 {
        let value = self.page.execute(script).unwrap();
        value.as_u64().unwrap_or_else(|| panic!("{script}: {value}"))
    }

    /// Waits until a script says so, for at most two minutes.
    pub(crate) fn until(&self, condition: &str) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_mins(2) {
            // While a page is being replaced there is nothing to ask.
            let value = self.page.execute(&format!("return {condition}"));
            if value.is_ok_and(|value| value == true) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let text = self.page.execute("return document.body.innerText");
        panic!("never came true: {condition}; the page says {text:?}");
    }

    /// The page's text. Where scripts are switched off, the browser now and then has none yet.
    pub(crate) fn source(&self) -> String {
        let start = Instant::now();
        loop {
            let source = self.page.source();
            if !source.is_empty() || start.elapsed() > Duration::from_mins(1) {
                return source;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Keeps a picture under `target/page`.
    pub(crate) fn picture(&self, name: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("page");
        std::fs::create_dir_all(&folder).unwrap();
        let picture = BASE64_STANDARD.decode(self.page.screenshot()).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    }
}
