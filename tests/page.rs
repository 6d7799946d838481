//! The page's components in a real browser, used as a visitor uses them: by what stands on buttons and beside fields.
#![cfg(all(target_arch = "wasm32", feature = "ui"))]
#![allow(clippy::unwrap_used, reason = "clippy knows no tests but `#[test]`")]

mod support {
    pub mod visitor;
}

use latchkey::scenario::library;
use latchkey::search::{self, told};
use latchkey::ui::seeker::Seeker;
use support::visitor::Visitor;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

fn story(name: &str) -> &'static str {
    library::story_named(name).unwrap().text
}

/// Two clients of the split acquire, and nothing done yet.
fn at_the_start() -> String {
    let text = story("07a-split-acquire");
    text[..text.find("\nschedule").unwrap()].to_string()
}

#[wasm_bindgen_test]
fn mounting_replaces_the_loading_notice() {
    let document = web_sys::window().unwrap().document().unwrap();
    let place = document.create_element("div").unwrap();
    place.set_id("page");
    place.set_text_content(Some("loading"));
    document.body().unwrap().append_child(&place).unwrap();
    latchkey::ui::mount();
    assert!(!place.text_content().unwrap().contains("loading"));
    assert!(place.query_selector("h1").unwrap().is_some());
    place.remove();
}

#[wasm_bindgen_test]
async fn the_stale_write_of_story_7_is_flagged() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    page.sees_title("Split acquire: a token that is newer than its lock");
    page.sees_verdict(
        "A stale write is never accepted after a newer holder's write",
        "broken",
    );
    page.sees_verdict("Tokens are never handed out twice", "holds");
    page.sees_verdict("Stock is never negative", "not tested");
    page.sees_writes(&["accepted", "stale, accepted"]);
    page.sees_row("inventory", &["'sku-1'", "8", "2"]);
    page.sees_cursor(12, 12);
    page.moves_cursor(9).await;
    page.hears(
        "9 · A write => 1 row · A: accepted, stale · broken: a stale write is never accepted",
    );
}

#[wasm_bindgen_test]
async fn steps_latches_and_the_lapse_make_a_stale_holder() {
    let page = Visitor::opens(&at_the_start()).await;
    page.sees_belief("A", "Does not believe that it holds a lock.");
    page.presses_latch("Latch A before token").await;
    page.presses("A", "Run").await;
    page.sees_reply("A", "acquire", "OK");
    page.sees_state("A", "paused");
    page.sees_holder("lock:sku-1", "A");
    page.sees_belief("A", "The store agrees: 10\u{202f}000 ms left.");
    page.sees_why_not("A", "Step", "A is paused before token: resume A first");
    page.sees_step("A", "token");

    page.advances("10001").await;
    page.sees_now("10.001 s");
    page.sees_belief("A", "Stale: in the store the lock is free.");
    page.presses("B", "Step").await;
    page.sees_belief("A", "Stale: the store says B holds it.");
    page.sees_holder("lock:sku-1", "B");
    page.presses("B", "Run").await;
    page.sees_state("B", "done");

    page.presses("A", "Resume").await;
    page.presses("A", "Step").await;
    page.presses("A", "Step").await;
    page.sees_writes(&["accepted", "stale, accepted"]);
    page.sees_changed_row("inventory", &["'sku-1'", "98", "12"]);
    page.sees_verdict(
        "A stale write is never accepted after a newer holder's write",
        "broken",
    );
    page.sees_line("  A write                => 1 row");
}

#[wasm_bindgen_test]
async fn a_button_that_cannot_be_pressed_says_why() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses("A", "Crash").await;
    page.sees_state("A", "crashed");
    page.presses("A", "Step").await;
    page.hears("A has crashed: restart A first");
    page.sees_cursor(1, 1);
    page.presses("A", "Restart").await;
    page.sees_state("A", "running");
    page.presses("A", "Lose reply").await;
    page.sees_reply("A", "acquire", "lost");
    page.sees_state("A", "stopped");
}

