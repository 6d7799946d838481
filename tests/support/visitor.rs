//! Somebody who uses the page: presses what has these words, and looks for what ought to be seen.

use latchkey::session::Session;
use latchkey::ui::desk::Desk;
use leptos::prelude::{GetUntracked, WithUntracked};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, Event, EventInit, HtmlElement, HtmlInputElement, HtmlTextAreaElement};

const STYLE: &str = concat!(
    include_str!("../../style/tokens.css"),
    include_str!("../../style/base.css"),
    include_str!("../../style/layout.css"),
    include_str!("../../style/clients.css"),
    include_str!("../../style/picture.css"),
    include_str!("../../style/text.css"),
);

/// A page in the test's document, and whoever uses it. It goes when its visitor does.
pub struct Visitor {
    place: HtmlElement,
    desk: Desk,
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.place.remove();
    }
}

impl Visitor {
    /// Opens the page on this text.
    pub async fn opens(text: &str) -> Visitor {
        let document = web_sys::window().unwrap().document().unwrap();
        let place: HtmlElement = document.create_element("div").unwrap().unchecked_into();
        // What is seen decides what is drawn, and the style decides what is seen.
        let style = document.create_element("style").unwrap();
        style.set_text_content(Some(STYLE));
        place.append_child(&style).unwrap();
        document.body().unwrap().append_child(&place).unwrap();
        let session = Session::new(text, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        let desk = latchkey::ui::mount_on(place.clone(), session);
        let page = Visitor { place, desk };
        page.waits().await;
        page
    }

    /// Until the page has drawn what was done.
    pub async fn waits(&self) {
        self.waits_for(30).await;
    }

    /// Until so much time has passed.
    pub async fn waits_for(&self, milliseconds: i32) {
        let promise = js_sys::Promise::new(&mut |resolve, _| {
            let window = web_sys::window().unwrap();
            window
                .set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, milliseconds)
                .unwrap();
        });
        wasm_bindgen_futures::JsFuture::from(promise).await.unwrap();
    }

    // Finding.

    fn all(&self, selector: &str) -> Vec<HtmlElement> {
        let found = self.place.query_selector_all(selector).unwrap();
        (0..found.length())
            .filter_map(|place| found.get(place)?.dyn_into().ok())
            .collect()
    }

    /// How many elements there are.
    pub fn count(&self, selector: &str) -> usize {
        self.place.query_selector_all(selector).unwrap().length() as usize
    }

    fn one(&self, selector: &str) -> HtmlElement {
        let found = self.all(selector).into_iter().next();
        found.unwrap_or_else(|| panic!("there is no {selector}"))
    }

    fn words(element: &Element) -> String {
        element.text_content().unwrap_or_default()
    }

    /// The element of these that has the words, for a good message where none does.
    fn with_words(&self, selector: &str, words: &str) -> HtmlElement {
        let all = self.all(selector);
        let seen: Vec<String> = all.iter().map(|element| Visitor::words(element)).collect();
        let place = seen.iter().position(|seen| seen.contains(words));
        let place = place.unwrap_or_else(|| panic!("no {selector} says {words:?}: {seen:#?}"));
        all[place].clone()
    }

    /// A client's card.
    pub fn card(&self, client: &str) -> HtmlElement {
        self.one(&format!(".client[aria-label='Client {client}']"))
    }

    /// A button on a client's card.
    pub fn button(&self, client: &str, words: &str) -> HtmlElement {
        let card = self.card(client);
        let buttons = card.query_selector_all(".client__buttons button").unwrap();
        let buttons = (0..buttons.length()).filter_map(|place| buttons.get(place));
        let mut fitting = buttons.filter(|button| button.text_content().as_deref() == Some(words));
        let found = fitting.next();
        let found = found.unwrap_or_else(|| panic!("the card of {client} has no button {words}"));
        found.unchecked_into()
    }

