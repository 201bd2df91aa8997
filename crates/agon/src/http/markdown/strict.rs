//! Recognises HTML that the sanitiser would leave as it is, in a fraction of its time.
//!
//! An answer is rendered again for each piece that comes, ten times a second, and building the sanitiser's tree costs more than all the rest.
//! This check knows a small grammar: complete start tags, spelled out; which element may stand in which; text with escaped marks only.
//! Within that grammar a browser's parser repairs nothing, so the tree is what is written and holds only what the sanitiser's list holds.
//! Everything else, harmless or not, is left to the sanitiser.
//! The tests compare the two: whatever is recognised here comes out of the sanitiser byte for byte the same.

/// What an element is to those inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Holds blocks: a quote.
    Blocks,
    /// Holds text, and blocks: an item.
    Item,
    /// Holds text: a paragraph, a heading, a cell, a caption.
    Text,
    /// Stands in text and holds it.
    Inline,
    /// As `Inline`, and never inside another of its kind.
    Link,
    /// Holds characters only: code.
    Characters,
    /// Holds items.
    List,
    /// Holds a caption and preformatted code.
    Figure,
    /// Holds code.
    Preformatted,
    /// Holds a table.
    TableBox,
    /// Holds the head and the body.
    Table,
    /// Holds rows.
    Rows,
    /// Holds cells.
    Row,
    /// `<br>`.
    Break,
    /// `<hr>`.
    Rule,
}

/// Whether the sanitiser would leave `html` as it is. `false` also when this check does not know.
pub(super) fn is_strict(html: &str) -> bool {
    let mut open: Vec<(&str, Kind)> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let parent = open.last().map(|(_, kind)| *kind);
        if start > 0 && !(holds_text(parent) && is_plain(&rest[..start])) {
            return false;
        }
        let Some(length) = rest[start..].find('>') else {
            return false;
        };
        let tag = &rest[start + 1..start + length];
        rest = &rest[start + length + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().is_none_or(|(expected, _)| expected != name) {
                return false;
            }
            continue;
        }
        let Some((name, kind)) = element(tag) else {
            return false;
        };
        let is_nested_link = kind == Kind::Link && open.iter().any(|(_, kind)| *kind == Kind::Link);
        if !is_allowed(parent, name, kind) || is_nested_link {
            return false;
        }
        if !matches!(kind, Kind::Break | Kind::Rule) {
            open.push((name, kind));
        }
    }
    rest.is_empty() && open.is_empty()
}

/// The element that a start tag opens, when the tag is one that the renderer writes, attributes and all.
fn element(tag: &str) -> Option<(&str, Kind)> {
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let is_auto = matches!(attributes, "" | r#"dir="auto""#);
    let kind = match name {
        "p" if is_auto
            || matches!(
                attributes,
                r#"class="source""# | r#"dir="auto" class="source""#
            ) =>
        {
            Kind::Text
        }
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if is_auto => Kind::Text,
        "blockquote" if is_auto => Kind::Blocks,
        "ul" if is_auto => Kind::List,
        "ol" if is_start(attributes) => Kind::List,
        "li" if matches!(attributes, "" | r#"class="task""#) => Kind::Item,
        "em" | "strong" | "del" if attributes.is_empty() => Kind::Inline,
        "span"
            if matches!(
                attributes,
                r#"class="box""# | r#"class="host""# | r#"class="image-note""#
            ) =>
        {
            Kind::Inline
        }
        "a" if is_plain_link(attributes) => Kind::Link,
        "code"
            if matches!(
                attributes,
                "" | r#"dir="ltr""# | r#"class="math" dir="ltr""#
            ) =>
        {
            Kind::Characters
        }
        "figure" if attributes == r#"class="code" dir="ltr""# => Kind::Figure,
        "figcaption" if attributes.is_empty() => Kind::Text,
        "pre" if attributes == r#"role="group" aria-label="Code" tabindex="0""# => {
            Kind::Preformatted
        }
        "div" if attributes == r#"class="table" role="group" aria-label="Table" tabindex="0""# => {
            Kind::TableBox
        }
        "table" if is_auto => Kind::Table,
        "thead" | "tbody" if attributes.is_empty() => Kind::Rows,
        "tr" if attributes.is_empty() => Kind::Row,
        "th" | "td"
            if matches!(
                attributes,
                "" | r#"class="left""# | r#"class="center""# | r#"class="right""#
            ) =>
        {
            Kind::Text
        }
        "br" if attributes.is_empty() => Kind::Break,
        "hr" if attributes.is_empty() => Kind::Rule,
        _ => return None,
    };
    Some((name, kind))
}

