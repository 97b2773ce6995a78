//! Who may talk to the server (S9.1): asked for every request, before anything looks at it.

use std::net::IpAddr;

use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, StatusCode, Uri};
use subtle::ConstantTimeEq;

use crate::http::{Response, refusal};
use crate::options::ServerOptions;

pub(crate) struct Access {
    token: Option<Vec<u8>>,
    allowed_origins: Vec<String>,
    /// Off loopback, clients address the machine by one of its IP addresses. A name would allow
    /// DNS rebinding, an address does not.
    addresses_allowed: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    Host,
    Origin,
    Token,
}

impl Access {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        Self {
            token: options.token.as_ref().map(|it| it.as_bytes().to_vec()),
            allowed_origins: options.allowed_origins.clone(),
            addresses_allowed: !options.address.is_loopback(),
        }
    }

    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        if !self.host_allowed(uri, headers) {
            Err(Denied::Host)
        } else if !self.origin_allowed(headers) {
            Err(Denied::Origin)
        } else if !self.token_matches(headers) {
            Err(Denied::Token)
        } else {
            Ok(())
        }
    }

    fn host_allowed(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let host = sole(headers, &HOST).and_then(|it| it.parse::<Authority>().ok());
        // A request line may name a host of its own; it would win over the header.
        host.is_some_and(|it| self.authority_allowed(&it))
            && uri.authority().is_none_or(|it| self.authority_allowed(it))
    }

    fn authority_allowed(&self, authority: &Authority) -> bool {
        let host = authority.host();
        !authority.as_str().contains('@')
            && (is_loopback(host) || (self.addresses_allowed && address(host).is_some()))
    }

    fn origin_allowed(&self, headers: &HeaderMap) -> bool {
        if !headers.contains_key(ORIGIN) {
            return true;
        }
        let Some(origin) = sole(headers, &ORIGIN) else { return false };
        if self.allowed_origins.iter().any(|it| it.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let web =
            origin.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
        web.and_then(|(_, authority)| authority.parse::<Authority>().ok())
            .is_some_and(|it| !it.as_str().contains('@') && is_loopback(it.host()))
    }

    fn token_matches(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(AUTHORIZATION).map_or(&[][..], HeaderValue::as_bytes);
        let (scheme, given) = given.split_at_checked(b"Bearer ".len()).unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(given.ct_eq(token))
    }
}

impl Denied {
    pub(crate) fn response(&self) -> Response {
        match self {
            Self::Host => refusal(
                StatusCode::FORBIDDEN,
                "the Host header names no loopback address; connect to 127.0.0.1",
            ),
            Self::Origin => refusal(StatusCode::FORBIDDEN, "this web origin may not connect"),
            Self::Token => {
                let message = "send the header \"Authorization: Bearer <token>\" with the token \
                               of this editor";
                let mut response = refusal(StatusCode::UNAUTHORIZED, message);
                let challenge = HeaderValue::from_static("Bearer");
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                response
            }
        }
    }
}

/// The value of a header that appears exactly once. Of several, each reader could take another.
fn sole<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|it| it.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "secret";

    #[track_caller]
    fn check(access: &Access, headers: &[(&'static str, &str)], expected: Result<(), Denied>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        assert_eq!(access.check(&Uri::from_static("/mcp"), &map), expected, "{headers:?}");
    }

    fn access(address: &str, token: Option<&str>) -> Access {
        let mut options = ServerOptions::new(token.map(str::to_owned));
        options.address = address.parse().unwrap();
        options.allowed_origins = vec!["https://app.example".to_owned()];
        Access::new(&options)
    }

    #[test]
    fn hosts() {
        let local = access("127.0.0.1", None);
        for host in
            ["127.0.0.1", "127.0.0.1:8137", "localhost:1", "LocalHost", "[::1]:9", "127.1.2.3"]
        {
            check(&local, &[("host", host)], Ok(()));
        }
        for host in [
            "evil.example",
            "evil.example:8137",
            "192.168.1.5",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "localhost@evil.example",
            "evil@localhost",
            "",
            "a b",
        ] {
            check(&local, &[("host", host)], Err(Denied::Host));
        }
        check(&local, &[], Err(Denied::Host));
        check(&local, &[("host", "localhost"), ("host", "evil.example")], Err(Denied::Host));
    }

    #[test]
    fn a_host_in_the_request_line_counts_too() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        let local = access("127.0.0.1", None);
        let uri = Uri::from_static("http://evil.example/mcp");
        assert_eq!(local.check(&uri, &headers), Err(Denied::Host));
    }

    #[test]
    fn off_loopback_addresses_are_hosts_and_names_are_not() {
        let open = access("0.0.0.0", None);
        check(&open, &[("host", "192.168.1.5:8137")], Ok(()));
        check(&open, &[("host", "evil.example")], Err(Denied::Host));
    }

    #[test]
    fn origins() {
        let local = access("127.0.0.1", None);
        for origin in
            ["http://localhost", "http://127.0.0.1:3000", "https://[::1]:1", "https://APP.example"]
        {
            check(&local, &[("host", "localhost"), ("origin", origin)], Ok(()));
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "https://app.example:444",
            "http://localhost.evil.example",
            "http://localhost@evil.example",
            "ftp://localhost",
            "localhost",
        ] {
            check(&local, &[("host", "localhost"), ("origin", origin)], Err(Denied::Origin));
        }
        let twice = [
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://evil.example"),
        ];
        check(&local, &twice, Err(Denied::Origin));
    }

    #[test]
    fn tokens() {
        let local = access("127.0.0.1", Some(TOKEN));
        for good in ["Bearer secret", "bearer secret"] {
            check(&local, &[("host", "localhost"), ("authorization", good)], Ok(()));
        }
        for bad in
            ["Bearer secre", "Bearer secrets", "Bearer ", "Bearer", "secret", "Basic secret", ""]
        {
            let headers = [("host", "localhost"), ("authorization", bad)];
            check(&local, &headers, Err(Denied::Token));
        }
        check(&local, &[("host", "localhost")], Err(Denied::Token));
    }

    #[test]
    fn host_comes_before_origin_and_origin_before_token() {
        let local = access("127.0.0.1", Some(TOKEN));
        check(&local, &[("host", "evil"), ("origin", "http://evil")], Err(Denied::Host));
        check(&local, &[("host", "localhost"), ("origin", "http://evil")], Err(Denied::Origin));
    }
}