    /// Whether the element has the focus.
    pub fn has_focus(&self, element: &HtmlElement) -> bool {
        let active = element.owner_document().unwrap().active_element();
        active.is_some_and(|active| active.is_same_node(Some(element)))
    }

    // Doing.

    /// Presses a button of a client's card.
    pub async fn presses(&self, client: &str, words: &str) {
        self.button(client, words).click();
        self.waits().await;
    }

    /// Presses the button that says exactly this, or is described so.
    pub async fn presses_on_page(&self, words: &str) {
        let is_it = |name: &str| name == words;
        self.press_where(words, is_it).await;
    }

    /// Presses the first button whose words or description begin so.
    pub async fn presses_starting(&self, words: &str) {
        let is_it = |name: &str| name.starts_with(words);
        self.press_where(words, is_it).await;
    }

    async fn press_where(&self, words: &str, is_it: impl Fn(&str) -> bool) {
        let names = |button: &HtmlElement| {
            let said = [
                button.get_attribute("aria-label"),
                button.get_attribute("title"),
                button.get_attribute("title"),
                button.text_content(),
            ];
            said.into_iter().flatten().any(|name| is_it(name.trim()))
        };
        let button = self.all("button").into_iter().find(names);
        button
            .unwrap_or_else(|| panic!("no button is called {words:?}"))
            .click();
        self.waits().await;
    }

    /// Presses a latch.
    pub async fn presses_latch(&self, label: &str) {
        self.one(&format!("[aria-label='{label}']")).click();
        self.waits().await;
    }

    /// Chooses a tab.
    pub async fn presses_tab(&self, words: &str) {
        self.with_words("[role=tab]", words).click();
        self.waits().await;
    }

    /// Types milliseconds into the clock's field and advances.
    pub async fn advances(&self, milliseconds: &str) {
        let field: HtmlInputElement = self.one(".clock__free input").unchecked_into();
        field.set_value(milliseconds);
        self.presses_on_page("Advance").await;
    }

    /// Moves the slider.
    pub async fn moves_cursor(&self, to: usize) {
        let slider: HtmlInputElement = self.one(".scrub__slider").unchecked_into();
        slider.set_value(&to.to_string());
        tell(&slider, "input");
        self.waits().await;
    }

    /// The text in the editor.
    pub fn text(&self) -> String {
        let area: HtmlTextAreaElement = self.one(".text__area").unchecked_into();
        area.value()
    }

    /// Puts this text into the editor and stops typing.
    pub async fn types_text(&self, text: &str) {
        let area: HtmlTextAreaElement = self.one(".text__area").unchecked_into();
        area.set_value(text);
        tell(&area, "input");
        self.waits_for(400).await;
    }

    /// Types this behind what stands in the editor.
    pub async fn types(&self, words: &str) {
        let area: HtmlTextAreaElement = self.one(".text__area").unchecked_into();
        area.focus().unwrap();
        area.set_value(&(area.value() + words));
        tell_typed(&area, "insertText");
        self.waits().await;
    }

    /// Presses a key in an element; whether the page leaves it to the browser.
    pub async fn presses_key(&self, selector: &str, key: &str) -> bool {
        let how = web_sys::KeyboardEventInit::new();
        how.set_key(key);
        how.set_bubbles(true);
        how.set_cancelable(true);
        let event = web_sys::KeyboardEvent::new_with_keyboard_event_init_dict("keydown", &how);
        let is_left = self.one(selector).dispatch_event(&event.unwrap()).unwrap();
        self.waits().await;
        is_left
    }

    /// Types a command at the operator's console.
    pub async fn types_command(&self, command: &str) {
        let field: HtmlInputElement = self.one(".consoles__prompt input").unchecked_into();
        field.set_value(command);
        self.presses_on_page("Send").await;
    }

    /// Presses an arrow in the console's field, and sees this command there.
    pub async fn recalls_command(&self, key: &str, expected: &str) {
        self.presses_key(".consoles__prompt input", key).await;
        let field: HtmlInputElement = self.one(".consoles__prompt input").unchecked_into();
        assert_eq!(field.value(), expected);
    }

