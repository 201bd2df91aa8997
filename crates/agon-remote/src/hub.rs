//! Datasets on the Hugging Face hub, by its documented interface for trees of files.
//!
//! <https://huggingface.co/docs/hub/api>: `GET /api/datasets/{name}/tree/{revision}/{path}` gives a page of entries and, in the header `Link`, the address of the next; files are at `/datasets/{name}/resolve/{revision}/{path}`.

use std::sync::Arc;

use agon_dataset::Input;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use url::Url;

use crate::{
    Error, Remote,
    address::Dataset,
    folder::{
        FILES_MAX, folder_of_pattern, is_pattern, is_release_data, is_visible, nothing, pattern,
    },
    object::RemoteObject,
    web::{Site, WebClient, WebFile, run},
};

/// Where the hub is, unless `HF_ENDPOINT` says otherwise.
const ENDPOINT: &str = "https://huggingface.co";

/// The revision that is meant when none is named.
const REVISION: &str = "main";

/// Bytes of one page of a list at most.
const PAGE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// One entry of a tree. There is more in it, which is not needed.
#[derive(Debug, Deserialize)]
struct Entry {
    r#type: String,
    path: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    oid: Option<String>,
    #[serde(default)]
    lfs: Option<Lfs>,
}

/// A large file; its id is the SHA-256 of its content.
#[derive(Debug, Deserialize)]
struct Lfs {
    oid: String,
}

impl Entry {
    fn is_file(&self) -> bool {
        self.r#type == "file"
    }
}

/// Finds the files of a dataset.
pub(crate) fn resolve(remote: &Remote, dataset: &Dataset) -> Result<Vec<Input>, Error> {
    let name = dataset.address(&dataset.path);
    let hub = Arc::new(Hub::new(remote, dataset.clone(), &name)?);
    let (entries, is_incidental) = run(&remote.worker, &name, {
        let hub = Arc::clone(&hub);
        async move { hub.files().await }
    })??;
    entries
        .into_iter()
        .map(|entry| {
            let name = dataset.address(&entry.path);
            let site = hub.site(name.clone(), hub.url(&["resolve"], &entry.path)?);
            let version = entry.lfs.map(|lfs| lfs.oid).or(entry.oid);
            let client = Arc::clone(&hub.client);
            let file = WebFile::new(client, site, entry.size, version, None);
            Ok(Input::Object {
                object: Arc::new(RemoteObject::new(
                    name,
                    entry.size,
                    None,
                    Arc::new(file),
                    Arc::clone(&remote.worker),
                )),
                is_incidental,
            })
        })
        .collect()
}

struct Hub {
    client: Arc<WebClient>,
    endpoint: Url,
    token: Option<HeaderValue>,
    dataset: Dataset,
}