#[wasm_bindgen_test]
async fn the_focus_stays_on_the_button_that_was_pressed() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses_tab("Clients").await;
    let step = page.button("A", "Step");
    let card = page.card("A");
    step.focus().unwrap();
    step.click();
    page.waits().await;
    assert!(page.has_focus(&step), "the button is still the same one");
    assert!(
        page.card("A").is_same_node(Some(&card)),
        "the card is drawn in place"
    );
}

#[wasm_bindgen_test]
async fn acting_in_the_past_keeps_what_was_there() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    page.moves_cursor(7).await;
    page.sees_cursor(7, 12);
    page.sees_belief("A", "Stale: the store says B holds it.");
    page.presses("B", "Step").await;
    page.sees_cursor(8, 8);
    page.hears("The old branch is kept as");
    page.presses_on_page("Branches 1").await;
    page.presses_starting("Open “").await;
    page.sees_cursor(7, 12);
    page.presses_on_page("Undo (U)").await;
    page.sees_cursor(8, 8);
    page.presses_on_page("Undo (U)").await;
    page.sees_cursor(7, 12);
    page.presses_on_page("Redo (R)").await;
    page.sees_cursor(8, 8);
}

#[wasm_bindgen_test]
async fn typing_replays_and_a_mistake_is_named_where_it_stands() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    let text = page.text();
    page.types_text(&text.replace("clock +10001ms", "clock +5ms"))
        .await;
    page.sees_now("0.005 s");
    page.sees_property_differing("The text expects OK, the reply is nil");

    page.types_text(&text.replace("{me} NX", "{nobody} NX"))
        .await;
    page.sees_error("no variable is called `{nobody}`");
    page.sees_now("0.005 s");
    page.sees_why_not("A", "Step", "the text does not parse");
    page.presses("A", "Step").await;
    page.hears("the text does not parse: line 20");

    page.types_text(&text).await;
    page.sees_no_error();
    page.sees_now("10.001 s");
}

#[wasm_bindgen_test]
async fn consoles_print_as_the_servers_own_programs_do() {
    let page = Visitor::opens(&at_the_start()).await;
    page.types_command("SET greeting \"<b>hello</b>\"").await;
    page.types_command("LRANGE greeting 0 -1").await;
    page.types_command("SELECT * FROM inventory").await;
    page.sees_console("OK");
    page.sees_console("(error) WRONGTYPE");
    page.sees_console("| sku-1 |  10 |           0 |");
    assert_eq!(
        page.count(".keys b"),
        0,
        "what somebody types never becomes markup"
    );
    page.sees_key("greeting", "\"<b>hello</b>\"");
    page.recalls_command("ArrowUp", "SELECT * FROM inventory")
        .await;
    page.recalls_command("ArrowUp", "LRANGE greeting 0 -1")
        .await;
    page.recalls_command("ArrowDown", "SELECT * FROM inventory")
        .await;
    page.recalls_command("ArrowDown", "").await;
}

#[wasm_bindgen_test]
async fn a_console_says_at_its_field_what_it_takes() {
    let page = Visitor::opens(&at_the_start()).await;
    page.sees_attribute(
        "#console-field",
        "placeholder",
        "PTTL lock:sku-1 or SELECT * FROM inventory",
    );
    page.types_command("GET \"lock").await;
    page.sees_words(
        "#console-why",
        "Invalid argument(s): the quotes are not balanced",
    );
    page.sees_attribute("#console-field", "aria-invalid", "true");
    page.sees_cursor(0, 0);
    page.types_command("clock 5").await;
    assert_eq!(page.count("#console-why"), 0, "it was sent");
    page.sees_console("clock is an action of the schedule: choose “an action”");
    let page = Visitor::opens("table t (id INT PRIMARY KEY)\n").await;
    page.sees_attribute("#console-field", "placeholder", "SELECT * FROM t");
    let page = Visitor::opens("").await;
    page.sees_attribute(
        "#console-field",
        "placeholder",
        "A Redis command or an SQL statement",
    );
}

