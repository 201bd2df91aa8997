//! Shapes on a page, and how they are written as SVG.

use std::{collections::BTreeSet, fmt::Write as _};

use crate::{
    Theme,
    text::{self, Weight},
    theme::Ink,
};

/// Families in the order in which a viewer looks for them; the first one is embedded for PNG.
const FONT_FAMILY: &str = "Noto Sans, system-ui, sans-serif";

/// Plots wider than this are not shrunk to the page's width, which would make their text unreadable.
const WIDE: f64 = 1080.0;

/// Share of the font size between the middle of a capital or digit and the baseline (Noto Sans: cap height 0.714 em).
const MIDDLE: f64 = 0.357;

/// A finished plot, to be written as SVG or PNG.
#[derive(Clone, Debug)]
pub struct Plot {
    pub(crate) width: f64,
    pub(crate) height: f64,
    title: String,
    description: String,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Node {
    One(Shape),
    /// Shapes that are one mark, with the text that appears under a pointer.
    Mark(String, Vec<Shape>),
}

#[derive(Clone, Debug)]
pub(crate) struct Shape {
    outline: Outline,
    fill: Fill,
    stroke: Option<Stroke>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    None,
    Ink(Ink),
    Hatched,
}

#[derive(Clone, Copy, Debug)]
struct Stroke {
    ink: Ink,
    width: f64,
    dash: &'static str,
}

#[derive(Clone, Debug)]
enum Outline {
    Rectangle {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
    },
    Line {
        from: (f64, f64),
        to: (f64, f64),
    },
    Circle {
        x: f64,
        y: f64,
        radius: f64,
    },
    Path(String),
    Text(Text),
}

#[derive(Clone, Debug)]
struct Text {
    x: f64,
    y: f64,
    size: f64,
    weight: Weight,
    anchor: Anchor,
    turned: bool,
    content: String,
}

/// Which end of a text its position is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Shape {
    fn new(outline: Outline) -> Self {
        Self {
            outline,
            fill: Fill::None,
            stroke: None,
        }
    }

    pub(crate) fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self::new(Outline::Rectangle {
            x,
            y,
            width,
            height,
        })
    }

    pub(crate) fn line(from: (f64, f64), to: (f64, f64)) -> Self {
        Self::new(Outline::Line { from, to })
    }

    pub(crate) fn circle(x: f64, y: f64, radius: f64) -> Self {
        Self::new(Outline::Circle { x, y, radius })
    }

    /// A path through points; `None` lifts the pen.
    pub(crate) fn path(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> Self {
        let mut data = String::new();
        let mut pen_down = false;
        for point in points {
            if let Some((x, y)) = point {
                data.push(if pen_down { 'L' } else { 'M' });
                write_point(&mut data, x, y);
            }
            pen_down = point.is_some();
        }
        Self::new(Outline::Path(data))
    }

    /// A closed polygon.
    pub(crate) fn polygon(points: &[(f64, f64)]) -> Self {
        let mut shape = Self::path(points.iter().copied().map(Some));
        if let Outline::Path(data) = &mut shape.outline {
            data.push('Z');
        }
        shape
    }

    /// Text on a baseline.
    pub(crate) fn text(x: f64, y: f64, size: f64, content: impl Into<String>) -> Self {
        Self::new(Outline::Text(Text {
            x,
            y,
            size,
            weight: Weight::Regular,
            anchor: Anchor::Start,
            turned: false,
            content: content.into(),
        }))
        .fill(Ink::Text)
    }

    /// Text whose capitals and digits are centred on a height.
    pub(crate) fn text_at_middle(
        x: f64,
        middle: f64,
        size: f64,
        content: impl Into<String>,
    ) -> Self {
        Self::text(x, middle + MIDDLE * size, size, content)
    }

    /// Text that reads upwards, its capitals centred on `x`, starting at height `y`.
    pub(crate) fn text_upwards(x: f64, y: f64, size: f64, content: impl Into<String>) -> Self {
        let mut shape = Self::text(x + MIDDLE * size, y, size, content);
        if let Outline::Text(text) = &mut shape.outline {
            text.turned = true;
        }
        shape
    }

    pub(crate) fn anchored(mut self, to: Anchor) -> Self {
        if let Outline::Text(text) = &mut self.outline {
            text.anchor = to;
        }
        self
    }

    pub(crate) fn bold(mut self) -> Self {
        if let Outline::Text(text) = &mut self.outline {
            text.weight = Weight::Bold;
        }
        self
    }

    pub(crate) fn fill(mut self, ink: Ink) -> Self {
        self.fill = Fill::Ink(ink);
        self
    }

    pub(crate) fn hatched(mut self) -> Self {
        self.fill = Fill::Hatched;
        self
    }

    pub(crate) fn stroke(self, ink: Ink, width: f64) -> Self {
        self.dashed(ink, width, "")
    }

    pub(crate) fn dashed(mut self, ink: Ink, width: f64, dash: &'static str) -> Self {
        self.stroke = Some(Stroke { ink, width, dash });
        self
    }
}