/// Whether an element may stand in this parent without the parser moving either of them.
fn is_allowed(parent: Option<Kind>, name: &str, kind: Kind) -> bool {
    match (name, kind) {
        ("figcaption", _) | (_, Kind::Preformatted) => parent == Some(Kind::Figure),
        ("th" | "td", _) => parent == Some(Kind::Row),
        (_, Kind::Item) => parent == Some(Kind::List),
        (_, Kind::Table) => parent == Some(Kind::TableBox),
        (_, Kind::Rows) => parent == Some(Kind::Table),
        (_, Kind::Row) => parent == Some(Kind::Rows),
        (_, Kind::Characters) => parent == Some(Kind::Preformatted) || is_in_text(parent),
        (_, Kind::Inline | Kind::Link | Kind::Break) => is_in_text(parent),
        (
            _,
            Kind::Text | Kind::Blocks | Kind::List | Kind::Figure | Kind::TableBox | Kind::Rule,
        ) => {
            matches!(parent, None | Some(Kind::Blocks | Kind::Item))
        }
    }
}

fn is_in_text(parent: Option<Kind>) -> bool {
    matches!(
        parent,
        Some(Kind::Text | Kind::Item | Kind::Inline | Kind::Link)
    )
}

fn holds_text(parent: Option<Kind>) -> bool {
    is_in_text(parent) || parent == Some(Kind::Characters)
}

/// Text in which every mark is escaped as the sanitiser would escape it, and which holds no character that a parser changes.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(i, byte)| match byte {
        b'&' => [&b"&amp;"[..], b"&lt;", b"&gt;", b"&nbsp;"]
            .iter()
            .any(|reference| bytes[i..].starts_with(reference)),
        b'\n' | b'\t' => true,
        // The first byte of the only two sequences that are written differently: U+00A0 itself, and controls above U+007F.
        0xC2 => bytes.get(i + 1).is_some_and(|next| *next > 0xA0),
        b'<' | b'>' | 0x7F => false,
        byte => *byte >= b' ',
    })
}

