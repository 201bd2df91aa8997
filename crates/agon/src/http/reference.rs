//! The API reference as a page, made from the OpenAPI document.

use std::fmt::Write as _;

use utoipa::openapi::{OpenApi, RefOr, path::Operation};

use crate::http::error::CODES;

/// The body of the page: every operation, then every error code.
pub fn body(document: &OpenApi) -> String {
    let mut html = String::from(
        "<h1>API reference</h1>\n<p>The same as a document for machines: <a href=\"/api/openapi.json\"><code>/api/openapi.json</code></a> (OpenAPI). All errors have the form <code>{\"error\": {\"code\", \"message\", \"hint\"}}</code>; the codes are listed below.</p>\n",
    );
    for (path, item) in &document.paths.paths {
        for (method, operation) in [
            ("GET", &item.get),
            ("POST", &item.post),
            ("PUT", &item.put),
            ("DELETE", &item.delete),
        ] {
            if let Some(operation) = operation {
                write_operation(&mut html, method, path, operation);
            }
        }
    }
    html.push_str("<h2 id=\"codes\">Error codes</h2>\n<div class=\"table-scroll\"><table><thead><tr><th scope=\"col\">Code</th><th scope=\"col\">Status</th><th scope=\"col\">Meaning</th></tr></thead><tbody>\n");
    for (code, status, meaning) in CODES {
        let _ = writeln!(
            html,
            "<tr><td><code>{code}</code></td><td>{status}</td><td>{}</td></tr>",
            escape(meaning)
        );
    }
    html.push_str("</tbody></table></div>\n");
    html
}

fn write_operation(html: &mut String, method: &str, path: &str, operation: &Operation) {
    let _ = writeln!(
        html,
        "<section><h2><code>{method} {}</code></h2>",
        escape(path)
    );
    if let Some(summary) = &operation.summary {
        let _ = writeln!(html, "<p><strong>{}</strong></p>", escape(summary));
    }
    if let Some(description) = &operation.description {
        let _ = writeln!(html, "<p>{}</p>", escape(description));
    }
    if let Some(parameters) = operation
        .parameters
        .as_ref()
        .filter(|parameters| !parameters.is_empty())
    {
        html.push_str("<ul>");
        for parameter in parameters.iter().filter_map(inline) {
            let _ = write!(
                html,
                "<li><code>{}</code> {}</li>",
                escape(&parameter.name),
                escape(parameter.description.as_deref().unwrap_or_default())
            );
        }
        html.push_str("</ul>\n");
    }
    if let Some(body) = operation.request_body.as_ref().and_then(inline) {
        let kinds: Vec<String> = body
            .content
            .keys()
            .map(|kind| format!("<code>{}</code>", escape(kind)))
            .collect();
        let _ = writeln!(html, "<p>Body: {}</p>", kinds.join(", "));
    }
    html.push_str("<ul>");
    for (status, response) in &operation.responses.responses {
        if let Some(response) = inline(response) {
            let _ = write!(
                html,
                "<li><strong>{}</strong> {}</li>",
                escape(status),
                escape(&response.description)
            );
        }
    }
    html.push_str("</ul></section>\n");
}

/// What is described in place; this document refers to nothing but schemas.
fn inline<T>(described: &RefOr<T>) -> Option<&T> {
    match described {
        RefOr::T(value) => Some(value),
        RefOr::Ref(_) => None,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