    /// Chooses the protocol of the client to be added.
    pub async fn chooses_protocol(&self, name: &str) {
        let select: web_sys::HtmlSelectElement = self.one(".clients__protocols").unchecked_into();
        select.set_value(name);
        assert_eq!(select.value(), name, "the protocol is offered");
        tell(&select, "change");
        self.waits().await;
    }

    /// Opens the story whose title begins so.
    pub async fn opens_story(&self, title: &str) {
        self.with_words(".story", title).click();
        self.waits().await;
    }

    /// Puts a name into the field of the client to be added, and adds it.
    pub async fn names_new_client(&self, name: &str) {
        let field: HtmlInputElement = self.one(".clients__name").unchecked_into();
        field.set_value(name);
        self.presses_starting("Add client").await;
    }

    /// Puts a name into the field on a card, and leaves it.
    pub async fn names_client(&self, name: &str) {
        let field: HtmlInputElement = self.one(".client__field").unchecked_into();
        field.set_value(name);
        tell(&field, "blur");
        self.waits().await;
    }

    fn field(&self, label: &str) -> HtmlElement {
        let label = self.with_words("label", label);
        let id = label.get_attribute("for").unwrap();
        self.one(&format!("[id='{id}']"))
    }

    /// What stands in the field with this label.
    pub fn sees_value(&self, label: &str, value: &str) {
        let field = self.field(label);
        let seen = js_sys::Reflect::get(&field, &"value".into()).unwrap();
        assert_eq!(seen.as_string().as_deref(), Some(value), "in {label}");
    }

    /// Puts a value into the field with this label, or chooses it there.
    pub async fn fills_in(&self, label: &str, value: &str) {
        let field = self.field(label);
        js_sys::Reflect::set(&field, &"value".into(), &value.into()).unwrap();
        tell(&field, "input");
        tell(&field, "change");
        self.waits().await;
    }

    /// Moves the pointer over the middle of an element.
    pub async fn points_at(&self, selector: &str) {
        // Until the picture has come to rest: scrolling takes the sentence away.
        self.waits_for(300).await;
        let element = self.place.query_selector(selector).unwrap().unwrap();
        let place = element.get_bounding_client_rect();
        let how = web_sys::MouseEventInit::new();
        how.set_bubbles(true);
        how.set_client_x((place.left() + place.width() / 2.0) as i32);
        how.set_client_y((place.top() + place.height() / 2.0) as i32);
        let event = web_sys::MouseEvent::new_with_mouse_event_init_dict("mousemove", &how);
        element.dispatch_event(&event.unwrap()).unwrap();
        self.waits().await;
    }

    /// Takes one of the choices with the pointer.
    pub async fn takes_choice(&self, selector: &str, words: &str) {
        let choice = format!("{selector} [role=option]");
        self.with_words(&choice, words).click();
        self.waits().await;
    }

    // Seeing.

    /// What was told last.
    pub fn said(&self) -> String {
        Visitor::words(&self.one(".status__said"))
    }

    /// These choices are offered, and this one is active (`""`: none).
    pub fn sees_choices(&self, selector: &str, choices: &[&str], active: &str) {
        let text = |choice: &HtmlElement| {
            let text = choice.query_selector(".choice__text").unwrap().unwrap();
            Visitor::words(&text)
        };
        let all = self.all(&format!("{selector} [role=option]"));
        let seen: Vec<String> = all.iter().map(text).take(choices.len().max(1)).collect();
        assert_eq!(seen, choices);
        let is_active = |choice: &&HtmlElement| {
            choice.get_attribute("aria-selected").as_deref() == Some("true")
        };
        let seen = all.iter().find(is_active).map(text).unwrap_or_default();
        assert_eq!(seen, active);
    }

    /// Something there says this.
    pub fn sees_words(&self, selector: &str, words: &str) {
        self.with_words(selector, words);
    }

