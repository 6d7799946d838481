//! The search: its bounds, which the text carries; how far it has come; and the schedule that it found, opened like any other.
//!
//! It runs in a worker ([`super::seeker`]); the page only hears what it tells, and so stays alive.

use super::view::*;

use super::browser;
use super::controls::{Button, fresh_id, icon};
use super::desk::{Desk, Over};
use crate::property::Property;
use crate::search::{
    Bounds, Budget, Goal, MOST, MOST_TIES, Outcome, Preset, Progress, Request, Start, told,
};
use crate::session::{Msg, Session};
use crate::words;

/// How far a search has come, as the page shows it.
#[derive(Clone, Default, PartialEq)]
pub struct Seeking {
    /// Whether there is one.
    pub stage: Stage,
    progress: Progress,
    outcome: Option<Outcome>,
    /// Worlds a second, of late.
    speed: u64,
    /// The text when it began, and how many of its actions come before what is found.
    begun: (String, usize),
    /// When the speed was measured last, in milliseconds, and how many worlds there were.
    measured: (f64, u64),
}

/// Where a search stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// None has begun.
    #[default]
    Idle,
    /// It goes on.
    Running,
    /// It is paused.
    Paused,
    /// It is over.
    Over,
    /// The browser has ended it.
    Failed,
}

/// How many letters of a search the choice among several shows.
const MOST_OF_A_CHOICE: usize = 80;

/// How many letters of what was typed into the field of a number are repeated.
const MOST_OF_A_NUMBER: usize = 20;

/// The element that shows what came of it.
const RESULT: &str = "search-result";

/// Which of the text's searches the page shows, from 0, where this one was chosen.
fn place(chosen: usize, session: &Session) -> usize {
    let last = session.reading().searches.len().saturating_sub(1);
    chosen.min(last)
}

/// The same as it is, for handlers.
fn place_now(desk: Desk) -> usize {
    desk.look(|session| place(desk.search.get_untracked(), session))
}

/// The search that the page shows, where this one was chosen.
fn shown_request(chosen: usize, session: &Session) -> Request {
    session.search_request(place(chosen, session))
}

// ---- doing

fn begin(desk: Desk) {
    let request = request_of(desk);
    let start = desk.look(|session| request.start.actions(session.timeline().len()));
    write(desk, request, None);
    let place = place_now(desk);
    let text = desk.look(Session::text);
    desk.seeking.set(Seeking {
        stage: Stage::Running,
        begun: (text.clone(), start),
        measured: (js_sys::Date::now(), 0),
        ..Seeking::default()
    });
    browser::start_search(
        &text,
        place,
        move |said| hear(desk, &said),
        move || desk.seeking.update(|seeking| seeking.stage = Stage::Failed),
    );
}

/// Another text is opened: a search of the one before says nothing of it.
pub fn forget(desk: Desk) {
    desk.search.set(0);
    end(desk);
}

/// Ends the search, and forgets what came of it.
fn end(desk: Desk) {
    if desk
        .seeking
        .with_untracked(|seeking| seeking.stage != Stage::Idle)
    {
        browser::end_search();
        desk.seeking.set(Seeking::default());
    }
}

fn hear(desk: Desk, said: &str) {
    let Some(told) = told::read(said) else {
        browser::end_search();
        return desk.seeking.update(|seeking| seeking.stage = Stage::Failed);
    };
    let is_over = told.outcome.is_some();
    desk.seeking.update(|seeking| {
        let (now, worlds) = (js_sys::Date::now(), told.progress.worlds);
        let (then, before) = seeking.measured;
        if now - then >= 500.0 || (is_over && seeking.speed == 0 && now > then) {
            seeking.speed = ((worlds - before.min(worlds)) as f64 * 1000.0 / (now - then)) as u64;
            seeking.measured = (now, worlds);
        }
        seeking.progress = told.progress;
        seeking.outcome = told.outcome;
        if is_over {
            seeking.stage = Stage::Over;
        }
    });
    if is_over {
        browser::end_search();
        conclude(desk);
    }
}