/// What the colours of a written plot come from.
enum Dress<'a> {
    Attributes { dark: bool },
    AttributesAndStyle,
    AttributesAndClasses { id: &'a str },
}

impl Dress<'_> {
    fn has_classes(&self) -> bool {
        !matches!(self, Self::Attributes { .. })
    }

    fn is_dark(&self) -> bool {
        matches!(self, Self::Attributes { dark: true })
    }

    fn id(&self) -> &str {
        match self {
            Self::AttributesAndClasses { id } => id,
            _ => "plot",
        }
    }
}

impl Plot {
    pub(crate) fn new(title: String) -> Self {
        Self {
            width: 0.0,
            height: 0.0,
            title,
            description: String::new(),
            nodes: Vec::new(),
        }
    }

    pub(crate) fn draw(&mut self, shape: Shape) {
        self.nodes.push(Node::One(shape));
    }

    pub(crate) fn mark(&mut self, tip: String, shapes: Vec<Shape>) {
        self.nodes.push(Node::Mark(tip, shapes));
    }

    pub(crate) fn finish(mut self, width: f64, height: f64, description: String) -> Self {
        self.width = width.ceil();
        self.height = height.ceil();
        self.description = description;
        self
    }

    /// Width in user units, which are pixels at scale 1.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Height in user units.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// An SVG file that stands alone.
    ///
    /// [`Theme::Light`] and [`Theme::Dark`] need no style sheet of the viewer; [`Theme::Auto`] carries one that switches
    /// colours with `prefers-color-scheme`.
    pub fn to_svg(&self, theme: Theme) -> String {
        self.write(&match theme {
            Theme::Light => Dress::Attributes { dark: false },
            Theme::Dark => Dress::Attributes { dark: true },
            Theme::Auto => Dress::AttributesAndStyle,
        })
    }

    /// An `<svg>` element for an HTML page with a strict Content-Security-Policy: no `<style>` and no `style` attributes.
    ///
    /// Colours come from [`STYLE_SHEET`](crate::STYLE_SHEET); without it the plot is in the light theme.
    /// `id` tells the plots of one page apart; only its ASCII letters, digits, `-` and `_` are used.
    /// Plots shrink with the page to 40rem, and those wider than 1080 units not at all: put them into an element that
    /// scrolls sideways.
    pub fn to_embedded_svg(&self, id: &str) -> String {
        let id: String = std::iter::once('p')
            .chain(id.chars().filter(|character| {
                character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
            }))
            .collect();
        self.write(&Dress::AttributesAndClasses { id: &id })
    }

    fn write(&self, dress: &Dress) -> String {
        let mut out = String::with_capacity(200 * self.nodes.len() + 2000);
        let id = dress.id();
        let (width, height) = (decimal(self.width), decimal(self.height));
        out.push_str("<svg xmlns=\"http://www.w3.org/2000/svg\" ");
        if dress.has_classes() {
            out.push_str(if self.width > WIDE {
                "class=\"plot plot-wide\" "
            } else {
                "class=\"plot\" "
            });
        }
        put(
            &mut out,
            format_args!(
                "width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" font-family=\"{FONT_FAMILY}\">\n<title id=\"{id}-title\">"
            ),
        );
        text::escape_into(&mut out, &self.title);
        put(&mut out, format_args!("</title>\n<desc id=\"{id}-desc\">"));
        text::escape_into(&mut out, &self.description);
        out.push_str("</desc>\n");
        if matches!(dress, Dress::AttributesAndStyle) {
            self.write_style(&mut out);
        }
        if self.shapes().any(|shape| shape.fill == Fill::Hatched) {
            put(
                &mut out,
                format_args!(
                    "<defs><pattern id=\"{id}-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                ),
            );
            for shape in [
                Shape::rectangle(0.0, 0.0, 6.0, 6.0).fill(Ink::Empty),
                Shape::rectangle(0.0, 0.0, 1.2, 6.0).fill(Ink::Hatch),
            ] {
                shape.write(&mut out, dress);
            }
            out.push_str("</pattern></defs>\n");
        }
        Shape::rectangle(0.0, 0.0, self.width, self.height)
            .fill(Ink::Background)
            .write(&mut out, dress);
        out.push('\n');
        for node in &self.nodes {
            match node {
                Node::One(shape) => shape.write(&mut out, dress),
                Node::Mark(tip, shapes) => {
                    out.push_str("<g><title>");
                    text::escape_into(&mut out, tip);
                    out.push_str("</title>");
                    for shape in shapes {
                        shape.write(&mut out, dress);
                    }
                    out.push_str("</g>");
                }
            }
            out.push('\n');
        }
        out.push_str("</svg>\n");
        out
    }

    fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.nodes.iter().flat_map(|node| match node {
            Node::One(shape) => std::slice::from_ref(shape),
            Node::Mark(_, shapes) => shapes,
        })
    }