    /// Where the elements stand.
    pub fn rectangles(&self, selector: &str) -> Vec<web_sys::DomRect> {
        let found = self.place.query_selector_all(selector).unwrap();
        let found = (0..found.length()).filter_map(|place| found.get(place));
        let elements = found.map(|found| found.unchecked_into::<Element>());
        elements
            .map(|element| element.get_bounding_client_rect())
            .collect()
    }

    /// The story's title stands at the top.
    pub fn sees_title(&self, title: &str) {
        assert_eq!(Visitor::words(&self.one(".masthead__name")), title);
    }

    /// The cursor is after so many of so many actions.
    pub fn sees_cursor(&self, after: usize, of: usize) {
        let seen = Visitor::words(&self.one(".transport__where"));
        assert_eq!(seen, format!("{after} of {of}"));
    }

    /// The clock says so.
    pub fn sees_now(&self, words: &str) {
        assert_eq!(Visitor::words(&self.one(".clock__now")), words);
    }

    /// A property has this verdict.
    pub fn sees_verdict(&self, property: &str, verdict: &str) {
        let row = self.with_words(".property", property);
        let seen = Visitor::words(&row.query_selector(".verdict").unwrap().unwrap());
        assert_eq!(seen, verdict, "{property}");
    }

    /// A line of the properties says that something differs from the text.
    pub fn sees_property_differing(&self, words: &str) {
        self.with_words(".property--broken", words);
    }

    /// The ledger has these verdicts, in order.
    pub fn sees_writes(&self, verdicts: &[&str]) {
        let seen: Vec<String> = self
            .all(".write .verdict")
            .iter()
            .map(|verdict| Visitor::words(verdict))
            .collect();
        assert_eq!(seen, verdicts);
    }

    /// A row of the only table holds these cells.
    pub fn sees_row(&self, table: &str, cells: &[&str]) {
        self.with_words(".server__note", table);
        let seen: Vec<String> = self
            .all(".rows td")
            .iter()
            .map(|cell| Visitor::words(cell))
            .collect();
        assert_eq!(seen, cells);
    }

    /// The same, where the last action changed the row: a changed cell shows what it was and what it is.
    pub fn sees_changed_row(&self, table: &str, cells: &[&str]) {
        self.sees_row(table, cells);
        assert!(
            self.count(".cell--changed") > 0,
            "nothing is marked as changed"
        );
    }

    /// The chip on a client's card says so.
    pub fn sees_state(&self, client: &str, state: &str) {
        let chip = self
            .card(client)
            .query_selector(".chip__words")
            .unwrap()
            .unwrap();
        assert_eq!(Visitor::words(&chip), state, "{client}");
    }

    /// What a client believes, and what the store says, has these words.
    pub fn sees_belief(&self, client: &str, words: &str) {
        let belief = self
            .card(client)
            .query_selector(".belief")
            .unwrap()
            .unwrap();
        let seen = Visitor::words(&belief);
        assert!(seen.contains(words), "{client}: {seen:?}");
    }

    /// The step that a client is at.
    pub fn sees_step(&self, client: &str, label: &str) {
        let current = self
            .card(client)
            .query_selector("[aria-current=step]")
            .unwrap()
            .unwrap();
        let seen = Visitor::words(&current);
        assert!(seen.starts_with(label), "{client} is at {seen:?}");
    }

    /// The reply beside a step.
    pub fn sees_reply(&self, client: &str, label: &str, reply: &str) {
        let steps = self.card(client).query_selector_all(".step").unwrap();
        let steps =
            (0..steps.length()).filter_map(|place| steps.get(place)?.dyn_into::<Element>().ok());
        let mut fitting = steps.filter(|step| Visitor::words(step).starts_with(label));
        let step = fitting
            .next()
            .unwrap_or_else(|| panic!("{client} has no step {label}"));
        let seen = Visitor::words(&step.query_selector(".step__reply").unwrap().unwrap());
        assert_eq!(seen, reply, "{client} {label}");
    }