#[wasm_bindgen_test]
async fn a_client_whose_console_waits_says_for_what() {
    let text = "table t (id INT PRIMARY KEY, n INT)\n  1, 0\n\nclient A, B\n\nschedule\n  \
                A> BEGIN\n  A> UPDATE t SET n = 1\n  B> UPDATE t SET n = 2\n  A> BLPOP queue 0\n  B> GET_LOCK\n";
    let page = Visitor::opens(text).await;
    page.moves_cursor(2).await;
    page.sees_state("B", "console");
    assert_eq!(page.count(".client__waits"), 0);
    page.moves_cursor(3).await;
    page.sees_state("B", "waiting");
    page.sees_words(".client__waits", "Its console waits for t: A comes first.");
    page.moves_cursor(4).await;
    page.sees_state("A", "waiting");
    page.sees_words(".client__waits", "Its console waits for BLPOP queue 0");
}

#[wasm_bindgen_test]
async fn what_is_broken_comes_first_and_the_counts_agree() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    let [broken, unclaimed, holds, untested] = ["broken", "unclaimed", "holds", "untested"]
        .map(|kind| page.count(&format!(".property--{kind}")));
    assert_eq!((broken, unclaimed), (2, 1));
    assert_eq!(broken + unclaimed + holds + untested, 12);
    let all = broken + unclaimed;
    page.sees_words(".picture .tally", &format!("{all} broken (1 unclaimed)"));
    page.sees_words(".picture .tally--holds", &format!("{holds} hold"));
    for (words, count) in [("hold", holds), ("not tested", untested)] {
        let button = format!("{count} {words}");
        assert_eq!(page.count(".properties__folded[data-unfolded]"), 0);
        page.presses_on_page(&button).await;
        assert_eq!(page.count(".properties__folded[data-unfolded]"), 1);
        assert_eq!(
            page.count(".properties__folded[data-unfolded] .property"),
            count
        );
        page.moves_cursor(8).await;
        assert_eq!(
            page.count(".properties__folded[data-unfolded]"),
            1,
            "what was unfolded stays so"
        );
        page.moves_cursor(12).await;
        page.presses_on_page(&button).await;
    }
}

#[wasm_bindgen_test]
async fn an_operator_expires_wipes_and_seeds_again() {
    let page = Visitor::opens(story("10a-counter-wiped")).await;
    page.moves_cursor(0).await;
    page.presses_on_page("Lose the key fence:sku-1").await;
    page.sees_no_key("fence:sku-1");
    page.presses_starting("Reseed fence:sku-1").await;
    page.sees_key("fence:sku-1", "\"5\"");
    page.sees_console("SELECT MAX(fence_token) FROM inventory");
    page.presses("A", "Step").await;
    page.presses_starting("Expire now").await;
    page.sees_no_key("lock:sku-1");
}

#[wasm_bindgen_test]
async fn an_empty_page_becomes_ones_own() {
    let page = Visitor::opens("").await;
    page.chooses_protocol("split-acquire").await;
    page.presses_starting("Add client A").await;
    page.presses_starting("Add client B").await;
    page.presses("A", "Step").await;
    page.sees_holder("lock:sku-1", "A");
    page.sees_line("client A, B: split-acquire");
    page.presses_on_page("Remove client A").await;
    assert_eq!(page.count(".client"), 1);
    page.sees_cursor(0, 0);
    // A protocol with parameters brings those of its story.
    page.chooses_protocol("checkout").await;
    page.presses_starting("Add client A").await;
    page.sees_line("client A: checkout order=order-1");
}

