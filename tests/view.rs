//! How views become elements, and which elements stay when a view changes.
#![cfg(all(target_arch = "wasm32", feature = "ui"))]
#![allow(clippy::unwrap_used, reason = "clippy knows no tests but `#[test]`")]

use std::cell::Cell;
use std::rc::Rc;

use latchkey::ui::view::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::{Element, HtmlElement, HtmlInputElement};

wasm_bindgen_test_configure!(run_in_browser);

/// A place on the document with a view in it. The signals that the view was made with are its own.
fn mounted(draw: impl FnOnce() -> AnyView + 'static) -> Element {
    let place = document().create_element("div").unwrap();
    document().body().unwrap().append_child(&place).unwrap();
    let within = place.clone();
    leptos::mount::mount_to(place.clone().unchecked_into(), move || {
        std::mem::forget(draw().mount(&within));
    })
    .forget();
    place
}

/// What stands there, without the comments that keep places.
fn html(place: &Element) -> String {
    place.inner_html().replace("<!---->", "").trim().to_string()
}

fn find<E: JsCast>(place: &Element, selector: &str) -> E {
    let found = place.query_selector(selector).unwrap();
    found.expect(selector).unchecked_into()
}

async fn settle() {
    leptos::task::tick().await;
}

#[wasm_bindgen_test]
fn markup_becomes_elements() {
    let place = mounted(|| {
        view! {
            <p class="note" hidden aria-label=Some("label") title={None::<String>}>"a < b"</p>
            {vec!["x", "y"]} {Some(3_usize)} {None::<String>}
            <svg viewBox="0 0 2 2"><use_ href="#i" /></svg>
            <input value={4_i32} prop:checked=true style:width="2px" disabled=false />
        }
    });
    assert_eq!(
        html(&place),
        "<p class=\"note\" hidden=\"\" aria-label=\"label\">a &lt; b</p>xy3\
         <svg viewBox=\"0 0 2 2\"><use href=\"#i\"></use></svg><input value=\"4\" style=\"width: 2px;\">"
    );
    assert!(find::<HtmlInputElement>(&place, "input").checked());
    let drawing: Element = find(&place, "svg");
    assert_eq!(
        drawing.namespace_uri().as_deref(),
        Some("http://www.w3.org/2000/svg")
    );
}

/// One number after another goes through a view, which is compared after each.
async fn check(draw: impl Fn(usize) -> AnyView + 'static, shown: &[&str]) {
    let number = Rc::new(Cell::new(None));
    let made = number.clone();
    let place = mounted(move || {
        let signal = RwSignal::new(0_usize);
        made.set(Some(signal));
        view! { <b>"("</b> {move || draw(signal.get())} <b>")"</b> }
    });
    for (turn, shown) in shown.iter().enumerate() {
        number.get().unwrap().set(turn);
        settle().await;
        assert_eq!(
            html(&place),
            "<b>(</b>".to_string() + shown + "<b>)</b>",
            "turn {turn}"
        );
    }
}

#[wasm_bindgen_test]
async fn views_become_other_views_in_their_place() {
    check(|n| ["", "a", "b"][n].into_any(), &["", "a", "b"]).await;
    check(
        |n| (n % 2 == 1).then(|| view! { <i>{n}</i> }).into_any(),
        &["", "<i>1</i>", "", "<i>3</i>"],
    )
    .await;
    check(
        |n| match n {
            0 => view! { <i></i> "t" },
            1 => view! { <u title=n>{n}</u> },
            2 => vec!["p", "q"].into_any(),
            3 => (move || view! { <s>{n}</s> }).into_any(),
            _ => ().into_any(),
        },
        &["<i></i>t", "<u title=\"1\">1</u>", "pq", "<s>3</s>", ""],
    )
    .await;
    check(
        |n| {
            (0..[2, 4, 0, 1][n])
                .map(|n: usize| view! { <i>{n}</i> })
                .collect_view()
        },
        &[
            "<i>0</i><i>1</i>",
            "<i>0</i><i>1</i><i>2</i><i>3</i>",
            "",
            "<i>0</i>",
        ],
    )
    .await;
    check(
        |n| view! { <i title=(n != 1).then_some(n) hidden=n == 2 class=move || n></i> },
        &[
            "<i title=\"0\" class=\"0\"></i>",
            "<i class=\"1\"></i>",
            "<i class=\"2\" title=\"2\" hidden=\"\"></i>",
            "<i class=\"3\" title=\"3\"></i>",
        ],
    )
    .await;
}

