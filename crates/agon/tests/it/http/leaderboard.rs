//! The leaderboard, at once after each vote.

use agon_domain::Winner;
use agon_store::Store;
use reqwest::{Method, header};

use crate::{
    test_arena::{Client, TestArena, echo},
    voted,
};

#[tokio::test]
async fn an_arena_without_votes_has_an_empty_board() {
    let arena = TestArena::new().await;
    let board = arena
        .stranger()
        .get("/api/v1/leaderboard")
        .await
        .expect(200);
    assert_eq!(board["leaderboards"].as_array().unwrap().len(), 0);
    assert_eq!(board["input"]["kept"], 0);
    assert_eq!(arena.stranger().get("/leaderboard").await.status, 200);
}

#[tokio::test]
async fn each_vote_counts_at_once() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    // The model called model-one wins twice of three, whichever side it is on.
    for n in 1..=12_u64 {
        let id = voter.answered("hello").await;
        let battle = arena.stored(&id).await;
        let one_is_a = battle.models.a == "model-one";
        let one_wins = n % 3 != 0;
        voter
            .vote(
                &id,
                if one_is_a == one_wins {
                    "model_a"
                } else {
                    "model_b"
                },
            )
            .await
            .expect(200);
        let board = arena
            .stranger()
            .get("/api/v1/leaderboard")
            .await
            .expect(200);
        assert_eq!(board["input"]["kept"], n);
    }
    let board = arena
        .stranger()
        .get("/api/v1/leaderboard")
        .await
        .expect(200);
    let models = &board["leaderboards"][0]["models"];
    assert_eq!(models[0]["model"], "model-one");
    assert_eq!(models[0]["wins"], 8);
    assert_eq!(models[0]["status"], "rated");
    // Two models: rating difference = 400 log10(8/4); mean 1000.
    let expected = 1000.0 + 200.0 * 2.0_f64.log10();
    let rating = models[0]["rating"].as_f64().unwrap();
    assert!(
        (rating - expected).abs() < 1e-6,
        "{rating} against {expected}"
    );
    // The sandwich of a single pair: variance of θa − θb is Σ(y−p)² / (Σp(1−p))² = 1/(n p (1−p)).
    let half_width = 1.959_963_984_540_054 * 200.0 / 10.0_f64.ln()
        * (1.0_f64 / (12.0 * (2.0 / 3.0) * (1.0 / 3.0))).sqrt();
    let upper = models[0]["rating_upper"].as_f64().unwrap();
    assert!(
        (upper - rating - half_width).abs() < 1e-6,
        "{} against {half_width}",
        upper - rating
    );
    let page = arena.stranger().get("/leaderboard").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("model-one"));
}

/// Kinds that can be drawn of an arena's own votes.
const KINDS: [&str; 6] = [
    "intervals",
    "win-rates",
    "predicted",
    "battles",
    "history",
    "calibration",
];

fn names(n_models: usize) -> Vec<String> {
    (1..=n_models).map(|n| format!("voted-{n:03}")).collect()
}

/// An arena with votes on five models over three months, which are not the models that take part now.
async fn voted_arena() -> TestArena {
    let store = Store::in_memory().await.unwrap();
    voted::cast(&store, voted::contest(&names(5), 240, 3)).await;
    let models = vec![echo("secret-one", "One: "), echo("secret-two", "Two: ")];
    TestArena::configured(models, "", store).await
}

async fn get_with_tag(client: &Client, path: &str, tag: &str) -> crate::test_arena::Answer {
    let request = client.request(Method::GET, path);
    client
        .send(request.header(header::IF_NONE_MATCH, tag))
        .await
}