#[wasm_bindgen_test]
async fn the_library_opens_stories_beside_changed_work() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses("A", "Step").await;
    page.presses_on_page("Choose a story of the library").await;
    let all = library::stories().len() + library::challenges().len();
    assert_eq!(page.count(".story"), all);
    assert_eq!(
        page.count(".stories__title"),
        12,
        "each theme has stories, and then there are the challenges"
    );
    page.opens_story("Atomic acquire").await;
    page.hears("Your work is kept as");
    page.sees_verdict(
        "A stale write is never accepted after a newer holder's write",
        "not tested",
    );
    page.presses_on_page("Branches 1").await;
    page.presses_starting("Open “").await;
    page.sees_cursor(1, 1);
}

#[wasm_bindgen_test]
async fn the_library_shows_the_stories_with_the_words_that_are_sought() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses_on_page("Choose a story of the library").await;
    page.fills_in("Only stories with these words", "ATOMIC acquire")
        .await;
    assert!(page.count(".story") < library::stories().len());
    // A theme without such a story has no heading.
    page.sees_words(".stories__title", "Where the token comes from");
    page.opens_story("Atomic acquire").await;
    page.sees_title("Atomic acquire: the same stall, now harmless");
}

#[wasm_bindgen_test]
async fn what_goes_another_way_than_its_story_is_called_a_branch() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    assert_eq!(page.count(".masthead__title .chip"), 0);
    page.moves_cursor(3).await;
    page.presses("A", "Crash").await;
    page.sees_words(".masthead__title .chip", "a branch");
    page.sees_words(".masthead__lesson", "after 3 actions");
    page.presses_on_page("Undo (U)").await;
    assert_eq!(page.count(".masthead__title .chip"), 0);
    // A run that is over can begin again.
    page.moves_cursor(6).await;
    page.presses("B", "Run").await;
    page.presses("B", "Start again").await;
    page.sees_state("B", "running");
}

#[wasm_bindgen_test]
async fn what_cannot_work_is_told_before_it_runs() {
    let page = Visitor::opens(&at_the_start()).await;
    page.sees_words(".text__fine", "No errors.");
    let text = page.text();
    page.types_text(&text.replace("INCR fence", "INRC fence"))
        .await;
    page.sees_words(".text__fine", "1 line cannot work");
    page.sees_error("did you mean `INCR`?");
    page.types_text(&text).await;
    page.sees_no_error();
    page.types_command("GTE lock:sku-1").await;
    page.sees_console("Did you mean GET?");
}

#[wasm_bindgen_test]
async fn a_broken_property_is_walked_to_from_its_causes() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    assert_eq!(page.count(".guide"), 0);
    page.presses_on_page("Walk from its causes to this").await;
    page.sees_words(".guide__words", "A believed that it held lock:sku-1");
    page.sees_cursor(1, 12);
    page.presses_on_page("Next").await;
    page.sees_words(".guide__words", "A was paused before token.");
    page.sees_cursor(2, 12);
    page.presses_on_page("The sentence before").await;
    page.sees_cursor(1, 12);
    for _ in 0..8 {
        page.presses_on_page("Next").await;
    }
    page.sees_words(".guide__words", "the fence let it pass");
    page.sees_cursor(9, 12);
    page.presses_on_page("Next").await;
    assert_eq!(page.count(".guide"), 0);
}

#[wasm_bindgen_test]
async fn a_long_schedule_draws_what_is_seen() {
    let mut text = at_the_start() + "\nschedule\n";
    for action in 0..3000 {
        text += if action % 3 == 0 {
            "  operator> INCR fence:sku-1\n"
        } else {
            "  clock +1ms\n"
        };
    }
    let page = Visitor::opens(&text).await;
    page.sees_cursor(3000, 3000);
    assert!(
        page.count(".p-row") < 120,
        "{} rows are drawn",
        page.count(".p-row")
    );
    assert!(page.count(".scrub__ticks path") <= 120);
    assert!(
        page.count(".console__said") <= 100,
        "the console shows the latest commands"
    );
    page.presses("A", "Step").await;
    page.sees_cursor(3001, 3001);
    assert!(page.picture_is_as_if_drawn_anew());
}

