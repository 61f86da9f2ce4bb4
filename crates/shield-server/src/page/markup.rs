//! Text that is safe to send as HTML. There are two ways to make it: text of ours that is in the
//! program, and templates, which escape all that is put into them.

use std::fmt::{Display, Write as _};

/// HTML.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// HTML that is part of the program.
    pub(crate) fn fixed(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Text of any origin.
    pub(crate) fn text(text: impl Display) -> Self {
        Self(escape(&text.to_string()))
    }

    /// One after the other.
    pub(crate) fn join(parts: impl IntoIterator<Item = Self>) -> Self {
        Self(parts.into_iter().map(|part| part.0).collect())
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// HTML with gaps, `{{like this}}`, in text and in quoted attributes.
pub(crate) struct Template {
    text: &'static str,
    fillings: Vec<(&'static str, String)>,
}

impl Template {
    pub(crate) fn new(text: &'static str) -> Self {
        Self { text, fillings: Vec::new() }
    }

    /// Fills a gap with text.
    pub(crate) fn text(self, gap: &'static str, text: impl Display) -> Self {
        self.markup(gap, Markup::text(text))
    }

    /// Fills a gap with HTML.
    pub(crate) fn markup(mut self, gap: &'static str, markup: Markup) -> Self {
        self.fillings.push((gap, markup.0));
        self
    }

    /// The whole. A gap that nothing fills stays to be seen.
    pub(crate) fn fill(self) -> Markup {
        let mut filled = String::with_capacity(2 * self.text.len());
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let (gap, after) = after.split_once("}}").unwrap_or((after, ""));
            match self.fillings.iter().find(|(name, _)| *name == gap) {
                Some((_, filling)) => filled.push_str(filling),
                None => {
                    let _ = write!(filled, "{{{{{gap}}}}}");
                }
            }
            rest = after;
        }
        filled.push_str(rest);
        Markup(filled)
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_put_in_stays_text() {
        let filled = Template::new("<p title=\"{{a}}\">{{b}}, {{a}}</p>{{c}}")
            .text("a", "\"><script>alert('&')</script>")
            .text("b", "{{a}}")
            .markup("c", Markup::join([Markup::fixed("<br>"), Markup::text('<')]))
            .fill()
            .into_string();
        let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;";
        assert_eq!(filled, format!("<p title=\"{escaped}\">{{{{a}}}}, {escaped}</p><br>&lt;"));
    }

    #[test]
    fn a_forgotten_gap_is_seen() {
        assert_eq!(Template::new("a {{gap}} b").fill().into_string(), "a {{gap}} b");
        assert_eq!(Template::new("a {{gap").fill().into_string(), "a {{gap}}");
    }
}
