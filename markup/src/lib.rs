//! `view!`: markup with values in it, in the syntax of Leptos.
//!
//! Leptos's own `view!` makes a type of its own for every shape of markup, and with each type come the code to build it, to
//! change it and to drop it: a third of the program. This one makes one text for each piece of markup and a list of the values
//! that go into it, which `ui::view` of the page turns into elements. The text is a row of items, each of which begins with one
//! of the bytes below and goes on to the next such byte.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use rstml::node::{KeyedAttribute, Node, NodeAttribute, NodeElement, NodeName};

/// An element of HTML begins: its name.
const HTML: char = '\u{1}';
/// An element of SVG begins: its name.
const SVG: char = '\u{2}';
/// An attribute whose value stands here: `name=value`.
const FIXED: char = '\u{3}';
/// An attribute, a property, a style, a listener or a reference whose value is the next of the list: its name.
const GIVEN: char = '\u{4}';
/// What is the next of the list stands here.
const CHILD: char = '\u{5}';
/// A text.
const TEXT: char = '\u{6}';
/// The element ends.
const END: char = '\u{7}';

/// The elements of SVG that the page uses. `a`, `style`, `script` and `title` are those of HTML.
const OF_SVG: [&str; 14] = [
    "circle", "defs", "ellipse", "g", "line", "marker", "path", "pattern", "polygon", "polyline",
    "rect", "svg", "symbol", "text",
];

/// A view of this markup: elements with attributes, texts in quotation marks, and values in braces.
///
/// - `name="text"` and `name=value`: an attribute; a value that is `None` or `false` takes it away, a closure follows the signals
///   that it reads.
/// - `prop:name=value`: a property of the element; `style:name=value`: a property of its style.
/// - `on:name=closure`: a listener, which is given the event in the type that belongs to its name.
/// - `node_ref=reference`: tells the reference which element it is.
/// - `{value}`: whatever becomes a view: a text, a number, a view, a closure that gives one, an option or a list of them.
///
/// A component is a function that gives a view: `{panel(desk)}`.
#[proc_macro]
pub fn view(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    Markup::of(tokens.into()).code().into()
}

/// What has been read.
#[derive(Default)]
struct Markup {
    text: String,
    values: Vec<TokenStream>,
    errors: Vec<TokenStream>,
}

impl Markup {
    fn of(tokens: TokenStream) -> Markup {
        let mut markup = Markup::default();
        match rstml::parse2(tokens) {
            Ok(nodes) => nodes.iter().for_each(|node| markup.node(node)),
            Err(error) => markup.errors.push(error.to_compile_error()),
        }
        markup
    }