/// Opens what was found where the text is still the one that was searched.
fn conclude(desk: Desk) {
    let seeking = desk.seeking.get_untracked();
    let Some(outcome) = &seeking.outcome else {
        return;
    };
    if let Outcome::Found { text, .. } = outcome
        && desk.look(Session::text) == seeking.begun.0
    {
        open(desk, text.clone(), seeking.begun.1);
    }
    desk.say(in_words(outcome));
    request_animation_frame(|| browser::bring_into_view(RESULT));
}

fn open(desk: Desk, text: String, cursor: usize) {
    desk.playing.set(false);
    desk.send(Msg::OpenFound { text, cursor });
}

fn pause(desk: Desk, stage: Stage) {
    let word = if stage == Stage::Paused {
        "pause"
    } else {
        "resume"
    };
    browser::tell_search(word);
    desk.seeking.update(|seeking| {
        seeking.stage = stage;
        seeking.measured = (js_sys::Date::now(), seeking.progress.worlds);
    });
}

/// What came of it, in a sentence.
fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Found {
            steps,
            faults,
            breaks,
            ..
        } => {
            let what = match breaks {
                Some(property) => " break this: ".to_string() + property.sentence(),
                None => " lead there".to_string(),
            };
            let faults = match faults {
                0 => "none of them a fault,".to_string(),
                faults => words::count(*faults as usize, "fault", "faults") + " among them,",
            };
            words::count(*steps as usize, "action", "actions") + ", " + &faults + &what
        }
        Outcome::Nothing { worlds, .. } => {
            "None within these bounds: all ".to_string()
                + &words::grouped(*worlds)
                + " distinct worlds were tried"
        }
        Outcome::LimitReached {
            worlds,
            faults,
            depth,
            ..
        } => {
            "None up to depth ".to_string()
                + &depth.saturating_sub(1).to_string()
                + " with "
                + &words::count(*faults as usize, "fault", "faults")
                + ", nor with fewer faults: it ended after "
                + &words::grouped(*worlds)
                + " distinct worlds"
        }
    }
}

// ---- the button beside the picture

/// The buttons that open the comparison and the search; this one tells how far the search has come.
pub fn seek(desk: Desk) -> AnyView {
    let words = Memo::new(move || {
        desk.seeking.with(|seeking| match seeking.stage {
            Stage::Running => words::grouped(seeking.progress.worlds) + " worlds …",
            Stage::Paused => "Search paused".to_string(),
            _ => "Find a failing schedule".to_string(),
        })
    });
    let compare = Button::new("Compare")
        .icon("compare")
        .label("The same schedule under another fence or another protocol, side by side (V)")
        .class("button--small seek seek--compare")
        .does(move || desk.over.set(Some(Over::Compare)));
    view! {
        <span class="panel__tools">
            {compare.draw(desk)}
            {move || {
                Button::new(words.get())
                    .icon("find")
                    .label("Find a failing schedule (F)")
                    .class("button--small seek")
                    .does(move || desk.over.set(Some(Over::Search)))
                    .draw(desk)
            }}
        </span>
    }
}

// ---- the dialog

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let stage = Memo::new(move || desk.seeking.with(|seeking| seeking.stage));
    let frozen = desk.read(Session::why_not_writable);
    let nobody = desk.read(|session| {
        let runs = session
            .setup()
            .clients
            .iter()
            .any(|client| client.protocol.is_some());
        (!runs).then(|| "No client runs a protocol: add one first".to_string())
    });
    let buttons = move || {
        let can_go_on = matches!(stage.get(), Stage::Running | Stage::Paused);
        let begin = (!can_go_on).then(|| {
            Button::new("Search")
                .icon("find")
                .label("Search within these bounds")
                .primary(true)
                .unless(frozen.get().or(nobody.get()))
                .does(move || begin(desk))
                .draw(desk)
        });
        let pause = can_go_on.then(|| {
            let (words, then) = match stage.get() {
                Stage::Paused => ("Resume", Stage::Running),
                _ => ("Pause", Stage::Paused),
            };
            let stop = Button::new("Stop")
                .label("Stop the search")
                .does(|| browser::tell_search("stop"));
            let label = words.to_string() + " the search";
            let pause = Button::new(words)
                .label(label)
                .does(move || pause(desk, then));
            view! { {pause.draw(desk)} {stop.draw(desk)} }
        });
        view! { {begin} {pause} }
    };
    view! {
        <p class="help__lead">
            "Tries every order of the clients' steps, with every fault that you allow, and opens the shortest schedule that does it."
        </p>
        <p class="share__note">
            "Shortest means: as few faults as possible, then as few actions, the lines of the schedule. Of equals the one that changes \
             client least often is shown first, and the others are listed. Text and link carry what you choose."
        </p>
        {choice(desk)}
        {goal(desk)}
        {presets(desk)}
        <div class="share__row">{buttons}</div>
        {progress(desk)}
        <div id=RESULT>
            {move || desk.seeking.with(|seeking| seeking.outcome.clone()).map(|outcome| result(desk, outcome))}
        </div>
        {bounds(desk)}
    }
    .into_any()
}

