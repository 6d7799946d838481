//! What a test can do with a browser, in words that read as a visitor's: open, click, type, look.

use crate::webdriver::{ELEMENT, Session};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the page has to come to what a test waits for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the driver waits for a page to be loaded: less than this program waits for an answer of the driver.
const PAGE_LOAD: Duration = Duration::from_secs(20);

/// The process that starts browsers for tests; it is stopped when this value goes.
pub struct Driver {
    process: Child,
    port: u16,
    chrome: PathBuf,
}

impl Driver {
    /// Starts chromedriver on a port that is free.
    pub fn start() -> Self {
        let chrome = program("CHROME", &["google-chrome", "chromium"]);
        let mut process = Command::new(program("CHROMEDRIVER", &["chromedriver"]))
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let output = process.stdout.take().expect("its output is piped");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let port = lines
            .find_map(|line| {
                line.split_once("successfully on port ")?
                    .1
                    .trim_end_matches('.')
                    .parse()
                    .ok()
            })
            .expect("chromedriver says on which port it listens");
        // Whatever else it says must be read, or it would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            port,
            chrome,
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Both fail only when the process has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program that an environment variable names, or the first of the names that is in PATH.
fn program(variable: &str, names: &[&str]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::var_os(variable)
        .map(PathBuf::from)
        .or_else(|| {
            names.iter().find_map(|name| {
                std::env::split_paths(&path)
                    .map(|folder| folder.join(name))
                    .find(|file| file.is_file())
            })
        })
        .unwrap_or_else(|| {
            panic!("neither ${variable} nor any of {names:?} in PATH; ./check installs one")
        })
}

/// A browser with a fresh profile and one tab.
pub struct Browser {
    session: Session,
    /// How the driver starts another one like it.
    port: u16,
    capabilities: Value,
    /// The page's address, ending in a slash.
    page: String,
    requests: RefCell<Vec<String>>,
    console_errors: RefCell<Vec<String>>,
}

#[allow(dead_code, reason = "a vocabulary is whole, whoever speaks it")]
impl Browser {
    /// Starts a browser that knows the page at the given address.
    pub fn start(driver: &Driver, page: &str) -> Self {
        // Without a folder named, chromedriver makes a fresh profile and removes it afterwards.
        let capabilities = json!({
            "browserName": "chrome",
            "timeouts": { "pageLoad": PAGE_LOAD.as_millis() as u64 },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": {
                "binary": driver.chrome,
                "args": [
                    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                    "--no-first-run", "--disable-background-networking", "--disable-component-update",
                    "--disable-sync", "--lang=en", "--window-size=1440,900",
                ],
            },
        });
        Self::start_with(driver.port, capabilities, page)
    }

    fn start_with(port: u16, capabilities: Value, page: &str) -> Self {
        Self {
            session: Session::start(port, &capabilities),
            port,
            capabilities,
            page: page.to_owned(),
            requests: RefCell::default(),
            console_errors: RefCell::default(),
        }
    }

    /// Another browser that knows nothing of this one. Its complaints are the test's to look at.
    #[track_caller]
    pub fn with_a_fresh_profile(&self) -> Self {
        Self::start_with(self.port, self.capabilities.clone(), &self.page)
    }

    /// Another browser that knows nothing of this one, and the page at another address. Its complaints are the test's to look at.
    #[track_caller]
    pub fn with_a_fresh_profile_at(&self, page: &str) -> Self {
        Self::start_with(self.port, self.capabilities.clone(), page)
    }

    /// Does something while another tab of this browser has the page open; the tab is closed at the end.
    #[track_caller]
    pub fn with_another_tab(&self, then: impl FnOnce()) {
        let this = self.session.get("window").expect("this tab has a name");
        let new = self.command("window/new", &json!({ "type": "tab" }));
        self.command("window", &json!({ "handle": new["handle"] }));
        self.open("");
        self.command("window", &json!({ "handle": this }));
        then();
        self.command("window", &json!({ "handle": new["handle"] }));
        self.session.delete("window").expect("it can be closed");
        self.command("window", &json!({ "handle": this }));
    }

    /// The page's address, ending in a slash.
    pub fn page(&self) -> &str {
        &self.page
    }

    /// Opens the page, with an address relative to its folder: `""`, `"#v1.…"`. Returns when the
    /// program has put something in the place of 'loading'.
    #[track_caller]
    pub fn open(&self, address: &str) {
        self.look_at(&format!("{}{address}", self.page));
        // Where only the part after # differs, a browser stays in the loaded page, as for a visitor.
        self.wait_until("the page has started", |browser| {
            browser.count(".before-the-page") == 0 && !browser.text_of("#page").is_empty()
        });
    }

    /// Opens any address and waits for nothing more than the document.
    #[track_caller]
    pub fn look_at(&self, address: &str) {
        self.command("url", &json!({ "url": address }));
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        // Where a newer edition takes over, the page loads itself again while it is being loaded, and the driver may miss that the
        // second load has ended. What is there then is looked at as after any other reload.
        if let Err(error) = self.session.post("refresh", &json!({})) {
            assert!(error.contains("timeout"), "refresh: {error}");
        }
    }

    /// The browser's button Back.
    #[track_caller]
    pub fn back(&self) {
        self.command("back", &json!({}));
    }

    /// The browser's button Forward.
    #[track_caller]
    pub fn forward(&self) {
        self.command("forward", &json!({}));
    }

    /// The address bar.
    #[track_caller]
    pub fn address(&self) -> String {
        let address = self
            .session
            .get("url")
            .unwrap_or_else(|error| panic!("{error}"));
        address.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the first element that a CSS selector finds, once it is there.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.element_command(&element, "click", &json!({}), selector);
    }

    /// Clicks one of the elements that a CSS selector finds, by its place among them.
    #[track_caller]
    pub fn click_nth(&self, selector: &str, place: usize) {
        let nth = "return document.querySelectorAll(arguments[0])[arguments[1]]";
        let element = reference(&self.execute(nth, &json!([selector, place])));
        let element = element.unwrap_or_else(|| panic!("there is no '{selector}' {place}"));
        self.element_command(&element, "click", &json!({}), selector);
    }

    /// Taps the first element that a CSS selector finds, as [`Browser::tap_nth`] does.
    #[track_caller]
    pub fn tap(&self, selector: &str) {
        self.wait_until(&format!("there is '{selector}'"), |browser| {
            browser.count(selector) > 0
        });
        self.tap_nth(selector, 0);
    }

    /// Taps the middle of one of the elements that a CSS selector finds, once it is scrolled into view; nothing may lie over it, and it
    /// may not be smaller than a thumb can hit: 24 by 24 CSS pixels, as WCAG 2.2 has it.
    #[track_caller]
    pub fn tap_nth(&self, selector: &str, place: usize) {
        const MIDDLE: &str = "
            const element = document.querySelectorAll(arguments[0])[arguments[1]];
            element.scrollIntoView({ block: 'nearest' });
            const box = element.getBoundingClientRect();
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
            const hit = document.elementFromPoint(x, y);
            return [Math.round(x), Math.round(y), Math.min(box.width, box.height), element.contains(hit), hit?.className ?? ''];";
        let found = self.execute(MIDDLE, &json!([selector, place]));
        let (x, y, size, is_free) = (&found[0], &found[1], &found[2], &found[3]);
        assert!(
            size.as_f64().is_some_and(|size| size >= 24.0),
            "'{selector}' {place} is only {size} px"
        );
        assert_eq!(
            *is_free,
            json!(true),
            "over '{selector}' {place} lies '{}'",
            found[4]
        );
        let touch = json!({ "actions": [{
            "type": "pointer", "id": "thumb", "parameters": { "pointerType": "touch" },
            "actions": [
                { "type": "pointerMove", "duration": 0, "x": x, "y": y },
                { "type": "pointerDown", "button": 0 },
                { "type": "pointerUp", "button": 0 },
            ],
        }] });
        self.command("actions", &touch);
    }

    /// Whether the middle of the first element that a CSS selector finds is within the window.
    #[track_caller]
    pub fn is_in_view(&self, selector: &str) -> bool {
        const SEEN: &str = "
            const element = document.querySelector(arguments[0]);
            if (!element?.checkVisibility()) return false;
            const box = element.getBoundingClientRect();
            return box.width > 0 && box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight;";
        self.execute(SEEN, &json!([selector])) == json!(true)
    }

    /// Clicks what a visitor would call by this text: the button, link, tab, label or summary whose
    /// visible text, accessible name or tooltip is exactly this.
    #[track_caller]
    pub fn click_text(&self, text: &str) {
        const BY_TEXT: &str = "
            const wanted = arguments[0];
            const candidates = document.querySelectorAll(
                'button, a[href], summary, label, option, [role=button], [role=tab], [role=menuitem], [role=option]');
            return [...candidates].find(it => it.checkVisibility()
                && [(it.innerText ?? '').trim(), it.getAttribute('aria-label'), it.title].includes(wanted)) ?? null;";
        let mut element = None;
        self.wait_until(
            &format!("there is something to click called '{text}'"),
            |browser| {
                element = reference(&browser.execute(BY_TEXT, &json!([text])));
                element.is_some()
            },
        );
        let element = element.expect("waited for");
        self.element_command(&element, "click", &json!({}), text);
    }

    /// Types into the field that a CSS selector finds, after what it holds already.
    #[track_caller]
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.element_command(&element, "value", &json!({ "text": text }), selector);
    }