    fn code(self) -> TokenStream {
        let Markup {
            text,
            values,
            errors,
        } = self;
        quote! {{
            #(#errors;)*
            ::latchkey::ui::view::filled(#text, ::std::vec![#(#values),*])
        }}
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Element(element) => self.element(element),
            Node::Text(text) => self.item(TEXT, &text.value_string()),
            Node::Block(block) => {
                self.text.push(CHILD);
                let value = unbraced(block);
                self.values
                    .push(quote! { ::latchkey::ui::view::child(#value) });
            }
            Node::Fragment(fragment) => fragment.children.iter().for_each(|node| self.node(node)),
            Node::Comment(_) => {}
            other => self.refuse(other, "a text stands in quotation marks, a value in braces"),
        }
    }

    fn item(&mut self, kind: char, words: &str) {
        self.text.push(kind);
        // What ends an item cannot stand within one.
        self.text
            .extend(words.chars().filter(|letter| *letter > END));
    }

    fn element(&mut self, element: &NodeElement<rstml::Infallible>) {
        let name = element.name().to_string();
        // `use` is a word of Rust.
        let name = name.trim_end_matches('_');
        if name.contains([':', ' ']) || name.starts_with(|first: char| first.is_uppercase()) {
            return self.refuse(
                element.name(),
                "a component is a function: write `{panel(desk)}`",
            );
        }
        let kind = if name == "use" || OF_SVG.contains(&name) {
            SVG
        } else {
            HTML
        };
        self.item(kind, name);
        for attribute in element.attributes() {
            match attribute {
                NodeAttribute::Attribute(attribute) => self.attribute(attribute),
                NodeAttribute::Block(block) => self.refuse(block, "an attribute has a name"),
            }
        }
        element.children.iter().for_each(|node| self.node(node));
        self.text.push(END);
    }

    fn attribute(&mut self, attribute: &KeyedAttribute) {
        let name = name_of(&attribute.key);
        let is_plain = !name.contains(':') && name != "node_ref";
        // `true` and `false` say whether there is such an attribute.
        let fixed = attribute
            .value_literal_string()
            .filter(|value| value != "true" && value != "false" || is_quoted(attribute));
        match (fixed, attribute.value()) {
            (Some(value), _) if is_plain => self.item(FIXED, &(name + "=" + &value)),
            (_, Some(value)) => {
                self.item(GIVEN, &name);
                self.values.push(given(&name, &unbraced(value)));
            }
            (_, None) => self.item(FIXED, &(name + "=")),
        }
    }

    fn refuse(&mut self, at: impl ToTokens, why: &str) {
        let place = at.to_token_stream();
        let span = place.into_iter().next().map(|token| token.span());
        let span = span.unwrap_or_else(proc_macro2::Span::call_site);
        self.errors
            .push(quote::quote_spanned! { span => ::core::compile_error!(#why) });
    }
}

/// The name as it stands, without the blanks that tokens have between them.
fn name_of(name: &NodeName) -> String {
    name.to_string().replace(' ', "")
}

fn is_quoted(attribute: &KeyedAttribute) -> bool {
    let value = attribute.value().map(|value| value.to_token_stream());
    value.is_some_and(|value| value.to_string().starts_with('"'))
}

/// Braces about a single value are the markup's, not Rust's.
fn unbraced(value: &impl ToTokens) -> TokenStream {
    let tokens = value.to_token_stream();
    let mut trees = tokens.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None)
            if group.delimiter() == Delimiter::Brace
                && !group
                    .stream()
                    .into_iter()
                    .any(|tree| tree.to_string() == ";") =>
        {
            group.stream()
        }
        _ => tokens,
    }
}

fn given(name: &str, value: &TokenStream) -> TokenStream {
    match name.strip_prefix("on:") {
        Some(event) => {
            let of = event_of(event);
            quote! { ::latchkey::ui::view::listener::<#of, _>(#value) }
        }
        None if name == "node_ref" => quote! { ::latchkey::ui::view::reference(#value) },
        None => quote! { ::latchkey::ui::view::attribute(#value) },
    }
}

/// What the browser gives to listeners of this name.
fn event_of(name: &str) -> TokenStream {
    match name {
        "click" | "dblclick" | "contextmenu" | "mousedown" | "mouseup" | "mousemove"
        | "mouseenter" | "mouseleave" | "mouseover" | "mouseout" => {
            quote! { ::web_sys::MouseEvent }
        }
        "keydown" | "keyup" => quote! { ::web_sys::KeyboardEvent },
        "focus" | "blur" | "focusin" | "focusout" => quote! { ::web_sys::FocusEvent },
        _ => quote! { ::web_sys::Event },
    }
}

#[cfg(test)]
mod tests {
    use super::Markup;
    use quote::quote;

    /// The text of the markup, with the first bytes of its items as they are called here, and how many values it takes.
    fn read(tokens: proc_macro2::TokenStream) -> (String, usize) {
        let markup = Markup::of(tokens);
        assert!(markup.errors.is_empty(), "{:?}", markup.errors);
        let kinds = ["", "<", "<svg:", " ", " ?", "{}", "'", "/"];
        let text = markup.text.chars();
        let text = text.map(|letter| match kinds.get(letter as usize) {
            Some(kind) => (*kind).to_string(),
            None => letter.to_string(),
        });
        (text.collect(), markup.values.len())
    }

    #[test]
    fn markup_becomes_a_text_and_a_list_of_values() {
        let cases = [
            (
                quote! { <p class="a b">"words"</p> },
                "<p class=a b'words/",
                0,
            ),
            (
                quote! { <p class=class>{words} "."</p> },
                "<p ?class{}'./",
                2,
            ),
            (quote! { {one} {two} }, "{}{}", 2),
            (
                quote! { <input type="text" required aria-label=label on:input=move |event| read(event) prop:value=value /> },
                "<input type=text required= ?aria-label ?on:input ?prop:value/",
                3,
            ),
            (
                quote! { <svg viewBox="0 0 2 2"><use_ href=address /><path d="M0 0" /></svg> },
                "<svg:svg viewBox=0 0 2 2<svg:use ?href/<svg:path d=M0 0//",
                1,
            ),
            (
                quote! { <div node_ref=reference style:left=left></div> },
                "<div ?node_ref ?style:left/",
                2,
            ),
            (
                quote! { <i hidden=true aria-hidden="true" title={"braces"} lang={let a = 1; a}>{{1}; 2}</i> },
                "<i ?hidden aria-hidden=true ?title ?lang{}/",
                4,
            ),
            (quote! { <i>"a\u{2}b"</i> }, "<i'ab/", 0),
        ];
        for (tokens, text, values) in cases {
            assert_eq!(read(tokens), (text.to_string(), values));
        }
    }

    #[test]
    fn what_is_no_markup_is_refused() {
        let cases = [
            quote! { <Panel desk=desk /> },
            quote! { <panel::Tools /> },
            quote! { <p {attributes}></p> },
            quote! { <p>words</p> },
            quote! { <p> },
        ];
        for tokens in cases {
            let name = tokens.to_string();
            assert!(!Markup::of(tokens).errors.is_empty(), "{name}");
        }
    }
}