fn request_of(desk: Desk) -> Request {
    desk.look(|session| shown_request(desk.search.get_untracked(), session))
}

fn set(desk: Desk, request: Request, reaches: Option<String>) {
    // What was found within other bounds says nothing of these.
    let request = Request {
        finds: None,
        ..request
    };
    write(desk, request, reaches);
}

/// Writes the search into the text.
fn write(desk: Desk, request: Request, reaches: Option<String>) {
    desk.send(Msg::SetSearch {
        place: place_now(desk),
        request: Box::new(request),
        reaches,
    });
}

/// The choice among the text's searches, where it has several.
fn choice(desk: Desk) -> AnyView {
    let several = desk.read(|session| {
        let searches = session.reading().searches.iter();
        let printed = searches.map(|search| crate::search::print_request(&search.request));
        let words = printed.map(|lines| {
            let lines: Vec<&str> = lines.lines().skip(1).map(str::trim).collect();
            words::shortened(&lines.join("; "), MOST_OF_A_CHOICE)
        });
        words.collect::<Vec<String>>()
    });
    let chosen = desk.read(move |session| place(desk.search.get(), session));
    let choose = move |event| {
        end(desk);
        desk.search
            .set(event_target_value(&event).parse().unwrap_or_default());
    };
    let draw = move || {
        let several = several.get();
        (several.len() > 1).then(|| {
            let options = several.into_iter().enumerate().map(|(place, words)| {
                let selected = move || chosen.get() == place;
                view! { <option value=place.to_string() selected=selected>{words}</option> }
            });
            let id = fresh_id();
            view! {
                <div class="search__goal">
                    <label class="share__note" for=id.clone()>"Which search of the text"</label>
                    <select class="select" id=id on:change=choose>{options.collect_view()}</select>
                </div>
            }
        })
    };
    view! { {draw} }.into_any()
}

/// What the search looks for, as the choice shows it.
fn chosen(place: usize, session: &Session) -> (String, String) {
    let request = shown_request(place, session);
    let claims = session.claims();
    let choice = match &request.goal {
        Goal::Reach(_) => "reach",
        Goal::Breaks(these) if these.is_empty() => "any",
        Goal::Breaks(these) if *these == claims => "claims",
        Goal::Breaks(these) if these.len() == 1 => these[0].sentence(),
        Goal::Breaks(_) => "several",
    };
    let printed = crate::search::print_request(&request);
    let reached = printed
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("reaches: "));
    (choice.to_string(), reached.collect::<Vec<_>>().join("\n"))
}