    /// Why a button of a client cannot be pressed.
    pub fn sees_why_not(&self, client: &str, words: &str, why: &str) {
        let button = self.button(client, words);
        assert_eq!(
            button.get_attribute("aria-disabled").as_deref(),
            Some("true"),
            "{words} can be pressed"
        );
        let id = button.get_attribute("aria-describedby").unwrap();
        let seen = Visitor::words(&self.one(&format!("#{id}")));
        assert!(seen.contains(why), "{words}: {seen:?}");
    }

    fn key_row(&self, key: &str) -> Option<HtmlElement> {
        let rows = self.all(".key").into_iter();
        rows.into_iter().find(|row| {
            let name = row.query_selector(".key__name").unwrap().unwrap();
            Visitor::words(&name) == key
        })
    }

    /// The store names this client as the holder of a lock.
    pub fn sees_holder(&self, key: &str, client: &str) {
        let row = self
            .key_row(key)
            .unwrap_or_else(|| panic!("there is no key {key}"));
        let chip = row.query_selector(".chip").unwrap().unwrap();
        assert_eq!(
            chip.get_attribute("title").unwrap(),
            format!("{client} holds it")
        );
    }

    /// The store has this key with this value.
    pub fn sees_key(&self, key: &str, value: &str) {
        let row = self
            .key_row(key)
            .unwrap_or_else(|| panic!("there is no key {key}"));
        let seen = Visitor::words(&row.query_selector(".key__value").unwrap().unwrap());
        assert!(seen.starts_with(value), "{key}: {seen:?}");
    }

    /// The store has no such key.
    pub fn sees_no_key(&self, key: &str) {
        assert!(self.key_row(key).is_none(), "{key} is still there");
    }

    /// The status line says so.
    pub fn hears(&self, words: &str) {
        let seen = Visitor::words(&self.one(".status__said"));
        assert!(seen.contains(words), "{seen:?}");
    }

    /// The text has this line.
    pub fn sees_line(&self, line: &str) {
        let text = self.text();
        assert!(text.lines().any(|seen| seen == line), "{text}");
    }

    /// Under the text stands this error.
    pub fn sees_error(&self, words: &str) {
        self.with_words(".text__errors li", words);
        assert!(self.count(".x-error") > 0, "its place is marked");
    }

    /// Nothing is wrong with the text.
    pub fn sees_no_error(&self) {
        assert_eq!(self.count(".text__errors li"), 0);
    }

    /// The console has printed this.
    pub fn sees_console(&self, words: &str) {
        self.with_words(".console__said", words);
    }

    /// An element has this attribute.
    pub fn sees_attribute(&self, selector: &str, name: &str, value: &str) {
        assert_eq!(
            self.one(selector).get_attribute(name).as_deref(),
            Some(value)
        );
    }

    /// Whether the picture, which grew with the schedule, is the one that would be drawn now.
    pub fn picture_is_as_if_drawn_anew(&self) -> bool {
        let anew = self.desk.session.with_untracked(latchkey::ui::Drawing::of);
        self.desk.drawing.get_untracked() == anew
    }
}

/// Tells an element's listeners of an event, as the browser would.
fn tell(element: &JsValue, name: &str) {
    let how = EventInit::new();
    how.set_bubbles(true);
    let event = Event::new_with_event_init_dict(name, &how).unwrap();
    element
        .unchecked_ref::<Element>()
        .dispatch_event(&event)
        .unwrap();
}

/// Tells a field's listeners that something of this kind was typed.
fn tell_typed(element: &JsValue, kind: &str) {
    let how = EventInit::new();
    how.set_bubbles(true);
    let event = Event::new_with_event_init_dict("input", &how).unwrap();
    js_sys::Reflect::set(&event, &"inputType".into(), &kind.into()).unwrap();
    element
        .unchecked_ref::<Element>()
        .dispatch_event(&event)
        .unwrap();
}