#[wasm_bindgen_test]
async fn the_same_markup_keeps_its_elements_and_hears_with_new_ears() {
    let heard = Rc::new(Cell::new(0));
    let (number, counts) = (Rc::new(Cell::new(None)), heard.clone());
    let made = number.clone();
    let place = mounted(move || {
        let signal = RwSignal::new(1_i32);
        made.set(Some(signal));
        let draw = move || {
            let (add, heard) = (signal.get(), counts.clone());
            view! { <button on:click=move |_| heard.set(heard.get() + add)>{add}</button> }
        };
        draw.into_any()
    });
    let button: HtmlElement = find(&place, "button");
    button.focus().unwrap();
    button.click();
    number.get().unwrap().set(10);
    settle().await;
    assert_eq!(html(&place), "<button>10</button>");
    assert_eq!(document().active_element().as_ref(), Some(button.as_ref()));
    button.click();
    assert_eq!(heard.get(), 11);
}

#[wasm_bindgen_test]
async fn what_is_gone_neither_follows_nor_listens() {
    let (number, runs) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(0)));
    let (made, counts) = (number.clone(), runs.clone());
    let place = mounted(move || {
        let signal = RwSignal::new(0_usize);
        made.set(Some(signal));
        let inner = move || {
            counts.set(counts.get() + 1);
            signal.get()
        };
        let is_shown = Memo::new(move || signal.get() < 2);
        (move || {
            is_shown
                .get()
                .then(|| view! { <button on:click=move |_| signal.set(9)>{inner.clone()}</button> })
        })
        .into_any()
    });
    let signal = number.get().unwrap();
    let button: HtmlElement = find(&place, "button");
    for (value, runs_then, shown) in [(1, 2, "<button>1</button>"), (2, 3, ""), (3, 3, "")] {
        signal.set(value);
        settle().await;
        assert_eq!(html(&place), shown);
        assert!(runs.get() <= runs_then, "{} runs at {value}", runs.get());
    }
    button.click();
    assert_eq!(signal.get_untracked(), 3);
}

#[wasm_bindgen_test]
async fn rows_of_a_list_keep_their_elements() {
    let keys = Rc::new(Cell::new(None));
    let made = keys.clone();
    let place = mounted(move || {
        let signal = RwSignal::new(vec![1, 2, 3]);
        made.set(Some(signal));
        view! { <ol>{keyed(move || signal.get(), |key| view! { <li>{key}</li> })}</ol> <p></p> }
    });
    let signal = keys.get().unwrap();
    let rows = [
        vec![1, 2, 3],
        vec![3, 1, 2],
        vec![2, 4, 3, 5],
        vec![],
        vec![7, 6],
        vec![6, 7, 8],
        vec![8, 8],
        vec![0],
    ];
    let mut before: Vec<Element> = Vec::new();
    for keys in rows {
        signal.set(keys.clone());
        settle().await;
        let list: Element = find(&place, "ol");
        let children = list.children();
        let now: Vec<Element> = (0..children.length())
            .filter_map(|at| children.item(at))
            .collect();
        let shown: Vec<String> = now.iter().filter_map(|row| row.text_content()).collect();
        assert_eq!(shown, keys.iter().map(u64::to_string).collect::<Vec<_>>());
        for row in &before {
            let stays = now
                .iter()
                .filter(|same| same.text_content() == row.text_content());
            assert!(stays.clone().count() == 0 || stays.clone().any(|same| same == row));
        }
        before = now;
    }
}

#[wasm_bindgen_test]
async fn a_reference_knows_its_element() {
    let found = Rc::new(Cell::new(None));
    let tells = found.clone();
    let place = mounted(move || {
        let reference = NodeRef::<HtmlInputElement>::new();
        effect(move || tells.set(reference.get().map(|input| input.value())));
        view! { <input node_ref=reference value="v" /> }
    });
    settle().await;
    assert_eq!(found.take().as_deref(), Some("v"));
    place.remove();
}

#[wasm_bindgen_test]
async fn memos_are_known_again_only_when_they_have_changed() {
    let (number, runs) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(0)));
    let (made, counts) = (number.clone(), runs.clone());
    mounted(move || {
        let signal = RwSignal::new(0_usize);
        made.set(Some(signal));
        let tens = Memo::new(move || signal.get() / 10);
        effect(move || {
            tens.track();
            counts.set(counts.get() + 1);
        });
        ().into_any()
    });
    for (value, runs_then) in [(1, 1), (9, 1), (10, 2), (19, 2), (20, 3)] {
        number.get().unwrap().set(value);
        settle().await;
        settle().await;
        assert_eq!(runs.get(), runs_then, "at {value}");
    }
}
