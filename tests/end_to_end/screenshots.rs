//! Pictures for who designs the page: a desktop's and a phone's window, in light and dark colours.

use crate::browser::{Browser, Driver};
use crate::file_server::FileServer;
use crate::pictures;

const WINDOWS: [(&str, u32, u32); 2] = [("desktop", 1440, 900), ("phone", 390, 844)];

/// Takes four pictures of the page at each address (`""` when none is given).
pub fn take_all(driver: &Driver, server: &FileServer, addresses: &[&str]) {
    let addresses = if addresses.is_empty() {
        &[""]
    } else {
        addresses
    };
    for (number, address) in addresses.iter().enumerate() {
        let browser = Browser::start(driver, server.address());
        browser.open(address);
        for (window, width, height) in WINDOWS {
            for (colours, dark) in [("light", false), ("dark", true)] {
                let name = match number {
                    0 => format!("{window}-{colours}.png"),
                    _ => format!("{window}-{colours}-{}.png", number + 1),
                };
                let file = pictures().join(name);
                browser.screenshot(&file, width, height, dark);
                println!("{}", file.display());
            }
        }
        for complaint in browser.complaints() {
            println!("the browser complains: {complaint}");
        }
    }
}