#[wasm_bindgen_test]
async fn the_picture_follows_every_change() {
    let page = Visitor::opens(story("13c-two-tokens-in-flight")).await;
    page.moves_cursor(6).await;
    page.presses_starting("Advance the clock by 1 s").await;
    assert!(page.picture_is_as_if_drawn_anew());
    page.presses_on_page("Undo (U)").await;
    assert!(page.picture_is_as_if_drawn_anew());
    page.types_text(&at_the_start()).await;
    assert!(page.picture_is_as_if_drawn_anew());
    page.presses("B", "Run").await;
    page.presses_on_page("Undo (U)").await;
    page.presses_on_page("Redo (R)").await;
    assert!(page.picture_is_as_if_drawn_anew());
}

#[wasm_bindgen_test]
async fn tabs_choose_what_is_shown() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses_tab("Console").await;
    page.sees_attribute(".app", "data-dock", "consoles");
    page.presses_tab("Servers").await;
    page.sees_attribute(".app", "data-tab", "servers");
}

#[wasm_bindgen_test]
async fn a_name_that_is_refused_says_what_a_name_can_be() {
    let page = Visitor::opens(&at_the_start()).await;
    for (name, why) in [
        ("a b", "no client can be called `a b`: expected letters"),
        ("clock", "`clock` means something else in a schedule"),
        ("A", "there is another client called `A`"),
    ] {
        page.names_new_client(name).await;
        page.hears(why);
        assert!(!page.said().contains("line"), "{}", page.said());
    }
}

#[wasm_bindgen_test]
async fn a_client_is_renamed_on_its_card() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    page.presses_on_page("Rename A").await;
    page.names_client("Worker").await;
    page.hears("A is called Worker now");
    page.sees_state("Worker", "done");
    page.sees_line("client Worker, B: split-acquire");
    page.sees_line("  Worker acquire         => OK");
    page.sees_cursor(12, 12);
    assert_eq!(page.count(".text__line--differs"), 0);
    page.presses_on_page("Rename Worker").await;
    page.names_client("B").await;
    page.hears("there is another client called `B`");
    page.sees_state("Worker", "done");
}

#[wasm_bindgen_test]
async fn the_status_line_follows_the_text() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    let text = page.text();
    page.types_text(&text.replace("protocol", "protcol")).await;
    page.hears("The text does not parse: line 17");
    assert_eq!(page.count(".picture__band"), 1);
    page.types_text(&text).await;
    page.hears("12 · B release => 1");
    assert_eq!(page.count(".picture__band"), 0);
    page.advances("1000000000001").await;
    page.hears("from 1 to 1 000 000 000 000");
}

#[wasm_bindgen_test]
async fn consoles_say_what_only_the_playground_lacks() {
    let page = Visitor::opens(&at_the_start()).await;
    page.types_command("CLIENT LIST").await;
    page.sees_console("(error) ERR unknown subcommand 'LIST'. Try CLIENT HELP.");
    page.sees_console("Redis has CLIENT LIST; the playground’s store does not.");
    page.types_command("EVALSHA abc 0").await;
    page.sees_console("(error) NOSCRIPT No matching script. Please use EVAL.");
    page.types_command("mysql SELECT 1").await;
    page.sees_console("operator mysql> SELECT 1");
    page.types_command("INSERT INTO inventory VALUES ('sku-1', 1, 1)")
        .await;
    page.sees_writes(&["failed"]);
}

#[wasm_bindgen_test]
async fn what_is_not_shown_is_counted() {
    let commands = |command: &str, count: usize| {
        let lines = (0..count).map(|place| format!("  {command}{place} 1\n"));
        lines.collect::<String>()
    };
    let text = "store\n".to_string()
        + &commands("SET key-", 203)
        + "schedule\n"
        + &commands("operator> SET key-", 101);
    let page = Visitor::opens(&text).await;
    page.sees_words(".servers", "3 more keys are not shown");
    page.sees_words(".console", "1 earlier command is not shown");
}

