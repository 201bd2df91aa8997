//! Objects in the stores of Amazon and those who speak its protocol, of Google, and of Azure.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use agon_dataset::Input;
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    path::Path,
};

use crate::{
    Environment, Error, Remote, Waits,
    address::{Bucket, Vendor},
    folder::{
        FILES_MAX, folder_of_pattern, is_pattern, is_release_data, is_visible, nothing, pattern,
    },
    object::{Fetch, RemoteObject},
    web::run,
};

/// Objects that are looked at for a pattern at most.
const LISTED_MAX: usize = 20 * FILES_MAX;

/// Characters of a server's own words that are shown.
const DETAIL_CHARS_MAX: usize = 300;

/// Finds the objects of an address.
pub(crate) fn resolve(remote: &Remote, bucket: &Bucket) -> Result<Vec<Input>, Error> {
    let store = Arc::new(Store::new(&remote.environment, remote.waits, bucket)?);
    let name = bucket.address(&bucket.key);
    let (files, is_incidental) = run(&remote.worker, &name, {
        let store = Arc::clone(&store);
        async move { store.files().await }
    })??;
    Ok(files
        .into_iter()
        .map(|meta| {
            let name = bucket.address(meta.location.as_ref());
            let size = meta.size;
            let file = StoredFile {
                name: name.clone(),
                store: Arc::clone(&store),
                etag: meta
                    .e_tag
                    .clone()
                    .map_or_else(OnceLock::new, OnceLock::from),
                location: meta.location,
            };
            Input::Object {
                object: Arc::new(RemoteObject::new(
                    name,
                    size,
                    None,
                    Arc::new(file),
                    Arc::clone(&remote.worker),
                )),
                is_incidental,
            }
        })
        .collect())
}

struct Store {
    store: Arc<dyn ObjectStore>,
    bucket: Bucket,
    environment: Environment,
    has_credentials: bool,
    n_tries: u32,
}

/// The variables of which one at least says who asks.
fn credential_names(vendor: Vendor) -> &'static [&'static str] {
    match vendor {
        Vendor::S3 => &[
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ],
        Vendor::Google => &[
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
        ],
        Vendor::Azure => &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_ID",
            "AZURE_STORAGE_CLIENT_ID",
            "AZURE_FEDERATED_TOKEN_FILE",
        ],
    }
}