fn goal(desk: Desk) -> AnyView {
    let shown = desk.read(move |session| chosen(desk.search.get(), session));
    let has_claims = desk.read(|session| !session.claims().is_empty());
    // Chosen, and not yet written, as it wants to know what to reach.
    let reaching = RwSignal::new(false);
    let choose = move |event| {
        let choice = event_target_value(&event);
        reaching.set(choice == "reach");
        let goal = match choice.as_str() {
            "reach" | "several" => return,
            "any" => Vec::new(),
            "claims" => desk.look(Session::claims),
            sentence => Property::named(sentence).into_iter().collect(),
        };
        let request = Request {
            goal: Goal::Breaks(goal),
            ..request_of(desk)
        };
        set(desk, request, None);
    };
    let is_chosen = move |value: &str| match reaching.get() {
        true => value == "reach",
        false => shown.with(|(choice, _)| choice == value),
    };
    let option = move |value: &'static str, words: &'static str| {
        view! { <option value=value selected=move || is_chosen(value)>{words}</option> }.into_any()
    };
    let properties = Property::ALL.map(|property| option(property.sentence(), property.sentence()));
    let reach = move |event| {
        let lines = event_target_value(&event);
        if !lines.trim().is_empty() {
            set(desk, request_of(desk), Some(lines));
        }
    };
    let note = desk.read(move |session| note_on_goal(desk.search.get(), session));
    let (goal_id, reach_id) = (fresh_id(), fresh_id());
    let field = move || {
        is_chosen("reach").then(|| {
            view! {
                <label class="share__note" for=reach_id.clone()>"All of this, one expectation a line"</label>
                <textarea
                    class="field search__reach"
                    id=reach_id.clone()
                    rows="2"
                    spellcheck="false"
                    placeholder="inventory 'sku-1': qty 0"
                    prop:value=move || shown.with(|(_, reached)| reached.clone())
                    on:change=reach
                ></textarea>
            }
        })
    };
    view! {
        <div class="search__goal">
            <label class="share__note" for=goal_id.clone()>"Find a schedule that breaks"</label>
            <select class="select" id=goal_id on:change=choose>
                {move || has_claims.get().then(|| option("claims", "what the protocols claim"))}
                {option("any", "any property")}
                {move || is_chosen("several").then(|| option("several", "the properties that the text names"))}
                {properties.into_iter().collect_view()}
                {option("reach", "nothing, but reaches …")}
            </select>
            <p class="share__note">{move || note.get()}</p>
            {field}
        </div>
    }
    .into_any()
}

/// What the goal means in this scenario, where its words do not say it.
fn note_on_goal(place: usize, session: &Session) -> String {
    let claims = session.claims();
    match shown_request(place, session).goal {
        Goal::Breaks(these) if these.is_empty() => {
            let left_out = Property::OneBeliever;
            match left_out.is_unclaimed(session.setup()) {
                false => String::new(),
                true => {
                    "All but one: ".to_string()
                        + left_out.sentence()
                        + ". Every lease that lapses breaks that, and nobody claims it here; choose it to see how."
                }
            }
        }
        Goal::Breaks(these) if these == claims => {
            let sentences: Vec<&str> = these.iter().map(|property| property.sentence()).collect();
            "They claim: ".to_string() + &sentences.join("; ") + "."
        }
        _ => String::new(),
    }
}

/// A bound that is a number.
#[derive(Clone, Copy)]
enum Bound {
    Budget(Budget),
    Faults,
    Steps,
    Attempts,
    Worlds,
}

impl Bound {
    fn words(self) -> &'static str {
        match self {
            Bound::Budget(budget) => budget.words(),
            Bound::Faults => "faults in all",
            Bound::Steps => "actions",
            Bound::Attempts => "more attempts",
            Bound::Worlds => "worlds",
        }
    }

    fn explanation(self) -> &'static str {
        match self {
            Bound::Budget(budget) => budget.explanation(),
            Bound::Faults => "all kinds together; empty: as many as the kinds allow",
            Bound::Steps => "of the longest schedule; empty: however long",
            Bound::Attempts => "how often a client may try anew, beyond once for each run",
            Bound::Worlds => "distinct ones, after which the search gives up",
        }
    }

    fn get(self, request: &Request) -> Option<u64> {
        let bounds = &request.bounds;
        match self {
            Bound::Budget(budget) => Some(bounds.budget(budget).into()),
            Bound::Faults => bounds.faults.map(u64::from),
            Bound::Steps => bounds.steps.map(u64::from),
            Bound::Attempts => Some(bounds.attempts.into()),
            Bound::Worlds => Some(bounds.worlds),
        }
    }

    fn least(self) -> u64 {
        match self {
            Bound::Worlds => 1,
            _ => 0,
        }
    }

    fn most(self) -> u64 {
        match self {
            Bound::Worlds => MOST_WORLDS,
            _ => MOST,
        }
    }

    fn put(self, request: &mut Request, number: Option<u64>) {
        let bounds = &mut request.bounds;
        let small = number.map(|number| number as u32);
        match self {
            Bound::Budget(budget) => *bounds.budget_mut(budget) = small.unwrap_or(0),
            Bound::Faults => bounds.faults = small,
            Bound::Steps => bounds.steps = small,
            Bound::Attempts => bounds.attempts = small.unwrap_or(crate::search::ATTEMPTS),
            Bound::Worlds => bounds.worlds = number.unwrap_or(crate::search::WORLDS),
        }
    }
}