#[wasm_bindgen_test]
async fn clients_of_one_protocol_get_orders_of_their_own() {
    let page = Visitor::opens("").await;
    page.chooses_protocol("checkout").await;
    page.presses_starting("Add client A").await;
    page.presses_starting("Add client B").await;
    page.sees_line("client A: checkout order=order-1");
    page.sees_line("client B: checkout order=order-2");
}

#[wasm_bindgen_test]
async fn the_pictures_words_stand_on_grounds_of_their_own_and_apart() {
    for story in library::stories() {
        let page = Visitor::opens(story.text).await;
        let grounds = page.rectangles(".picture__time .p-part > .p-ground");
        assert!(grounds.len() > 4, "{}: {} words", story.name, grounds.len());
        for (place, one) in grounds.iter().enumerate() {
            for other in &grounds[place + 1..] {
                let covered_x = one.right().min(other.right()) - one.left().max(other.left());
                let covered_y = one.bottom().min(other.bottom()) - one.top().max(other.top());
                assert!(
                    covered_x <= 3.0 || covered_y <= 3.0,
                    "{}: words cover each other at {} {}",
                    story.name,
                    one.left(),
                    one.top()
                );
            }
        }
    }
}

#[wasm_bindgen_test]
async fn pointing_at_a_row_tells_what_happened() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    page.points_at("#row-9").await;
    page.sees_words(".picture__tip", "A's write with token 2 was accepted");
}

#[wasm_bindgen_test]
async fn pointing_at_something_shows_its_causes_and_effects() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    page.points_at(".p-mark--stale").await;
    page.sees_words(".picture__tip", "A's write with token 2 was accepted");
    let lit = page.count(".picture__time > .p-part[data-lit]");
    let others = page.count(".picture__time > .p-part:not([data-lit])");
    assert!(lit > 5 && others > 5, "{lit} of {others} more");
    page.points_at(".picture__heads").await;
    assert_eq!(page.count("[data-lit]"), 0);
}

#[wasm_bindgen_test]
async fn the_picture_is_larger_smaller_and_a_table() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    let height = || page.rectangles(".picture__time")[0].height();
    let whole = height();
    page.presses_on_page("Larger (+)").await;
    assert_eq!(height(), whole * 1.25);
    page.presses_on_page("As much of it as fits (0)").await;
    let room = page.rectangles(".picture__scroll")[0].height();
    assert!(height() < room || height() == whole / 4.0);
    page.presses_on_page("The picture as a table (B)").await;
    page.sees_words(".told td", "A was a stale holder");
    page.presses_on_page("Move the cursor to action 3").await;
    page.sees_cursor(3, 12);
}

#[wasm_bindgen_test]
async fn the_bounds_of_a_search_are_written_into_the_text() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses_on_page("Find a failing schedule (F)").await;
    page.fills_in("lapses", "1").await;
    page.fills_in("faults in all", "3").await;
    page.sees_line("  faults: 3, lapses: 1");
    page.sees_line("  breaks: tokens come in the order in which locks were taken");
    page.fills_in("faults in all", "").await;
    page.fills_in("wipes", "").await;
    page.sees_value("wipes", "0");
    page.fills_in("wipes", "two").await;
    page.sees_words(
        ".search__refused",
        "Expected a whole number from 0 to 100, not “two”. It stays 0",
    );
    page.sees_line("  lapses: 1");
    page.fills_in("Find a schedule that breaks", "reach").await;
    page.fills_in(
        "All of this, one expectation a line",
        "inventory 'sku-1': qty 8",
    )
    .await;
    page.sees_line("  reaches: inventory 'sku-1': qty 8");
    page.fills_in("Find a schedule that breaks", "any").await;
    page.sees_line("  breaks: anything");
    page.fills_in("from the world", "end").await;
    page.sees_line("  from: end");
}