impl Store {
    fn new(environment: &Environment, waits: Waits, bucket: &Bucket) -> Result<Self, Error> {
        let has_credentials = environment.has_any(credential_names(bucket.vendor));
        let retries = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: waits.backoff,
                ..BackoffConfig::default()
            },
            max_retries: waits.n_retries as usize,
            retry_timeout: waits.piece,
        };
        // Nobody asks the machine who it is: without credentials in the environment, requests are not signed.
        let options = ClientOptions::new()
            .with_connect_timeout(waits.connect)
            .with_timeout(waits.piece);
        let store = match bucket.vendor {
            Vendor::S3 => {
                let mut builder = AmazonS3Builder::new()
                    .with_client_options(options)
                    .with_skip_signature(!has_credentials);
                for (name, value) in environment.with_prefix("AWS_") {
                    if let Ok(key) = name.parse::<AmazonS3ConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let builder = builder.with_bucket_name(&bucket.name).with_retry(retries);
                builder
                    .build()
                    .map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
            }
            Vendor::Google => {
                let mut builder = GoogleCloudStorageBuilder::new()
                    .with_client_options(options)
                    .with_skip_signature(!has_credentials);
                for (name, value) in environment.with_prefix("GOOGLE_") {
                    if let Ok(key) = name.parse::<GoogleConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let builder = builder.with_bucket_name(&bucket.name).with_retry(retries);
                builder
                    .build()
                    .map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
            }
            Vendor::Azure => {
                let mut builder = MicrosoftAzureBuilder::new()
                    .with_client_options(options)
                    .with_skip_signature(!has_credentials);
                for (name, value) in environment.with_prefix("AZURE_") {
                    if let Ok(key) = name.parse::<AzureConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let builder = builder
                    .with_container_name(&bucket.name)
                    .with_retry(retries);
                builder
                    .build()
                    .map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
            }
        };
        let address = bucket.address(&bucket.key);
        let store = store.map_err(|error| Error::Settings {
            address,
            detail: shortened(&environment.redacted(&error.to_string())),
        })?;
        Ok(Self {
            store,
            bucket: bucket.clone(),
            environment: environment.clone(),
            has_credentials,
            n_tries: waits.n_retries + 1,
        })
    }

    /// A key as the store takes it.
    fn path(&self, key: &str) -> Result<Path, Error> {
        Path::parse(key.trim_matches('/')).map_err(|error| Error::Address {
            address: self.bucket.address(key),
            detail: error.to_string(),
        })
    }

    /// The objects that the address stands for, and whether they only stand in a folder.
    async fn files(&self) -> Result<(Vec<ObjectMeta>, bool), Error> {
        let key = &self.bucket.key;
        let address = self.bucket.address(key);
        let failed = |error| self.told(&address, error);
        if is_pattern(key) {
            return Ok((self.matching(&address, key).await?, false));
        }
        let path = self.path(key)?;
        if !key.is_empty() && !key.ends_with('/') {
            match self.store.head(&path).await {
                Ok(meta) => return Ok((vec![meta], false)),
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let data = path.clone().join("data");
        let listed = self.store.list_with_delimiter(Some(&data)).await;
        let mut files = listed.map_err(failed)?.objects;
        files.retain(|meta| is_release_data(meta.location.as_ref()));
        let is_release = !files.is_empty();
        let mut folders = Vec::new();
        if !is_release {
            let listed = self.store.list_with_delimiter(Some(&path)).await;
            let listed = listed.map_err(failed)?;
            folders.extend(listed.common_prefixes.iter().map(Path::to_string));
            files = listed.objects;
            files.retain(|meta| is_visible(meta.location.as_ref()) && meta.size > 0);
        }
        if files.len() > FILES_MAX {
            return Err(Error::TooManyFiles {
                address,
                n_max: FILES_MAX,
            });
        }
        if files.is_empty() && folders.is_empty() {
            return Err(Error::NotFound {
                address,
                hint: "the bucket has no object of this name, and none below it".to_owned(),
            });
        }
        if files.is_empty() {
            return Err(nothing(&address, &folders));
        }
        files.sort_by(|a, b| a.location.cmp(&b.location));
        Ok((files, !is_release))
    }

    async fn matching(&self, address: &str, key: &str) -> Result<Vec<ObjectMeta>, Error> {
        let matches = pattern(address, key)?;
        let folder = self.path(folder_of_pattern(key))?;
        let mut listed = self.store.list(Some(&folder));
        let mut files = Vec::new();
        let mut n_listed = 0;
        while let Some(meta) = listed.next().await {
            let meta = meta.map_err(|error| self.told(address, error))?;
            n_listed += 1;
            if matches(meta.location.as_ref()) {
                files.push(meta);
            }
            if n_listed > LISTED_MAX || files.len() > FILES_MAX {
                return Err(Error::TooManyFiles {
                    address: address.to_owned(),
                    n_max: FILES_MAX,
                });
            }
        }
        if files.is_empty() {
            return Err(Error::NothingToRead {
                address: address.to_owned(),
                detail: "no object matches this pattern".to_owned(),
            });
        }
        files.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(files)
    }

    /// A failure in our own words, which hold neither signatures nor keys.
    fn told(&self, address: &str, error: object_store::Error) -> Error {
        let address = address.to_owned();
        let text = chain(&error);
        if text.contains("without LOCATION")
            || text.contains("AuthorizationHeaderMalformed")
            || text.contains("PermanentRedirect")
        {
            let region = between(&text, "<Region>", "</Region>")
                .filter(|region| is_word(region))
                .map(str::to_owned);
            return Error::WrongRegion { address, region };
        }
        let status = between(&text, "status code: ", ":").unwrap_or_default();
        let forbidden = |status| Error::Forbidden {
            address: address.clone(),
            status,
            hint: self.credentials_hint(),
        };
        match error {
            object_store::Error::NotFound { .. } => self.not_found(address, &text),
            _ if status.starts_with("404") => self.not_found(address, &text),
            object_store::Error::PermissionDenied { .. } => forbidden(403),
            _ if status.starts_with("403") => forbidden(403),
            object_store::Error::Unauthenticated { .. } => forbidden(401),
            _ if status.starts_with("401") => forbidden(401),
            object_store::Error::Precondition { .. } => Error::Changed { address },
            _ => {
                // What the server says may hold parts of the request, and with it of credentials.
                let detail = if status.is_empty() {
                    shortened(&self.environment.redacted(&root(&error)))
                } else {
                    let code = between(&text, "<Code>", "</Code>").unwrap_or_default();
                    let code = if is_word(code) { code } else { "" };
                    format!("the server answers {} {code}", shortened(status))
                };
                Error::Unavailable {
                    address,
                    detail: detail.trim_end().to_owned(),
                    n_tries: self.n_tries,
                }
            }
        }
    }

    fn not_found(&self, address: String, text: &str) -> Error {
        let hint = if text.contains("NoSuchBucket") {
            "there is no bucket of this name"
        } else {
            "the bucket has no object of this name"
        };
        Error::NotFound {
            address,
            hint: hint.to_owned(),
        }
    }

    fn credentials_hint(&self) -> String {
        let names = match self.bucket.vendor {
            Vendor::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            Vendor::Google => "GOOGLE_APPLICATION_CREDENTIALS",
            Vendor::Azure => "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
        };
        if self.has_credentials {
            "the credentials in the environment have no access, or there is no such object"
                .to_owned()
        } else {
            format!(
                "no credentials are in the environment: set {names} (profiles, files of other tools and machine identities are not looked at)"
            )
        }
    }
}

/// An error and its causes, without what repeats.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    text
}

/// The first cause of an error.
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// Whether a text can be a code or the name of a region.
fn is_word(text: &str) -> bool {
    text.len() < 60 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(inner, _)| inner)
}

/// A server's own words, cut, on one line.
fn shortened(text: &str) -> String {
    text.chars()
        .take(DETAIL_CHARS_MAX)
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}

/// One object in a store.
struct StoredFile {
    name: String,
    store: Arc<Store>,
    location: Path,
    /// The version that was listed, or that came first.
    etag: OnceLock<String>,
}

impl StoredFile {
    async fn get(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let changed = || Error::Changed {
            address: self.name.clone(),
        };
        let mut n_tries = 1;
        loop {
            let attempt = async {
                let result = self
                    .store
                    .store
                    .get_opts(&self.location, options.clone())
                    .await?;
                let etag = result.meta.e_tag.clone();
                Ok((etag, result.bytes().await?))
            };
            let error = match attempt.await {
                Ok((etag, bytes)) => {
                    if let Some(etag) = etag
                        && *self.etag.get_or_init(|| etag.clone()) != etag
                    {
                        return Err(changed());
                    }
                    if bytes.len() as u64 == range.end - range.start {
                        return Ok(bytes);
                    }
                    changed()
                }
                Err(error) => self.store.told(&self.name, error),
            };
            let may_pass = matches!(error, Error::Unavailable { .. });
            if !may_pass || n_tries > 1 {
                return Err(error);
            }
            n_tries += 1;
        }
    }
}

impl Fetch for StoredFile {
    fn fetch(self: Arc<Self>, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, Error>> {
        async move { self.get(range).await }.boxed()
    }

    fn etag(&self) -> Option<&str> {
        self.etag.get().map(String::as_str)
    }
}
