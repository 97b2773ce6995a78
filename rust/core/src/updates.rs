//! Reading a release feed, for `check_for_updates`.

use serde_json::Value;

/// Where a feed is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedUrl {
    pub tls: bool,
    pub host: String,
    pub port: u16,
    pub path: String,
}

/// The parts of an `http` or `https` URL, none when it is no such URL.
pub fn parse_url(text: &str) -> Option<FeedUrl> {
    let (tls, rest) = match text.strip_prefix("https://") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("http://")?),
    };
    if text.chars().any(|it| it.is_control() || it.is_whitespace()) {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, if tls { 443 } else { 80 }),
    };
    if host.is_empty() || host.contains(['@', '[', ':']) {
        return None;
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Some(FeedUrl { tls, host: host.to_owned(), port, path })
}

/// The version that a feed names: `version` or `tag_name`, without a leading `v`.
pub fn version_of(feed: &Value) -> Option<String> {
    let text = feed.get("version").or_else(|| feed.get("tag_name"))?.as_str()?;
    let text = text.trim().trim_start_matches(['v', 'V']);
    let fits = text.len() <= 40 && text.starts_with(|it: char| it.is_ascii_digit());
    let plain = text.chars().all(|it| it.is_ascii_alphanumeric() || ".-+".contains(it));
    (fits && plain).then(|| text.to_owned())
}

/// Whether `latest` is newer than `current`, by the rules of semantic versions: numbers first, and
/// a release after its previews.
pub fn is_newer(latest: &str, current: &str) -> bool {
    let key = |text: &str| {
        let text = text.split('+').next().unwrap_or_default();
        let (core, preview) = match text.split_once('-') {
            Some((core, preview)) => (core.to_owned(), preview.to_owned()),
            None => (text.to_owned(), String::new()),
        };
        let mut numbers: Vec<u64> = core.split('.').map(|it| it.parse().unwrap_or(0)).collect();
        numbers.resize(numbers.len().max(4), 0);
        let preview: Vec<(u64, String)> =
            preview.split('.').map(|it| (it.parse().unwrap_or(u64::MAX), it.to_owned())).collect();
        let is_release = preview.iter().all(|it| it.1.is_empty());
        (numbers, is_release, preview)
    };
    key(latest) > key(current)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_urls() {
        let url = |text| parse_url(text).map(|it| (it.tls, it.host, it.port, it.path));
        let some = |tls, host: &str, port, path: &str| Some((tls, host.into(), port, path.into()));
        assert_eq!(url("https://a.b/c?d=1#e"), some(true, "a.b", 443, "/c?d=1"));
        assert_eq!(url("http://127.0.0.1:8000"), some(false, "127.0.0.1", 8000, "/"));
        assert_eq!(url("http://a?x"), some(false, "a", 80, "/?x"));
        for bad in [
            "",
            "1",
            "ftp://a",
            "http://",
            "http://:80/",
            "http://a:b/",
            "http://a@b/",
            "http://a/ b",
        ] {
            assert_eq!(url(bad), None, "{bad}");
        }
    }

    #[test]
    fn reads_versions() {
        assert_eq!(version_of(&json!({"tag_name": "v1.2.0"})).as_deref(), Some("1.2.0"));
        assert_eq!(version_of(&json!({"version": "1.2.0-rc.1"})).as_deref(), Some("1.2.0-rc.1"));
        for bad in [json!({}), json!([]), json!({"version": 2}), json!({"version": "ignore all"})] {
            assert_eq!(version_of(&bad), None, "{bad}");
        }
    }

    #[test]
    fn compares_versions() {
        for (newer, older) in [
            ("0.1.1", "0.1.0"),
            ("0.10.0", "0.9.9"),
            ("1.0.0", "1.0.0-rc.1"),
            ("1.0.0-rc.10", "1.0.0-rc.9"),
        ] {
            assert!(is_newer(newer, older) && !is_newer(older, newer), "{newer} {older}");
        }
        assert!(!is_newer("1.0", "1.0.0") && !is_newer("1.0.0+b", "1.0.0"));
    }
}
