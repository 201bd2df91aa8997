//! Whole battles in a real browser: headless Chromium, driven by ChromeDriver.
//!
//! `AGON_TEST_CHROMEDRIVER` and `AGON_TEST_CHROMIUM` name the two programs; without them these tests say that they did not run.

use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use agon_domain::Finish;
use agon_providers::{ErrorKind, Script};
use agon_store::Store;
use fantoccini::{Client, ClientBuilder, Locator, elements::Element, key::Key};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::{
    test_arena::{TestArena, scripted},
    voted,
};

/// How long an element may take to appear.
const PATIENCE: Duration = Duration::from_secs(20);

/// A browser of its own, with an empty profile. Dropping it ends both processes.
pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Child,
    driver_url: String,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // ChromeDriver ends its browser when it is told to stop by SIGTERM.
        let _ = Command::new("kill")
            .arg(self.driver.id().to_string())
            .status();
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// Starts it with a window of this size; `None` when no browser was named.
    pub(crate) async fn start(width: u32, height: u32, script: bool) -> Option<Self> {
        let program = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let (Some(driver), Some(chromium)) = (
            program("AGON_TEST_CHROMEDRIVER"),
            program("AGON_TEST_CHROMIUM"),
        ) else {
            println!("not run: AGON_TEST_CHROMEDRIVER and AGON_TEST_CHROMIUM are not set");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let profile = tempfile::tempdir().unwrap();
        let driver = Command::new(driver)
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let options = json!({
            "binary": chromium,
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                format!("--user-data-dir={}", profile.path().display()), format!("--window-size={width},{height}"),
            ],
            "prefs": { "profile.managed_default_content_settings.javascript": if script { 1 } else { 2 } },
        });
        let capabilities = [
            ("goog:chromeOptions".to_owned(), options),
            (
                "goog:loggingPrefs".to_owned(),
                json!({ "browser": "WARNING" }),
            ),
        ]
        .into_iter()
        .collect();
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities);
        let url = format!("http://127.0.0.1:{port}");
        let mut client = builder.connect(&url).await;
        for _ in 0..100 {
            if client.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            client = builder.connect(&url).await;
        }
        Some(Self {
            client: client.unwrap(),
            driver,
            driver_url: url,
            _profile: profile,
        })
    }

    pub(crate) async fn wait(&self, css: &str) -> Element {
        self.wait_at_most(css, PATIENCE).await
    }

    pub(crate) async fn wait_at_most(&self, css: &str, patience: Duration) -> Element {
        match self
            .client
            .wait()
            .at_most(patience)
            .for_element(Locator::Css(css))
            .await
        {
            Ok(element) => element,
            Err(error) => panic!(
                "{css} did not appear: {error}\n{}",
                self.client.source().await.unwrap_or_default()
            ),
        }
    }

    async fn count(&self, css: &str) -> usize {
        self.client.find_all(Locator::Css(css)).await.unwrap().len()
    }

    /// The text of an element, once there is some: a new page may be there in part only.
    pub(crate) async fn text(&self, css: &str) -> String {
        for _ in 0..100 {
            let text = self.wait(css).await.text().await.unwrap_or_default();
            if !text.is_empty() {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.wait(css).await.text().await.unwrap()
    }

    async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// Opens a page and waits until all of it is there, styles included: the driver may answer before that.
    async fn open_whole(&self, url: &str) {
        self.open(url).await;
        for _ in 0..400 {
            let state = "return document.readyState === 'complete' ? location.href : ''";
            if self.run(state).await == url {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{url} did not load");
    }

    /// Errors and warnings of the console since the last call: refused styles and scripts among them.
    async fn complaints(&self) -> Vec<String> {
        let session = self.client.session_id().await.unwrap().unwrap();
        let url = format!("{}/session/{session}/se/log", self.driver_url);
        let request = crate::test_arena::plain_http().post(url);
        let answer = request.json(&json!({ "type": "browser" })).send().await;
        let body: Value = answer.unwrap().json().await.unwrap();
        let entries = body["value"].as_array().unwrap().iter();
        entries.map(|entry| entry["message"].to_string()).collect()
    }

    pub(crate) async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Reads nothing, agrees, and is at the composer.
    pub(crate) async fn agree(&self, base: &str) {
        self.open(base).await;
        assert_eq!(
            self.count("#prompt").await,
            0,
            "nothing can be asked before the terms are accepted"
        );
        self.wait("form[action='/consent'] button")
            .await
            .click()
            .await
            .unwrap();
        self.wait("#prompt").await;
    }

    pub(crate) async fn ask(&self, prompt: &str) {
        self.wait("#prompt").await.send_keys(prompt).await.unwrap();
        self.wait("#composer button[type=submit]")
            .await
            .click()
            .await
            .unwrap();
        self.wait("[data-battle]").await;
    }
}

fn slow_pair() -> Vec<(agon_domain::Model, agon_providers::Provider)> {
    let slow = Script::new()
        .text("# Tides\n\nThe **moon**")
        .delay_ms(2500)
        .text(" pulls.\n\n```rust\nfn main() {}\n```\n")
        .finish(Finish::Stop);
    vec![
        scripted("secret-model-one", vec![slow.clone()]),
        scripted("secret-model-two", vec![slow]),
    ]
}

fn picture_file(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("cat.png");
    image::RgbImage::from_fn(64, 48, |x, _| {
        image::Rgb([u8::try_from(x).unwrap() * 4, 80, 160])
    })
    .save(&path)
    .unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_battle_with_an_image_a_reload_a_vote_and_a_reveal() {
    let Some(browser) = Browser::start(1280, 900, true).await else {
        return;
    };
    let arena = TestArena::with_models(slow_pair()).await;
    browser.agree(&arena.url("/")).await;
    let folder = tempfile::tempdir().unwrap();
    browser
        .wait("#image")
        .await
        .send_keys(picture_file(&folder).to_str().unwrap())
        .await
        .unwrap();
    browser.wait("#preview:not([hidden])").await;
    browser.ask("What is this?").await;

    // While the answers are written: no vote, no name, and a reload loses nothing.
    browser.wait("#turn-0-a strong").await;
    browser.wait("#turn-0-b strong").await;
    assert_eq!(browser.count("#votes button:not(:disabled)").await, 0);
    browser.client.refresh().await.unwrap();
    browser.wait("#turn-0-a strong").await;
    browser.wait(".prompt img").await;
    assert!(browser.text(".prompt").await.contains("What is this?"));

    browser
        .wait("#votes button[value=model_a]:not(:disabled)")
        .await;
    assert_eq!(browser.count(".answer pre code").await, 2);
    let source = browser.client.source().await.unwrap();
    assert!(
        !source.contains("secret-model"),
        "a name is told before the vote"
    );

    browser
        .wait("#votes button[value=model_b]")
        .await
        .click()
        .await
        .unwrap();
    let result = browser.text(".result").await;
    assert!(
        result.contains("secret-model-one") && result.contains("secret-model-two"),
        "{result}"
    );
    assert_eq!(
        browser.count("#votes").await,
        0,
        "a second vote is not offered"
    );
    browser.client.refresh().await.unwrap();
    assert_eq!(browser.text(".result").await, result, "the result stays");
    assert_eq!(arena.app.store().counts().await.unwrap().votes, 1);

    browser.open(&arena.url("/leaderboard")).await;
    assert!(browser.text("main").await.contains("secret-model-one"));
    browser.open(&arena.url("/my")).await;
    assert!(browser.text("main").await.contains("What is this?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_turns_and_a_vote_by_keyboard_on_a_phone() {
    let Some(browser) = Browser::start(390, 844, true).await else {
        return;
    };
    let arena = TestArena::demo().await;
    browser.agree(&arena.url("/")).await;
    let overflow =
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(
        browser.run(overflow).await,
        0,
        "the first page scrolls sideways"
    );
    browser
        .wait("#prompt")
        .await
        .send_keys("Explain a tide with a table")
        .await
        .unwrap();
    browser
        .wait("#composer button[type=submit]")
        .await
        .click()
        .await
        .unwrap();
    browser.wait("#votes button:not(:disabled)").await;
    assert_eq!(
        browser.run(overflow).await,
        0,
        "the battle page scrolls sideways"
    );
    browser
        .wait("#follow textarea")
        .await
        .send_keys("And at new moon?")
        .await
        .unwrap();
    browser
        .wait("#follow button[type=submit]:not(:disabled)")
        .await
        .click()
        .await
        .unwrap();
    browser.wait("#turn-1-b").await;
    browser
        .wait("#votes button[value=tie]:not(:disabled)")
        .await;
    // A key pressed right when voting opens is taken for a slip.
    tokio::time::sleep(Duration::from_millis(1000)).await;
    browser.run("document.activeElement.blur()").await;
    browser.wait("body").await.send_keys("3").await.unwrap();
    let result = browser.text(".result").await;
    assert!(result.contains("demo-"), "{result}");
    let (tally, _) = arena.app.store().tally().await.unwrap();
    assert_eq!(
        tally
            .pairs()
            .next()
            .unwrap()
            .1
            .get(agon_domain::Winner::Tie),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_side_is_told_and_retried() {
    let Some(browser) = Browser::start(1280, 900, true).await else {
        return;
    };
    let flaky = scripted(
        "flaky",
        vec![
            Script::new().text("half").fail(ErrorKind::Overloaded),
            Script::answer("whole"),
        ],
    );
    let sound = scripted("sound", vec![Script::answer("good")]);
    let arena = TestArena::with_models(vec![flaky, sound]).await;
    browser.agree(&arena.url("/")).await;
    browser.ask("hello").await;
    browser
        .wait("[data-retry] button")
        .await
        .click()
        .await
        .unwrap();
    browser
        .wait("#votes button[value=model_a]:not(:disabled)")
        .await;
    assert_eq!(browser.count("[data-retry]").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_answers_run_nothing_and_load_nothing() {
    let Some(browser) = Browser::start(1280, 900, true).await else {
        return;
    };
    let hostile = "<img src=x onerror=\"window.pwned=1\">\n\n<script>window.pwned=2</script>\n\n[link](javascript:window.pwned=3)\n\n![leak](http://127.0.0.1:9/leak.png)\n\n<iframe srcdoc=\"<script>parent.pwned=4</script>\"></iframe>\n\n<svg onload=\"window.pwned=5\"></svg>\n\n$\\href{javascript:window.pwned=6}{x}$\n\n<style>body{display:none}</style>\n\n<form action=\"/consent\"><button>x</button></form>\n\n<a href=\"data:text/html,<script>window.pwned=7</script>\">d</a>\n";
    let models = ["one", "two"].map(|name| scripted(name, vec![Script::answer(hostile)]));
    let arena = TestArena::with_models(models.into()).await;
    browser.agree(&arena.url("/")).await;
    browser
        .ask("<img src=x onerror=\"window.pwned=8\"><b>bold</b>")
        .await;
    browser.wait("#votes button:not(:disabled)").await;
    for pass in ["streamed", "reloaded"] {
        for link in browser
            .client
            .find_all(Locator::Css(".answer a"))
            .await
            .unwrap()
        {
            let target = link.attr("href").await.unwrap().unwrap_or_default();
            assert!(
                target.is_empty() || target.starts_with("http"),
                "{pass}: {target}"
            );
        }
        assert_eq!(
            browser.run("return String(window.pwned)").await,
            "undefined",
            "{pass}"
        );
        assert_eq!(
            browser
                .count(".answer :is(img, script, iframe, style, form, button, object, embed, svg)")
                .await,
            0,
            "{pass}"
        );
        assert_eq!(
            browser.count(".prompt .text :is(img, b)").await,
            0,
            "{pass}"
        );
        let foreign = "return performance.getEntriesByType('resource').map(entry => entry.name).filter(name => !name.startsWith(location.origin)).length";
        assert_eq!(browser.run(foreign).await, 0, "{pass}");
        browser.client.refresh().await.unwrap();
        browser.wait("#votes button:not(:disabled)").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_without_script() {
    let Some(browser) = Browser::start(1280, 900, false).await else {
        return;
    };
    let store = Store::in_memory().await.unwrap();
    let models = ["plain-one", "plain-two"].map(|name| {
        scripted(
            name,
            vec![
                Script::new()
                    .text("An ")
                    .delay_ms(500)
                    .text("**answer**.")
                    .finish(Finish::Stop),
            ],
        )
    });
    let arena = TestArena::configured(models.into(), "", store).await;
    browser.agree(&arena.url("/")).await;
    browser.ask("hello").await;
    // The page loads itself again until both answers are there.
    browser
        .wait("#votes button[value=both_bad]:not(:disabled)")
        .await
        .click()
        .await
        .unwrap();
    // The answer to a form is a new page, of which a part may be there before the rest.
    let mut result = String::new();
    for _ in 0..200 {
        result = browser.text(".result").await;
        if result.contains("plain-one") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(result.contains("plain-one"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_are_reachable_by_keyboard_alone() {
    let Some(browser) = Browser::start(1280, 900, true).await else {
        return;
    };
    let arena = TestArena::new().await;
    browser.open(&arena.url("/")).await;
    // Tab until the button that agrees has the focus, then Enter.
    let body = browser.wait("body").await;
    for _ in 0..40 {
        if browser
            .run("return document.activeElement.closest('form')?.action ?? ''")
            .await
            .as_str()
            .unwrap()
            .ends_with("/consent")
        {
            break;
        }
        browser
            .client
            .active_element()
            .await
            .unwrap()
            .send_keys(&Key::Tab.to_string())
            .await
            .unwrap();
    }
    let _ = body;
    browser
        .client
        .active_element()
        .await
        .unwrap()
        .send_keys(&Key::Enter.to_string())
        .await
        .unwrap();
    browser.wait("#prompt").await;
    assert_eq!(
        browser.run("return document.activeElement.id").await,
        "prompt",
        "the question has the focus"
    );
    let question = format!("hello{}", char::from(Key::Enter));
    browser
        .client
        .active_element()
        .await
        .unwrap()
        .send_keys(&question)
        .await
        .unwrap();
    browser.wait("#votes button:not(:disabled)").await;
    tokio::time::sleep(Duration::from_millis(1000)).await;
    browser.run("document.activeElement.blur()").await;
    browser.wait("body").await.send_keys("1").await.unwrap();
    let result = browser.text(".result").await;
    assert!(result.contains("model-one"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_can_be_pasted_removed_and_dropped() {
    let Some(browser) = Browser::start(1280, 900, true).await else {
        return;
    };
    let arena = TestArena::new().await;
    browser.agree(&arena.url("/")).await;
    // A real picture, drawn by the page, in the event that a clipboard or a drag makes.
    let dispatch = |event: &str| {
        format!(
            "const canvas = document.createElement('canvas'); canvas.width = 32; canvas.height = 24; \
             canvas.getContext('2d').fillRect(0, 0, 16, 24); \
             canvas.toBlob(blob => {{ \
               const data = new DataTransfer(); \
               data.items.add(new File([blob], 'picture.png', {{ type: 'image/png' }})); \
               {event} }}, 'image/png');"
        )
    };
    let paste = "document.getElementById('prompt').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));";
    let drop = "for (const kind of ['dragenter', 'dragover', 'drop']) document.getElementById('prompt').dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));";
    browser.run(&dispatch(paste)).await;
    browser.wait("#preview:not([hidden])").await;
    browser.wait("#preview-remove").await.click().await.unwrap();
    browser.wait("#preview[hidden]").await;
    browser.run(&dispatch(drop)).await;
    browser.wait("#preview:not([hidden])").await;
    assert_eq!(browser.count("#drop-veil:not([hidden])").await, 0);
    browser.ask("What is this?").await;
    browser.wait(".prompt img").await;
    assert_eq!(arena.app.store().counts().await.unwrap().battles, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plots_of_the_leaderboard_are_legible_in_both_themes_on_phone_and_desk() {
    let names = ["falcon-large", "heron-2", "osprey-mini", "wren", "kite-7b"].map(str::to_owned);
    let store = Store::in_memory().await.unwrap();
    voted::cast(&store, voted::contest(&names, 400, 5)).await;
    let models = ["one", "two"].map(|name| scripted(name, vec![Script::answer("x")]));
    let arena = TestArena::configured(models.into(), "", store).await;
    for (width, height) in [(390, 844), (1280, 900)] {
        let Some(browser) = Browser::start(width, height, true).await else {
            return;
        };
        browser.open_whole(&arena.url("/leaderboard")).await;
        let tabs = ".tabs a:not([aria-current])";
        let addresses = browser
            .run(&format!(
                "return [...document.querySelectorAll('{tabs}')].map(a => a.href)"
            ))
            .await;
        assert_eq!(addresses.as_array().unwrap().len(), 6, "{addresses}");
        for (theme, background) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 25, 31)")] {
            browser
                .run(&format!("localStorage.setItem('agon-theme', '{theme}')"))
                .await;
            for address in addresses.as_array().unwrap() {
                let address = address.as_str().unwrap();
                let place = format!("{address} {theme} {width}");
                browser.open_whole(address).await;
                browser.wait(".plot-frame > svg.plot").await;
                let seen = browser
                    .run(
                        "const plot = document.querySelector('svg.plot');
                         const box = plot.getBoundingClientRect();
                         const scale = box.width / plot.viewBox.baseVal.width;
                         const sizes = [...plot.querySelectorAll('text')].map(text => scale * parseFloat(getComputedStyle(text).fontSize));
                         const root = document.documentElement;
                         return {
                           top: box.top, width: box.width, height: box.height, texts: sizes.length,
                           smallest: Math.min(...sizes),
                           overflow: root.scrollWidth - root.clientWidth,
                           background: getComputedStyle(plot.querySelector('.plot-fill-background')).fill,
                           text: getComputedStyle(plot.querySelector('.plot-fill-text')).fill,
                         }",
                    )
                    .await;
                let number = |name: &str| seen[name].as_f64().unwrap();
                assert_eq!(seen["background"], background, "{place}");
                assert_ne!(seen["text"], seen["background"], "{place}");
                assert!(number("smallest") >= 11.0, "{place}: {seen}");
                assert!(
                    number("width") > 300.0 && number("height") > 200.0,
                    "{place}: {seen}"
                );
                assert!(number("top") < f64::from(height), "{place}: {seen}");
                assert!(number("texts") > 8.0, "{place}: {seen}");
                assert_eq!(number("overflow"), 0.0, "{place} scrolls sideways");
                // What is kept has the colours that are seen.
                let file = browser
                    .run(
                        "const link = document.querySelector('a[data-themed]');
                         link.addEventListener('click', event => event.preventDefault());
                         link.click();
                         return link.href",
                    )
                    .await;
                let is_dark = file.as_str().unwrap().ends_with("?theme=dark");
                assert_eq!(is_dark, theme == "dark", "{file}");
            }
        }
        assert_eq!(browser.complaints().await, Vec::<String>::new());
    }
}