#[tokio::test]
async fn each_plot_is_a_page_and_two_files() {
    let arena = voted_arena().await;
    let client = arena.stranger();
    let table = client.get("/leaderboard").await;
    for kind in KINDS {
        let path = format!("/leaderboard/plots/{kind}");
        assert!(table.text.contains(&format!("href=\"{path}\"")), "{kind}");
        let page = client.get(&path).await;
        assert_eq!(page.status, 200, "{kind}");
        assert!(page.text.contains("class=\"plot"), "{kind}");
        for forbidden in ["<style", "style=\"", "<script>", "secret-"] {
            assert!(!page.text.contains(forbidden), "{kind} holds {forbidden}");
        }
        // Every plot but that of the calibration names models, and only those that have votes.
        assert_eq!(page.text.contains("voted-001"), kind != "calibration");

        for (extension, media_type, start) in [
            ("svg", "image/svg+xml", "<svg "),
            ("png", "image/png", "\u{fffd}PNG"),
        ] {
            let path = format!("{path}.{extension}");
            let file = client.get(&path).await;
            assert_eq!(file.status, 200, "{path}: {}", file.text);
            assert_eq!(file.headers[header::CONTENT_TYPE], media_type);
            assert_eq!(
                file.headers[header::CONTENT_DISPOSITION],
                format!("attachment; filename=\"leaderboard-{kind}.{extension}\"").as_str()
            );
            assert_eq!(file.headers[header::CACHE_CONTROL], "public, no-cache");
            assert!(file.text.starts_with(start), "{path}");
            assert!(!file.text.contains("secret-"), "{path}");
            let again = client.get(&path).await;
            assert_eq!(again.text, file.text, "{path} is not the same twice");
            let dark = client.get(&format!("{path}?theme=dark")).await;
            assert_eq!(dark.status, 200);
            assert_ne!(dark.text, file.text, "{path} is not dark");

            let tag = file.headers[header::ETAG].to_str().unwrap();
            let known = get_with_tag(&client, &path, tag).await;
            assert_eq!(known.status, 304, "{path}");
            assert_eq!(known.headers[header::ETAG], tag);
            // The drawing is text, which is compressed for those who can read that; pixels are not.
            for answer in [&file, &known] {
                let vary = answer.headers.get_all(header::VARY).iter();
                let n_vary = vary.filter(|value| *value == "accept-encoding").count();
                assert_eq!(n_vary, usize::from(extension == "svg"), "{path}");
            }
            assert!(known.text.is_empty());
            let other = get_with_tag(&client, &format!("{path}?theme=dark"), tag).await;
            assert_eq!(other.status, 200, "the dark one is another file");
        }
    }
}

#[tokio::test]
async fn a_vote_changes_the_tag_of_every_plot() {
    let arena = voted_arena().await;
    let client = arena.voter().await;
    let mut tags = Vec::new();
    for kind in KINDS {
        let file = client.get(&format!("/leaderboard/plots/{kind}.svg")).await;
        tags.push(file.headers[header::ETAG].to_str().unwrap().to_owned());
    }
    let id = client.answered("hello").await;
    client.vote(&id, "tie").await.expect(200);
    for (kind, tag) in KINDS.iter().zip(&tags) {
        let path = format!("/leaderboard/plots/{kind}.svg");
        let file = get_with_tag(&client, &path, tag).await;
        assert_eq!(file.status, 200, "{kind}");
        assert_ne!(file.headers[header::ETAG], tag.as_str());
    }
}

#[tokio::test]
async fn what_is_no_plot_is_told_in_the_style_of_the_house() {
    let arena = voted_arena().await;
    let client = arena.stranger();
    for path in [
        "/leaderboard/plots/nothing",
        "/leaderboard/plots/%ff",
        "/leaderboard/plots/intervals%ff.svg",
        "/leaderboard/plots/nothing.svg",
        "/leaderboard/plots/intervals.gif",
        "/leaderboard/plots/intervals?group=2",
        "/leaderboard/plots/intervals.svg?group=0",
        "/leaderboard/plots/history.svg?group=2",
        "/leaderboard/plots/",
        // The fit of this arena has no features.
        "/leaderboard/plots/coefficients.svg",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.text.contains("<h1>Nothing here</h1>"), "{path}");
        assert!(!answer.headers.contains_key(header::ETAG), "{path}");
    }
    for path in [
        "/leaderboard/plots/intervals.svg?theme=pink",
        "/leaderboard/plots/intervals?group=many",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text.contains("<h1>"), "{path}");
    }
    let page = client.get("/leaderboard/plots/coefficients").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("no features"), "the page says why");
    // Before the first vote there is nothing to draw, which the page of the table says.
    let empty = TestArena::new().await;
    let page = empty.stranger().get("/leaderboard/plots/intervals").await;
    assert_eq!(page.status, 303);
    assert_eq!(page.headers[header::LOCATION], "/leaderboard");
    let file = empty.stranger().get("/leaderboard/plots/history.png").await;
    assert_eq!(file.status, 404);
    assert!(file.text.contains("no votes to draw yet"));
}