    /// Empties the field and types.
    #[track_caller]
    pub fn replace_text(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.element_command(&element, "clear", &json!({}), selector);
        self.element_command(&element, "value", &json!({ "text": text }), selector);
    }

    /// Presses a key wherever the focus is. A printable character stands for itself; WebDriver's
    /// names for the others are in [`keys`].
    #[track_caller]
    pub fn press(&self, key: &str) {
        let focused = self
            .session
            .get("element/active")
            .unwrap_or_else(|error| panic!("nothing has the focus: {error}"));
        let element = reference(&focused).expect("the focused element");
        self.element_command(
            &element,
            "value",
            &json!({ "text": key }),
            "the focused element",
        );
    }

    /// The visible text of the first element that a CSS selector finds, once it is there.
    #[track_caller]
    pub fn text_of(&self, selector: &str) -> String {
        let element = self.element(selector);
        self.session
            .get(&format!("element/{element}/text"))
            // Replaced between finding it and reading it: it is read in its new shape next time.
            .map_or_else(
                |_| String::new(),
                |text| text.as_str().unwrap_or_default().to_owned(),
            )
    }

    /// The visible texts of all elements that a CSS selector finds, in document order.
    #[track_caller]
    pub fn texts_of(&self, selector: &str) -> Vec<String> {
        let texts = self.execute(
            "return [...document.querySelectorAll(arguments[0])].map(it => it.innerText.trim())",
            &json!([selector]),
        );
        let texts = texts.as_array().cloned().unwrap_or_default();
        texts
            .iter()
            .map(|text| text.as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// What a field holds.
    #[track_caller]
    pub fn value_of(&self, selector: &str) -> String {
        let value = self.execute(
            "return document.querySelector(arguments[0])?.value ?? ''",
            &json!([selector]),
        );
        value.as_str().unwrap_or_default().to_owned()
    }

    /// How many elements a CSS selector finds.
    #[track_caller]
    pub fn count(&self, selector: &str) -> u64 {
        self.execute(
            "return document.querySelectorAll(arguments[0]).length",
            &json!([selector]),
        )
        .as_u64()
        .unwrap_or_default()
    }

    /// Runs JavaScript in the page: `return` gives a value, `arguments` are the given array.
    #[track_caller]
    pub fn execute(&self, script: &str, arguments: &Value) -> Value {
        self.command(
            "execute/sync",
            &json!({ "script": script, "args": arguments }),
        )
    }

    /// Runs JavaScript that calls the last of its `arguments` with its value when it is done.
    #[track_caller]
    pub fn execute_until_done(&self, script: &str, arguments: &Value) -> Value {
        self.command(
            "execute/async",
            &json!({ "script": script, "args": arguments }),
        )
    }

    /// Waits until a condition holds, and fails with the given words when it does not come to that.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        assert!(
            self.comes_to(&mut condition),
            "waited {} s, and still not: {what}",
            PATIENCE.as_secs()
        );
    }