    /// Dark colours for viewers that ask for them. Literal colours, as many viewers of files know no custom properties.
    fn write_style(&self, out: &mut String) {
        let mut fills = BTreeSet::from([Ink::Background]);
        let mut strokes = BTreeSet::new();
        for shape in self.shapes() {
            match shape.fill {
                Fill::Ink(ink) => drop(fills.insert(ink)),
                Fill::Hatched => fills.extend([Ink::Empty, Ink::Hatch]),
                Fill::None => {}
            }
            if let Some(stroke) = shape.stroke {
                strokes.insert(stroke.ink);
            }
        }
        out.push_str("<style>@media (prefers-color-scheme: dark) {\n");
        for (property, inks) in [("fill", fills), ("stroke", strokes)] {
            for ink in inks {
                put(
                    out,
                    format_args!(
                        ".plot-{property}-{} {{ {property}: {} }}\n",
                        ink.name(),
                        ink.colours().1.css()
                    ),
                );
            }
        }
        out.push_str("}</style>\n");
    }
}

impl Shape {
    fn write(&self, out: &mut String, dress: &Dress) {
        match &self.outline {
            Outline::Rectangle {
                x,
                y,
                width,
                height,
            } => {
                put(
                    out,
                    format_args!(
                        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
                        decimal(*x),
                        decimal(*y),
                        decimal(*width),
                        decimal(*height)
                    ),
                );
            }
            Outline::Line { from, to } => put(
                out,
                format_args!(
                    "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"",
                    decimal(from.0),
                    decimal(from.1),
                    decimal(to.0),
                    decimal(to.1)
                ),
            ),
            Outline::Circle { x, y, radius } => put(
                out,
                format_args!(
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"",
                    decimal(*x),
                    decimal(*y),
                    decimal(*radius)
                ),
            ),
            Outline::Path(data) => put(out, format_args!("<path d=\"{data}\"")),
            Outline::Text(text) => text.write_start(out),
        }
        self.write_paint(out, dress);
        match &self.outline {
            Outline::Text(text) => {
                out.push('>');
                text::escape_into(out, &text.content);
                out.push_str("</text>");
            }
            _ => out.push_str("/>"),
        }
    }

    fn write_paint(&self, out: &mut String, dress: &Dress) {
        let colour = |ink: Ink| {
            let (light, dark) = ink.colours();
            if dress.is_dark() {
                dark.css()
            } else {
                light.css()
            }
        };
        let mut classes = Vec::new();
        match self.fill {
            Fill::None => {
                if !matches!(self.outline, Outline::Line { .. }) {
                    out.push_str(" fill=\"none\"");
                }
            }
            Fill::Ink(ink) => {
                put(out, format_args!(" fill=\"{}\"", colour(ink)));
                classes.push(format!("plot-fill-{}", ink.name()));
            }
            Fill::Hatched => put(out, format_args!(" fill=\"url(#{}-hatch)\"", dress.id())),
        }
        if let Some(stroke) = self.stroke {
            put(
                out,
                format_args!(
                    " stroke=\"{}\" stroke-width=\"{}\"",
                    colour(stroke.ink),
                    decimal(stroke.width)
                ),
            );
            if !stroke.dash.is_empty() {
                put(out, format_args!(" stroke-dasharray=\"{}\"", stroke.dash));
            }
            if matches!(self.outline, Outline::Path(_)) {
                out.push_str(" stroke-linejoin=\"round\"");
            }
            classes.push(format!("plot-stroke-{}", stroke.ink.name()));
        }
        if dress.has_classes() && !classes.is_empty() {
            put(out, format_args!(" class=\"{}\"", classes.join(" ")));
        }
    }
}

impl Text {
    fn write_start(&self, out: &mut String) {
        let (x, y) = (decimal(self.x), decimal(self.y));
        put(
            out,
            format_args!(
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"",
                decimal(self.size)
            ),
        );
        match self.anchor {
            Anchor::Start => {}
            Anchor::Middle => out.push_str(" text-anchor=\"middle\""),
            Anchor::End => out.push_str(" text-anchor=\"end\""),
        }
        if self.weight == Weight::Bold {
            out.push_str(" font-weight=\"700\"");
        }
        if self.turned {
            put(out, format_args!(" transform=\"rotate(-90 {x} {y})\""));
        }
    }
}

/// Two decimals at most: a hundredth of a pixel is not seen, and the file is the same on every machine.
fn decimal(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

fn write_point(out: &mut String, x: f64, y: f64) {
    put(out, format_args!("{} {}", decimal(x), decimal(y)));
}

fn put(out: &mut String, text: std::fmt::Arguments) {
    // Writing into a string cannot fail.
    let _ = out.write_fmt(text);
}
