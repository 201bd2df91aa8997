//! The API reference as a page, made from the OpenAPI document.

use std::fmt::Write as _;

use serde_json::Value;

use crate::http::error::CODES;

/// The body of the page: every operation, then every schema, then every error code.
///
/// `document` is an OpenAPI document as JSON; what is missing in it is missing on the page.
pub fn body(document: &Value) -> String {
    let mut html = String::from(
        "<h1>API reference</h1>\n<p>The same as a document for machines: <a href=\"/api/openapi.json\"><code>/api/openapi.json</code></a> (OpenAPI). All errors have the form <code>{\"error\": {\"code\", \"message\", \"hint\"}}</code>; see the <a href=\"#codes\">codes</a>.</p>\n",
    );
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item) {
            write_operation(&mut html, &method.to_uppercase(), path, operation);
        }
    }
    html.push_str("<h2 id=\"schemas\">Schemas</h2>\n");
    for (name, schema) in members(&document["components"]["schemas"]) {
        write_schema(&mut html, name, schema);
    }
    html.push_str("<h2 id=\"codes\">Error codes</h2>\n");
    let rows = CODES.iter().map(|(code, status, meaning)| {
        [
            format!("<code>{code}</code>"),
            status.to_string(),
            words(meaning),
        ]
    });
    write_table(&mut html, ["Code", "Status", "Meaning"], rows);
    html
}

fn write_operation(html: &mut String, method: &str, path: &str, operation: &Value) {
    let _ = writeln!(
        html,
        "<section><h2><code>{method} {}</code></h2>",
        escape(path)
    );
    if let Some(summary) = operation["summary"].as_str() {
        let _ = writeln!(html, "<p><strong>{}</strong></p>", words(summary));
    }
    if let Some(description) = operation["description"].as_str() {
        let _ = writeln!(html, "<p>{}</p>", words(description));
    }
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let listed: String = parameters
        .map(|parameter| {
            format!(
                "<li><code>{}</code> ({}) {}</li>",
                escape(parameter["name"].as_str().unwrap_or_default()),
                escape(parameter["in"].as_str().unwrap_or_default()),
                words(parameter["description"].as_str().unwrap_or_default())
            )
        })
        .collect();
    if !listed.is_empty() {
        let _ = writeln!(html, "<ul>{listed}</ul>");
    }
    for (media_type, content) in members(&operation["requestBody"]["content"]) {
        let _ = writeln!(
            html,
            "<p>Body: <code>{}</code>, {}</p>",
            escape(media_type),
            type_of(&content["schema"])
        );
    }
    html.push_str("<ul>");
    for (status, response) in members(&operation["responses"]) {
        let body = members(&response["content"])
            .next()
            .map(|(_, content)| format!(" → {}", type_of(&content["schema"])))
            .unwrap_or_default();
        let _ = write!(
            html,
            "<li><strong>{}</strong> {}{body}</li>",
            escape(status),
            words(response["description"].as_str().unwrap_or_default())
        );
    }
    html.push_str("</ul></section>\n");
}

fn write_schema(html: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(
        html,
        "<section><h3 id=\"schema-{0}\"><code>{0}</code></h3>",
        escape(name)
    );
    if let Some(description) = schema["description"].as_str() {
        let _ = writeln!(html, "<p>{}</p>", words(description));
    }
    let mut rows = members(&schema["properties"])
        .map(|(field, property)| {
            [
                format!("<code>{}</code>", escape(field)),
                type_of(property),
                words(property["description"].as_str().unwrap_or_default()),
            ]
        })
        .peekable();
    if rows.peek().is_some() {
        write_table(html, ["Field", "Type", "Meaning"], rows);
    } else {
        let _ = writeln!(html, "<p>{}</p>", type_of(schema));
    }
    html.push_str("</section>\n");
}

/// A type in words, with links to the schemas it names.
fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#schema-{name}\"><code>{name}</code></a>");
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(options) = schema[choice].as_array() {
            return options.iter().map(type_of).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let listed: Vec<String> = values
            .iter()
            .map(|value| {
                format!(
                    "<code>{}</code>",
                    escape(value.as_str().unwrap_or_default())
                )
            })
            .collect();
        return listed.join(", ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", type_of(&schema["items"])),
        Value::String(name) if name == "object" && schema["additionalProperties"].is_object() => {
            format!("map to {}", type_of(&schema["additionalProperties"]))
        }
        Value::String(name) => escape(name),
        Value::Array(names) => {
            let listed: Vec<String> = names.iter().filter_map(Value::as_str).map(escape).collect();
            listed.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

fn write_table(html: &mut String, head: [&str; 3], rows: impl Iterator<Item = [String; 3]>) {
    html.push_str("<div class=\"scroll-x\"><table><thead><tr>");
    for cell in head {
        let _ = write!(html, "<th scope=\"col\">{cell}</th>");
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in rows {
        let _ = writeln!(html, "<tr><td>{}</td></tr>", row.join("</td><td>"));
    }
    html.push_str("</tbody></table></div>\n");
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Text with its `code` spans.
fn words(text: &str) -> String {
    let mut html = String::new();
    for (idx, part) in text.split('`').enumerate() {
        let part = escape(part);
        if idx % 2 == 1 {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            html.push_str(&part);
        }
    }
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_route_schema_and_code() {
        let document = crate::http::api::openapi_value();
        let html = body(&document);
        for (path, _) in members(&document["paths"]) {
            assert!(html.contains(&escape(path)), "{path}");
        }
        for (name, _) in members(&document["components"]["schemas"]) {
            assert!(html.contains(&format!("id=\"schema-{name}\"")), "{name}");
        }
        for (code, ..) in CODES {
            assert!(html.contains(code), "{code}");
        }
        assert!(!html.contains('`'));
    }

    #[test]
    fn what_a_document_says_is_escaped() {
        assert_eq!(
            words("a `<b>` & \"c\""),
            "a <code>&lt;b&gt;</code> &amp; &quot;c&quot;"
        );
    }
}
