//! The icons and the hatching, once for the whole page.

use super::view::*;

/// Names and drawings, within 16 by 16, stroked.
const ICONS: [(&str, &str); 34] = [
    ("latch-open", "M3 14V5M13 14V5M3 9 11.5 2.5"),
    ("latch-closed", "M3 14V3M13 14V3M3 8.5h10"),
    ("tick", "m3 8.5 3.5 3.5L13 4.5"),
    ("cross", "m4 4 8 8M12 4l-8 8"),
    (
        "accepted",
        "M1.5 8a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0 -13 0ZM5 8.2l2.2 2.3L11.2 6",
    ),
    (
        "rejected",
        "M1.75 1.75h12.5v12.5H1.75zM5.2 5.2l5.6 5.6m0-5.6-5.6 5.6",
    ),
    ("stale", "M8 1.2 15.2 14.4H.8ZM8 6v4M8 12.3v.1"),
    (
        "untested",
        "M14.4 6.9a6.5 6.5 0 0 0-1.3-3M11 2.2a6.5 6.5 0 0 0-3.4-.7M5 2.2a6.5 6.5 0 0 0-2.4 2M1.6 6.8a6.5 6.5 0 0 0 .4 3.4M3.6 12.8a6.5 6.5 0 0 0 2.9 1.5M9.8 14.2a6.5 6.5 0 0 0 2.7-1.6M14.1 10.4a6.5 6.5 0 0 0 .3-1M5.5 8h5",
    ),
    ("step", "M3 8h9M8.5 4.2 12.3 8l-3.8 3.8"),
    ("start", "M3.5 3v10M13 3 6 8l7 5Z"),
    ("end", "M12.5 3v10M3 3l7 5-7 5Z"),
    ("back", "M11 3 4 8l7 5Z"),
    ("forward", "m5 3 7 5-7 5Z"),
    ("play", "m4 2.5 9 5.5-9 5.5Z"),
    ("pause", "M5 3v10M11 3v10"),
    ("undo", "M3 7h7a3 3 0 0 1 0 6H7M6 3.5 2.8 7 6 10.5"),
    ("redo", "M13 7H6a3 3 0 0 0 0 6h3M10 3.5 13.2 7 10 10.5"),
    ("share", "M6.5 9.5 12.8 3.2M8.5 3H13v4.5M11 9.5V13H3V5h3.5"),
    ("save", "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 11v2.5h11V11"),
    ("new", "M4 1.75h5.5L12.5 5v9.25H4ZM8.2 7v4.5M6 9.2h4.5"),
    ("add", "M8 3v10M3 8h10"),
    ("lost", "M2 5h6M2 11h4M10 8l4 4m0-4-4 4"),
    (
        "clock",
        "M1.7 8a6.3 6.3 0 1 0 12.6 0a6.3 6.3 0 1 0 -12.6 0ZM8 4.5V8l2.5 1.8",
    ),
    (
        "branch",
        "M4.5 2v12M4.5 10c0-4 7-2 7-6.5M10.2 3a1.3 1.3 0 1 0 2.6 0a1.3 1.3 0 1 0-2.6 0Z",
    ),
    (
        "find",
        "M2.7 7a4.3 4.3 0 1 0 8.6 0a4.3 4.3 0 1 0-8.6 0ZM10.3 10.3l3.7 3.7",
    ),
    (
        "keys",
        "M1.5 4h13v8h-13zM4 9.5h8M4 6.7h.1M8 6.7h.1M12 6.7h.1",
    ),
    (
        "library",
        "M2.5 2.5h3v11h-3zM7 2.5h2.5v11H7zM11.2 3l2.3-.5 1.7 10.8-2.3.4Z",
    ),
    (
        "key",
        "M1.5 8a3 3 0 1 0 6 0a3 3 0 1 0-6 0ZM7.5 8h7v3M12 8v2",
    ),
    ("compare", "M2 3h4.5v10H2zM9.5 3H14v10H9.5zM9.5 8H14"),
    ("text", "M3 3.5h10M3 6.5h7M3 9.5h10M3 12.5h5"),
    ("command", "m3 4 4 4-4 4M8.5 12H13"),
    ("less", "M3 8h10"),
    ("fit", "M2 6V2h4M14 6V2h-4M2 10v4h4M14 10v4h-4"),
    ("more", "M3 8h.1M8 8h.1M13 8h.1"),
];

/// The hidden drawing that every icon refers to. It must not be `display: none`, or patterns fail in Firefox.
pub fn sprite() -> AnyView {
    let icons = ICONS.iter().map(|(name, path)| {
        let id = "i-".to_string() + name;
        view! { <symbol id=id viewBox="0 0 16 16"><path d=*path /></symbol> }
    });
    view! {
        <svg class="sprite" aria-hidden="true" focusable="false">
            <defs>
                {icons.collect_view()}
                <pattern id="hatch-stale" width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                    <rect class="p-hatch-ground" width="9" height="9" />
                    <line class="p-hatch-line" x1="0" y1="0" x2="0" y2="9" />
                </pattern>
            </defs>
        </svg>
    }
}