    /// Waits until a condition holds, and says whether it came to that.
    pub fn comes_to(&self, mut condition: impl FnMut(&Self) -> bool) -> bool {
        let begun = Instant::now();
        while !condition(self) {
            if begun.elapsed() >= PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Waits until the visible text of an element contains the given words.
    #[track_caller]
    pub fn wait_for_text(&self, selector: &str, words: &str) {
        let mut seen = String::new();
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            seen = self.text_of(selector);
            if seen.contains(words) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("'{selector}' never said '{words}'; it says:\n{seen}");
    }

    /// Lets the page use the clipboard, and a test read it.
    #[track_caller]
    pub fn allow_clipboard(&self) {
        let permissions =
            json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
        self.developer_tools("Browser.grantPermissions", &permissions);
    }

    /// The size of the window's inside, in CSS pixels.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.developer_tools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// From now on the browser is that of a phone of this size, in CSS pixels, with a screen that is touched.
    #[track_caller]
    pub fn is_a_phone(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 2, "mobile": true });
        self.developer_tools("Emulation.setDeviceMetricsOverride", &size);
        let touch = json!({ "enabled": true, "maxTouchPoints": 1 });
        self.developer_tools("Emulation.setTouchEmulationEnabled", &touch);
    }

    /// Whether the visitor's system asks for dark colours.
    #[track_caller]
    pub fn prefer_dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.developer_tools("Emulation.setEmulatedMedia", &media);
    }

    /// Saves what the window of the given size shows, in the system's light or dark colours.
    #[track_caller]
    pub fn screenshot(&self, file: &Path, width: u32, height: u32, dark: bool) {
        self.resize(width, height);
        self.prefer_dark(dark);
        self.take_picture(file);
    }

    /// Saves what the window shows as it is.
    #[track_caller]
    pub fn take_picture(&self, file: &Path) {
        let picture = self
            .session
            .get("screenshot")
            .unwrap_or_else(|error| panic!("{error}"));
        let bytes = from_base64(picture.as_str().unwrap_or_default());
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        }
        std::fs::write(file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    /// What the browser itself found wrong up to now: errors on its console (a broken policy and a
    /// missing file count among them), and requests that left the page's folder.
    #[track_caller]
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = self.console_errors.borrow_mut();
        let entries = self.log("browser");
        let errors = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        complaints.extend(errors.map(|entry| format!("on the console: {}", entry["message"])));
        let requests = self.requests();
        let strangers = requests.iter().filter(|address| {
            ![self.page.as_str(), "data:", "blob:"]
                .iter()
                .any(|start| address.starts_with(start))
        });
        let strangers =
            strangers.map(|address| format!("a request left the page's folder: {address}"));
        complaints.iter().cloned().chain(strangers).collect()
    }

    /// Forgets the errors on the console up to now, where a test provoked them on purpose.
    #[track_caller]
    pub fn forget_console_errors(&self) {
        self.complaints();
        self.console_errors.borrow_mut().clear();
    }

    /// Runs JavaScript in every page from now on, before the page's own scripts.
    #[track_caller]
    pub fn before_every_page(&self, script: &str) {
        self.developer_tools(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({ "source": script }),
        );
    }

    /// Every address that was asked for up to now.
    #[track_caller]
    pub fn requests(&self) -> Vec<String> {
        let new = self.log("performance");
        let mut requests = self.requests.borrow_mut();
        requests.extend(new.iter().filter_map(requested_address));
        requests.clone()
    }

    /// Takes the entries that the browser has put into one of its logs since the last time.
    #[track_caller]
    fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self.command("se/log", &json!({ "type": kind }));
        entries.as_array().cloned().unwrap_or_default()
    }

    #[track_caller]
    fn developer_tools(&self, command: &str, parameters: &Value) {
        self.command(
            "goog/cdp/execute",
            &json!({ "cmd": command, "params": parameters }),
        );
    }

    /// The first element that a CSS selector finds, once it is there.
    #[track_caller]
    fn element(&self, selector: &str) -> String {
        let query = json!({ "using": "css selector", "value": selector });
        let mut element = None;
        self.wait_until(&format!("there is an element '{selector}'"), |browser| {
            element = browser
                .session
                .post("element", &query)
                .ok()
                .as_ref()
                .and_then(reference);
            element.is_some()
        });
        element.expect("waited for")
    }

    #[track_caller]
    fn element_command(&self, element: &str, command: &str, body: &Value, name: &str) {
        self.session
            .post(&format!("element/{element}/{command}"), body)
            .unwrap_or_else(|error| panic!("{command} '{name}': {error}"));
    }

    #[track_caller]
    fn command(&self, command: &str, body: &Value) -> Value {
        self.session
            .post(command, body)
            .unwrap_or_else(|error| panic!("{command}: {error}"))
    }
}