/// `start="N"`, with or without a direction.
fn is_start(attributes: &str) -> bool {
    let attributes = attributes
        .strip_suffix(r#" dir="auto""#)
        .unwrap_or(attributes);
    let number = attributes
        .strip_prefix("start=\"")
        .and_then(|rest| rest.strip_suffix('"'));
    number.is_some_and(|number| {
        (1..=10).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The attributes of a link to a host with a plain name, without user, port or marks that an address parser would rewrite.
fn is_plain_link(attributes: &str) -> bool {
    let Some(rest) = attributes
        .strip_prefix("href=\"https://")
        .or_else(|| attributes.strip_prefix("href=\"http://"))
    else {
        return false;
    };
    let Some((address, rest)) = rest.split_once('"') else {
        return false;
    };
    let host = address.split(['/', '?', '#']).next().unwrap_or_default();
    let is_host = host.starts_with(|c: char| c.is_ascii_alphabetic())
        && host.ends_with(|c: char| c.is_ascii_alphabetic())
        && is_host(host);
    let is_address = address
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._~/?#=%+:,;!*()@$".contains(&b));
    let title = rest
        .strip_prefix(" title=\"")
        .and_then(|rest| rest.split_once('"'));
    is_host
        && is_address
        && title
            == Some((
                host,
                r#" target="_blank" rel="noopener noreferrer nofollow ugc""#,
            ))
}

fn is_host(host: &str) -> bool {
    host.split('.').all(|label| {
        let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        label.starts_with(is_alphanumeric)
            && label.ends_with(is_alphanumeric)
            && !label.starts_with("xn--")
            && label
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: bool) {
        assert_eq!(is_strict(html), expected, "{html}");
    }

    #[test]
    fn what_the_renderer_writes_is_recognised() {
        check("", true);
        check(
            r#"<p dir="auto">a <em>b <strong>c</strong></em> &lt;d&gt; &amp; "e"<br>f</p><hr>"#,
            true,
        );
        check(
            r#"<ul dir="auto"><li>a<ol start="3"><li><p>b</p><blockquote><p>c</p></blockquote></li></ol></li></ul>"#,
            true,
        );
        check(
            r#"<div class="table" role="group" aria-label="Table" tabindex="0"><table dir="auto"><thead><tr><th class="right">a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table></div>"#,
            true,
        );
        check(
            r#"<figure class="code" dir="ltr"><figcaption>x</figcaption><pre role="group" aria-label="Code" tabindex="0"><code>y</code></pre></figure>"#,
            true,
        );
        check(
            r#"<p>a <a href="https://ok.example/x?y=1" title="ok.example" target="_blank" rel="noopener noreferrer nofollow ugc">b</a></p>"#,
            true,
        );
    }

    #[test]
    fn anything_else_is_not() {
        for html in [
            "text",
            "<script>",
            "<p>",
            "</p>",
            "<p></p",
            "<P></P>",
            "<p><p></p></p>",
            "<p onclick=\"x\">a</p>",
            "<p dir=\"auto\"onclick=\"x\">a</p>",
            "<p dir=\"auto\" >a</p>",
            "<p/>",
            "<p>a > b</p>",
            "<p>&quot;</p>",
            "<p>&nbsp</p>",
            "<p>\u{A0}</p>",
            "<p>\r\n</p>",
            "<p>\0</p>",
            "<p>\u{80}</p>",
            "<p><ul></ul></p>",
            "<ul>a<li></li></ul>",
            "<li>a</li>",
            "<table></table>",
            "<p><table></table></p>",
            "<em>a</em>",
            "<p><em>a</p></em>",
            "<p><code><em>a</em></code></p>",
            "<p><!-- a --></p>",
            "<p><svg></svg></p>",
            "<p><img src=x></p>",
            "<p><span>a</span></p>",
            "<p><span class=\"icon\">a</span></p>",
            "<p><a href=\"javascript:x\">a</a></p>",
            "<p><a>a</a></p>",
            "<ol start=\"-1\"></ol>",
            "<ol></ol>",
            "<pre><code>a</code></pre>",
        ] {
            check(html, false);
        }
        let tail = r#"target="_blank" rel="noopener noreferrer nofollow ugc""#;
        for (href, title) in [
            ("javascript:alert(1)", ""),
            ("https://ok.example/&quot;onclick", "ok.example"),
            ("https://ok.example:80/", "ok.example:80"),
            ("https://a@ok.example/", "ok.example"),
            ("https://ok.example/", "other.example"),
            ("https://1.2.3.4/", "1.2.3.4"),
            ("HTTPS://ok.example/", "ok.example"),
            ("//ok.example/", "ok.example"),
        ] {
            check(
                &format!(r#"<p><a href="{href}" title="{title}" {tail}>a</a></p>"#),
                false,
            );
        }
        let link = format!(r#"<a href="https://ok.example/" title="ok.example" {tail}>"#);
        check(&format!("<p>{link}a {link}b</a></a></p>"), false);
    }
}