impl Hub {
    fn new(remote: &Remote, dataset: Dataset, name: &str) -> Result<Self, Error> {
        let settings = |detail: String| Error::Settings {
            address: name.to_owned(),
            detail,
        };
        let endpoint = remote.environment.get("HF_ENDPOINT").unwrap_or(ENDPOINT);
        let endpoint = Url::parse(endpoint)
            .ok()
            .filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host())
            .ok_or_else(|| settings("HF_ENDPOINT is no `https://` address".to_owned()))?;
        let token = remote
            .environment
            .get("HF_TOKEN")
            .map(|token| {
                let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
                    .map_err(|_| settings("HF_TOKEN has characters no token has".to_owned()))?;
                value.set_sensitive(true);
                Ok(value)
            })
            .transpose()?;
        let client = WebClient::new(name, endpoint.scheme() == "http", remote.waits)?;
        Ok(Self {
            client: Arc::new(client),
            endpoint,
            token,
            dataset,
        })
    }

    /// `{endpoint}/…/datasets/{name}/{verb}/{revision}/{path}`.
    fn url(&self, verb: &[&str], path: &str) -> Result<Url, Error> {
        let revision = self.dataset.revision.as_deref().unwrap_or(REVISION);
        let mut url = self.endpoint.clone();
        {
            let mut segments = url.path_segments_mut().map_err(|()| Error::Settings {
                address: self.dataset.address(path),
                detail: "HF_ENDPOINT is no `https://` address".to_owned(),
            })?;
            segments.pop_if_empty();
            if verb == ["tree"] {
                segments.push("api");
            }
            segments
                .push("datasets")
                .extend(self.dataset.name.split('/'));
            // A revision is one segment, its own slashes written as `%2F`.
            segments.extend(verb).push(revision);
            segments.extend(path.split('/').filter(|part| !part.is_empty()));
        }
        Ok(url)
    }

    fn site(&self, name: String, url: Url) -> Site {
        let has_token = self.token.is_some();
        let page = format!(
            "{}/datasets/{}",
            self.endpoint.as_str().trim_end_matches('/'),
            self.dataset.name
        );
        Site {
            name,
            url,
            token: self.token.clone(),
            forbidden: Arc::new(move |headers| forbidden(headers, has_token, &page)),
        }
    }

    /// One folder, or with all that are below it.
    async fn tree(&self, path: &str, is_recursive: bool) -> Result<Vec<Entry>, Error> {
        let name = self.dataset.address(path);
        let mut url = self.url(&["tree"], path)?;
        url.set_query(is_recursive.then_some("recursive=true"));
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let site = self.site(name.clone(), url);
            let (headers, bytes) = self.client.page(&site, PAGE_BYTES_MAX).await?;
            let mut page: Vec<Entry> =
                serde_json::from_slice(&bytes).map_err(|error| Error::Unavailable {
                    address: name.clone(),
                    detail: format!("the hub's list of files cannot be read: {error}"),
                    n_tries: 1,
                })?;
            let is_empty = page.is_empty();
            entries.append(&mut page);
            if entries.len() > FILES_MAX {
                return Err(Error::TooManyFiles {
                    address: name,
                    n_max: FILES_MAX,
                });
            }
            match next_page(&headers, &site.url) {
                // A page of nothing with a next one would go on for ever.
                Some(next) if !is_empty => {
                    // The token goes to the hub alone.
                    if next.origin() != self.endpoint.origin() {
                        return Err(Error::Unavailable {
                            address: name,
                            detail: "the hub's list of files goes on at another host".to_owned(),
                            n_tries: 1,
                        });
                    }
                    url = next;
                }
                _ => break,
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// The files that the path stands for, and whether they only stand in a folder.
    async fn files(&self) -> Result<(Vec<Entry>, bool), Error> {
        let path = &self.dataset.path;
        let address = self.dataset.address(path);
        if is_pattern(path) {
            let matches = pattern(&address, path)?;
            let mut files = self.tree(folder_of_pattern(path), true).await?;
            files.retain(|entry| entry.is_file() && matches(&entry.path));
            if files.is_empty() {
                return Err(Error::NothingToRead {
                    address,
                    detail: "no file matches this pattern".to_owned(),
                });
            }
            return Ok((files, false));
        }
        if !path.is_empty() {
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            let mut siblings = self.tree(parent, false).await?;
            siblings.retain(|entry| entry.path == *path);
            match siblings.pop() {
                Some(entry) if entry.is_file() => return Ok((vec![entry], false)),
                Some(_) => {}
                None => {
                    return Err(Error::NotFound {
                        address,
                        hint: "the dataset has no such file or folder in this revision".to_owned(),
                    });
                }
            }
        }
        let inside = |name: &str| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}/{name}")
            }
        };
        let entries = self.tree(path, false).await?;
        let data = inside("data");
        if entries
            .iter()
            .any(|entry| !entry.is_file() && entry.path == data)
        {
            let mut files = self.tree(&data, false).await?;
            files.retain(|entry| entry.is_file() && is_release_data(&entry.path));
            if !files.is_empty() {
                return Ok((files, false));
            }
        }
        let folders: Vec<String> = entries
            .iter()
            .filter(|entry| !entry.is_file())
            .map(|entry| entry.path.clone())
            .collect();
        let mut files = entries;
        files.retain(|entry| entry.is_file() && is_visible(&entry.path));
        // A card alone is a folder without votes.
        if files.iter().all(|entry| entry.path.ends_with(".md")) {
            return Err(nothing(&address, &folders));
        }
        Ok((files, true))
    }
}

/// The next page that a header `Link: <address>; rel="next"` names (RFC 8288).
fn next_page(headers: &HeaderMap, here: &Url) -> Option<Url> {
    let links = headers.get(header::LINK)?.to_str().ok()?;
    links.split(',').find_map(|link| {
        let (address, parameters) = link.split_once(';')?;
        let is_next = parameters
            .split(';')
            .any(|parameter| matches!(parameter.trim(), "rel=\"next\"" | "rel=next"));
        let address = address.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_next.then(|| here.join(address).ok()).flatten()
    })
}

/// What to do when the hub says no, which it explains in a header.
fn forbidden(headers: &HeaderMap, has_token: bool, page: &str) -> String {
    let code = headers
        .get("x-error-code")
        .and_then(|code| code.to_str().ok())
        .unwrap_or_default();
    match (code, has_token) {
        ("GatedRepo", false) => format!(
            "the dataset is gated: ask for access at {page}, and set HF_TOKEN to a token of the account that has it"
        ),
        ("GatedRepo", true) => {
            format!(
                "the dataset is gated, and the account of HF_TOKEN has no access: ask for it at {page}"
            )
        }
        (_, false) => {
            "it is private, gated or not there; set HF_TOKEN if you have access".to_owned()
        }
        (_, true) => {
            "it is private or not there, or HF_TOKEN is not valid or may not read it".to_owned()
        }
    }
}