/// WebDriver's names for the keys that print nothing, for [`Browser::press`].
#[allow(dead_code, reason = "a vocabulary is whole, whoever speaks it")]
pub mod keys {
    pub const BACKSPACE: &str = "\u{E003}";
    pub const TAB: &str = "\u{E004}";
    pub const ENTER: &str = "\u{E006}";
    pub const SHIFT: &str = "\u{E008}";
    pub const CONTROL: &str = "\u{E009}";
    pub const ESCAPE: &str = "\u{E00C}";
    pub const SPACE: &str = "\u{E00D}";
    pub const LEFT: &str = "\u{E012}";
    pub const UP: &str = "\u{E013}";
    pub const RIGHT: &str = "\u{E014}";
    pub const DOWN: &str = "\u{E015}";
}

/// The element that an answer refers to.
fn reference(answer: &Value) -> Option<String> {
    answer[ELEMENT].as_str().map(str::to_owned)
}

/// The address that an entry of the performance log says was asked for.
fn requested_address(entry: &Value) -> Option<String> {
    let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
    let event = &message["message"];
    (event["method"] == "Network.requestWillBeSent").then(|| {
        event["params"]["request"]["url"]
            .as_str()
            .map(str::to_owned)
    })?
}

/// Decodes standard base64, in which a driver sends pictures.
fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = (bits << 6 | u32::from(value)) & 0xFFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    bytes
}