/// The most worlds that the field takes.
const MOST_WORLDS: u64 = 100_000_000;

/// Bounds that belong together, with what they are about.
const GROUPS: [(&str, &str, &[Bound]); 6] = [
    (
        "Time",
        "Leases end, and clocks are wrong.",
        &[
            Bound::Budget(Budget::Lapses),
            Bound::Budget(Budget::Expiries),
            Bound::Budget(Budget::Shifts),
            Bound::Budget(Budget::ClockJumps),
        ],
    ),
    (
        "Keys",
        "Redis forgets something, and somebody puts it back.",
        &[
            Bound::Budget(Budget::Wipes),
            Bound::Budget(Budget::Evictions),
            Bound::Budget(Budget::Reseeds),
        ],
    ),
    (
        "Clients",
        "A program dies, and perhaps comes back.",
        &[
            Bound::Budget(Budget::Crashes),
            Bound::Budget(Budget::Restarts),
        ],
    ),
    (
        "Servers",
        "A Redis server dies, and another takes its place.",
        &[
            Bound::Budget(Budget::ServerCrashes),
            Bound::Budget(Budget::ServerRestarts),
            Bound::Budget(Budget::Failovers),
        ],
    ),
    (
        "Network",
        "A message is lost, or comes late.",
        &[
            Bound::Budget(Budget::LostRequests),
            Bound::Budget(Budget::LostReplies),
            Bound::Budget(Budget::LateRequests),
            Bound::Budget(Budget::LateReplies),
        ],
    ),
    (
        "How far",
        "Where the search ends.",
        &[Bound::Faults, Bound::Steps, Bound::Attempts, Bound::Worlds],
    ),
];

/// Which preset the bounds are, where they are one.
fn preset_of(session: &Session, bounds: &Bounds) -> Option<Preset> {
    let same = |preset: &Preset| preset.bounds(session.setup(), bounds) == *bounds;
    Preset::ALL.into_iter().find(same)
}

/// What may go wrong, by names.
fn presets(desk: Desk) -> AnyView {
    let shown = desk.read(move |session| {
        let chosen = preset_of(session, &shown_request(desk.search.get(), session).bounds);
        let mut all = Preset::ALL.to_vec();
        all.retain(|preset| preset.is_for(session.setup()));
        (all, chosen)
    });
    let choose = move |preset: Preset| {
        let mut request = request_of(desk);
        request.bounds = desk.look(|session| preset.bounds(session.setup(), &request.bounds));
        set(desk, request, None);
    };
    let draw = move || {
        let (all, chosen) = shown.get();
        let buttons = all.into_iter().map(|preset| {
            let pressed = if chosen == Some(preset) { "true" } else { "false" };
            view! {
                <button type="button" class="preset" aria-pressed=pressed on:click=move |_| choose(preset)>
                    <span class="preset__name">{preset.words()}</span>
                    <span class="share__note">{preset.explanation()}</span>
                </button>
            }
        });
        buttons.collect_view()
    };
    view! {
        <p class="share__note">"What may go wrong"</p>
        <div class="search__presets" role="group" aria-label="What may go wrong">{draw}</div>
    }
    .into_any()
}

/// Every bound by itself. Open where the bounds are none that has a name.
fn bounds(desk: Desk) -> AnyView {
    let is_open = desk.look(|session| preset_of(session, &request_of(desk).bounds).is_none());
    let groups = GROUPS.map(|(title, about, bounds)| {
        let fields: Vec<AnyView> = bounds.iter().map(|bound| number(desk, *bound)).collect();
        let start = (title == "How far").then(|| start(desk));
        view! {
            <fieldset class="search__bounds">
                <legend>{title}</legend>
                <p class="share__note">{about}</p>
                {fields.into_any()}
                {start}
            </fieldset>
        }
    });
    view! {
        <details class="search__more" open=is_open>
            <summary>"Every bound by itself: at most so many of each"</summary>
            <div class="search__groups">{groups.into_iter().collect_view()}</div>
        </details>
    }
    .into_any()
}