#[tokio::test]
async fn groups_that_never_met_have_plots_of_their_own() {
    let store = Store::in_memory().await.unwrap();
    let at = "2026-02-01T00:00:00Z".parse().unwrap();
    let votes = [("red", "blue", 3), ("sweet", "sour", 2)].into_iter();
    voted::cast(
        &store,
        votes.flat_map(|(a, b, n)| {
            (0..n).flat_map(move |_| [(a, b, Winner::A, at), (b, a, Winner::A, at)])
        }),
    )
    .await;
    let models = vec![echo("model-one", "One: "), echo("model-two", "Two: ")];
    let arena = TestArena::configured(models, "", store).await;
    let client = arena.stranger();
    for (address, here, elsewhere) in [
        ("intervals", "red", "sweet"),
        ("intervals?group=2", "sweet", "red"),
        ("win-rates.svg?group=2", "sour", "blue"),
    ] {
        let answer = client.get(&format!("/leaderboard/plots/{address}")).await;
        assert!(answer.text.contains(&format!(">{here}<")), "{address}");
        assert!(
            !answer.text.contains(&format!(">{elsewhere}<")),
            "{address}"
        );
    }
    let page = client.get("/leaderboard/plots/intervals").await.text;
    assert!(page.contains("href=\"/leaderboard/plots/intervals?group=2\""));
}

#[tokio::test]
async fn names_of_models_are_text_in_every_plot() {
    let store = Store::in_memory().await.unwrap();
    let at = "2026-02-01T00:00:00Z".parse().unwrap();
    let hostile = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "]]></title><style>*{}</style>",
    ];
    let votes = (0..12).map(|n| (hostile[n % 3], hostile[(n + 1 + n / 6) % 3], Winner::A, at));
    voted::cast(&store, votes).await;
    let models = vec![echo("model-one", "One: "), echo("model-two", "Two: ")];
    let arena = TestArena::configured(models, "", store).await;
    for kind in KINDS {
        for extension in ["", ".svg"] {
            let path = format!("/leaderboard/plots/{kind}{extension}");
            let answer = arena.stranger().get(&path).await;
            assert_eq!(answer.status, 200, "{path}");
            for forbidden in ["<script>", "<img", "<style>*"] {
                assert!(!answer.text.contains(forbidden), "{path} holds {forbidden}");
            }
        }
    }
}

#[tokio::test]
async fn more_than_can_be_drawn_is_refused_in_words() {
    let store = Store::in_memory().await.unwrap();
    let at = "2026-02-01T00:00:00Z".parse().unwrap();
    let names = names(121);
    // A circle, in which everybody has won and lost.
    let votes = (0..names.len()).map(|n| {
        let next = (n + 1) % names.len();
        (names[n].as_str(), names[next].as_str(), Winner::A, at)
    });
    voted::cast(&store, votes).await;
    let models = vec![echo("model-one", "One: "), echo("model-two", "Two: ")];
    let arena = TestArena::configured(models, "", store).await;
    let client = arena.stranger();
    let file = client.get("/leaderboard/plots/battles.png").await;
    assert_eq!(file.status, 422);
    assert!(
        file.text.contains("121 models are too many"),
        "{}",
        file.text
    );
    let page = client.get("/leaderboard/plots/battles").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("121 models are too many"));
    assert_eq!(
        client.get("/leaderboard/plots/intervals.png").await.status,
        200
    );
}

#[tokio::test]
async fn ratings_are_followed_by_month() {
    let arena = voted_arena().await;
    let client = arena.voter().await;
    let history = client.get("/api/v1/leaderboard/history").await.expect(200);
    assert_eq!(history["votes"], 240);
    let votes: Vec<_> = history["months"]
        .as_array()
        .unwrap()
        .iter()
        .map(|month| (month["value"].clone(), month["battles"].clone()))
        .collect();
    assert_eq!(
        votes,
        [("2026-01", 80), ("2026-02", 160), ("2026-03", 240)]
            .map(|(month, n)| (month.into(), n.into()))
    );
    assert_eq!(
        history["history"]["periods"],
        serde_json::json!(["2026-01", "2026-02", "2026-03"])
    );
    // The last month has all votes, and so the ratings of the leaderboard.
    let board = client.get("/api/v1/leaderboard").await.expect(200);
    let rows = board["leaderboards"][0]["models"].as_array().unwrap();
    for series in history["history"]["models"].as_array().unwrap() {
        let row = rows
            .iter()
            .find(|row| row["model"] == series["model"])
            .unwrap();
        assert_eq!(series["points"][2]["rating"], row["rating"]);
        assert_eq!(series["points"][2]["battles"], row["battles"]);
    }
    // A vote of today begins a month, and leaves the others as they are.
    let id = client.answered("hello").await;
    client.vote(&id, "model_a").await.expect(200);
    let later = client.get("/api/v1/leaderboard/history").await.expect(200);
    assert_eq!(later["votes"], 241);
    assert_eq!(later["months"][3]["value"], "2026-11");
    for (before, after) in history["history"]["models"]
        .as_array()
        .unwrap()
        .iter()
        .zip(later["history"]["models"].as_array().unwrap().iter())
    {
        let points = after["points"].as_array().unwrap();
        assert_eq!(before["points"].as_array().unwrap()[..], points[..3]);
    }
}

