//! A real browser.