fn number(desk: Desk, bound: Bound) -> AnyView {
    let value = desk.read(move |session| {
        let number = bound.get(&shown_request(desk.search.get(), session));
        number.map_or(String::new(), |number| number.to_string())
    });
    // Why what was typed was refused, as long as the bound is still what it was then. The field goes back to that.
    let refused = RwSignal::new((String::new(), String::new()));
    let why = Memo::new(move || {
        let (of, why) = refused.get();
        if of == value.get() {
            why
        } else {
            String::new()
        }
    });
    let change = move |event: web_sys::Event| {
        let typed = event_target_value(&event);
        let typed = typed.trim();
        let number = typed
            .parse::<u64>()
            .ok()
            .filter(|number| (bound.least()..=bound.most()).contains(number));
        let stays = value.get_untracked();
        if number.is_none() && !typed.is_empty() {
            let why = [
                "Expected a whole number from ",
                &bound.least().to_string(),
                " to ",
                &words::grouped(bound.most()),
                ", not “",
                &words::shortened(typed, MOST_OF_A_NUMBER),
                "”. It stays ",
                if stays.is_empty() { "empty" } else { &stays },
            ];
            event_target::<web_sys::HtmlInputElement>(&event).set_value(&stays);
            return refused.set((stays.clone(), why.concat()));
        }
        refused.set((String::new(), String::new()));
        let mut request = request_of(desk);
        bound.put(&mut request, number);
        set(desk, request, None);
        // One that was emptied shows what stands for nothing, though that may be what it was.
        event_target::<web_sys::HtmlInputElement>(&event).set_value(&value.get_untracked());
    };
    let id = fresh_id();
    let about_id = fresh_id();
    view! {
        <div class="search__bound">
            <label for=id.clone()>{bound.words()}</label>
            <input
                class="field field--number"
                id=id
                inputmode="numeric"
                autocomplete="off"
                aria-describedby=about_id.clone()
                aria-invalid=move || (!why.get().is_empty()).then_some("true")
                prop:value=move || value.get()
                on:change=change
            />
            <p class="share__note" id=about_id>{bound.explanation()}</p>
            <p class="search__refused" role="alert">{move || why.get()}</p>
        </div>
    }
    .into_any()
}

fn start(desk: Desk) -> AnyView {
    let place = desk.read(move |session| {
        (
            shown_request(desk.search.get(), session).start,
            session.cursor(),
        )
    });
    let choose = move |event| {
        let start = match event_target_value(&event).as_str() {
            "" => Start::Start,
            "end" => Start::End,
            action => Start::After(action.parse().unwrap_or_default()),
        };
        let request = Request {
            start,
            ..request_of(desk)
        };
        set(desk, request, None);
    };
    let options = move || {
        let (start, cursor) = place.get();
        let value = |start: Start| match start {
            Start::Start => (String::new(), "before the schedule".to_string()),
            Start::End => ("end".to_string(), "after the schedule".to_string()),
            Start::After(action) => (
                action.to_string(),
                "after action ".to_string() + &action.to_string(),
            ),
        };
        let mut starts = vec![Start::Start, Start::End];
        for other in [Start::After(cursor), start] {
            if other != Start::After(0) && !starts.contains(&other) {
                starts.push(other);
            }
        }
        let options = starts.into_iter().map(|one| {
            let (value, words) = value(one);
            view! { <option value=value selected=one == start>{words}</option> }
        });
        options.collect_view()
    };
    let id = fresh_id();
    view! {
        <div class="search__bound">
            <label for=id.clone()>"from the world"</label>
            <select class="select" id=id on:change=choose>{options}</select>
        </div>
    }
    .into_any()
}

fn progress(desk: Desk) -> AnyView {
    let stage = Memo::new(move || desk.seeking.with(|seeking| seeking.stage));
    let said = move || match stage.get() {
        Stage::Running => "Searching …",
        Stage::Paused => "Paused",
        Stage::Failed => {
            "The browser has ended the search, perhaps for want of memory: allow fewer worlds."
        }
        Stage::Idle | Stage::Over => "",
    };
    let counts = move || {
        let seeking = desk.seeking.get();
        let Progress {
            worlds,
            faults,
            depth,
            bytes,
            ..
        } = seeking.progress;
        (seeking.stage != Stage::Idle).then(|| {
            let count = |value: String, words: &'static str| {
                view! { <div><dd>{value}</dd><dt>{words}</dt></div> }
            };
            view! {
                <dl class="search__counts">
                    {count(words::grouped(worlds), "worlds")}
                    {count(words::grouped(seeking.speed), "a second")}
                    {count(faults.to_string(), if faults == 1 { "fault" } else { "faults" })}
                    {count(depth.to_string(), if depth == 1 { "action deep" } else { "actions deep" })}
                    {count((bytes >> 20).to_string(), "MiB")}
                </dl>
            }
        })
    };
    view! { <p class="search__said" role="status">{said}</p> {counts} }.into_any()
}