#[tokio::test]
async fn checks_are_titled_and_have_their_numbers() {
    let arena = voted_arena().await;
    let page = arena.stranger().get("/leaderboard").await.text;
    for part in [
        "All models are connected by battles.",
        "Voters prefer neither side.",
        "Ratings predict how often favourites win.",
        "<dt>condition number</dt>",
    ] {
        assert!(page.to_lowercase().contains(&part.to_lowercase()), "{part}");
    }
}

/// The ratings, ends of intervals, places and records of a document without the sequence of its arena.
fn assert_near(found: &serde_json::Value, expected: &serde_json::Value) {
    let rows = |board: &serde_json::Value| board["leaderboards"][0]["models"].as_array().cloned();
    let (found, expected) = (rows(found).unwrap(), rows(expected).unwrap());
    assert_eq!(found.len(), expected.len());
    for (row, wanted) in found.into_iter().zip(expected) {
        for (name, value) in wanted.as_object().unwrap() {
            match (row[name].as_f64(), value.as_f64()) {
                (Some(found), Some(expected)) => {
                    assert!((found - expected).abs() < 1e-6, "{name}: {row} {wanted}");
                }
                _ => assert_eq!(&row[name], value, "{name}"),
            }
        }
    }
}

#[tokio::test]
async fn votes_of_another_process_count_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Store::open(folder.path()).await.unwrap();
    let theirs = Store::open(folder.path()).await.unwrap();
    let names = names(6);
    let votes: Vec<_> = voted::contest(&names, 300, 2).collect();
    voted::cast(&ours, votes[..200].iter().copied()).await;
    let models = || vec![echo("model-one", "One: "), echo("model-two", "Two: ")];
    let arena = TestArena::configured(models(), "", ours).await;
    let client = arena.stranger();
    let board = client.get("/api/v1/leaderboard").await.expect(200);
    assert_eq!(board["input"]["kept"], 200);
    for (n, &vote) in votes.iter().enumerate().skip(200) {
        voted::cast_from(&theirs, n as u128 + 1, [vote]).await;
        // Some come one by one, some together.
        if n % 3 == 0 || n == 299 {
            let board = client.get("/api/v1/leaderboard").await.expect(200);
            assert_eq!(board["input"]["kept"], n + 1);
        }
    }
    let board = client.get("/api/v1/leaderboard").await.expect(200);
    // Whoever starts now computes from scratch.
    let fresh = TestArena::configured(models(), "", theirs).await;
    let expected = fresh.stranger().get("/api/v1/leaderboard").await;
    assert_near(&board, &expected.expect(200));
}

#[tokio::test]
async fn those_who_ask_together_get_one_board_with_the_votes_before() {
    let arena = voted_arena().await;
    for n in 0..5_u64 {
        let at = "2026-04-01T00:00:00Z".parse().unwrap();
        let vote = ("voted-001", "voted-002", Winner::A, at);
        voted::cast_from(arena.app.store(), 1000 + u128::from(n), [vote]).await;
        let asked = (0..20).map(|_| {
            let app = arena.app.clone();
            tokio::spawn(async move { app.leaderboard().await.unwrap() })
        });
        let mut boards = Vec::new();
        for board in asked.collect::<Vec<_>>() {
            boards.push(board.await.unwrap());
        }
        for board in &boards {
            assert!(std::sync::Arc::ptr_eq(board, &boards[0]));
            assert_eq!(board.input.kept, 241 + n);
        }
    }
}

#[tokio::test]
async fn one_who_leaves_early_costs_nobody_the_board() {
    let arena = voted_arena().await;
    // Dropped before it is done, at whatever point that is.
    for _ in 0..3 {
        let app = arena.app.clone();
        let gone = tokio::spawn(async move { app.leaderboard().await });
        tokio::task::yield_now().await;
        gone.abort();
    }
    assert_eq!(arena.app.leaderboard().await.unwrap().input.kept, 240);
}
