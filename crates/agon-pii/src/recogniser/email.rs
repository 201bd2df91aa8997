//! Mail addresses, in any script, and beside letters of scripts without spaces.

use std::ops::Range;

use memchr::memchr_iter;

use super::{Reading, Recogniser};
use crate::{Entity as E, finding::Evidence, normalise::joins, shapes::Candidate, work};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::EmailAddress],
    words: &[(
        E::EmailAddress,
        &[
            "e-mail",
            "email",
            "mail",
            "correo",
            "почта",
            "邮件",
            "邮箱",
            "連絡先",
            "メール",
            "courriel",
            "posta",
            "e-posta",
            "epost",
            "surel",
            "ईमेल",
            "이메일",
            "อีเมล",
            "البريد",
            "write to",
            "contact",
            "scrivi",
        ],
    )],
    find,
};

/// RFC 3696: the local part has at most 64 characters, the whole 254.
const LOCAL_BYTES_MAX: usize = 64 * 4;
const DOMAIN_BYTES_MAX: usize = 254;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    for at in memchr_iter(b'@', text.as_bytes()) {
        let spaced = text[..at].ends_with(' ') && text[at + 1..].starts_with(' ');
        let (left, right) = if spaced {
            (at - 1, at + 2)
        } else {
            (at, at + 1)
        };
        let Some(range) = address(text, left, right) else {
            continue;
        };
        let word = reading
            .surroundings
            .around(range.start, range.end)
            .word(E::EmailAddress);
        if spaced && word.is_none() {
            continue;
        }
        let domain = &text[right..range.end];
        // The user of a remote repository is nobody.
        let is_remote = text[range.clone()].starts_with("git@");
        let prior = if is_remote {
            -2.5
        } else if spaced {
            0.0
        } else if is_known_domain(domain) {
            3.0
        } else {
            -0.8
        };
        let log_odds = prior + if word.is_some() { 1.5 } else { 0.0 };
        found.push(Candidate {
            entity: E::EmailAddress,
            range,
            log_odds,
            evidence: Evidence::by("email", prior).announced(word),
        });
    }
}

/// The address around a sign whose local part ends at `left` and whose domain starts at `right`.
fn address(text: &str, left: usize, right: usize) -> Option<Range<usize>> {
    let mut start = left;
    for character in text[..left].chars().rev() {
        let allowed = joins(character)
            || matches!(
                character,
                '.' | '_' | '%' | '+' | '-' | '\'' | '&' | '=' | '~' | '/' | '#'
            );
        if !allowed || left - start + character.len_utf8() > LOCAL_BYTES_MAX {
            break;
        }
        start -= character.len_utf8();
    }
    // Signs that addresses rarely begin with are punctuation of the text around.
    let local = text[start..left].trim_start_matches(|edge: char| !joins(edge) && edge != '_');
    // After a slash or an equals sign there is a path or an assignment.
    let local = local
        .rsplit(['/', '=', '#', '&'])
        .next()
        .unwrap_or_default();
    let start = left - local.len();
    let end = domain_end(text, right)?;
    work::count(end - start);
    let plain = !local.is_empty() && !local.ends_with('.') && !local.contains("..");
    (plain && end - start <= DOMAIN_BYTES_MAX).then_some(start..end)
}

/// Where a domain name ends that starts here: at least two labels, the last of letters.
fn domain_end(text: &str, start: usize) -> Option<usize> {
    let len: usize = text[start..]
        .chars()
        .take_while(|character| joins(*character) || matches!(character, '.' | '-'))
        .scan(0, |len, character| {
            *len += character.len_utf8();
            (*len <= DOMAIN_BYTES_MAX).then_some(character.len_utf8())
        })
        .sum();
    let mut domain = text[start..start + len].trim_end_matches(['.', '-']);
    // What follows a full stop without being a name of letters belongs to the next sentence.
    loop {
        let (rest, last) = domain.rsplit_once('.')?;
        let labels_hold = rest
            .split('.')
            .all(|label| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-'));
        let is_name = last.starts_with("xn--")
            || last.chars().count() >= 2 && last.chars().all(char::is_alphabetic);
        if is_name && labels_hold {
            return Some(start + domain.len());
        }
        domain = rest;
    }
}

/// Whether the last label is a top-level domain that many addresses have.
pub(super) fn is_known_domain(domain: &str) -> bool {
    let last = domain.rsplit('.').next().unwrap_or_default().to_lowercase();
    last.starts_with("xn--")
        || !last.is_ascii()
        || TOP_LEVEL
            .split_ascii_whitespace()
            .any(|known| known == last)
}

/// Top-level domains: all of two letters in use, and the generic ones that are common in addresses.
const TOP_LEVEL: &str = "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz \
    ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge \
    gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp \
    kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng \
    ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr \
    ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw \
    com org net edu gov mil int arpa biz info name pro aero asia cat coop jobs mobi museum post tel travel xxx \
    academy agency app art berlin bike blog business cafe capital care center chat city cloud club codes coffee community company \
    consulting cool design dev digital direct email energy engineer events example expert express family farm finance fit foundation \
    fun fund fyi gallery games global gmbh group guide guru health help hotel house icu institute international invalid jetzt koeln \
    law legal life link live llc london lol love ltd marketing media moe money nyc ninja network news one online page paris partners photo \
    photography pizza plus press productions pub red rocks run sale school science services shop site social software solutions \
    space store studio style support systems team tech technology test tips today tools top town training tube university vip \
    ventures video wiki win wien work works world wtf xyz yoga zone google apple microsoft amazon bank insurance";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_a_domain_of_names() {
        for (text, expected) in [
            ("(jane.doe+x@example.com).", Some("jane.doe+x@example.com")),
            ("到wang.wei@example.cn谢谢", Some("wang.wei@example.cn")),
            ("info@münchen.example.de", Some("info@münchen.example.de")),
            ("icon@2x.png", Some("icon@2x.png")),
            ("user@localhost", None),
            ("foo@bar", None),
            ("@username", None),
            ("react@18.2.0", None),
            ("mailto=ana@example.com.", Some("ana@example.com")),
        ] {
            let at = text.find('@').unwrap();
            assert_eq!(
                address(text, at, at + 1).map(|range| &text[range]),
                expected,
                "{text}"
            );
        }
        assert!(is_known_domain("example.co.uk") && !is_known_domain("2x.png"));
    }
}