#[wasm_bindgen_test]
async fn one_of_several_searches_is_chosen() {
    let searches = "\nsearch\n  lapses: 1\n  breaks: stock is never negative\n\nsearch\n  wipes: 3\n  breaks: anything\n";
    let page = Visitor::opens(&(at_the_start() + searches)).await;
    page.presses_on_page("Find a failing schedule (F)").await;
    page.fills_in("Which search of the text", "1").await;
    page.fills_in("wipes", "4").await;
    page.sees_line("  wipes: 4");
    page.sees_line("  lapses: 1");
    page.fills_in("Which search of the text", "0").await;
    page.fills_in("lapses", "2").await;
    page.sees_line("  lapses: 2");
    page.sees_line("  wipes: 4");
}

#[wasm_bindgen_test]
async fn a_schedule_stands_beside_itself_with_another_fence() {
    let text = story("05-lapse-with-fence");
    let page = Visitor::opens(text).await;
    page.presses_on_page("Compare").await;
    let with = "Beside the schedule as it is, the same one with";
    // What changes something comes first, what does not comes last: <= in place of <.
    let reading = latchkey::scenario::read(text).unwrap();
    let last = latchkey::compare::choices(text, &reading).len() - 1;
    page.fills_in(with, &last.to_string()).await;
    page.sees_words(
        ".over .search__result",
        "They never part: the rows, the charges, the locks and the beliefs stay the same.",
    );
    page.fills_in(with, "0").await;
    page.sees_words(
        ".over .search__result",
        "They part at action 14, A write: from there the rows are not the same.",
    );
    page.sees_words(".compare__parts td", "0 rows · rejected (fenced), stale");
    page.sees_words(".compare__parts td", "1 row · accepted, stale");
    page.sees_words(
        ".compare td",
        "broken: a stale write is never accepted after a newer holder's write",
    );
    page.presses_on_page("Open it").await;
    page.sees_title("The same stall, and a fence stops it, with no fence");
    page.sees_cursor(14, 15);
    page.sees_verdict(
        "A stale write is never accepted after a newer holder's write",
        "broken",
    );
}

/// Runs a pinned search as the worker does, string by string, and compares with what its text says: what it says natively.
fn a_worker_counts_as_pinned(text: &str) {
    let reading = latchkey::scenario::read(text).unwrap();
    let mut seeker = Seeker::new(text, 0);
    let mut told = told::read(&seeker.go_on());
    while !seeker.is_over() {
        told = told::read(&seeker.go_on());
    }
    let outcome = told.and_then(|told| told.outcome).unwrap();
    let finds = reading.searches[0].request.finds.unwrap();
    assert_eq!(search::difference(finds, &outcome, &reading), None);
}

#[wasm_bindgen_test]
fn the_worker_finds_and_counts_what_the_program_does() {
    a_worker_counts_as_pinned(include_str!(
        "../scenarios/search/13h-ceiling-in-mysql.latchkey"
    ));
    a_worker_counts_as_pinned(include_str!(
        "../scenarios/search/32a-majority-of-three.latchkey"
    ));
    a_worker_counts_as_pinned(include_str!(
        "../scenarios/search/33c-wait-helps-half-way.latchkey"
    ));
}

#[wasm_bindgen_test]
async fn the_editor_offers_what_can_stand_at_the_caret() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses_tab("Text").await;
    let (area, list) = (".text__area", ".text__choices");
    page.types("\nschedule\n  pau").await;
    page.sees_choices(list, &["pause"], "pause");
    page.presses_key(area, "Tab").await;
    page.sees_line("  pause ");
    // Of what comes next nothing is typed yet: Enter and Tab are the browser's until one is chosen.
    page.sees_choices(list, &["A", "B"], "");
    assert!(page.presses_key(area, "Tab").await);
    page.presses_key(area, "ArrowUp").await;
    page.sees_choices(list, &["A", "B"], "B");
    page.sees_attribute(area, "aria-activedescendant", "text-choices-1");
    assert!(!page.presses_key(area, "Enter").await);
    page.sees_line("  pause B ");
    page.presses_key(area, "Escape").await;
    page.sees_choices(list, &[], "");
    // What is there already is not offered.
    page.types("before token").await;
    page.sees_choices(list, &[], "");
    page.types("\n  A ").await;
    page.sees_choices(list, &["acquire", "token", "write", "release"], "");
    page.takes_choice(list, "token").await;
    page.sees_line("  A token");
    // The next line begins as far to the right as this one.
    assert!(!page.presses_key(area, "Enter").await);
    page.sees_choices(list, &[], "");
    page.types("B acquire").await;
    page.sees_line("  B acquire");
    page.waits_for(400).await;
    page.sees_cursor(3, 3);
}

