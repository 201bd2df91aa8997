//! A whole arena for one test: a store in memory, scripted models, a clock that stands still, seeded chance, a real server on a loopback port.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use agon::{
    app::{
        App, AppParts, Terms,
        quarantine::Custodians,
        screening::{Detectors, Screener},
    },
    config::Config,
    http,
};
use agon_domain::{Battle, Finish, ManualClock, Model};
use agon_providers::{Pace, Persona, Provider, Script, Scripted};
use agon_store::Store;
use reqwest::{
    Method, StatusCode,
    header::{self, HeaderMap},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// The instant at which every test's clock starts.
pub(crate) const START: &str = "2026-11-30T12:00:00Z";

/// An arena with its server. Dropping it stops the server.
pub(crate) struct TestArena {
    pub(crate) app: App,
    pub(crate) address: SocketAddr,
    pub(crate) clock: ManualClock,
    server: JoinHandle<()>,
}

impl Drop for TestArena {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A model of a test that gives the same answers in the same order.
pub(crate) fn scripted(name: &str, scripts: Vec<Script>) -> (Model, Provider) {
    let model = Model {
        name: name.to_owned(),
        organization: Some(format!("Makers of {name}")),
        license: Some("MIT".to_owned()),
        vision: true,
        weight: 1.0,
        scripted: true,
    };
    (model, Provider::from(Scripted::scripts(scripts)))
}

/// A model that repeats the prompt with its own prefix, at once and without end.
pub(crate) fn echo(name: &str, prefix: &str) -> (Model, Provider) {
    let script = Script::new()
        .text(prefix)
        .echo_prompt()
        .finish(Finish::Stop);
    scripted(name, vec![script])
}

/// The configuration of an arena without a file, with these lines of TOML.
pub(crate) fn config(toml: &str, data_dir: &Path) -> Config {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agon.toml");
    std::fs::write(&path, toml).unwrap();
    let global = agon::cli::GlobalArgs {
        config: Some(path),
        data_dir: Some(data_dir.to_owned()),
        json: false,
        quiet: true,
        verbose: 0,
    };
    Config::load(&global, &Default::default(), folder.path()).unwrap()
}

impl TestArena {
    /// Two models, `model-one` and `model-two`, that echo the prompt at once.
    pub(crate) async fn new() -> Self {
        Self::with_models(vec![echo("model-one", "One: "), echo("model-two", "Two: ")]).await
    }

    pub(crate) async fn with_models(models: Vec<(Model, Provider)>) -> Self {
        Self::configured(models, "", Store::in_memory().await.unwrap()).await
    }

    /// The demo models at full speed.
    pub(crate) async fn demo() -> Self {
        let models = agon::app::providers::demo_models()
            .into_iter()
            .zip(Persona::ALL)
            .map(|((model, _), persona)| {
                (
                    model,
                    Provider::from(Scripted::persona(persona, Pace::INSTANT)),
                )
            })
            .collect();
        Self::with_models(models).await
    }

    pub(crate) async fn configured(
        models: Vec<(Model, Provider)>,
        toml: &str,
        store: Store,
    ) -> Self {
        let config = config(toml, Path::new("unused"));
        let detectors = agon::app::screening::build::detectors(&config).unwrap();
        Self::screened(models, config, store, detectors).await
    }

    /// An arena with these detectors.
    pub(crate) async fn screened(
        models: Vec<(Model, Provider)>,
        config: Config,
        store: Store,
        detectors: Detectors,
    ) -> Self {
        let clock = ManualClock::new(START.parse().unwrap());
        let screener = Screener::new(
            &config,
            detectors,
            Arc::new(clock.clone()),
            Some(store.clone()),
        );
        // An arena that starts again on its store draws other ids.
        let seed = 7 + store.counts().await.unwrap().visits as u8;
        let app = App::new(AppParts {
            screener,
            custodians: Custodians::from_config(&config).unwrap(),
            config,
            terms: Terms::built_in(),
            models,
            store,
            clock: Arc::new(clock.clone()),
            seed: [seed; 32],
            voter_key: [1; 32],
            metrics: None,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = http::router(app.clone()).into_make_service_with_connect_info::<SocketAddr>();
        let server = tokio::spawn(async move {
            axum::serve(listener, service).await.unwrap();
        });
        Self {
            app,
            address,
            clock,
            server,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A battle as the store has it.
    pub(crate) async fn stored(&self, id: &str) -> Battle {
        let battle = self.app.store().battle(id.parse().unwrap()).await;
        battle.unwrap().expect("the battle is stored")
    }

    /// A visitor who has not accepted anything.
    pub(crate) fn stranger(&self) -> Client {
        Client::new(format!("http://{}", self.address))
    }

    /// A visitor who has accepted the terms.
    pub(crate) async fn voter(&self) -> Client {
        let mut client = self.stranger();
        client.consent(&self.app.terms().version).await;
        client
    }
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }

    /// Asserts status and error code, and returns the whole body.
    #[track_caller]
    pub(crate) fn expect_error(self, status: u16, code: &str) -> Value {
        let body = self.expect(status);
        assert_eq!(body["error"]["code"], code, "{body}");
        assert!(
            body["error"]["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty()),
            "{body}"
        );
        body
    }
}

/// A client without a proxy, redirects or cookies of its own.
pub(crate) fn plain_http() -> reqwest::Client {
    // A second installation, by another test of this process, changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
}

/// A browser, or a program that uses the API.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    pub(crate) cookie: Option<String>,
}

impl Client {
    pub(crate) fn new(base: String) -> Self {
        Self {
            http: plain_http(),
            base,
            cookie: None,
        }
    }

    /// The same visitor at another address: the server came back on another port.
    pub(crate) fn at(&self, base: &str) -> Self {
        Self {
            base: base.to_owned(),
            ..self.clone()
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).json(&body))
            .await
    }

    pub(crate) async fn consent(&mut self, version: &str) {
        let answer = self
            .post("/api/v1/consents", json!({ "policy_version": version }))
            .await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
        self.cookie = Some(cookie.split(';').next().unwrap().to_owned());
    }

    /// Sends the form that starts a battle, with an image when there is one.
    pub(crate) async fn start(&self, prompt: &str, image: Option<&[u8]>) -> Answer {
        let boundary = "agon-test-boundary";
        let mut body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\n{prompt}\r\n"
        )
        .into_bytes();
        if let Some(image) = image {
            body.extend_from_slice(format!("--{boundary}\r\nContent-Disposition: form-data; name=\"image\"; filename=\"picture\"\r\nContent-Type: application/octet-stream\r\n\r\n").as_bytes());
            body.extend_from_slice(image);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let request = self
            .request(Method::POST, "/api/v1/battles")
            .header(
                header::CONTENT_TYPE,
                format!("multipart/form-data; boundary={boundary}"),
            )
            .body(body);
        self.send(request).await
    }

    /// Starts a battle and returns its id.
    pub(crate) async fn battle(&self, prompt: &str) -> String {
        let body = self.start(prompt, None).await.expect(201);
        body["id"].as_str().unwrap().to_owned()
    }

    /// Starts a battle, waits for both answers, and returns its id.
    pub(crate) async fn answered(&self, prompt: &str) -> String {
        let id = self.battle(prompt).await;
        self.settled(&id).await;
        id
    }

    /// Waits until neither side is answering, and returns the battle.
    pub(crate) async fn settled(&self, id: &str) -> Value {
        for _ in 0..2000 {
            let body = self.get(&format!("/api/v1/battles/{id}")).await.expect(200);
            if body["status"] != "answering" {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("battle {id} is still being answered");
    }

    pub(crate) async fn vote(&self, id: &str, winner: &str) -> Answer {
        self.post(
            &format!("/api/v1/battles/{id}/vote"),
            json!({ "winner": winner }),
        )
        .await
    }
}