fn result(desk: Desk, outcome: Outcome) -> AnyView {
    let words = in_words(&outcome);
    match outcome {
        Outcome::Found {
            text,
            ties,
            steps,
            faults,
            ..
        } => {
            let many = match ties.len() {
                0 => None,
                1 => Some("Another schedule is as short:".to_string()),
                MOST_TIES => Some("Others are as short, among them:".to_string()),
                more => Some(more.to_string() + " others are as short:"),
            };
            let show = Button::new("See it")
                .primary(true)
                .label("Close this and see the schedule")
                .does(move || {
                    desk.tab.set(super::desk::Tab::Picture);
                    desk.over.set(None);
                    // What it breaks, it breaks at its end.
                    desk.send(Msg::GoTo(desk.look(|session| session.timeline().len())));
                });
            let finds = crate::search::Finds::Steps { steps, faults };
            let all = std::iter::once(text).chain(ties);
            let schedules = all.map(|text| schedule(desk, text)).collect::<Vec<_>>();
            let mut schedules = schedules.into_iter();
            let first = schedules.next();
            view! {
                <p class="search__result search__result--found">{icon("rejected")}{words}</p>
                <ol class="search__schedules">{first}</ol>
                <div class="share__row">{show.draw(desk)}{pin(desk, finds)}</div>
                <p class="share__note">{many}</p>
                <ol class="search__schedules">{schedules.collect_view()}</ol>
            }
            .into_any()
        }
        Outcome::Nothing {
            left_out, worlds, ..
        } => {
            let finds = crate::search::Finds::Nothing {
                worlds: Some(worlds),
            };
            view! {
                <p class="search__result">{icon("accepted")}{words}</p>
                {beyond(left_out)}
                <div class="share__row">{pin(desk, finds)}</div>
            }
            .into_any()
        }
        Outcome::LimitReached { left_out, .. } => {
            view! { <p class="search__result">{icon("untested")}{words}</p> {beyond(left_out)} }
                .into_any()
        }
    }
}

fn beyond(left_out: Vec<String>) -> AnyView {
    let is_empty = left_out.is_empty();
    let left_out = left_out.into_iter().map(|words| view! { <li>{words}</li> });
    let left_out = left_out.collect_view();
    view! {
        <p class="share__note">{(!is_empty).then_some("What the bounds left out:")}</p>
        <ul class="search__left-out">{left_out}</ul>
    }
    .into_any()
}

/// Writes what was found into the text, for `latchkey check`.
fn pin(desk: Desk, finds: crate::search::Finds) -> AnyView {
    Button::new("Keep as a test")
        .label("Write what the search finds into the text, so that `latchkey check` holds it")
        .unless(desk.look(Session::why_not_writable))
        .does(move || {
            let request = Request {
                finds: Some(finds),
                ..request_of(desk)
            };
            write(desk, request, None);
            desk.say("The text says what the search finds");
        })
        .draw(desk)
}

/// A schedule that was found, in one line.
fn schedule(desk: Desk, text: String) -> AnyView {
    let start = desk.seeking.with_untracked(|seeking| seeking.begun.1);
    let lines = text.lines().skip_while(|line| *line != "schedule").skip(1);
    let lines = lines.take_while(|line| line.starts_with(' ')).skip(start);
    let actions: Vec<&str> = lines
        .map(|line| line.split("  =>").next().unwrap_or_default().trim())
        .collect();
    let words = actions.join(" · ");
    let open = Button::new("Open")
        .label("Open this schedule")
        .class("button--small")
        .does(move || open(desk, text.clone(), start));
    view! { <li class="search__schedule"><span>{words}</span>{open.draw(desk)}</li> }.into_any()
}