#[wasm_bindgen_test]
async fn everything_is_done_by_its_name() {
    let page = Visitor::opens(&at_the_start()).await;
    let (field, list) = ("#palette-field", ".palette");
    page.presses_on_page("Do it by name (Ctrl+K)").await;
    page.fills_in("What to do", "B cra").await;
    page.sees_choices(list, &["Crash B"], "Crash B");
    page.presses_key(field, "Enter").await;
    page.sees_state("B", "crashed");
    assert_eq!(page.count("dialog[open]"), 0);
    // What is not possible now stays there and says why.
    page.presses_on_page("Do it by name (Ctrl+K)").await;
    page.fills_in("What to do", "redo").await;
    page.presses_key(field, "Enter").await;
    page.hears("There is nothing to do again");
    page.fills_in("What to do", "no such thing").await;
    page.sees_choices(list, &[], "");
    page.sees_words(".empty", "Nothing that can be done");
    page.fills_in("What to do", "atomic acquire").await;
    page.presses_key(field, "ArrowDown").await;
    page.presses_key(field, "ArrowUp").await;
    page.presses_key(field, "Enter").await;
    page.sees_title("Atomic acquire: the same stall, now harmless");
}

#[wasm_bindgen_test]
async fn scenarios_are_kept_under_names() {
    let page = Visitor::opens(&at_the_start()).await;
    page.presses("A", "Step").await;
    page.presses_on_page("Choose a story of the library").await;
    page.fills_in("Keep what is open as", "my lock").await;
    page.presses_on_page("Keep it in this browser under this name")
        .await;
    page.hears("Kept as “my lock”");
    page.sees_words(".shelf .chip", "open");
    page.presses_on_page("Rename my lock").await;
    page.names_client("our lock").await;
    page.sees_words(".shelf .branch__name", "our lock");
    page.presses_on_page("Delete “our lock”").await;
    assert_eq!(page.count(".shelf .branch"), 0);
    page.presses_on_page("Undo (U)").await;
    assert_eq!(page.count(".shelf .branch"), 1);
    page.opens_story("Atomic acquire").await;
    page.presses_on_page("Choose a story of the library").await;
    page.presses_on_page("Open “our lock”").await;
    page.sees_cursor(1, 1);
}

#[wasm_bindgen_test]
async fn branches_stand_as_a_tree_and_are_compared() {
    let page = Visitor::opens(story("07a-split-acquire")).await;
    page.moves_cursor(7).await;
    page.presses("B", "Crash").await;
    page.presses_on_page("Branches 1").await;
    page.sees_words(".branch[data-depth='0']", "12 actions");
    let parts = "parts after action 7: crash B, not A token";
    page.sees_words(".branch[data-depth='1']", parts);
    let name = "Split acquire, before action 8";
    page.presses_on_page(&format!("Rename {name}")).await;
    page.names_client("as told").await;
    page.presses_on_page("Compare “as told” with what is open")
        .await;
    page.sees_words(".compare__parts", "Action 8");
    page.sees_words(".compare__differs", "A stale write is never accepted");
    page.presses_starting("Open “as told”").await;
    page.sees_cursor(7, 12);
    page.presses_on_page("Branches 1").await;
    // The name stays with the schedule that it was given to.
    page.sees_words(".branch[data-depth='0']", "as told");
    page.sees_words(".branch[data-depth='0']", "open");
}
