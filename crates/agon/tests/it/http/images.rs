//! Pictures on their way in.

use std::io::Cursor;

use agon_domain::Model;
use agon_providers::{Provider, Script};
use image::{ImageFormat, Rgb, RgbImage};

use crate::test_arena::{TestArena, echo, scripted};

/// A picture, red on the left and blue on the right.
fn picture(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
    let image = RgbImage::from_fn(width, height, |x, _| {
        if x < width / 2 {
            Rgb([220, 20, 20])
        } else {
            Rgb([20, 20, 220])
        }
    });
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn blind(name: &str) -> (Model, Provider) {
    let (model, provider) = scripted(name, vec![Script::answer("I see nothing.")]);
    (
        Model {
            vision: false,
            ..model
        },
        provider,
    )
}

#[tokio::test]
async fn a_picture_is_normalised_kept_and_shown_to_its_own_visit() {
    let arena = TestArena::new().await;
    let (owner, other) = (arena.voter().await, arena.voter().await);
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ] {
        let body = owner
            .start("What is this?", Some(&picture(format, 64, 48)))
            .await
            .expect(201);
        let url = body["turns"][0]["image_url"].as_str().unwrap().to_owned();
        let response = owner
            .request(reqwest::Method::GET, &url)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        let media_type = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(
            ["image/png", "image/jpeg"].contains(&media_type.as_str()),
            "{media_type}"
        );
        let shown = image::load_from_memory(&response.bytes().await.unwrap()).unwrap();
        assert_eq!((shown.width(), shown.height()), (64, 48));
        other.get(&url).await.expect_error(404, "unknown_battle");
        owner.settled(body["id"].as_str().unwrap()).await;
    }
}

#[tokio::test]
async fn a_picture_without_words_is_a_prompt() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let body = voter
        .start("", Some(&picture(ImageFormat::Png, 8, 8)))
        .await
        .expect(201);
    assert_eq!(
        voter.settled(body["id"].as_str().unwrap()).await["turns"][0]["prompt"],
        ""
    );
}

#[tokio::test]
async fn what_is_no_picture_is_refused_in_words() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let png = picture(ImageFormat::Png, 8, 8);
    for (upload, status, code, word) in [
        (&b"%PDF-1.7 hello"[..], 415, "image_unsupported", "PDF"),
        (
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            415,
            "image_unsupported",
            "SVG",
        ),
        (
            b"\0\0\0\x18ftypheic\0\0\0\0heic",
            415,
            "image_unsupported",
            "HEIC",
        ),
        (b"just some text", 415, "image_unsupported", "JPEG"),
        (&png[..png.len() / 2], 422, "image_broken", "damaged"),
        (b"", 422, "image_empty", "empty"),
    ] {
        let refused = voter
            .start("What is this?", Some(upload))
            .await
            .expect_error(status, code);
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
    }
    assert_eq!(arena.app.store().counts().await.unwrap().battles, 0);
}

#[tokio::test]
async fn an_upload_that_is_too_large_is_refused() {
    let store = agon_store::Store::in_memory().await.unwrap();
    let models = vec![echo("one", "1"), echo("two", "2")];
    let arena = TestArena::configured(models, "[limits]\nupload_bytes_max = 1000", store).await;
    let voter = arena.voter().await;
    let noise: Vec<u8> = picture(ImageFormat::Png, 8, 8)
        .into_iter()
        .chain((0..2000).map(|n: u32| n.to_le_bytes()[0]))
        .collect();
    voter
        .start("hello", Some(&noise))
        .await
        .expect_error(413, "image_too_large");
    voter
        .start("hello", Some(&vec![0; 3 * 1024 * 1024]))
        .await
        .expect_error(413, "upload_too_large");
}

#[tokio::test]
async fn a_battle_with_a_picture_draws_models_that_see() {
    let arena = TestArena::with_models(vec![
        blind("blind-one"),
        blind("blind-two"),
        echo("seer-one", "S1 "),
        echo("seer-two", "S2 "),
    ])
    .await;
    let voter = arena.voter().await;
    for _ in 0..10 {
        let body = voter
            .start("What is this?", Some(&picture(ImageFormat::Png, 8, 8)))
            .await
            .expect(201);
        let battle = arena.stored(body["id"].as_str().unwrap()).await;
        assert!(
            battle.models.a.starts_with("seer") && battle.models.b.starts_with("seer"),
            "{:?}",
            battle.models
        );
    }
    let arena = TestArena::with_models(vec![blind("blind-one"), echo("seer-one", "S1 ")]).await;
    let voter = arena.voter().await;
    voter
        .start("What is this?", Some(&picture(ImageFormat::Png, 8, 8)))
        .await
        .expect_error(503, "no_pair");
    voter.start("Text is fine.", None).await.expect(201);
}
